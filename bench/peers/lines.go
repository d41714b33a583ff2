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
)

// maxLine is the longest line that is read, in bytes, its end included. NCCL_DEBUG topology dumps reach
// tens of kilobytes.
const maxLine = 1 << 20

// bounds are how much is read of an input, which may have no end: a pipe, a device.
type bounds struct {
	bytes int64
	lines int
}

// whole is more than all ranks of a large cluster write with NCCL_DEBUG=INFO.
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
	// head is the beginning of the input, for otherFormat.
	head []byte
	// cut is where an input of another form breaks off; nil of one that is whole.
	cut error
}

// eachLine hands every cleaned line to f and stops at f's first error.
func (b bounds) eachLine(r io.Reader, f func(line) error) (summary, error) {
	br := bufio.NewReaderSize(&bounded{from: r, most: b.bytes}, maxLine)
	head, _ := br.Peek(4096) // an error comes again below
	if err := checkEncoding(head); err != nil {
		return summary{}, err
	}
	sum, hash := summary{head: bytes.Clone(head)}, sha256.New()
	pieces := labelled{emit: f}
	other := formOf(head)
	if other.whole != nil {
		return sum.rewritten(br, other.whole, pieces)
	}
	for rewrite := other.lines(); ; {
		raw, err := br.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			return summary{}, fmt.Errorf("%w: line %d is longer than %d bytes; if this is a log, remove the line and import again", ErrTooLarge, sum.lines+1, maxLine)
		case err != nil && !errors.Is(err, io.EOF):
			return summary{}, fmt.Errorf("reading line %d: %w", sum.lines+1, err)
		case len(raw) == 0:
			sum.sha256 = hex.EncodeToString(hash.Sum(nil))
			return sum, pieces.end()
		}
		hash.Write(raw)
		if sum.lines++; sum.lines > b.lines {
			return summary{}, fmt.Errorf("%w: more than %d lines; pass the tables alone, without NCCL_DEBUG's lines", ErrTooLarge, b.lines)
		}
		text, ended := strings.CutSuffix(string(raw), "\n")
		_, end := br.Peek(1)
		for _, one := range rewrite(text, end != nil) {
			if err := pieces.line(sum.lines, one, !ended); err != nil {
				return summary{}, err
			}
		}
	}
}

// rewritten hands on the text that an input of another form stands for. An input that breaks off is
// taken as far as it goes.
func (sum summary) rewritten(r io.Reader, text func(io.Reader) ([]byte, error), pieces labelled) (summary, error) {
	hash, ends := sha256.New(), &newlines{}
	r = io.TeeReader(r, io.MultiWriter(hash, ends))
	rows, err := text(r)
	if sum.cut = err; err != nil && len(rows) == 0 {
		return summary{}, err
	}
	if _, err := io.Copy(io.Discard, r); err != nil {
		return summary{}, err //nolint:wrapcheck // bounded's, which says what to do
	}
	no := 0
	for one := range strings.Lines(string(rows)) {
		no++
		if err := pieces.line(no, strings.TrimSuffix(one, "\n"), false); err != nil {
			return summary{}, err
		}
	}
	sum.lines, sum.sha256 = ends.lines(), hex.EncodeToString(hash.Sum(nil))
	return sum, pieces.end()
}

// newlines counts the lines written to it, a last one without an end included.
type newlines struct {
	n    int
	last byte
}

func (l *newlines) Write(p []byte) (int, error) {
	if len(p) > 0 {
		l.n, l.last = l.n+bytes.Count(p, []byte("\n")), p[len(p)-1]
	}
	return len(p), nil
}

func (l *newlines) lines() int {
	if l.last == '\n' {
		return l.n
	}
	return l.n + 1
}

// bounded is a reader that fails after so many bytes.
type bounded struct {
	from    io.Reader
	n, most int64
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.from.Read(p[:min(len(p), 64<<10)]) // the caller may stop after few lines
	if b.n += int64(n); b.n > b.most {
		return 0, fmt.Errorf("%w: more than %d bytes; pass the tables alone, without NCCL_DEBUG's lines", ErrTooLarge, b.most)
	}
	return n, err //nolint:wrapcheck // a reader hands on its source's error, io.EOF above all
}
