package probe

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"zbench/bench/answers/fleet/nodescreen"
	"zbench/bench/answers/soak"
	"zbench/bench/base/finding"
	"zbench/bench/base/slice"
	"zbench/bench/run/spec"
)

// Soak looks for wrong data in the first messages of new communicators of the node's GPUs, for c.Seconds.
// `how` names the path, as for Collective.
func Soak(ctx context.Context, c Config, gpus int, how string) *nodescreen.Rate {
	what := fmt.Sprintf("soak%s, %d GPUs", how, gpus)
	t, err := c.soak(ctx, gpus)
	if err == nil && t.Wrong > 0 {
		d := soak.Document{Nodes: []string{"the node"}, GPUs: gpus}
		d.Judge(t, func(rank int) (gpu, node string) { return fmt.Sprintf("GPU %d", rank), d.Nodes[0] })
		texts := slice.Map(slice.Where(d.Findings(), func(f finding.Finding) bool { return f.Severity == finding.Fault }), func(f finding.Finding) string { return f.Text })
		err = fmt.Errorf("%w: %s", errWrong, strings.Join(texts, "; "))
	}
	if err != nil {
		return failed(what, err)
	}
	return &nodescreen.Rate{What: what, Samples: t.Attempts}
}

func (c Config) soak(ctx context.Context, gpus int) (t *soak.Tally, err error) {
	sizes, attempts := soak.Sizes, 0
	if c.Seconds <= 0 {
		sizes, attempts = []int64{64 << 10}, Samples
	}
	cases, err := soak.Cases(spec.World{Nodes: 1, GPUsPerNode: gpus, GPUsPerProcess: gpus}, sizes)
	if err != nil {
		return nil, err
	}
	c.Bytes = slices.Max(sizes)
	d, err := c.open(ctx, gpus, cases)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	limited, stop := context.WithTimeout(ctx, time.Duration(c.Seconds*float64(time.Second)))
	defer stop()
	t = &soak.Tally{}
	factors, _ := soak.Possible(cases[0], d.Unverifiable)
	return t, soak.Soak{
		Cases: cases, Factors: factors, Seed: c.Seed, Attempts: attempts, Launches: 2, Fired: func() int { return 0 },
		Enough: func() bool { return attempts == 0 && limited.Err() != nil },
		Watch: func(a soak.Attempt) error {
			t.Add(a)
			return nil
		},
	}.Run(ctx, d)
}
