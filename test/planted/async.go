package planted

import (
	"fmt"

	"zbench/bench/run/record"
)

// asyncIsNamed plants an asynchronous error on one rank, in a launch of the smallest size. That
// rank must be named, and no other.
func asyncIsNamed(nodes int) row {
	return row{name: fmt.Sprintf("asynchronous error: %d ranks", nodes*gpus), try: func(name string, seed int) (o outcome, err error) {
		rng := source(name, seed)
		node, gpu, launch := rng.IntN(nodes), rng.IntN(gpus), rng.IntN(40)
		t := trial{nodes: nodes, seed: uint64(seed), collective: allWait[rng.IntN(len(allWait))], min: 64 << 10, max: 64 << 10} //nolint:gosec // small
		t.faults = []string{fmt.Sprintf("async_error:node=%d,gpu=%d,bytes=6e4,launch=%d", node, gpu, launch)}
		found, err := culprits(t)
		if err != nil {
			return o, err
		}
		o.named = len(found) == 1 && found[0] == fmt.Sprint(node*gpus+gpu)
		o.wrong = !o.named && len(found) > 0
		t.faults = nil
		found, err = culprits(t)
		o.alarm = len(found) > 0
		return o, err
	}}
}

// culprits returns the ranks that the evidence names with certainty.
func culprits(t trial) ([]string, error) {
	rec, err := t.run()
	if err != nil {
		return nil, err
	}
	var out []string
	for _, r := range rec.Results {
		if r.Status == record.Failed && r.Evidence != nil && r.Evidence.Certain {
			out = append(out, r.Evidence.Suspects)
		}
	}
	return out, nil
}
