package main

import (
	"slices"

	"zbench/bench/cost"
	"zbench/bench/plan"
	"zbench/bench/record"
	"zbench/bench/stat"
)

// foresee refuses, before anything is measured, a question that the sweep's curves
// cannot answer. Which curves there will be is known; their times are made up, and
// decide nothing of that. Without a model a sweep goes ahead: its curves are what
// the question is asked of later. How much memory a setting takes is the answer's
// to say, and why no case can run the table's.
func (u *setup) foresee(q *query) error {
	if q == nil || q.in.Model == nil {
		return nil
	}
	rec := &record.Record{World: record.World{Ranks: u.axes.Ranks, Nodes: u.axes.Nodes}}
	for _, c := range u.axes.Cases() {
		if c.Skip == "" {
			rec.Results = append(rec.Results, imagined(c))
		}
	}
	asked := *q
	asked.in.Bootstrap = 0
	d, err := asked.give([]cost.Source{{Record: rec}})
	if err != nil || d.Answer.Refusal == nil || slices.Contains([]string{"memory", "no_curve"}, d.Answer.Refusal.Code) {
		return err
	}
	return refused(d)
}

// imagined is a case as it were measured: 100 µs and 100 GB/s.
func imagined(c plan.Case) record.Result {
	r := c.Planned()
	r.Status, r.Reason = record.OK, ""
	r.Isolated = &record.Timing{Iterations: 1, MaxOfRanks: stat.Summarize([]float64{1e-4 + float64(c.Layout.Bytes)/100e9})}
	return r
}
