package main

import (
	"io"

	"zbench/bench/bucket"
	"zbench/bench/nodescreen"
	"zbench/bench/pairwise"
	"zbench/internal/doctor"
	"zbench/internal/topo"
)

// table is for a terminal.
var _ = register(format{
	name: "table", order: 1, readable: true,
	collectives: writeSweepSummary,
	kernels:     writeKernelSummary,
	advice:      writeAdviceText,
	knees:       func(s State, a bucket.Answer) error { return a.WriteText(s.Stdout) },
	compare:     writeComparison,
	bisect:      writeBisection,
	drift:       func(s State, d *topo.Drift) error { return d.Text(s.Stdout, s.Stdout.Width) },
	rails:       func(s State, d *pairwise.Document) error { return d.Text(s.Stdout, s.Stdout.Width) },
	screen:      func(s State, d *nodescreen.Document) error { return d.Text(s.Stdout, s.Stdout.Width) },
	topo:        func(s State, n *topo.Node) error { return n.Text(s.Stdout, s.Stdout.Width) },
	doctor: func(s State, r doctor.Report) error {
		return r.Text(s.Stdout.unescaped(), doctor.Style{Width: s.Stdout.Width, Colour: s.coloured(s.Stdout)})
	},
})

// writeAdviceText writes the recommendation; if there is none, after what the
// curves alone say.
func writeAdviceText(s State, d advised) error {
	if d.Answer.Refusal == nil {
		if err := d.WriteText(s.Stdout); err != nil {
			return err
		}
		_, err := io.WriteString(s.Stdout.unescaped(), "\n"+adviceText(s, d.records, d.Document))
		return err
	}
	for _, rec := range d.records {
		k := kneesOf(rec)
		k.Needs = []bucket.Need{{What: d.Answer.Refusal.Message, How: d.Answer.Refusal.Hint}}
		if err := k.WriteText(s.Stdout); err != nil {
			return err
		}
		if _, err := io.WriteString(s.Stdout, "\n"); err != nil {
			return err
		}
	}
	return d.WriteText(s.Stdout)
}
