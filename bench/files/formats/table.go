package formats

import (
	"bytes"

	"zbench/bench/base/pattern"
	"zbench/bench/files/peers"
)

// testsMarks are texts that rccl-tests and nccl-tests print.
var testsMarks = []string{"# Using devices", "#       size", "nccl-tests version", "rccl-tests: Version", "algbw   busbw"}

// The tables of rccl-tests and nccl-tests, as text and as CSV.
func init() {
	register(Format{
		Name: "tests-csv", Title: "a CSV of collectives by size", Holds: Curve, rank: 50,
		Use:       "`zbench import` reads it where its rows have size, time, algbw and busbw",
		recognise: peers.IsCSV, curve: asText,
	})
	register(Format{
		Name: "tests-log", Title: "a log of nccl-tests or rccl-tests", Holds: Curve, rank: 55, Use: useImport,
		recognise: func(head []byte) bool {
			return has(head, testsMarks...)
		},
		curve: asText,
	})
}

// jsonStart matches the beginning of an object, or of a list of objects.
var jsonStart = pattern.New(`^(\{\s*("[^"\n]*"\s*:|\})|\[\s*\{\s*["}])`)

// otherForm names the form of an input without a table. It returns empty text for plain text.
func otherForm(head []byte) string {
	switch trimmed := bytes.TrimSpace(bytes.TrimPrefix(head, []byte("\ufeff"))); {
	case bytes.HasPrefix(head, []byte("\xff\xfe")) || bytes.HasPrefix(head, []byte("\xfe\xff")):
		return "the file is UTF-16; convert it with iconv -f UTF-16 -t UTF-8"
	case jsonStart.Match(trimmed):
		return "this is JSON, and neither that of nccl-tests (-J) nor that of rccl-tests (-Z json); use the text output of the same run"
	case peers.IsCSV(head):
		return "this CSV lacks columns: a row is read by its size, time, algbw and busbw, which check each other; use the text output of the same run"
	}
	return ""
}
