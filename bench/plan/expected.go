package plan

import "math"

// expected is what is known of a case's launches before its pass: a launch takes some
// seconds, within a factor. Zero is nothing.
type expected struct{ launch, within float64 }

// knownWithin is the factor within which the warm-up of a pass shows the time that a
// launch had in the pass before.
const knownWithin = 2

// expected is the time that a launch had in an earlier pass, else what the nearest size of
// the same curve says: a larger launch takes no less time, and more by no more than its
// size.
func (t *Taken) expected(cases []Case, c Case) expected {
	if launch := measured(t.Parts[c.Key]); launch > 0 {
		return expected{launch, knownWithin}
	}
	var near expected
	for _, other := range cases {
		if !c.along(other) {
			continue
		}
		root := math.Sqrt(float64(c.Requested) / float64(other.Requested))
		within := knownWithin * max(root, 1/root)
		if near.launch > 0 && near.within <= within {
			continue
		}
		if launch := measured(t.Parts[other.Key]); launch > 0 {
			near = expected{launch * root, within}
		}
	}
	return near
}

// along reports whether another case is of the same curve, in place or not.
func (c Case) along(other Case) bool {
	return c.Collective.Name == other.Collective.Name && c.Split == other.Split && c.Graph == other.Graph &&
		c.Dtype.Name == other.Dtype.Name && c.Op == other.Op && min(c.Requested, other.Requested) > 0
}
