package recommend

import (
	"slices"

	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
)

// Again is how what a record is of is measured again.
type Again struct {
	// Flags are those of zbench collectives that a user gave, each with its values: the ranks,
	// the sizes, the type, the libraries.
	Flags [][]string
	// Imported tells that another tool measured: nobody knows its command line.
	Imported bool
}

// Sweep says how collectives are measured on the same ranks, with other flags beside or instead of
// those of the record.
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

// Wider says how collectives are measured at enough sizes. The flags of a record with too few
// have none of sizes.
func (a Again) Wider(collectives []string) string {
	if a.Imported {
		return a.Sweep(collectives, []string{"-b", "64K", "-e", "8G", "-f", "2"})
	}
	return a.Sweep(collectives)
}

// Place says how a collective is measured with its buffers in place, or out of place.
func (a Again) Place(collective, place string) string {
	if a.Imported {
		return "give a log with the columns of both placements"
	}
	return a.Sweep([]string{collective}, []string{"--place", place})
}

// command is the line of zbench that measures collectives on the same ranks.
func (a Again) command(collectives []string, flags [][]string) string {
	words := append([]string{"zbench", "collectives"}, collectives...)
	for _, f := range a.Flags {
		if !slices.ContainsFunc(flags, func(other []string) bool { return other[0] == f[0] }) {
			words = append(words, f...)
		}
	}
	return plain.Typed(append(words, slices.Concat(flags...)...)...)
}
