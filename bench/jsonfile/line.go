package jsonfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
)

// A line of a journal is a JSON object whose last field is the CRC-32C (RFC 3720,
// Castagnoli's polynomial) of the bytes before that field, as eight lower-case
// hexadecimal digits. The CRC finds every damage of up to 32 neighbouring bits, and
// all but one in 2^32 of any other.
const (
	sumHead = `,"crc32c":"`
	sumTail = `"}`
	sumSize = len(sumHead) + 8 + len(sumTail)
)

// ErrDamaged is wrapped by the error of a line that is not as it was written.
var ErrDamaged = errors.New("the line is damaged")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func sum(object []byte) string {
	return fmt.Sprintf("%s%08x%s", sumHead, crc32.Checksum(object, castagnoli), sumTail)
}

// Line is a document, which must be an object that is not empty, as a line with its
// checksum and a newline.
func Line(document any) ([]byte, error) {
	text, err := json.Marshal(document)
	if err != nil {
		return nil, err
	}
	body, ok := bytes.CutSuffix(text, []byte("}"))
	if !ok || len(body) < 2 {
		return nil, fmt.Errorf("a line of %.20s: it must be an object with a field", text)
	}
	return append(append(body, sum(body)...), '\n'), nil
}

// DecodeLine reads into into a line that Line wrote, without its newline. A line
// whose checksum does not fit is refused, and so is a field that into does not have.
func DecodeLine(line []byte, into any) error {
	object, err := Object(line)
	if err != nil {
		return err
	}
	return Strict(object, into)
}

// Object is the document of a line that Line wrote, without its newline and its checksum,
// which must fit.
func Object(line []byte) ([]byte, error) {
	at := len(line) - sumSize
	if at < 2 || !bytes.HasPrefix(line[at:], []byte(sumHead)) {
		return nil, fmt.Errorf("%w: it does not end in its checksum, crc32c, which only journals of earlier versions of zbench lack", ErrDamaged)
	}
	body := line[:at]
	if want := sum(body); string(line[at:]) != want {
		return nil, fmt.Errorf("%w: its checksum is %s, that of its text %s", ErrDamaged, digits(string(line[at:])), digits(want))
	}
	return append(line[:at:at], '}'), nil
}

// digits are those of a checksum.
func digits(sum string) string { return sum[len(sumHead) : len(sumHead)+8] }
