package trainer

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// maxText bounds a list in text, maxHeader the header of a safetensors file (the
// format's own bound).
const (
	maxText   = 64 << 20
	maxHeader = 100_000_000
)

// Open opens a file that lies beside the one that is read.
type Open func(name string) (io.ReadCloser, error)

// Read reads a parameter list: CSV, JSON, a safetensors file, or a safetensors
// index, whose shards are opened beside it; of those only the headers are read.
// Name is the file's, for messages. Every error of a list in text names the line.
//
// CSV has a tensor a line, name and number of elements or shape (4096x1024), in
// forward order, and True or False behind them where it tells whether it is trained; a
// header may name the columns name, elements (or numel), shape, expert, requires_grad.
// Lines that begin with # are comments. JSON is a list of objects with name and elements,
// numel or shape, or an object of names.
func ReadModel(name string, r io.Reader, open Open) (*Model, error) {
	m := &Model{Name: name, Source: "the file " + name, Listed: true}
	b := bufio.NewReader(r)
	var err error
	if size, is := safetensors(b); is {
		err = m.shards(name, []shard{{name: name, size: size, r: b}})
	} else {
		err = m.text(name, b, open)
	}
	if err != nil {
		return nil, err
	}
	m.noteFrozen()
	if m.heldByExperts() == 0 {
		m.ActiveParams = m.work()
	}
	return m, nil
}

// text reads CSV or JSON.
func (m *Model) text(name string, r io.Reader, open Open) error {
	text, err := io.ReadAll(io.LimitReader(r, maxText+1))
	if err != nil {
		return fmt.Errorf("%s: read: %w", name, err)
	}
	if len(text) > maxText {
		return fmt.Errorf("%w: %s is larger than %d MiB", ErrParams, name, maxText>>20)
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	switch trimmed := bytes.TrimSpace(text); {
	case len(trimmed) == 0:
		return fmt.Errorf("%w: %s is empty", ErrParams, name)
	case trimmed[0] != '{' && trimmed[0] != '[':
		m.Params, err = fromCSV(name, text)
	case isIndex(trimmed):
		return m.index(name, trimmed, open)
	default:
		m.Params, err = fromJSON(name, text)
	}
	return err
}

// safetensors tells whether the file begins as that format: the length of a
// header as a 64-bit little-endian number, then an object. No text does, because
// eight letters make a length beyond all bounds.
func safetensors(b *bufio.Reader) (size int64, is bool) {
	head, err := b.Peek(9)
	if err != nil {
		return 0, false
	}
	n := binary.LittleEndian.Uint64(head)
	return int64(min(n, maxHeader+1)), n >= 2 && n <= maxHeader && head[8] == '{'
}

var errShort = errors.New("the file ends within its header")

// header reads the JSON header behind the length.
func header(r io.Reader, size int64) ([]byte, error) {
	text := make([]byte, 8+size)
	if _, err := io.ReadFull(r, text); err != nil {
		return nil, errShort
	}
	return text[8:], nil
}
