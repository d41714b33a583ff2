package fabric

import (
	"fmt"
	"math"
	"slices"

	"zbench/bench/hardware/collective"
	"zbench/bench/run/record"
	"zbench/bench/run/spec"
)

// Bracket holds the low and high bounds of model constants that were never measured.
type Bracket struct {
	Fastest End `yaml:"fastest"`
	Slowest End `yaml:"slowest"`
}

// End is one end of a bracket: constants that replace the model's constants in the same formula.
type End struct {
	// R replaces the pipeline cost, in seconds.
	R float64 `yaml:"r"`
	// RingStep is the time, in seconds, of each of a ring's 2·(n − 1) steps. If RingStep is set,
	// the sum of the steps replaces R.
	RingStep float64 `yaml:"ring_step"`
	// RingsAlone are collectives for which the library only has a ring, and no algorithm of lower
	// latency. They pay R at every size.
	RingsAlone []string `yaml:"rings_alone"`
	// Falling describes bus bandwidths that fall with the number of nodes; nil if there are none.
	Falling *Falling `yaml:"falling"`
	// Source says what this end assumes and where the assumption comes from.
	Source string `yaml:"source"`
}

// Falling is a bus bandwidth that falls with each doubling of the nodes, always by the same share
// of its first value.
type Falling struct {
	Collectives []string `yaml:"collectives"`
	// FromNodes is the number of nodes up to which the bandwidth does not fall.
	FromNodes float64 `yaml:"from_nodes"`
	// PerDoubling is the share that each further doubling loses.
	PerDoubling float64 `yaml:"per_doubling"`
}

// leastShare is the smallest remaining share of a falling bus bandwidth.
const leastShare = 0.05

// share returns the remaining share of the bus bandwidth at n nodes.
func (f *Falling) share(collective string, n float64) float64 {
	if f == nil || !slices.Contains(f.Collectives, collective) || n <= f.FromNodes {
		return 1
	}
	return max(leastShare, 1-f.PerDoubling*math.Log2(n/f.FromNodes))
}

// Method `at` replaces the constants of a collective by the constants of this end.
func (e End) at(c collective.Collective, w spec.World, curve Curve) Curve {
	curve.R = e.R
	if e.RingStep > 0 {
		curve.R = e.RingStep * float64(2*(w.Size()-1))
	}
	if slices.Contains(e.RingsAlone, c.Name) {
		curve.A = max(curve.A, curve.R)
	}
	curve.B *= e.Falling.share(c.Name, float64(w.Nodes))
	return curve
}

func (e End) check() error {
	switch f := e.Falling; {
	case e.Source == "":
		return fmt.Errorf("bracket: each end names its source")
	case e.R == 0 && e.RingStep == 0, !within(e.R, 1), !within(e.RingStep, 1e-3), e.R > 0 && e.RingStep > 0:
		return fmt.Errorf("bracket: each end has an r of up to 1 s or a ring_step of up to 1 ms, not both")
	case f != nil && !(f.FromNodes >= 1 && within(f.PerDoubling, 1)):
		return fmt.Errorf("bracket: falling takes from_nodes of at least 1 and per_doubling from 0 to 1")
	}
	names := e.RingsAlone
	if e.Falling != nil {
		names = slices.Concat(names, e.Falling.Collectives)
	}
	for _, name := range names {
		if _, err := collective.ByName(name); err != nil {
			return fmt.Errorf("bracket: %w", err)
		}
	}
	return nil
}

// Ends holds the constants of one collective at both ends of a bracket. The simulated constants
// always lie between them.
type Ends struct {
	Fastest, Slowest Curve
}

// ends returns both ends for a collective, or false if its model has no bracket.
func (f *Fabric) ends(c collective.Collective, w spec.World, middle Curve) (Ends, bool) {
	b := f.model(w.Nodes).Bracket
	if b == nil {
		return Ends{}, false
	}
	x := Ends{Fastest: b.Fastest.at(c, w, middle), Slowest: b.Slowest.at(c, w, middle)}
	x.Fastest.R, x.Fastest.B = min(x.Fastest.R, middle.R), max(x.Fastest.B, middle.B)
	x.Slowest.R, x.Slowest.B = max(x.Slowest.R, middle.R), min(x.Slowest.B, middle.B)
	return x, true
}

// Bracket returns the time of a group's launch by the model and at both ends of its bracket. It
// returns nil if the model has no bracket.
func (m *Machine) Bracket(g Group, collective string, bytes int64) *record.Bracket {
	ends, ok := m.Ends[g][collective]
	if !ok {
		return nil
	}
	return &record.Bracket{
		Seconds: m.Launch(g, collective, bytes), Fastest: m.launch(ends.Fastest, bytes), Slowest: m.launch(ends.Slowest, bytes),
	}
}

// describeEnds describes what the ends of the bracket assume. It returns nil if there is no
// bracket.
func (f *Fabric) describeEnds(m *Machine) *record.Ends {
	b := f.model(m.Nodes).Bracket
	ends, ok := m.Ends[m.Whole()]["all_reduce"]
	if b == nil || !ok {
		return nil
	}
	return &record.Ends{Fastest: b.Fastest.Source, Slowest: b.Slowest.Source, Factor: ends.Slowest.R / ends.Fastest.R}
}
