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
	Schema string      `json:"schema"`
	Tool   record.Tool `json:"tool"`
	// Command is hbm, rmsnorm or layernorm.
	Command  string           `json:"command"`
	Created  time.Time        `json:"created"`
	Source   record.Source    `json:"source"`
	Devices  []Device         `json:"devices"`
	Asked    Asked            `json:"asked"`
	Results  []Result         `json:"results"`
	Warnings []record.Warning `json:"warnings"`
}

// Device is where it ran.
type Device struct {
	Index int    `json:"index"`
	Name  string `json:"name"`
	// Kind is GPU, HostMemory, Checked or Simulated.
	Kind string `json:"kind"`
	// Units are compute units, or the CPUs that were used.
	Units int `json:"units"`
	// Memory and Cache (the last level) are in bytes; 0 is not known.
	Memory int64 `json:"memory"`
	Cache  int64 `json:"cache"`
	// Peak is the memory's published bandwidth; null where none is known, as for
	// a host's memory. PeakSource says where it is from.
	Peak       *float64 `json:"peak"`
	PeakSource string   `json:"peak_source,omitempty"`
}

// Asked is what the run was told.
type Asked struct {
	// Sizes are of one array, or the working set, in bytes.
	Sizes     []int64  `json:"sizes"`
	Kernels   []string `json:"kernels"`
	Dtypes    []string `json:"dtypes"`
	Data      string   `json:"data"`
	Precision float64  `json:"precision"`
	MaxTime   float64  `json:"max_time"`
	Seed      uint64   `json:"seed"`
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
	Key    string `json:"key"`
	Device int    `json:"device"`
	Kernel string `json:"kernel"`
	Dtype  string `json:"dtype"`
	Role   string `json:"role"`
	Config Config `json:"config"`
	// Array is the size of one array in bytes; 0 for kernels with a shape.
	Array int64 `json:"array"`
	// Rows and Hidden are the shape of a norm; 0 for streams.
	Rows   int64 `json:"rows,omitempty"`
	Hidden int64 `json:"hidden,omitempty"`
	// Moved is the bytes that one launch moves as Counting says, WorkingSet those
	// it touches.
	Moved      int64  `json:"moved"`
	Counting   string `json:"counting"`
	WorkingSet int64  `json:"working_set"`
	// CacheResident is true below four times the last level of cache: then Rate
	// is not the memory's.
	CacheResident bool          `json:"cache_resident"`
	Status        record.Status `json:"status"`
	Reason        string        `json:"reason,omitempty"`
	Verified      Verified      `json:"verified"`
	Timing        *Timing       `json:"timing"`
	// Rate is Moved over the median, in bytes per second, Lo and Hi its interval,
	// Fastest over the shortest time (BabelStream's headline), P95 over the 95th
	// percentile of the times; null where there is none.
	Rate    *float64 `json:"rate"`
	Lo      *float64 `json:"rate_lo"`
	Hi      *float64 `json:"rate_hi"`
	Fastest *float64 `json:"rate_fastest"`
	P95     *float64 `json:"rate_p95"`
	// OfPeak is Rate over the device's peak.
	OfPeak   *float64         `json:"of_peak"`
	Warnings []record.Warning `json:"warnings"`
}

// Config is how a kernel was launched.
type Config struct {
	// Block is threads a block, Loads the 16-byte vectors a thread loads before it
	// stores any, Grid "exact" (a tile a block), "resident" (as many blocks as
	// the device holds at once) or "strided" (four tiles a block, a grid apart),
	// Blocks their number.
	Block       int    `json:"block,omitempty"`
	Loads       int    `json:"loads,omitempty"`
	NonTemporal bool   `json:"non_temporal"`
	Grid        string `json:"grid,omitempty"`
	Blocks      int64  `json:"blocks,omitempty"`
	// CPUs is the number of threads on the host; 0 on a GPU.
	CPUs int `json:"cpus,omitempty"`
}

// Verified is what became of the check on the device.
type Verified struct {
	// State is record.VerifiedOK, VerifiedWrong or NotVerified.
	State string `json:"state"`
	// Elements were looked at, Wrong of them are wrong.
	Elements int64  `json:"elements"`
	Wrong    int64  `json:"wrong"`
	First    *Wrong `json:"first,omitempty"`
	// ULP is the largest difference from the reference in units of the last
	// place, null where the check is for equal bits.
	ULP    *float64 `json:"ulp,omitempty"`
	Reason string   `json:"reason,omitempty"`
}

// Wrong is the first wrong element.
type Wrong struct {
	Index    int64  `json:"index"`
	Expected string `json:"expected"`
	Got      string `json:"got"`
}

// Timing is a case's times. The summary is of seconds per launch.
type Timing struct {
	// Launches are behind one sample: a batch between two events.
	Launches int           `json:"launches"`
	Seconds  *stat.Summary `json:"seconds"`
	// Stop says which rule ended it.
	Stop string `json:"stop"`
	// Launch is the seconds that a launch of the same kernel takes over next to no
	// data, one behind the other as in a sample; null where that was not measured.
	Launch *float64 `json:"launch,omitempty"`
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
