package formats

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// stream reads a JSON object whose arrays are too large for memory. It returns the raw text of one
// value at a time, so that the largest value bounds its memory.
type stream struct {
	r    io.Reader
	buf  []byte
	at   int   // next byte in buf
	base int64 // offset of buf[0] in the file
	err  error
}

// Limits for a stream. A profiler's event has some hundred bytes. With a stack of Python frames or
// a list of shapes, it has some thousand bytes.
const (
	window   = 1 << 20
	maxValue = 16 << 20
)

var errShort = errors.New("the file ends in the middle")

func newStream(r io.Reader) *stream { return &stream{r: r, buf: make([]byte, 0, window)} }

// fill reads more input. It keeps the part of the buffer that begins at index keep.
func (s *stream) fill(keep int) bool {
	if s.err != nil {
		return false
	}
	if keep > 0 {
		n := copy(s.buf, s.buf[keep:])
		s.buf, s.at, s.base = s.buf[:n], s.at-keep, s.base+int64(keep)
	}
	if len(s.buf) == cap(s.buf) {
		s.buf = append(make([]byte, 0, 2*cap(s.buf)), s.buf...)
	}
	for range 100 { // a reader may return no bytes for a while
		n, err := s.r.Read(s.buf[len(s.buf):cap(s.buf)])
		s.buf, s.err = s.buf[:len(s.buf)+n], err
		if n > 0 || err != nil {
			return n > 0
		}
	}
	s.err = io.ErrNoProgress
	return false
}

// next returns the next byte that is not white space, or 0 at the end. It does not consume the
// byte.
func (s *stream) next() byte {
	for {
		for ; s.at < len(s.buf); s.at++ {
			switch s.buf[s.at] {
			case ' ', '\t', '\r', '\n':
			default:
				return s.buf[s.at]
			}
		}
		if !s.fill(s.at) {
			return 0
		}
	}
}

func (s *stream) expect(c byte) error {
	if got := s.next(); got != c {
		return s.wrong(fmt.Sprintf("%q instead of %q", got, c))
	}
	s.at++
	return nil
}

func (s *stream) wrong(what string) error {
	if s.err != nil && !errors.Is(s.err, io.EOF) {
		return s.err
	}
	if s.err != nil && s.at >= len(s.buf) {
		return fmt.Errorf("%w: %w", ErrDamaged, errShort)
	}
	return fmt.Errorf("%w: byte %d: %s", ErrDamaged, s.base+int64(s.at), what)
}

// value returns the text of the next value. It skips a value above maxValue and returns nil. The
// text is valid until the next call.
func (s *stream) value() ([]byte, error) {
	c := s.next()
	v := piece{s: s, start: s.base + int64(s.at)}
	switch c {
	case 0:
		return nil, s.wrong("nothing")
	case '"':
		if err := v.quoted(); err != nil {
			return nil, err
		}
	case '{', '[':
		if err := v.nested(); err != nil {
			return nil, err
		}
	default:
		if v.word(); len(v.text()) == 0 || len(v.text()) > maxName {
			return nil, s.wrong("no value")
		}
	}
	return v.text(), nil
}

// piece is a value that is being read. Its text begins at start. If large is true, the text is too
// large to keep.
type piece struct {
	s     *stream
	start int64
	large bool
}

func (v *piece) text() []byte {
	if v.large {
		return nil
	}
	return v.s.buf[v.start-v.s.base : v.s.at]
}

// Method `more` reads on in the value. It returns false at the end of the file.
func (v *piece) more() bool {
	if here := v.s.base + int64(v.s.at); here-v.start > maxValue {
		v.large, v.start = true, here
	}
	return v.s.fill(int(v.start - v.s.base))
}

// word skips a number or a literal.
func (v *piece) word() {
	s := v.s
	for {
		if n := bytes.IndexAny(s.buf[s.at:], ",]} \t\r\n"); n >= 0 {
			s.at += n
			return
		}
		s.at = len(s.buf)
		if s.base+int64(s.at)-v.start > maxName || !v.more() {
			return
		}
	}
}

// nested skips an object or an array.
func (v *piece) nested() error {
	s := v.s
	for depth := 0; ; {
		if s.at >= len(s.buf) && !v.more() {
			return s.wrong("")
		}
		switch s.buf[s.at] {
		case '"':
			if err := v.quoted(); err != nil {
				return err
			}
		case '{', '[':
			depth++
			s.at++
		case '}', ']':
			s.at++
			if depth--; depth == 0 {
				return nil
			}
		default:
			if n := bytes.IndexAny(s.buf[s.at:], `"{}[]`); n >= 0 {
				s.at += n
			} else {
				s.at = len(s.buf)
			}
		}
	}
}

// quoted skips a string.
func (v *piece) quoted() error {
	s := v.s
	for s.at++; ; {
		if n := bytes.IndexByte(s.buf[s.at:], '"'); n >= 0 {
			s.at += n + 1
			if !escaped(s.buf[v.start-s.base : s.at-1]) {
				return nil
			}
			continue
		}
		s.at = len(s.buf)
		if !v.more() {
			return s.wrong("")
		}
	}
}

// escaped reports whether a text ends with an odd number of backslashes, so that they escape the
// next byte.
func escaped(text []byte) bool {
	n := 0
	for n < len(text) && text[len(text)-1-n] == '\\' {
		n++
	}
	return n%2 == 1
}

// object calls visit for every key of an object. visit must read the value.
func (s *stream) object(visit func(key string) error) error {
	if err := s.expect('{'); err != nil {
		return err
	}
	if s.next() == '}' {
		s.at++
		return nil
	}
	for {
		if s.next() != '"' {
			return s.wrong("no key")
		}
		raw, err := s.value()
		if err != nil {
			return err
		}
		var key string
		if len(raw) > maxName || json.Unmarshal(raw, &key) != nil {
			return s.wrong("a key that is none")
		}
		if err := s.expect(':'); err != nil {
			return err
		}
		if err := visit(key); err != nil {
			return err
		}
		if more, err := s.another('}'); !more {
			return err
		}
	}
}

// array calls visit with the text of every element of an array, or nil for an element that is too
// large.
func (s *stream) array(visit func(raw []byte) error) error {
	if err := s.expect('['); err != nil {
		return err
	}
	if s.next() == ']' {
		s.at++
		return nil
	}
	for {
		raw, err := s.value()
		if err != nil {
			return err
		}
		if err := visit(raw); err != nil {
			return err
		}
		if more, err := s.another(']'); !more {
			return err
		}
	}
}

// If a comma follows, method `another` consumes it and returns true. If the end follows, the
// method consumes it and returns false.
func (s *stream) another(end byte) (bool, error) {
	switch s.next() {
	case ',':
		s.at++
		return true, nil
	case end:
		s.at++
		return false, nil
	}
	return false, s.wrong("neither a comma nor an end")
}

// maxName is the largest length of a key or a number in bytes.
const maxName = 1 << 10
