package peers

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"

	"zbench/bench/base/envelope"
)

// maxLine is the largest length of a line in bytes, with its newline. Topology dumps of NCCL_DEBUG
// reach tens of kilobytes.
const maxLine = 1 << 20

// bounds limit how much is read, because an input such as a pipe or a device may not end.
type bounds struct {
	bytes int64
	lines int
}

// whole has the limits for a log. NCCL_DEBUG=INFO prints less for all ranks of a large cluster.
var whole = bounds{bytes: 512 << 20, lines: 1 << 23}

// line is a line after cleaning.
type line struct {
	// Field `no` is the line number, from 1.
	no int
	envelope.Line
	// cut is true for a last line without a newline.
	cut bool
}

// summary describes the bytes that were read.
type summary struct {
	sha256 string
	lines  int
}

// eachLine calls f with every cleaned line and stops at its first error.
func (b bounds) eachLine(r io.Reader, f func(line) error) (summary, error) {
	over := fmt.Errorf("%w: more than %d bytes; pass the tables alone, without NCCL_DEBUG's lines", ErrTooLarge, b.bytes)
	br, sum, hash := bufio.NewReaderSize(Bounded(r, b.bytes, over), maxLine), summary{}, sha256.New()
	head, _ := br.Peek(maxLine) // the loop below returns this error
	c, before := envelope.Cleaner{Names: beforeNames}, beforeNames
	if !bytes.Contains(head, []byte("algbw")) {
		before = beforeRow
	}
	c.Preview(string(head), before)
	for {
		raw, err := br.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			return summary{}, fmt.Errorf("%w: line %d is longer than %d bytes; if this is a log, remove the line and import again", ErrTooLarge, sum.lines+1, maxLine)
		case err != nil && !errors.Is(err, io.EOF):
			return summary{}, fmt.Errorf("reading line %d: %w", sum.lines+1, err)
		case len(raw) == 0:
			sum.sha256 = hex.EncodeToString(hash.Sum(nil))
			return sum, nil
		}
		hash.Write(raw)
		if sum.lines++; sum.lines > b.lines {
			return summary{}, fmt.Errorf("%w: more than %d lines; pass the tables alone, without NCCL_DEBUG's lines", ErrTooLarge, b.lines)
		}
		text, ended := strings.CutSuffix(string(raw), "\n")
		if err := f(line{no: sum.lines, Line: c.Clean(text), cut: !ended}); err != nil {
			return summary{}, err
		}
	}
}

// Bounded returns a reader that passes on at most a number of bytes. If there are more bytes, it
// returns the given error.
func Bounded(from io.Reader, most int64, over error) io.Reader {
	return &bounded{from: from, left: most, over: over}
}

type bounded struct {
	from io.Reader
	left int64
	over error
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.from.Read(p[:min(len(p), 64<<10)]) // read little at a time, because the caller may stop after few lines
	if b.left -= int64(n); b.left < 0 {
		return 0, b.over
	}
	return n, err //nolint:wrapcheck // a reader returns the error of its source, which usually is io.EOF
}
