package finding

import "slices"

// Compared holds the rates of parts that should be equally fast, as a detector compared them. The
// last gate before OK judges them without trusting the detector's own conclusion.
type Compared[S any] struct {
	// Class names the parts, as in "xGMI links".
	Class string
	// Limit is the smallest loss that would be named, as a share of the peers' rate from 0 to 1.
	// The OK prints it; it covers the noise of this number of figures.
	Limit float64
	// Reference is the rate of a healthy part if known; 0 if the peers define it.
	Reference float64
	// Figures has the rate of each part.
	Figures []Figure[S]
}

// Figure is a part with its rate, in any unit: more is better.
type Figure[S any] struct {
	Subject S
	Rate    float64
	// Lost is the part's loss as a share of its peers' rate. Behind sets it.
	Lost float64
}

// leastFigures is the minimum of a comparison: a single part would be its own reference.
const leastFigures = 2

// Checked reports whether the parts have a reference.
func (c Compared[S]) Checked() bool {
	return len(c.Figures) >= leastFigures || c.Reference > 0 && len(c.Figures) > 0
}

// Behind returns the parts that lost more than the limit against the reference, else against the
// median of their peers, or against the best of fewer than four. They must not pass. Of an even
// number of peers the faster middle is the reference: if half of the parts are slow, that half is
// behind.
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
		reference = rates[(n-1)/2+1] // the middle of the peers for a part in the slower half; the best of two or three parts
	}
	var out []Figure[S]
	for _, f := range c.Figures {
		if f.Lost = 1 - f.Rate/reference; f.Lost > c.Limit {
			out = append(out, f)
		}
	}
	return out
}

// Gate is the last step before OK. doubts has, per class, the parts that are behind although no
// finding and no question explains them; the document is then unclear with these candidates.
// checked reports whether all classes that the OK names, and at least one, could be compared.
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
