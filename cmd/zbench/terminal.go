package main

// Bounds of the width of text for people. defaultWidth is used if the width is unknown, as
// of a pipe.
const (
	minWidth     = 40
	defaultWidth = 80
)

// columns is the width that text on the stream keeps to.
func (s Stream) columns() int {
	if s.Width <= 0 {
		return defaultWidth
	}
	return max(s.Width, minWidth)
}

// coloured reports whether a stream takes colour: a terminal that has it, unless the
// user wants none.
func (s State) coloured(to Stream) bool {
	return to.IsTTY && s.Getenv("NO_COLOR") == "" && s.Getenv("TERM") != "dumb"
}
