package bisect

import (
	"errors"

	"zbench/bench/base/jsonfile"
	"zbench/bench/run/spec"
)

// JournalSchema names the version of the format of bisect.jsonl.
const JournalSchema = "zbench.bisect-journal/1"

// Header is the first line of a search's journal. The header determines all measurements.
type Header struct {
	// Version of the format.
	Schema string `json:"schema"`
	// Run is the id of the search, which ends each line; empty in journals of earlier versions.
	Run string `json:"-"`
	// Options of the search.
	Options Criteria `json:"options"`
	// Spec is the request that each child narrows to its cases.
	Spec spec.Spec `json:"spec"`
	// Common are the flags that every child gets in addition to the request.
	Common []string `json:"common"`
	// Timing is the kind of time that is compared.
	Timing string `json:"timing"`
	// Number of GPUs that each child uses.
	GPUs int `json:"gpus"`
	// Variants in the order in which they were given.
	Variants []Given `json:"variants"`
	// Cases of the search.
	Cases []Planned `json:"cases"`
	// Scouts holds the seconds of each child that only listed the cases; absent if the request names the
	// cases.
	Scouts []float64 `json:"scouts,omitempty"`
}

// Given is a variant in the user's words.
type Given struct {
	// Name of the variant.
	Name string `json:"name" jsonschema:"minLength=1"`
	// Variables and flags of the variant's children.
	Settings string `json:"settings"`
}

// Planned is a case of the search.
type Planned struct {
	// Key of the case in the records of the children.
	Key string `json:"key" jsonschema:"minLength=1"`
	// Collective of the case; absent for kernels.
	Collective string `json:"collective,omitempty"`
	// Size in bytes.
	Bytes int64 `json:"bytes"`
}

// Entry is a later line of the journal: the result of one child.
type Entry struct {
	// Round of the child, from 0.
	Round int `json:"round"`
	// Variant of the child.
	Variant string `json:"variant"`
	// Time that the child took, its start included, in seconds.
	Seconds float64 `json:"seconds"`
	// Simulated is true if the times come from a model or an emulation.
	Simulated bool `json:"simulated,omitempty"`
	// Times are the medians of the cases in seconds, by key; absent if the child failed.
	Times map[string]float64 `json:"times,omitempty"`
	// Groups are the cases' names without their sizes, by key.
	Groups map[string]string `json:"groups,omitempty"`
	// Reason why the child has no times; absent if it has times.
	Reason string `json:"reason,omitempty"`
	// Evidence holds the last lines that a failed child printed.
	Evidence []string `json:"evidence,omitempty"`
}

// Line returns the entry as a line of the search's journal.
func (e Entry) Line(run string) ([]byte, error) { return jsonfile.Line(run, e) }

// ReadJournal reads a journal, as jsonfile.ReadLines does.
func ReadJournal(text []byte) (h Header, entries []Entry, err error) {
	h.Run, entries, err = jsonfile.ReadLines[Entry](text, &h, func() error {
		err := jsonfile.CheckVersion(h.Schema, JournalSchema)
		if err == nil && (h.Spec.Sweep == nil == (h.Spec.Kernels == nil) || len(h.Cases) == 0) {
			err = errors.New("it has no cases")
		}
		return err
	}, nil)
	return h, entries, err
}
