// Package record is zbench's file format: the results of a sweep, a run of kernels or an imported
// log on disk, which every report, comparison and recommendation reads.
//
// All values are in base units: bytes, seconds, bytes per second. Nothing in a record depends on
// zbench's own wall clock, which is in run.json. schema/v2.json describes the JSON form;
// test/schema generates it from these types and their comments, and docs/RECORD.md explains it.
package record

import (
	"time"

	"zbench/bench/base/finding"
	"zbench/bench/base/slice"
	"zbench/bench/hardware/backend"
	"zbench/bench/run/spec"
)

// Schema names the version of the format. It changes whenever a reader of the
// older form could be misled.
const Schema = "zbench.results/2"

// Record is one run of a benchmark or one import: its origin, its world, and one Result or Kernel
// per case.
type Record struct {
	// Version of the format.
	Schema string `json:"schema"`
	// The program that wrote the record.
	Tool Tool `json:"tool"`
	// When the record was made, in UTC (RFC 3339).
	Created time.Time `json:"created"`
	// Run is the id of the run, also in its journal and its samples: 32 random digits; for a
	// simulated run they follow from what is known before its first result. Absent for an import,
	// and in records of earlier versions.
	Run string `json:"run,omitempty" jsonschema:"pattern=^[0-9a-f]{32}$"`
	// Simulated is true if the results come from a model or an emulation, not from hardware.
	Simulated bool `json:"simulated"`
	// Source is the origin of the times.
	Source Source `json:"source"`
	// The set of ranks. Zero means unknown.
	World World `json:"world"`
	// Fabric is the hardware description of the sweep; null if unknown, as for an imported log and
	// for kernels.
	Fabric *Fabric `json:"fabric"`
	// Spec is the request; null for an import.
	Spec *spec.Spec `json:"spec"`
	// Added are the rounds of cases added after the planned ones, for the bucket size or for a
	// tuning.
	Added []Added `json:"added,omitempty"`
	// One entry per case of collectives; every planned case has one.
	Results []Result `json:"results"`
	// Kernels are the rows of hbm or of a kernel, one per case and device; a record has
	// these or results.
	Kernels []Kernel `json:"kernels,omitempty"`
	// SequenceSeconds is the time of the sequences of all shapes on one device, each for its whole
	// batch, in seconds: Newton–Schulz of all matrices. Absent until all are timed.
	SequenceSeconds *float64 `json:"sequence_seconds,omitempty"`
	// Warnings about the record as a whole.
	Warnings []Warning `json:"warnings"`
	// Judgement has the record's findings; absent in records of earlier versions and if no run has
	// ended.
	Judgement *finding.Judgement `json:"judgement,omitempty"`
}

// Each returns the results in their order, for reading or changing in place.
func (rec *Record) Each() []*Result { return slice.Pointers(rec.Results) }

// Tool identifies the program that wrote the record.
type Tool struct {
	// Program name.
	Name string `json:"name"`
	// Its version, as `zbench version` prints it.
	Version string `json:"version"`
}

// Kinds of Source.
const (
	Measured  = "measured"
	Simulated = "simulated"
	Imported  = "imported"
	// Emulated kernels ran thread by thread: they have results and no times.
	Emulated = "emulated"
)

// Source is the origin of the times.
type Source struct {
	// Kind is measured (hardware was timed), simulated (the times are a model's), emulated
	// (kernels ran thread by thread and were not timed) or imported (from another tool's
	// file).
	Kind string `json:"kind"`
	// Backend is the provider of the collectives (loopback, rocm, cuda); absent for an
	// import.
	Backend string `json:"backend,omitempty"`
	// Clock is the kind of clock: virtual or monotonic, none if nothing was timed; absent for an
	// import.
	Clock string `json:"clock,omitempty"`
	// Driver is the GPUs' kernel driver with its version, if known.
	Driver string `json:"driver,omitempty"`
	// Libraries are the loaded libraries, or the libraries that the log names.
	Libraries []Library `json:"libraries,omitempty"`
	// Environment holds the variables that set up the libraries, by name; only the last part of a
	// path is kept. Absent if none is set, and for simulated times.
	Environment map[string]string `json:"environment,omitempty"`
	// Vendor is the library of the vendor's products, or the reason why there are none;
	// absent if none were requested.
	Vendor string `json:"vendor,omitempty"`
	// The files of an import; absent unless kind is imported.
	Imports []Import `json:"imports,omitempty"`
}

// Library is a shared library the collectives ran on.
type Library = backend.Loaded

// Import describes one file of another tool.
type Import struct {
	// File is the base name of the file, because a record must not carry a machine's paths.
	File string `json:"file"`
	// SHA-256 of its bytes, in hexadecimal.
	SHA256 string `json:"sha256" jsonschema:"pattern=^[0-9a-f]{64}$"`
	// Program that wrote it, if known.
	Tool string `json:"tool"`
	// That program's version, if known.
	Version string `json:"version,omitempty"`
	// Number of lines in the file.
	Lines int `json:"lines"`
	// Rows is the number of table rows that became results or repeats of results.
	Rows int `json:"rows"`
	// Skipped lists the ignored rows, by reason.
	Skipped []Skip `json:"skipped"`
	// Truncated is true when the file ends before its footer.
	Truncated bool `json:"truncated"`
	// ReportedAverage is the log's own "Avg bus bandwidth" in bytes per second.
	ReportedAverage *float64 `json:"reported_average_busbw,omitempty"`
}

// Skip is a group of rows that were ignored for one reason.
type Skip struct {
	// Reason why they were ignored.
	Reason string `json:"reason"`
	// Number of such rows.
	Count int `json:"count" jsonschema:"minimum=1"`
	// Lines are the first few line numbers, counted from 1.
	Lines []int `json:"lines" jsonschema:"minimum=1"`
}

// World is the set of ranks. Zero means unknown.
type World struct {
	spec.World
	// Number of ranks, one per GPU unless ranks_per_gpu says otherwise.
	Ranks int `json:"ranks"`
	// Name of the GPU.
	GPU string `json:"gpu,omitempty"`
	// Names of the nodes.
	Hosts []string `json:"hosts,omitempty"`
	// Devices are the measured GPUs.
	Devices []Device `json:"devices,omitempty"`
	// NICs are the kinds of RDMA NICs beside the GPUs, each once; absent if none was found, for
	// simulated times, and in records of earlier versions.
	NICs []NICKind `json:"nics,omitempty"`
}

// Device is one GPU, from its driver and the table of published peaks.
type Device struct {
	// Index of the GPU in the runtime; if kernels ran on several nodes, continued through the
	// nodes.
	Index int `json:"index"`
	// Host is the name of the device's node; absent if kernels ran on one node, and for
	// collectives.
	Host string `json:"host,omitempty"`
	// Name from the driver.
	Name string `json:"name"`
	// PCI address, domain:bus:device.function.
	PCI string `json:"pci,omitempty"`
	// Kind is the measured part of the device; absent if it ran collectives.
	Kind string `json:"kind,omitempty"`
	// Units are compute units, or the used CPUs; absent if unknown.
	Units int `json:"units,omitempty"`
	// Bytes is the size of its memory, in bytes.
	Bytes int64 `json:"bytes"`
	// Clock is the highest clock of the units that its driver reports, in hertz; absent if unknown.
	Clock float64 `json:"clock,omitempty"`
	// Cache is the size of its last-level cache, in bytes; absent if unknown.
	Cache int64 `json:"cache,omitempty"`
	// Peak bandwidth of its memory in bytes per second; null if unknown.
	PeakBandwidth *float64 `json:"peak_bandwidth" jsonschema:"exclusiveMinimum=0"`
	// Source of the peak, with its date.
	PeakSource string `json:"peak_source,omitempty"`
}

// Fabric is the hardware description as far as reports need it.
type Fabric struct {
	// Name of the description, as in --fabric.
	Name string `json:"name"`
	// Name for people.
	Title string `json:"title"`
	// Roofs are upper bounds of the bus bandwidth, or others' measurements.
	Roofs []Roof `json:"roofs"`
	// Extrapolated describes the parts of the model without measurements.
	Extrapolated []string `json:"extrapolated"`
	// Bracket describes the assumptions at the ends of the model's bracket; absent if the
	// model of this number of nodes has none.
	Bracket *Ends `json:"bracket,omitempty"`
	// Where the figures come from.
	Sources []string `json:"sources"`
}

// Roof is a horizontal line in the bus-bandwidth chart.
type Roof struct {
	// Label of the line.
	Label string `json:"label"`
	// BusBW is the bus bandwidth of the line, in bytes per second.
	BusBW float64 `json:"busbw" jsonschema:"exclusiveMinimum=0"`
	// Source of the figure, with its date if known.
	Source string `json:"source"`
}

// Warning qualifies a record, a result or a row, with a remedy.
type Warning struct {
	// Short stable name of the kind of warning.
	Code string `json:"code"`
	// The message.
	Message string `json:"message"`
	// The remedy.
	Hint string `json:"hint,omitempty"`
}
