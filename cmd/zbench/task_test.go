package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/internal/native"
)

// On a terminal a task is one line that is rewritten, cut to the width and gone at
// the end; elsewhere it is a line, and its end is none. Names of files are escaped.
func TestTasksOnStandardError(t *testing.T) {
	for _, one := range []struct {
		tty   bool
		width int
		want  string
	}{
		{false, 0, "compiling verify.hip for gfx942 (2 of 4)\nopening a\\u001bb\n"},
		{true, 0, "\r\x1b[Kcompiling verify.hip for gfx942 (2 of 4)\r\x1b[K\r\x1b[Kopening a\\u001bb\r\x1b[K"},
		{true, 12, "\r\x1b[Kcompiling v\r\x1b[K\r\x1b[Kopening a\\u\r\x1b[K"},
	} {
		var out bytes.Buffer
		s := State{Stderr: Stream{Writer: &out, IsTTY: one.tty, Width: one.width}.escaping(func() {})}
		for _, task := range []native.Task{{Text: "compiling verify.hip for gfx942", Number: 2, Of: 4}, {}, {Text: "opening a\x1bb"}, {}} {
			s.task(task)
		}
		require.Equal(t, one.want, out.String())
	}
}
