// Package kernel has the table of families: the names, requests and displays of each benchmark of
// kernels, apart from any GPU. A family registers its row in its own package; commands, checks of
// requests, findings and documents use the table. Package hbm has the executing part of a row.
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
	// Name is the name of the benchmark and of the command.
	Name string
	// Order is the place in the listings.
	Order int
	// Short, Long and Example are the command's help.
	Short, Long, Example string
	// Settings are its own flags. OneDevice omits the flags about several devices and their memory.
	Settings  []Setting
	OneDevice bool
	// Faults adds --fault if OneDevice omits it.
	Faults bool
	// Everywhere reports whether a request covers all GPUs of all nodes: --nodes, and a process on
	// each. It is nil for a family that only measures one node.
	Everywhere func(*spec.Kernels) bool
	// MaxTime is the default of --max-time in seconds.
	MaxTime string
	// Most are the flags shown by --help, MostSearched those shown by --help of bisect.
	Most, MostSearched []string
	// Lacks names a mandatory part that a request lacks; empty if none. A nil Lacks requires
	// nothing.
	Lacks func(*spec.Kernels) string
	// Check refuses a request with a name that the family does not have. Names get zbench's
	// spelling.
	Check func(*spec.Kernels) error

	// Figures returns the findings about speeds; nil means the best bandwidth.
	Figures func(*record.Record) finding.List
	// Best returns the best figure in a few words; nil means the best bandwidth.
	Best func(*record.Record) []document.Fact
	// Export returns a file for another program, by its name in the folder of a run, and its
	// content; empty content is no file. Nil exports nothing.
	Export func(*record.Record) (name, content string)
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

// Of returns the family of a benchmark. One that is not in the table is shown as bandwidths.
func Of(benchmark string) Family {
	if i := slices.IndexFunc(families, func(f Family) bool { return f.Name == benchmark }); i >= 0 {
		return families[i]
	}
	return Family{Name: benchmark}
}
