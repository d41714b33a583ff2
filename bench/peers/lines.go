package peers

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
)

// Bounds on an input that may have no end: a pipe, a device.
const (
	// maxLine is the longest line read, in bytes. NCCL_DEBUG topology dumps reach
	// tens of kilobytes.
	maxLine = 1 << 20
)

// bounds are how much of an input is read.
type bounds struct {
	bytes int64
	lines int
}

// whole is more than the NCCL_DEBUG=INFO of all ranks of a large cluster.
var whole = bounds{bytes: 512 << 20, lines: 1 << 23}

// line is one cleaned line.
type line struct {
	// no counts from 1.
	no   int
	text string
	// stream is the launcher's label ("1,0", "3"), by which interleaved
	// processes can be told apart; empty without one.
	stream string
	// cut is true for a last line without a line end.
	cut bool
	// rejoined is true for a line that the launcher's labels had cut in pieces,
	// broken for a piece of one, split where a cut was within a word.
	rejoined, broken, split bool
}

// summary describes the bytes that were read.
type summary struct {
	sha256 string
	lines  int
	// head is the beginning, by which other formats are told.
	head []byte
}

// eachLine hands every cleaned line to f and stops at f's first error.
func (b bounds) eachLine(r io.Reader, f func(line) error) (summary, error) {
	br := bufio.NewReaderSize(&bounded{from: r, most: b.bytes}, 64<<10)
	// Peek's error is met again by the scanner below.
	head, _ := br.Peek(4096)
	if err := checkEncoding(head); err != nil {
		return summary{}, err
	}
	sum := summary{head: bytes.Clone(head)}
	hash, tail := sha256.New(), &lastByte{}
	sc := bufio.NewScanner(io.TeeReader(br, io.MultiWriter(hash, tail)))
	sc.Buffer(make([]byte, 0, 64<<10), maxLine)
	pieces := labelled{emit: f}
	rewritten, previous := rewriterOf(head), ""
	give := func(no int, raw string, last, cut bool) error {
		for _, text := range rewritten(raw, last) {
			if err := pieces.line(no, text, cut); err != nil {
				return err
			}
		}
		return nil
	}
	for sc.Scan() {
		if sum.lines++; sum.lines > b.lines {
			return summary{}, fmt.Errorf("%w: more than %d lines; pass the tables alone, without NCCL_DEBUG's lines", ErrTooLarge, b.lines)
		}
		if sum.lines > 1 {
			if err := give(sum.lines-1, previous, false, false); err != nil {
				return summary{}, err
			}
		}
		previous = sc.Text()
	}
	if err := sc.Err(); errors.Is(err, bufio.ErrTooLong) {
		return summary{}, fmt.Errorf("%w: line %d is longer than %d bytes; if this is a log, remove the line and import again", ErrTooLarge, sum.lines+1, maxLine)
	} else if err != nil {
		return summary{}, fmt.Errorf("reading line %d: %w", sum.lines+1, err)
	}
	if sum.lines > 0 {
		if err := give(sum.lines, previous, true, tail.b != '\n'); err != nil {
			return summary{}, err
		}
	}
	sum.sha256 = hex.EncodeToString(hash.Sum(nil))
	return sum, pieces.end()
}

// bounded is a reader that fails after so many bytes.
type bounded struct {
	from    io.Reader
	n, most int64
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.from.Read(p)
	if b.n += int64(n); b.n > b.most {
		return 0, fmt.Errorf("%w: more than %d bytes; pass the tables alone, without NCCL_DEBUG's lines", ErrTooLarge, b.most)
	}
	return n, err //nolint:wrapcheck // a reader hands on its source's error, io.EOF above all
}

// lastByte remembers the last byte written to it.
type lastByte struct{ b byte }

func (l *lastByte) Write(p []byte) (int, error) {
	if len(p) > 0 {
		l.b = p[len(p)-1]
	}
	return len(p), nil
}
