// Package kernel has the table of families. A family is a benchmark of kernels; its row has names,
// requests and displays, but nothing that needs a GPU. Every family registers its row in its own
// package. Commands, checks of requests, findings and documents use the table. Package hbm has the
// part of a row that runs on a GPU.
package kernel

import (
	"cmp"
	"slices"

	"zbench/bench/base/finding"
	"zbench/bench/run/record"
	"zbench/bench/run/spec"
	"zbench/bench/show/document"
)

// Family is a benchmark of kernels.
type Family struct {
	// Name is the name of the benchmark and of its command.
	Name string
	// Order is the position in listings.
	Order int
	// Short, Long and Example are the help texts of the command.
	Short, Long, Example string
	// Settings are the flags of the family. OneDevice leaves out the flags for several devices and
	// for their memory.
	Settings  []Setting
	OneDevice bool
	// Faults adds --fault although OneDevice leaves it out.
	Faults bool
	// Everywhere reports whether a request covers all GPUs of all nodes, with --nodes and one
	// process per GPU. It is nil for a family that only measures one node.
	Everywhere func(*spec.Kernels) bool
	// MaxTime is the default of --max-time, in seconds.
	MaxTime string
	// Most are the flags that --help shows. MostSearched are the flags that --help of bisect shows.
	Most, MostSearched []string
	// Lacks names a mandatory part that is missing in a request, or returns empty text. If Lacks is
	// nil, no part is mandatory.
	Lacks func(*spec.Kernels) string
	// Check refuses a request with a name that the family does not know. It rewrites names in
	// zbench's spelling.
	Check func(*spec.Kernels) error

	// Figures returns findings about speeds; nil means the best bandwidth.
	Figures func(*record.Record) finding.List
	// Best returns the best figure in a few words; nil means the best bandwidth.
	Best func(*record.Record) []document.Fact
	// Export returns a file for another program, by its name in the folder of a run, and its
	// content; empty content is no file. Nil exports nothing.
	Export func(*record.Record) (name, content string)
	// Show adds a title, a footer, banners and sections to a document; nil means bandwidths.
	Show func(*document.Document, *record.Record)
}

var families []Family

// Register adds a family to the table and returns it.
func Register(f Family) Family {
	families = append(families, f)
	slices.SortFunc(families, func(a, b Family) int { return cmp.Compare(a.Order, b.Order) })
	return f
}

// Of returns the family of a benchmark. A benchmark that the table lacks is shown as bandwidths.
func Of(benchmark string) Family {
	if i := slices.IndexFunc(families, func(f Family) bool { return f.Name == benchmark }); i >= 0 {
		return families[i]
	}
	return Family{Name: benchmark}
}
