package peers

import (
	"bytes"
	"fmt"
	"strings"

	"zbench/bench/pattern"
)

// checkEncoding recognises inputs that are not text.
func checkEncoding(head []byte) error {
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		return fmt.Errorf("%w: the file is compressed; gunzip it first", ErrFormat)
	case bytes.HasPrefix(head, []byte{0xff, 0xfe}) || bytes.HasPrefix(head, []byte{0xfe, 0xff}):
		return fmt.Errorf("%w: the file is UTF-16; convert it with iconv -f UTF-16 -t UTF-8", ErrFormat)
	}
	return nil
}

// jsonStart is an object with a name, an empty one, or a list of objects.
var jsonStart = pattern.New(`^(\{\s*("[^"\n]*"\s*:|\})|\[\s*\{\s*["}])`)

// otherFormat recognises, of an input in which no table was found, that it is
// the tools' output in another form.
func otherFormat(head []byte) error {
	text := bytes.TrimSpace(bytes.TrimPrefix(head, []byte("\ufeff")))
	switch {
	case jsonStart.Match(text):
		return fmt.Errorf("%w: this is JSON, and neither that of nccl-tests (-J) nor that of rccl-tests (-Z json); use the text output of the same run", ErrFormat)
	case isCSV(text):
		return fmt.Errorf("%w: this CSV lacks columns: a row is read by its size, time, algbw and busbw, which check each other; use the text output of the same run", ErrFormat)
	}
	return nil
}

// isCSV reports whether the first line, but for comments, is names between commas,
// a size, a time or a bandwidth among them.
func isCSV(text []byte) bool {
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		names := 0
		for _, name := range fields(line) {
			if !csvName.MatchString(name) {
				return false
			}
			if k, _, _ := csvColumn(name); k == kSize || k == kTime || k == kAlg || k == kBus {
				names++
			}
		}
		return names > 1 && strings.Count(line, ",") > 1
	}
	return false
}
