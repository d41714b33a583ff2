package jsonfile

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
)

// A line of a journal is a JSON object with two additional fields at its end. The first, run, is
// the id of the writing run as 32 lower-case hexadecimal digits. It reveals a whole line of another
// run. Journals of earlier versions lack this field. The second is the CRC-32C (RFC 3720,
// Castagnoli's polynomial) of all bytes before it, as eight lower-case hexadecimal digits. The CRC
// finds every damage of up to 32 neighbouring bits. It misses one in 2^32 of all other damages.
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

// ErrDamaged is wrapped by the error about a changed line. ErrForeign is wrapped by the error about
// a line of another run.
var (
	ErrDamaged = errors.New("the line is damaged")
	ErrForeign = errors.New("the line is of another run")
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func sum(object []byte) string {
	return fmt.Sprintf("%s%08x%s", sumHead, crc32.Checksum(object, castagnoli), sumTail)
}

// Line returns a non-empty JSON object as a journal line with the run's id, a checksum and a
// newline. If run is empty, the line has no id.
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

// Lines returns a journal: its head, and a line for each entry.
func Lines[E any](run string, head any, entries []E) ([]byte, error) {
	text, err := Line(run, head)
	for _, e := range entries {
		line, failed := Line(run, e)
		text, err = append(text, line...), errors.Join(err, failed)
	}
	return text, err
}

// ReadLines reads a journal: the first line into head, and each later line as an entry. first
// checks the decoded head. each checks an entry by its number from 0; a nil each accepts all. A
// last line without a newline was being written when the run ended; it is left out. Any other
// damage is a LineError.
func ReadLines[E any](text []byte, head any, first func() error, each func(i int, e E) error) (run string, entries []E, err error) {
	lines, _, err := EachLine(text, func(number int, line []byte) (err error) {
		if number == 1 {
			if run, err = DecodeFirst(line, head); err == nil {
				err = first()
			}
			return err
		}
		var e E
		if err = DecodeLine(line, run, &e); err == nil && each != nil {
			err = each(len(entries), e)
		}
		entries = append(entries, e)
		return err
	})
	if err == nil && lines == 0 {
		err = errors.New("it is empty")
	}
	return run, entries, err
}

// CheckVersion returns an error unless a journal's version is the one that this zbench reads.
func CheckVersion(is, reads string) error {
	if is != reads {
		return fmt.Errorf("its version is %q, this zbench reads %q", is, reads)
	}
	return nil
}

// DecodeFirst decodes a journal's first line, without its newline, and returns the run's id. It
// refuses a wrong checksum and an unknown field.
func DecodeFirst(line []byte, into any) (run string, err error) {
	object, run, err := Object(line)
	if err != nil {
		return "", err
	}
	return run, Strict(object, into)
}

// DecodeLine decodes a later line like DecodeFirst. It also refuses a line of another run.
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

// Object checks the checksum of a line without its newline, and returns the document and the run's
// id.
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

// digits returns the digits of a checksum field.
func digits(sum string) string { return sum[len(sumHead) : len(sumHead)+8] }
