package peers

import (
	"bytes"
	"fmt"
	"slices"
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
		return fmt.Errorf("%w: this is JSON, whose import is not supported yet; use the text output of the same run", ErrFormat)
	case isCSV(text):
		return fmt.Errorf("%w: this is CSV, whose import is not supported yet; use the text output of the same run", ErrFormat)
	}
	return nil
}

// isCSV reports whether the first line is names between commas, those of a size,
// a time and a bus bandwidth among them.
func isCSV(text []byte) bool {
	first, _, _ := bytes.Cut(text, []byte("\n"))
	var names []string
	for name := range strings.SplitSeq(strings.ToLower(string(first)), ",") {
		names = append(names, strings.Trim(name, " \"\r"))
	}
	return slices.Contains(names, "size") && slices.Contains(names, "time") && slices.Contains(names, "busbw")
}
