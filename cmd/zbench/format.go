package main

import (
	"cmp"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"zbench/bench/advice"
	"zbench/bench/bucket"
	"zbench/bench/nodescreen"
	"zbench/bench/pairwise"
	"zbench/bench/record"
	"zbench/bench/spell"
	"zbench/internal/doctor"
	"zbench/internal/topo"
)

// format is a value of --format: how each document is printed to standard output. A
// document without a writer does not have the format. Each format is a file of its
// own, which registers it; nothing else needs to know.
type format struct {
	name string
	// order is its place where formats are listed.
	order int
	// readable is true if more text for people may follow on the same stream.
	readable bool

	collectives func(State, sweepOutput) error
	kernels     func(State, *record.Record) error
	advice      func(State, advised) error
	knees       func(State, bucket.Answer) error
	doctor      func(State, doctor.Report) error
	compare     func(State, comparison) error
	topo        func(State, *topo.Node) error
	drift       func(State, *topo.Drift) error
	rails       func(State, *pairwise.Document) error
	screen      func(State, *nodescreen.Document) error
	bisect      func(State, bisection) error
}

// formats are those registered, in the order in which they are listed.
var formats []format

// register adds a format. Its result serves a declaration in the format's own file.
func register(f format) bool { //nolint:unparam // a variable takes it
	formats = append(formats, f)
	slices.SortStableFunc(formats, func(a, b format) int { return cmp.Compare(a.order, b.order) })
	return true
}

// sweepOutput is a record of collectives with its recommendation and folder.
type sweepOutput struct {
	*record.Record
	// advice is the bucket size, folder where the record lies; nil and empty where there
	// is none.
	advice *advice.Document
	folder string
	// verbose prints everything instead of what fits on a screen.
	verbose bool
}

// advised is a recommendation with the records that it is of.
type advised struct {
	*advice.Document
	records []*record.Record
}

// document is a kind of output: which writer of a format prints it.
type output[T any] struct {
	writer func(format) func(State, T) error
}

// The documents.
var (
	collectivesDocument = output[sweepOutput]{func(f format) func(State, sweepOutput) error { return f.collectives }}
	kernelsDocument     = output[*record.Record]{func(f format) func(State, *record.Record) error { return f.kernels }}
	adviceDocument      = output[advised]{func(f format) func(State, advised) error { return f.advice }}
	kneesDocument       = output[bucket.Answer]{func(f format) func(State, bucket.Answer) error { return f.knees }}
	compareDocument     = output[comparison]{func(f format) func(State, comparison) error { return f.compare }}
	topoDocument        = output[*topo.Node]{func(f format) func(State, *topo.Node) error { return f.topo }}
	driftDocument       = output[*topo.Drift]{func(f format) func(State, *topo.Drift) error { return f.drift }}
	railsDocument       = output[*pairwise.Document]{func(f format) func(State, *pairwise.Document) error { return f.rails }}
	screenDocument      = output[*nodescreen.Document]{func(f format) func(State, *nodescreen.Document) error { return f.screen }}
	bisectDocument      = output[bisection]{func(f format) func(State, bisection) error { return f.bisect }}
	doctorDocument      = output[doctor.Report]{func(f format) func(State, doctor.Report) error { return f.doctor }}
)

// names are the formats that the document has.
func (d output[T]) names() []string {
	var names []string
	for _, f := range formats {
		if d.writer(f) != nil {
			names = append(names, f.name)
		}
	}
	return names
}

// flag adds --format to a command.
func (d output[T]) flag(f *pflag.FlagSet, to *string) {
	f.StringVar(to, "format", "table", "form of standard output: "+strings.Join(d.names(), ", "))
}

// check refuses a format that the document does not have, before anything is run.
// help is the hint of the error.
func (d output[T]) check(name, help string) error {
	if names := d.names(); !slices.Contains(names, name) {
		return usage(&spell.Unknown{Kind: "format", Given: name, Valid: names}, help)
	}
	return nil
}

// print writes a document to standard output, and tells whether more text may
// follow there.
func (d output[T]) print(s State, name string, v T) (readable bool, err error) {
	for _, f := range formats {
		if write := d.writer(f); f.name == name && write != nil {
			return f.readable, write(s, v)
		}
	}
	return false, d.check(name, "")
}
