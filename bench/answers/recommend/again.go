package recommend

import (
	"slices"

	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
)

// Again describes how to repeat the measurement behind a record.
type Again struct {
	// Flags holds the flags of `zbench collectives` that the user gave, each followed by its values: {"-b",
	// "64K"}.
	Flags [][]string
	// Imported is true if another tool made the record. The command line of that tool is unknown.
	Imported bool
}

// Sweep returns the command that measures collectives on the same ranks. Each given flag replaces the
// record's flag of the same name, or is added.
func (a Again) Sweep(collectives []string, flags ...[]string) string {
	if a.Imported {
		programs := slice.Map(collectives, func(name string) string { return name + "_perf" })
		with := ""
		if len(flags) > 0 {
			with = " with " + plain.Shell(slices.Concat(flags...)...)
		}
		return "run " + plain.And(programs) + with + " on the same ranks, and give those logs too"
	}
	return "sweep " + word(len(collectives) == 1, "it", "them") + " on the same ranks, " + a.command(collectives, flags) + ", and give that folder too"
}

// Wider returns the command that measures collectives at enough sizes. zbench's default sizes are enough,
// and Flags contains no size flags if the record has too few sizes.
func (a Again) Wider(collectives []string) string {
	if a.Imported {
		return a.Sweep(collectives, []string{"-b", "64K", "-e", "8G", "-f", "2"})
	}
	return a.Sweep(collectives)
}

// Place returns the command that measures a collective in place or out of place.
func (a Again) Place(collective, place string) string {
	if a.Imported {
		return "give a log with the columns of both placements"
	}
	return a.Sweep([]string{collective}, []string{"--place", place})
}

// command returns the zbench command that measures collectives on the same ranks.
func (a Again) command(collectives []string, flags [][]string) string {
	words := append([]string{"zbench", "collectives"}, collectives...)
	for _, f := range a.Flags {
		if !slices.ContainsFunc(flags, func(other []string) bool { return other[0] == f[0] }) {
			words = append(words, f...)
		}
	}
	return plain.Typed(append(words, slices.Concat(flags...)...)...)
}
