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

// Stream is an output with its properties. Main wraps both streams: all written text is escaped,
// and it is no error if a reader closes its end.
type Stream struct {
	io.Writer
	IsTTY bool
	// Width is the terminal's width in columns, 0 if unknown.
	Width int
	// terminal is the output without escaping; nil if there is none.
	terminal io.Writer
}

// unescaped returns the writer for zbench's own control sequences and for escaped text.
func (s Stream) unescaped() io.Writer {
	if s.terminal == nil {
		return s.Writer
	}
	return s.terminal
}

// escaping returns the stream with its text escaped. left is called once when the reader
// closes its end; later writes are dropped.
func (s Stream) escaping(left func()) Stream {
	pipe := &pipe{to: s.Writer, left: left}
	s.Writer, s.terminal = &escaper{to: pipe}, pipe
	return s
}

// clearLine goes back to the beginning of a terminal's line and clears it.
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

// escaper escapes text. It keeps an incomplete character at the end of a write until the
// next one.
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

// cut is the number of bytes at the end that may start an incomplete character.
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

// note writes text that is neither an error nor a warning to standard error, unless quiet. Its
// lines are folded at a terminal's width.
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

// Bounds of the width of text for people. defaultWidth is used if the width is unknown, for example
// for a pipe.
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

// coloured reports whether text on a stream may have colour: on a terminal that supports it, unless
// the user has disabled it.
func (s State) coloured(to Stream) bool {
	return to.IsTTY && s.Getenv("NO_COLOR") == "" && s.Getenv("TERM") != "dumb"
}

// rewrite replaces the line of progress on a terminal; an empty text clears it.
func (s State) rewrite(text string) {
	if s.Stderr.IsTTY {
		_, _ = io.WriteString(s.Stderr.unescaped(), clearLine+text) // a failure to show progress stops nothing
	}
}

// task reports steps that take seconds before the measurement, on standard error: on a terminal in
// one line that is rewritten and cleared at the end, elsewhere in one line per task.
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
