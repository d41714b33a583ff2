package formats

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"zbench/bench/base/pattern"
	"zbench/bench/files/peers"
)

// Log collectors wrap each line of text in JSON. Docker's json-file driver writes one object per
// line; Loki and Elasticsearch return all lines in one document. zbench finds the string with the
// column names, and reads all strings at the same place in the JSON, whatever the names of the
// fields.
func init() {
	register(Format{
		Name: "tests-log-json", Title: "JSON with lines of a log of nccl-tests or rccl-tests", Holds: Curve, rank: 54, Use: useImport,
		recognise: func(head []byte) bool {
			return jsonBegin.Match(head) && has(head, testsMarks...)
		},
		curve: rewritten(textOfLog),
	})
}

// jsonBegin distinguishes JSON from a Markdown page that begins with a link.
var jsonBegin = pattern.New(`^\x{FEFF}?\s*(\{|\[\s*[{\["])`)

// maxLevels is more levels than any collector nests.
const maxLevels = 32

var errDepth = fmt.Errorf("%w: values are nested over %d deep", peers.ErrFormat, maxLevels)

// textOfLog returns the lines of text that the collector wrapped.
func textOfLog(r io.Reader) ([]byte, error) {
	d, lines, place := decoder(r), map[string][]string{}, ""
	keep := func(at, text string) {
		lines[at] = append(lines[at], text)
		if place == "" && strings.Contains(text, "algbw") && strings.Contains(text, "busbw") {
			place = at
		}
	}
	var cut error
	for cut == nil {
		if err := eachString(d, "", 0, keep); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			cut = cutJSON(err)
		}
	}
	text := lines[place]
	if len(text) == 0 {
		return nil, cmp.Or(cut, fmt.Errorf("%w: no string of this JSON has the column names (size, time, algbw, busbw)", peers.ErrFormat))
	}
	header := slices.IndexFunc(text, func(l string) bool { return strings.Contains(l, "busbw") })
	if end := slices.IndexFunc(text, func(l string) bool { return strings.Contains(l, "Avg bus bandwidth") }); end >= 0 && end < header {
		slices.Reverse(text) // the newest line came first
	}
	if slices.ContainsFunc(text, func(l string) bool { return strings.HasSuffix(l, "\n") }) {
		return []byte(strings.Join(text, "")), cut // a long line is split into several strings
	}
	return []byte(strings.Join(text, "\n") + "\n"), cut
}

// eachString calls visit for each string of the next value, with its place: the keys on the path,
// and the inner index in a list of lists.
func eachString(d *json.Decoder, at string, depth int, visit func(at, text string)) error {
	t, err := d.Token()
	switch {
	case err != nil:
		return err //nolint:wrapcheck // the caller says where the file ends
	case depth > maxLevels:
		return errDepth
	}
	switch t := t.(type) {
	case string:
		visit(at, t)
	case json.Delim:
		for i := 0; d.More(); i++ {
			inner := at + "[]"
			if t == '{' {
				key, err := d.Token()
				if err != nil {
					return err //nolint:wrapcheck // the caller says where the file ends
				}
				inner = fmt.Sprint(at, "/", key)
			} else if strings.HasSuffix(at, "[]") {
				inner = fmt.Sprintf("%s[%d]", at, min(i, maxLevels))
			}
			if err := eachString(d, inner, depth+1, visit); err != nil {
				return err
			}
		}
		_, err = d.Token()
	}
	return err //nolint:wrapcheck // the caller says where the file ends
}
