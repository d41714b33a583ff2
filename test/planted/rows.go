package planted

import (
	"fmt"
	"strings"

	"zbench/test/experiments"
)

// row is one kind of fault in one kind of world, over many seeds.
type row struct {
	name string
	kind kind
	try  func(name string, seed int) (outcome, error)
}

// outcome is the outcome of one seed. named is true if the planted fault was named. wrong is true
// if anything else was named. alarm is true if anything was named in the paired run without the
// fault.
type outcome struct{ named, wrong, alarm bool }

// counts sums up the outcomes of a row.
type counts struct {
	row                         string
	seeds, named, wrong, alarms int
	kind                        kind
}

// kind says what a row shows.
type kind int

const (
	// judged means that the fault must be named, and nothing else.
	judged kind = iota
	// namesNoRank means that no rank may be named, although a fault is planted.
	namesNoRank
	// limit means that the row shows where naming ends. Naming anything else still counts as wrong.
	limit
)

// The bars of every row: the fault is named, and nothing else is named, with or without the fault.
var (
	named = experiments.Bar{Rate: 0.95}
	none  = experiments.Bar{Rate: 0.01, AtMost: true}
)

func (r row) over(seeds int) (counts, error) {
	c := counts{row: r.name, seeds: seeds, kind: r.kind}
	for seed := range seeds {
		o, err := r.try(r.name, seed)
		if err != nil {
			return c, fmt.Errorf("%s, seed %d: %w", r.name, seed, err)
		}
		c.named += one(o.named)
		c.wrong += one(o.wrong)
		c.alarms += one(o.alarm)
	}
	return c, nil
}

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}

// failures lists the bars that do not hold. In a small run it lists only those that chance cannot
// explain.
func (c counts) failures(small bool) []string {
	var out []string
	check := func(what string, b experiments.Bar, count int) {
		if !b.Holds(count, c.seeds) && (!small || !b.Plausible(count, c.seeds)) {
			out = append(out, fmt.Sprintf("%s: %s %d of %d, bar %s", c.row, what, count, c.seeds, b))
		}
	}
	if c.kind == judged {
		check("named", named, c.named)
	}
	check("something else named", none, c.wrong)
	check("named without the fault", none, c.alarms)
	return out
}

// markdown returns the table of docs/EXPERIMENTS.md.
func markdown(list []counts) string {
	var b strings.Builder
	b.WriteString("| planted | named | bar | something else named | without the fault, named | bar |\n|---|---|---|---|---|---|\n")
	for _, c := range list {
		hit, bar := fmt.Sprint(c.named), named.String()
		alarms := fmt.Sprint(c.alarms)
		switch c.kind {
		case namesNoRank:
			hit, bar, alarms = "–", "no rank", "–"
		case limit:
			bar = ""
		case judged:
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %d | %s | %s |\n", c.row, hit, bar, c.wrong, alarms, none)
	}
	return b.String()
}
