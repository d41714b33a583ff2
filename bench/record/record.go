// Package record is zbench's file format: what a sweep or an imported log
// leaves on disk, and what every report, comparison and recommendation reads.
//
// All values are in base units: bytes, seconds, bytes per second. Nothing in a
// record depends on the wall clock of the tool itself; that lives in run.json.
// The JSON form is described by schema/v1.json, which is committed and tested.
package record

import (
	"time"

	"zbench/bench/spec"
)

// Schema names the version of the format. It changes whenever a reader of the
// older form could be misled.
const Schema = "zbench.results/2"

// Record is one sweep or one import: where it came from, in which world, and
// one Result per case.
type Record struct {
	Schema  string    `json:"schema"`
	Tool    Tool      `json:"tool"`
	Created time.Time `json:"created"`
	// Simulated is true when a model, not hardware, decided the times.
	Simulated bool   `json:"simulated"`
	Source    Source `json:"source"`
	World     World  `json:"world"`
	// Fabric is the hardware description the sweep ran on or against; nil when
	// it is not known, as for an imported log.
	Fabric *Fabric `json:"fabric"`
	// Spec is the request; nil for an import.
	Spec *spec.Spec `json:"spec"`
	// Added are the cases that were added for the sake of the bucket size.
	Added    []Added   `json:"added,omitempty"`
	Results  []Result  `json:"results"`
	Warnings []Warning `json:"warnings"`
}

// Tool identifies the program that wrote the record.
type Tool struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// Kinds of Source.
const (
	Measured  = "measured"
	Simulated = "simulated"
	Imported  = "imported"
)

// Source tells who timed the results.
type Source struct {
	// Kind is Measured, Simulated or Imported.
	Kind string `json:"kind"`
	// Backend is the provider (loopback, rocm, cuda); empty for an import.
	Backend string `json:"backend,omitempty"`
	// Clock is what time meant: virtual or monotonic.
	Clock string `json:"clock,omitempty"`
	// Driver is the GPUs' kernel driver with its version, where it tells.
	Driver string `json:"driver,omitempty"`
	// Libraries are the ones that were loaded, or that the log names.
	Libraries []Library `json:"libraries,omitempty"`
	// Imports describes each file that was read; empty unless Kind is Imported.
	Imports []Import `json:"imports,omitempty"`
}

// Library is a shared library the collectives ran on.
type Library struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Path    string `json:"path,omitempty"`
}

// Import describes one file of another tool.
type Import struct {
	// File is the base name: a record does not carry a machine's paths.
	File   string `json:"file"`
	SHA256 string `json:"sha256"`
	// Tool and Version are the program that wrote the file, as far as it says.
	Tool    string `json:"tool"`
	Version string `json:"version,omitempty"`
	Lines   int    `json:"lines"`
	// Rows is the number of table rows that became results or repeats of one.
	Rows int `json:"rows"`
	// Skipped lists what was not taken, by reason. Nothing vanishes.
	Skipped []Skip `json:"skipped"`
	// Truncated is true when the file ends before its footer.
	Truncated bool `json:"truncated"`
	// ReportedAverage is the log's own "Avg bus bandwidth" in bytes per second.
	ReportedAverage *float64 `json:"reported_average_busbw,omitempty"`
}

// Skip is a group of rows that were not taken, for one reason.
type Skip struct {
	Reason string `json:"reason"`
	Count  int    `json:"count"`
	// Lines are the first few line numbers, counted from 1.
	Lines []int `json:"lines"`
}

// World is the set of ranks. A zero means not known.
type World struct {
	spec.World
	Ranks int      `json:"ranks"`
	GPU   string   `json:"gpu,omitempty"`
	Hosts []string `json:"hosts,omitempty"`
	// Devices are the GPUs that were measured on.
	Devices []Device `json:"devices,omitempty"`
}

// Device is one GPU, as its driver and the table of published peaks tell.
type Device struct {
	// Index is the runtime's number of it, PCI its address.
	Index int    `json:"index"`
	Name  string `json:"name"`
	PCI   string `json:"pci,omitempty"`
	// Bytes is its memory.
	Bytes int64 `json:"bytes"`
	// PeakBandwidth is its memory's in bytes per second, null when not known, and
	// PeakSource says where that is from.
	PeakBandwidth *float64 `json:"peak_bandwidth"`
	PeakSource    string   `json:"peak_source,omitempty"`
}

// Fabric is the hardware description as far as reports need it.
type Fabric struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	// Roofs are the bus bandwidths no result can exceed, or that others measured.
	Roofs []Roof `json:"roofs"`
	// Extrapolated says in words which parts of the model nobody measured.
	Extrapolated []string `json:"extrapolated"`
	Sources      []string `json:"sources"`
}

// Roof is a horizontal line in the bus-bandwidth chart.
type Roof struct {
	Label string `json:"label"`
	// BusBW is in bytes per second.
	BusBW float64 `json:"busbw"`
	// Source says where the figure comes from, with its date where known.
	Source string `json:"source"`
}

// Warning is a doubt attached to what it qualifies, with a remedy.
type Warning struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}
