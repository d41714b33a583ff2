// Package record is zbench's file format: what a sweep, a run of kernels or an imported
// log leaves on disk, and what every report, comparison and recommendation reads.
//
// All values are in base units: bytes, seconds, bytes per second. Nothing in a
// record depends on the wall clock of the tool itself; that lives in run.json.
// The JSON form is described by schema/v1.json, which is committed and tested.
package record

import "time"

// Schema names the version of the format. It changes whenever a reader of the
// older form could be misled.
const Schema = "zbench.results/2"

// Record is one run of a benchmark or one import: where it came from, in which world,
// and one Result or Kernel per case.
type Record struct {
	Schema  string    `json:"schema"`
	Tool    Tool      `json:"tool"`
	Created time.Time `json:"created"`
	// Benchmark is what was run: Collectives, FromLogs, HBM, Muon, or the name of
	// another kernel. Empty is Collectives.
	Benchmark string `json:"benchmark,omitempty"`
	// Simulated is true when a model or an emulation, not hardware, is behind the
	// results.
	Simulated bool   `json:"simulated"`
	Source    Source `json:"source"`
	World     World  `json:"world"`
	// Fabric is the hardware description the sweep ran on or against; nil when
	// it is not known, as for an imported log.
	Fabric *Fabric `json:"fabric"`
	// Sweep is what was asked for; nil for an import and for kernels.
	Sweep *Sweep `json:"sweep"`
	// Asked is what was asked of hbm or of kernels; nil for collectives.
	Asked   *Asked   `json:"asked,omitempty"`
	Results []Result `json:"results"`
	// Kernels are the rows of hbm or of kernels; a record has these or Results.
	Kernels []Kernel `json:"kernels,omitempty"`
	// SequenceSeconds is what the sequences of all shapes take on one device, each for
	// the whole of its batch: Newton–Schulz of all matrices. Null before all are timed.
	SequenceSeconds *float64  `json:"sequence_seconds,omitempty"`
	Warnings        []Warning `json:"warnings"`
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
	// Emulated is of kernels that ran thread by thread: results, and no times.
	Emulated = "emulated"
)

// Source tells who timed the results.
type Source struct {
	// Kind is Measured, Simulated, Imported or Emulated.
	Kind string `json:"kind"`
	// Backend is the provider (loopback, rocm, cuda); empty for an import.
	Backend string `json:"backend,omitempty"`
	// Clock is what time meant: virtual or monotonic, none where nothing was timed.
	Clock string `json:"clock,omitempty"`
	// Driver is the GPUs' kernel driver with its version, where it tells.
	Driver string `json:"driver,omitempty"`
	// Libraries are the ones that were loaded, or that the log names.
	Libraries []Library `json:"libraries,omitempty"`
	// Vendor says which library the vendor's products are from, or why there are
	// none; empty where none are asked for.
	Vendor string `json:"vendor,omitempty"`
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
	Nodes          int      `json:"nodes"`
	Ranks          int      `json:"ranks"`
	GPUsPerNode    int      `json:"gpus_per_node"`
	GPUsPerProcess int      `json:"gpus_per_process"`
	GPU            string   `json:"gpu,omitempty"`
	Hosts          []string `json:"hosts,omitempty"`
	// RanksPerGPU is how many ranks share a GPU; left out when each has its own.
	RanksPerGPU int `json:"ranks_per_gpu,omitempty"`
	// Devices are the GPUs that were measured on.
	Devices []Device `json:"devices,omitempty"`
}

// Device is one GPU, as its driver and the table of published peaks tell.
type Device struct {
	// Index is the runtime's number of it, PCI its address.
	Index int    `json:"index"`
	Name  string `json:"name"`
	PCI   string `json:"pci,omitempty"`
	// Kind is GPU, HostMemory, Checked or OnLoopback; empty for one that ran
	// collectives.
	Kind string `json:"kind,omitempty"`
	// Units are compute units, or the CPUs that were used; 0 is not known.
	Units int `json:"units,omitempty"`
	// Bytes is its memory, Cache its last level of cache; 0 is not known.
	Bytes int64 `json:"bytes"`
	Cache int64 `json:"cache,omitempty"`
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

// Sweep is what the user asked for, in rccl-tests' terms.
type Sweep struct {
	Collectives []string `json:"collectives"`
	MinBytes    int64    `json:"min_bytes"`
	MaxBytes    int64    `json:"max_bytes"`
	// Factor is between sizes; with StepBytes, which are added instead, it is 1.
	Factor    int    `json:"factor"`
	StepBytes int64  `json:"step_bytes,omitempty"`
	Dtype     string `json:"dtype"`
	Op        string `json:"op"`
	// InPlace lists what was run: false, true, or both.
	InPlace []bool `json:"in_place"`
	// Iterations is the number of launches in a burst, Warmup those before the
	// first one, Checks the launches whose result is verified.
	Iterations int `json:"iterations"`
	Warmup     int `json:"warmup"`
	Checks     int `json:"checks"`
	// GraphLaunches is how often a burst's launches, captured into a graph, are
	// replayed; absent where they are launched one by one.
	GraphLaunches int `json:"graph_launches,omitempty"`
	// Precision and MaxTime (in seconds) end a timing, whichever comes first.
	Precision float64 `json:"precision"`
	MaxTime   float64 `json:"max_time"`
	Seed      uint64  `json:"seed"`
	// Cache is cold (buffers rotate) or warm.
	Cache string `json:"cache"`
	// Groups are the sizes of the groups of neighbours, Strides how far apart the
	// ranks of other groups were, Scales the numbers of nodes, that were run beside
	// the whole world.
	Groups  []int `json:"groups,omitempty"`
	Strides []int `json:"strides,omitempty"`
	Scales  []int `json:"scales,omitempty"`
	// Further are the cases that were added for the sake of the bucket size.
	Further []Added `json:"further,omitempty"`
	// Faults are what was planted into the simulation.
	Faults []string `json:"faults,omitempty"`
}

// Warning is a doubt attached to what it qualifies, with a remedy.
type Warning struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}
