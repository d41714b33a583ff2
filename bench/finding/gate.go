package finding

import "slices"

// Compared is what a detector compared: the rates of parts that should be equally fast. It is handed to
// the last gate before OK, which trusts no detector's own conclusion.
type Compared[S any] struct {
	// Class names the parts, as in "xGMI links".
	Class string
	// Limit is the share of the peers' rate, 0 to 1, whose loss would be named. The OK prints it, and it
	// covers the noise of as many figures as there are.
	Limit float64
	// Reference is the rate of a healthy part where it is known; 0 where the peers tell it.
	Reference float64
	// Figures has the rate of each part.
	Figures []Figure[S]
}

// Figure is a part with its rate, in any unit: more is better.
type Figure[S any] struct {
	Subject S
	Rate    float64
	// Lost is the share of its peers' rate that the part lacks. Behind sets it.
	Lost float64
}

// leastFigures make a comparison: a part alone would be its own reference.
const leastFigures = 2

// Checked reports whether there was something to compare with.
func (c Compared[S]) Checked() bool {
	return len(c.Figures) >= leastFigures || c.Reference > 0 && len(c.Figures) > 0
}

// Behind returns the parts that have lost more than the limit against the reference, else against the
// median of their peers, or against the best of fewer than four. They must not pass. Of an even number of peers the faster middle
// is the reference: if half of the parts are slow, that half is behind.
func (c Compared[S]) Behind() []Figure[S] {
	n, reference := len(c.Figures), c.Reference
	if !c.Checked() {
		return nil
	}
	if reference == 0 {
		rates := make([]float64, 0, n)
		for _, f := range c.Figures {
			rates = append(rates, f.Rate)
		}
		slices.Sort(rates)
		reference = rates[(n-1)/2+1] // the middle of the peers of a part in the slower half; of two or three parts the best
	}
	var out []Figure[S]
	for _, f := range c.Figures {
		if f.Lost = 1 - f.Rate/reference; f.Lost > c.Limit {
			out = append(out, f)
		}
	}
	return out
}

// Gate is the last step before OK. doubts has, per class, the parts that are behind although no finding
// and no question accounts for them: the document is then unclear and they are candidates. checked
// reports whether all classes that the OK names, and at least one, had something to compare with.
func Gate[S any](compared []Compared[S], accounted func(S) bool) (doubts []Compared[S], checked bool) {
	checked = len(compared) > 0
	for _, c := range compared {
		checked = checked && c.Checked()
		c.Figures = slices.DeleteFunc(c.Behind(), func(f Figure[S]) bool { return accounted(f.Subject) })
		if len(c.Figures) > 0 {
			doubts = append(doubts, c)
		}
	}
	return doubts, checked
}
