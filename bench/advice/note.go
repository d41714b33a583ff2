package advice

import (
	"fmt"
	"slices"

	"zbench/bench/recommend"
)

// Note explains the columns of the table.
func (d *Document) Note(rows []Row) string {
	within := Share(recommend.PlateauWidth)
	note := "step: as measured, with the computation as given. over fastest: this step over the shortest of all settings tried. on average: the same, over " +
		d.averaged() + "."
	if d.compares() {
		note += " The best size costs least on average; within " + within + ": at most " + within + " above it, as measured and on average."
	}
	if slices.ContainsFunc(rows, func(r Row) bool { return r.Extrapolated }) {
		note += " *: beyond the sizes that were swept."
	}
	if slices.ContainsFunc(rows, func(r Row) bool { return r.Unfounded != "" }) {
		note += " " + unknown + ": not known, as most of the messages are beyond the sweep, or one run's slow times at one or two sizes decide."
	}
	return note
}

// averaged says over what means are taken.
func (d *Document) averaged() string {
	var network, compute []float64
	for _, s := range d.Answer.Scenarios {
		network, compute = append(network, s.Network), append(compute, s.Compute)
	}
	if len(network) == 0 {
		return "slower networks and other computation times"
	}
	return fmt.Sprintf("%d cases (messages 1 to %s times as slow, computation %s to %s times as long)",
		len(network), number(slices.Max(network)), number(slices.Min(compute)), number(slices.Max(compute)))
}
