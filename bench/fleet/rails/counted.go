package rails

import (
	"context"
	"fmt"

	"zbench/bench/plan"
	"zbench/bench/record"
)

// Ring is what the NICs counted while a ring ran through one GPU of every node.
type Ring struct {
	GPU int
	// Bytes is what each of these GPUs sent.
	Bytes int64
	NICs  []record.NICCounters
}

// Launches of a counted ring, and of the same ring before it. A NIC's driver may give
// counters that are a few milliseconds old: these then hold bytes of the same ring, not of
// another GPU's.
const (
	leadLaunches    = 1
	countedLaunches = 2
)

// CountRings runs one ring after the other, each through one GPU of every node and nothing
// else, and reads the NICs' counters around it. round is the number of rounds before. At an
// error the rings before it are returned.
func (s Measurement) CountRings(ctx context.Context, d Exchanger, round int, read func() []record.NICCounters) ([]Ring, error) {
	var out []Ring
	for gpu := range s.Fleet.GPUs {
		r := Round{Kind: Rings, Pairs: []Pair{{A: Place{GPU: gpu}}}}
		e := plan.Exchange{Case: s.Case, Round: round + gpu, Launches: leadLaunches}
		e.To, e.From = s.peers(r)
		if s.Watch != nil {
			s.Watch(e.Round+1, r)
		}
		failed := func(err error) error {
			return fmt.Errorf("round %d (the ring of GPU %d of every node): %w", e.Round+1, gpu, err)
		}
		if _, err := d.Exchange(ctx, e); err != nil {
			return out, failed(err)
		}
		before := read()
		e.Launches = countedLaunches
		if _, err := d.Exchange(ctx, e); err != nil {
			return out, failed(err)
		}
		out = append(out, Ring{gpu, countedLaunches * s.Case.Layout.Bytes, record.RoseNICs(before, read())})
	}
	return out, nil
}
