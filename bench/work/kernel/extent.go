package kernel

// Extent is the range from the smallest to the largest of N values.
type Extent struct {
	N      int
	Lo, Hi float64
}

// Add includes a value.
func (s *Extent) Add(v float64) {
	if s.N == 0 {
		s.Lo, s.Hi = v, v
	}
	s.N++
	s.Lo, s.Hi = min(s.Lo, v), max(s.Hi, v)
}

// Text prints both ends, or only one if they print alike.
func (s Extent) Text(show func(float64) string) string {
	if show(s.Lo) == show(s.Hi) {
		return show(s.Lo)
	}
	return show(s.Lo) + " to " + show(s.Hi)
}
