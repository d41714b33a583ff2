package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Notes are folded at a terminal's width; off a terminal a note is the line that it was.
func TestNotesFitTheTerminal(t *testing.T) {
	text := "SIMULATED: a real cluster would spend 2.19 min of measured time.\nWrote run\n"
	for _, tty := range []bool{false, true} {
		var b bytes.Buffer
		s := State{Stderr: Stream{Writer: &b, IsTTY: tty, Width: 40}}
		s.note(false, "%s", text)
		if !tty {
			require.Equal(t, text, b.String())
			continue
		}
		require.True(t, strings.HasSuffix(b.String(), "\nWrote run\n"))
		require.Equal(t, strings.Fields(text), strings.Fields(b.String()))
		for line := range strings.Lines(b.String()) {
			require.LessOrEqual(t, len(line), 41)
		}
	}
}
