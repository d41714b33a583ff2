package jsonfile

import (
	"bytes"
	"fmt"
)

// LineError is the error about a damaged line of a journal, counted from 1. The lines before it are
// whole.
type LineError struct {
	Line int
	Err  error
}

func (e *LineError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Err) }

// Unwrap returns the line's defect.
func (e *LineError) Unwrap() error { return e.Err }

// EachLine calls a function with each line of a journal, without newlines, from line 1. An error of
// the function becomes a LineError. A last line without a newline was cut off when the run ended:
// it is left out, and truncated is its number of bytes.
func EachLine(text []byte, each func(number int, line []byte) error) (lines, truncated int, err error) {
	whole, truncated := CutTruncated(text)
	for i, line := range whole {
		if err := each(i+1, line); err != nil {
			return i, truncated, &LineError{i + 1, err}
		}
	}
	return len(whole), truncated, nil
}

// CutTruncated splits a journal into lines without newlines. truncated is the number of bytes of an
// incomplete last line.
func CutTruncated(text []byte) (lines [][]byte, truncated int) {
	whole := bytes.LastIndexByte(text, '\n') + 1
	if whole == 0 {
		return nil, len(text)
	}
	return bytes.Split(text[:whole-1], []byte("\n")), len(text) - whole
}
