package main

import (
	"fmt"
	"io"

	"zbench/bench/plain"
	"zbench/internal/native"
)

// task shows on standard error steps that take seconds before the measurement: on a
// terminal one line that is rewritten and cleared at the end, elsewhere one line per task.
func (s State) task(now native.Task) {
	text := plain.Text(now.String())
	switch {
	case s.Stderr.IsTTY:
		if runes := []rune(text); s.Stderr.Width > 0 && len(runes) >= s.Stderr.Width {
			text = string(runes[:s.Stderr.Width-1])
		}
		_, _ = io.WriteString(s.Stderr.unescaped(), clearLine+text) // progress that cannot be shown stops nothing
	case text != "":
		fmt.Fprintln(s.Stderr, text)
	}
}
