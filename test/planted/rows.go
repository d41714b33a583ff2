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

// outcome of one seed: whether the planted fault was named, whether anything
// else was, and whether anything was in the paired run without the fault.
type outcome struct{ named, wrong, alarm bool }

// counts are a row's outcomes.
type counts struct {
	row                         string
	seeds, named, wrong, alarms int
	kind                        kind
}

// kind is what a row shows.
type kind int

const (
	// judged: the fault must be named, and nothing else.
	judged kind = iota
	// namesNoRank: no rank may be named, although a fault is planted.
	namesNoRank
	// limit: where naming ends; what else is named counts all the same.
	limit
)

// The bars of every row: the fault is named, and nothing else is, with it or
// without it.
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

// failures lists the bars that do not hold; in a small run only those whose
// count could not be chance.
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

// markdown is the table of docs/EXPERIMENTS.md.
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
