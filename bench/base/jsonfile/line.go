package jsonfile

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
)

// A line of a journal is a JSON object with two fields at its end. The first is run, the id of the
// writing run as 32 lower-case hexadecimal digits, so a whole line of another run is recognised.
// Journals of earlier versions lack it. The last is the CRC-32C (RFC 3720, Castagnoli's polynomial)
// of the bytes before that field, as eight lower-case hexadecimal digits. The CRC finds every
// damage of up to 32 neighbouring bits, and all but one in 2^32 of any other.
const (
	runHead = `,"run":"`
	runTail = `"`
	runSize = len(runHead) + RunDigits + len(runTail)
	sumHead = `,"crc32c":"`
	sumTail = `"}`
	sumSize = len(sumHead) + 8 + len(sumTail)
)

// RunDigits is the length of a run's id.
const RunDigits = 32

// ErrDamaged is wrapped by the error of a changed line, ErrForeign by that of a line of another
// run.
var (
	ErrDamaged = errors.New("the line is damaged")
	ErrForeign = errors.New("the line is of another run")
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func sum(object []byte) string {
	return fmt.Sprintf("%s%08x%s", sumHead, crc32.Checksum(object, castagnoli), sumTail)
}

// Line returns a document, a non-empty object, as a line of a run's journal with its checksum and a
// newline. It omits an empty run.
func Line(run string, document any) ([]byte, error) {
	text, err := json.Marshal(document)
	if err != nil {
		return nil, err
	}
	body, ok := bytes.CutSuffix(text, []byte("}"))
	switch {
	case !ok || len(body) < 2:
		return nil, fmt.Errorf("a line of %.20s: it must be an object with a field", text)
	case len(run) == RunDigits:
		body = append(body, runHead+run+runTail...)
	case run != "":
		return nil, fmt.Errorf("the run's id %.40q must have %d digits", run, RunDigits)
	}
	return append(append(body, sum(body)...), '\n'), nil
}

// DecodeFirst decodes the first line of a journal, without its newline, into into and returns its
// run. It refuses a wrong checksum and an unknown field.
func DecodeFirst(line []byte, into any) (run string, err error) {
	object, run, err := Object(line)
	if err != nil {
		return "", err
	}
	return run, Strict(object, into)
}

// DecodeLine reads a later line in the same way. It refuses a line of another run.
func DecodeLine(line []byte, run string, into any) error {
	object, of, err := Object(line)
	switch {
	case err != nil:
		return err
	case of != run:
		return fmt.Errorf("%w: its run is %s, that of the first line %s", ErrForeign, cmp.Or(of, "unknown"), cmp.Or(run, "unknown"))
	}
	return Strict(object, into)
}

// Object returns the document of a line written by Line, without its newline, and its run. The
// line's checksum must match.
func Object(line []byte) (object []byte, run string, err error) {
	at := len(line) - sumSize
	if at < 2 || !bytes.HasPrefix(line[at:], []byte(sumHead)) {
		return nil, "", fmt.Errorf("%w: it does not end in its checksum, crc32c, which only journals of earlier versions of zbench lack", ErrDamaged)
	}
	body := line[:at]
	if want := sum(body); string(line[at:]) != want {
		return nil, "", fmt.Errorf("%w: its checksum is %s, that of its text %s", ErrDamaged, digits(string(line[at:])), digits(want))
	}
	if from := at - runSize; from > 1 && bytes.HasPrefix(body[from:], []byte(runHead)) {
		run, at = string(body[from+len(runHead):at-len(runTail)]), from
	}
	return append(line[:at:at], '}'), run, nil
}

// digits is the number of digits of a checksum.
func digits(sum string) string { return sum[len(sumHead) : len(sumHead)+8] }
