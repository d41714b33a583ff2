// Package kernel has the table of families: what each benchmark of kernels is called, asked and shown
// as, apart from any GPU. A family registers its row in its own package; commands, checks of requests,
// findings and documents take it from the table. Package hbm has the part of a row that runs.
package kernel

import (
	"cmp"
	"slices"

	"zbench/bench/document"
	"zbench/bench/finding"
	"zbench/bench/record"
	"zbench/bench/spec"
)

// Family is a benchmark of kernels.
type Family struct {
	// Name is that of the benchmark and of the command.
	Name string
	// Order is the place in the listings.
	Order int
	// Short, Long and Example are the command's help.
	Short, Long, Example string
	// Settings are its own flags. OneDevice leaves out those of several devices and of their memory.
	Settings  []Setting
	OneDevice bool
	// Faults adds --fault where OneDevice leaves it out.
	Faults bool
	// Everywhere tells of a request that is of all GPUs of all nodes: --nodes, and what starts a
	// process on each. Nil of a family that measures one node alone.
	Everywhere func(*spec.Kernels) bool
	// MaxTime is the default of --max-time in seconds.
	MaxTime string
	// Most are the flags that --help shows, MostSearched those that --help of bisect shows.
	Most, MostSearched []string
	// Lacks says what a request must give and does not; empty if nothing. Nil lacks nothing.
	Lacks func(*spec.Kernels) string
	// Check refuses a request that names what the family does not have. Names get zbench's spelling.
	Check func(*spec.Kernels) error

	// Figures are the findings of the speeds; nil has the best bandwidth.
	Figures func(*record.Record) finding.List
	// Best is the best figure in a few words; nil has the best bandwidth.
	Best func(*record.Record) []document.Fact
	// Show adds title, foot, banners and sections to a document; nil shows bandwidths.
	Show func(*document.Document, *record.Record)
}

var families []Family

// Register adds a family to the table and returns it.
func Register(f Family) Family {
	families = append(families, f)
	slices.SortFunc(families, func(a, b Family) int { return cmp.Compare(a.Order, b.Order) })
	return f
}

// Of is the family of a benchmark. One that is not in the table is shown as bandwidths.
func Of(benchmark string) Family {
	if i := slices.IndexFunc(families, func(f Family) bool { return f.Name == benchmark }); i >= 0 {
		return families[i]
	}
	return Family{Name: benchmark}
}
