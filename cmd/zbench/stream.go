package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"syscall"
	"unicode/utf8"

	"zbench/bench/base/plain"
	"zbench/internal/native"
)

// Stream is an output stream with its properties. Main wraps both streams: all text is escaped, and
// it is not an error if a reader closes its end.
type Stream struct {
	io.Writer
	IsTTY bool
	// Width is the width of the terminal in columns; 0 if unknown.
	Width int
	// terminal writes without escaping; nil if there is no such writer.
	terminal io.Writer
}

// unescaped returns a writer that does not escape, for zbench's own control sequences and for text
// that is already escaped.
func (s Stream) unescaped() io.Writer {
	if s.terminal == nil {
		return s.Writer
	}
	return s.terminal
}

// escaping returns a stream that escapes its text. When the reader closes its end, left is called
// once, and later writes are dropped.
func (s Stream) escaping(left func()) Stream {
	pipe := &pipe{to: s.Writer, left: left}
	s.Writer, s.terminal = &escaper{to: pipe}, pipe
	return s
}

// clearLine moves to the beginning of the terminal's line and clears the line.
const clearLine = "\r\x1b[K"

// pipe is an output whose reader may close it early, as head does.
type pipe struct {
	mu     sync.Mutex
	to     io.Writer
	left   func()
	closed bool
}

func (p *pipe) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return len(text), nil
	}
	n, err := p.to.Write(text)
	if errors.Is(err, syscall.EPIPE) {
		p.closed = true
		p.left()
		return len(text), nil
	}
	return n, err
}

// escaper escapes text. If a write ends in an incomplete character, its bytes are kept until the
// next write.
type escaper struct {
	mu   sync.Mutex
	to   io.Writer
	half []byte
}

func (s *escaper) Write(text []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := slices.Concat(s.half, text)
	whole := len(all) - cut(all)
	s.half = append([]byte(nil), all[whole:]...)
	if _, err := io.WriteString(s.to, plain.Text(string(all[:whole]))); err != nil {
		return 0, err
	}
	return len(text), nil
}

// cut returns the number of bytes at the end that may begin an incomplete character.
func cut(text []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if tail := text[len(text)-n:]; utf8.RuneStart(tail[0]) {
			if utf8.FullRune(tail) {
				return 0
			}
			return n
		}
	}
	return 0
}

// note writes text that is neither an error nor a warning to standard error, unless quiet is true.
// It breaks lines at the width of the terminal.
func (s State) note(quiet bool, format string, args ...any) {
	if quiet {
		return
	}
	text := fmt.Sprintf(format, args...)
	if s.Stderr.IsTTY {
		var b strings.Builder
		for line := range strings.Lines(text) {
			bare := strings.TrimSuffix(line, "\n")
			b.WriteString(strings.Join(plain.Fold(bare, s.Stderr.columns(), "", "  "), "\n") + line[len(bare):])
		}
		text = b.String()
	}
	fmt.Fprint(s.Stderr, text)
}

// Limits of the width of text for people. defaultWidth is used if the width is unknown, for example
// in a pipe.
const (
	minWidth     = 40
	defaultWidth = 80
)

// columns returns the width at which text on the stream is folded.
func (s Stream) columns() int {
	if s.Width <= 0 {
		return defaultWidth
	}
	return max(s.Width, minWidth)
}

// coloured reports whether text on a stream may have colours. Colours need a terminal that supports
// them, and the user can turn them off.
func (s State) coloured(to Stream) bool {
	return to.IsTTY && s.Getenv("NO_COLOR") == "" && s.Getenv("TERM") != "dumb"
}

// rewrite replaces the line of progress on a terminal. Empty text clears the line.
func (s State) rewrite(text string) {
	if s.Stderr.IsTTY {
		_, _ = io.WriteString(s.Stderr.unescaped(), clearLine+text) // ignore errors: they must not stop the measurement
	}
}

// task reports a step before the measurement that takes seconds, on standard error. A terminal
// shows one line, which is rewritten and cleared at the end. Other outputs get one line per task.
func (s State) task(now native.Task) {
	text := plain.Text(now.String())
	switch {
	case s.Stderr.IsTTY:
		if runes := []rune(text); s.Stderr.Width > 0 && len(runes) >= s.Stderr.Width {
			text = string(runes[:s.Stderr.Width-1])
		}
		s.rewrite(text)
	case text != "":
		fmt.Fprintln(s.Stderr, text)
	}
}
