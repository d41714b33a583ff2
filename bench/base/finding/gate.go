package finding

import "slices"

// Compared holds the rates of parts that should be equally fast, as a detector compared them. The
// last gate before an OK judges these rates again, without the detector's own conclusion.
type Compared[S any] struct {
	// Class names the parts, as in "xGMI links".
	Class string
	// Limit is the smallest loss that would be reported, as a share of the peers' rate from 0 to 1.
	// The OK prints the limit. It is large enough for the noise of this number of figures.
	Limit float64
	// Reference is the known rate of a healthy part; 0 if the rates of the peers are the reference.
	Reference float64
	// Figures has the rate of each part.
	Figures []Figure[S]
}

// Figure is the rate of one part, in any unit in which more is better.
type Figure[S any] struct {
	Subject S
	Rate    float64
	// Lost is the loss as a share of the peers' rate. Behind sets it.
	Lost float64
}

// leastFigures is the smallest number of parts to compare: a single part would be its own
// reference.
const leastFigures = 2

// Checked reports whether the parts can be compared.
func (c Compared[S]) Checked() bool {
	return len(c.Figures) >= leastFigures || c.Reference > 0 && len(c.Figures) > 0
}

// Behind returns the parts that lost more than the limit. They must not pass. The loss is measured
// against the reference. Without a reference it is measured against the median of the peers, or
// against the best of fewer than four peers. With an even number of peers the reference is the
// faster of the two middle rates, so that a slow half is behind.
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
		reference = rates[(n-1)/2+1] // for a part in the slower half this is the median of its peers; among two or three parts it is the best rate
	}
	var out []Figure[S]
	for _, f := range c.Figures {
		if f.Lost = 1 - f.Rate/reference; f.Lost > c.Limit {
			out = append(out, f)
		}
	}
	return out
}

// Gate is the last step before OK. doubts holds, per class, the parts that are behind although no
// finding and no question explains them. The document is then unclear, with these parts as
// candidates. checked reports whether there is at least one class and every class could be
// compared.
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
