// Package memory is the file format of what a device's memory gives: the result
// of `zbench hbm` and of `zbench kernels`. It stands beside bench/record, which
// is that of collectives: one device instead of a world of ranks, shapes instead
// of message sizes, and no bus factor.
//
// All values are in base units: bytes, seconds, bytes per second.
package memory

import (
	"time"

	"zbench/bench/record"
	"zbench/bench/stat"
)

// Schema names the version of the format.
const Schema = "zbench.memory/1"

// Kinds of device: what was measured. A figure of one is never shown as the
// other's.
const (
	GPU        = "GPU memory"
	HostMemory = "host memory"
	// Checked is a device whose kernels are emulated: results, no times.
	Checked = "results checked, not timed"
	// Simulated is the loopback under a vendor's names: a launch takes what its
	// clock says, whatever it moves.
	Simulated = "simulated"
)

// Record is one run.
type Record struct {
	// Version of the format.
	Schema string `json:"schema"`
	// The program that wrote the record.
	Tool record.Tool `json:"tool"`
	// Command is the zbench command that made it.
	Command string `json:"command"`
	// When it began, in UTC.
	Created time.Time `json:"created"`
	// Who ran the kernels.
	Source record.Source `json:"source"`
	// Where it ran.
	Devices []Device `json:"devices"`
	// What the run was told.
	Asked Asked `json:"asked"`
	// A result for each case and device.
	Results []Result `json:"results"`
	// Doubts about the run.
	Warnings []record.Warning `json:"warnings"`
}

// Device is where it ran.
type Device struct {
	// Its number among the devices of the machine.
	Index int `json:"index"`
	// The GPU's name, or the CPU's model.
	Name string `json:"name"`
	// Kind is what was measured. A figure of one kind is never another's.
	Kind string `json:"kind"`
	// Units are compute units, or the CPUs that were used.
	Units int `json:"units"`
	// Bytes of memory; 0 is not known.
	Memory int64 `json:"memory"`
	// Bytes of the last level of cache; 0 is not known.
	Cache int64 `json:"cache"`
	// The memory's bandwidth that rates are held against, in bytes per second; null where
	// none is known.
	Peak *float64 `json:"peak" jsonschema:"exclusiveMinimum=0"`
	// Where the peak is from, with its date.
	PeakSource string `json:"peak_source,omitempty"`
}

// Asked is what the run was told.
type Asked struct {
	// Sizes are of one array, or the working set, in bytes; empty for kernels with a
	// shape.
	Sizes []int64 `json:"sizes"`
	// Names of the kernels.
	Kernels []string `json:"kernels"`
	// Element types.
	Dtypes []string `json:"dtypes"`
	// What the arrays held.
	Data string `json:"data"`
	// Half the 95 % interval as part of the median at which a timing ends.
	Precision float64 `json:"precision"`
	// Seconds after which a timing ends.
	MaxTime float64 `json:"max_time"`
	// Seed of the data.
	Seed uint64 `json:"seed"`
	// Faults are what was planted.
	Faults []string `json:"faults,omitempty"`
}

// Roles of a result: a fixed configuration that others' figures compare with, our
// own default, the best of a tuning, a point of that, a size of a sweep, a fused
// kernel, the same work kernel by kernel, and a copy of as many bytes.
const (
	Reference = "reference"
	Preset    = "preset"
	Best      = "best"
	Tune      = "tune"
	Sweep     = "sweep"
	Fused     = "fused"
	Unfused   = "unfused"
	Copy      = "copy"
)

// Result is one case on one device.
type Result struct {
	// Names the case; with the device it names the result.
	Key string `json:"key"`
	// Index of the device.
	Device int `json:"device"`
	// Name of the stream or norm.
	Kernel string `json:"kernel"`
	// Element type.
	Dtype string `json:"dtype"`
	// A fixed configuration that others' figures compare with, zbench's own, the best of a
	// tuning, a point of that, a size of a sweep; a fused kernel, the same work kernel by
	// kernel, a copy of as many bytes.
	Role string `json:"role"`
	// How a kernel was launched.
	Config Config `json:"config"`
	// Array is the size of one array in bytes; 0 for kernels with a shape.
	Array int64 `json:"array"`
	// Rows of a norm's matrices; absent for streams.
	Rows int64 `json:"rows,omitempty"`
	// Elements of a row; absent for streams.
	Hidden int64 `json:"hidden,omitempty"`
	// Bytes that one launch moves, as counting says.
	Moved int64 `json:"moved"`
	// What bytes are counted, in words.
	Counting string `json:"counting"`
	// Bytes that one launch touches.
	WorkingSet int64 `json:"working_set"`
	// Below four times the last level of cache: the rate is not the memory's.
	CacheResident bool `json:"cache_resident"`
	// What became of the case.
	Status record.Status `json:"status"`
	// Why the status is not ok.
	Reason string `json:"reason,omitempty"`
	// What the check of the results found.
	Verified Verified `json:"verified"`
	// Its times; null where nothing was timed.
	Timing *Timing `json:"timing"`
	// moved over the median time, in bytes per second.
	Rate *float64 `json:"rate" jsonschema:"exclusiveMinimum=0"`
	// Lower end of the 95 % interval of rate.
	Lo *float64 `json:"rate_lo" jsonschema:"exclusiveMinimum=0"`
	// Upper end of the 95 % interval of rate.
	Hi *float64 `json:"rate_hi" jsonschema:"exclusiveMinimum=0"`
	// moved over the shortest time: BabelStream's headline.
	Fastest *float64 `json:"rate_fastest" jsonschema:"exclusiveMinimum=0"`
	// moved over the 95th percentile of the times.
	P95 *float64 `json:"rate_p95" jsonschema:"exclusiveMinimum=0"`
	// rate over the device's peak.
	OfPeak *float64 `json:"of_peak" jsonschema:"exclusiveMinimum=0"`
	// Doubts about this result.
	Warnings []record.Warning `json:"warnings"`
}

// Config is how a kernel was launched.
type Config struct {
	// Threads a block.
	Block int `json:"block,omitempty"`
	// Vectors of 16 bytes a thread loads before it stores any.
	Loads int `json:"loads,omitempty"`
	// Accesses that pass the caches by.
	NonTemporal bool `json:"non_temporal"`
	// A tile a block, or as many blocks as the device holds at once.
	Grid string `json:"grid,omitempty"`
	// Number of blocks.
	Blocks int64 `json:"blocks,omitempty"`
	// CPUs is the number of threads on the host; 0 on a GPU.
	CPUs int `json:"cpus,omitempty"`
}

// Verified is what became of the check on the device.
type Verified struct {
	// State is record.VerifiedOK, VerifiedWrong or NotVerified.
	State string `json:"state"`
	// Elements that were looked at.
	Elements int64 `json:"elements"`
	// Of them, those that are wrong.
	Wrong int64 `json:"wrong"`
	// First is the first wrong element; absent where none is.
	First *Wrong `json:"first,omitempty"`
	// ULP is the largest difference from the float64 reference in units in the last place;
	// absent where the check is for equal bits.
	ULP *float64 `json:"ulp,omitempty"`
	// Why it was not checked.
	Reason string `json:"reason,omitempty"`
}

// Wrong is the first wrong element.
type Wrong struct {
	// Its place in the array or matrix.
	Index int64 `json:"index"`
	// The value that should be there.
	Expected string `json:"expected"`
	// The value that is there.
	Got string `json:"got"`
}

// Timing is a case's times. The summary is of seconds per launch.
type Timing struct {
	// Launches are behind one sample: a batch between two events.
	Launches int `json:"launches" jsonschema:"minimum=1"`
	// Seconds per launch.
	Seconds *stat.Summary `json:"seconds"`
	// Stop says which rule ended it.
	Stop string `json:"stop"`
	// Launch is the seconds that a launch of the same kernel takes over next to no data,
	// one behind the other as in a sample; absent where that was not measured. A median
	// below twice that is a rate of launches.
	Launch *float64 `json:"launch,omitempty" jsonschema:"exclusiveMinimum=0"`
}

// LaunchBound tells that a launch alone takes half the time or more: then Rate is
// of launches, and neither a cache's nor the memory's.
func (r *Result) LaunchBound() bool {
	t := r.Timing
	return t != nil && t.Launch != nil && t.Seconds != nil && t.Seconds.Median < 2**t.Launch
}

// SetRates fills the rates from the times, and OfPeak for a known peak.
func (r *Result) SetRates(peak *float64) {
	if r.Timing == nil || r.Timing.Seconds == nil || r.Timing.Seconds.Median <= 0 {
		return
	}
	s := r.Timing.Seconds
	rate := func(seconds *float64) *float64 {
		if seconds == nil || *seconds <= 0 {
			return nil
		}
		v := float64(r.Moved) / *seconds
		return &v
	}
	r.Rate, r.Fastest, r.P95 = rate(&s.Median), rate(&s.Min), rate(s.P95)
	r.Lo, r.Hi = rate(s.Hi), rate(s.Lo)
	if peak != nil && *peak > 0 {
		v := *r.Rate / *peak
		r.OfPeak = &v
	}
}

// DeviceOf returns the device of a result.
func (rec *Record) DeviceOf(r *Result) Device {
	for _, d := range rec.Devices {
		if d.Index == r.Device {
			return d
		}
	}
	return Device{Index: r.Device}
}
