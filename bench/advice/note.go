package advice

import (
	"fmt"
	"slices"

	"zbench/bench/recommend"
)

// Note explains the columns of the table.
func (d *Document) Note(rows []Row) string {
	within := Share(recommend.PlateauWidth)
	note := "step: as measured, with the computation as given. longer: than with the best size, as measured or on average over " +
		d.averaged() + ", whichever is more."
	if d.compares() {
		note += " Within " + within + ": at most " + within + " longer."
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
	return fmt.Sprintf("%d cases (messages 1 to %g times as slow, computation %g to %g times as long)",
		len(network), slices.Max(network), slices.Min(compute), slices.Max(compute))
}
