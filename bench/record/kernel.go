package record

import "zbench/bench/stat"

// What a record is of.
const (
	Collectives = "collectives"
	FromLogs    = "import"
	HBM         = "hbm"
	Muon        = "muon"
)

// Kinds of device: what was measured. A figure of one is never shown as the
// other's.
const (
	GPU        = "GPU memory"
	HostMemory = "host memory"
	// Checked is a device whose kernels are emulated: results, no times.
	Checked = "results checked, not timed"
	// OnLoopback is the loopback under a vendor's names: a launch takes what its
	// clock says, whatever it moves.
	OnLoopback = "simulated"
)

// Roles of a kernel's row. Of streams: a fixed configuration that others' figures
// compare with, our own default, the best of a tuning, a point of that, a size of a
// sweep.
const (
	Reference = "reference"
	Preset    = "preset"
	Best      = "best"
	Tune      = "tune"
	SizeSweep = "sweep"
	// Of fused kernels: the same work kernel by kernel, and a copy of as many bytes.
	Fused   = "fused"
	Unfused = "unfused"
	Copy    = "copy"
	// Of products: our own, with every tile of a symmetric one, and the vendor's.
	Own    = "own"
	Full   = "full"
	Vendor = "vendor"
	// Pass is a pass over memory, Sequence all launches of one step.
	Pass     = "pass"
	Sequence = "sequence"
)

// Asked is what hbm or a command of kernels was told, as far as it decides what is
// measured: with it the run can be made again, or go on. A zero is an option that
// was not given or that the benchmark does not have.
type Asked struct {
	Backend string `json:"backend"`
	// Device is the index of the GPU, AllGPUs takes every one.
	Device  int  `json:"device,omitempty"`
	AllGPUs bool `json:"all_gpus,omitempty"`
	// Precision and MaxTime (in seconds) end a timing, whichever comes first.
	Precision float64 `json:"precision"`
	MaxTime   float64 `json:"max_time"`
	// Seed is of the data.
	Seed uint64 `json:"seed"`
	// Peak is the memory's in bytes per second, given instead of the published one.
	Peak float64 `json:"peak,omitempty"`
	// Faults are what was planted.
	Faults []string `json:"faults,omitempty"`
	// Size is of one array of a stream in bytes. Sweep adds every size up to it,
	// Tune the configurations of each kernel.
	Size    int64    `json:"size,omitempty"`
	Sweep   bool     `json:"sweep,omitempty"`
	Tune    bool     `json:"tune,omitempty"`
	Kernels []string `json:"kernels,omitempty"`
	Dtypes  []string `json:"dtypes,omitempty"`
	// Data is what the arrays hold: random or zeros.
	Data string `json:"data,omitempty"`
	// Rows and Hidden are the shapes of a fused kernel.
	Rows   int64   `json:"rows,omitempty"`
	Hidden []int64 `json:"hidden,omitempty"`
	// Preset is the model whose matrices Muon steps, Shapes the matrices where none
	// is given, Coefficients those of Newton–Schulz. Reduce is the longest side of
	// what is emulated instead of a shape; 0 emulates the shape itself.
	Preset       string   `json:"preset,omitempty"`
	Shapes       []string `json:"shapes,omitempty"`
	Coefficients string   `json:"coefficients,omitempty"`
	Reduce       int      `json:"reduce,omitempty"`
}

// Kernel is one kernel, or a sequence of kernels, at one shape on one device: a
// row of hbm, of a fused kernel, or of Muon.
type Kernel struct {
	// Key identifies the row within the record and across records: KernelKey of its
	// case and device.
	Key string `json:"key"`
	// Device is the index of one of the world's devices.
	Device int    `json:"device"`
	Kernel string `json:"kernel"`
	Dtype  string `json:"dtype"`
	Role   string `json:"role"`
	// Library is the vendor's that the kernel is from, absent for zbench's own.
	Library string       `json:"library,omitempty"`
	Shape   Shape        `json:"shape"`
	Config  LaunchConfig `json:"config"`
	// Moved is the bytes that one launch moves as Counting says, WorkingSet those
	// it touches.
	Moved      int64  `json:"moved"`
	Counting   string `json:"counting,omitempty"`
	WorkingSet int64  `json:"working_set"`
	// CacheResident is true below four times the last level of cache: then the rate
	// is not the memory's.
	CacheResident bool `json:"cache_resident"`
	// Effective counts the floating-point operations of one launch by definition,
	// Executed those of the tiles that are made; 0 where none are counted.
	Effective float64       `json:"effective_flop,omitempty"`
	Executed  float64       `json:"executed_flop,omitempty"`
	Status    Status        `json:"status"`
	Reason    string        `json:"reason,omitempty"`
	Verified  Verified      `json:"verified"`
	Timing    *KernelTiming `json:"timing"`
	Metrics   Metrics       `json:"metrics"`
	Warnings  []Warning     `json:"warnings"`
}

// Shape is what a kernel works on. A zero is a dimension that it does not have.
type Shape struct {
	// Name says what the matrices are in the model.
	Name string `json:"name,omitempty"`
	// Array is the size of one array of a stream in bytes.
	Array int64 `json:"array,omitempty"`
	// Rows and Cols are a matrix's, Batch the number of equal matrices. Measured is
	// how many of the batch were measured; absent means all.
	Rows     int64 `json:"rows,omitempty"`
	Cols     int64 `json:"cols,omitempty"`
	Batch    int64 `json:"batch,omitempty"`
	Measured int64 `json:"measured_batch,omitempty"`
}

// LaunchConfig is how a kernel was launched.
type LaunchConfig struct {
	// Block is threads a block, Loads the 16-byte vectors a thread loads before it
	// stores any, Grid "exact" (a tile a block), "resident" (as many blocks as
	// the device holds at once) or "strided" (four tiles a block, a grid apart),
	// Blocks their number.
	Block       int    `json:"block,omitempty"`
	Loads       int    `json:"loads,omitempty"`
	NonTemporal bool   `json:"non_temporal,omitempty"`
	Grid        string `json:"grid,omitempty"`
	Blocks      int64  `json:"blocks,omitempty"`
	// CPUs is the number of threads on the host; 0 on a GPU.
	CPUs int `json:"cpus,omitempty"`
}

// KernelTiming is a kernel's times. The summary is of seconds per launch, or per
// round of a sequence.
type KernelTiming struct {
	// Launches is the fewest launches behind one sample: a batch between two events.
	Launches int           `json:"launches"`
	Seconds  *stat.Summary `json:"seconds"`
	// Stop says which rule ended the last pass.
	Stop string `json:"stop"`
	// Launch is the seconds that a launch of the same kernel takes over next to no
	// data, one behind the other as in a sample; null where that was not measured.
	Launch *float64 `json:"launch,omitempty"`
}

// Metrics are what follows from a kernel's times; null where there are none.
type Metrics struct {
	// Rate is Moved over the median, in bytes per second, Lo and Hi its interval,
	// Fastest over the shortest time (BabelStream's headline), P95 over the 95th
	// percentile of the times.
	Rate    *float64 `json:"rate"`
	Lo      *float64 `json:"rate_lo"`
	Hi      *float64 `json:"rate_hi"`
	Fastest *float64 `json:"rate_fastest"`
	P95     *float64 `json:"rate_p95"`
	// OfPeak is Rate over the peak of the device's memory.
	OfPeak *float64 `json:"of_peak,omitempty"`
	// Effective and Executed are operations per second by the median.
	Effective *float64 `json:"effective_flops,omitempty"`
	Executed  *float64 `json:"executed_flops,omitempty"`
	// Against rows of the same kernel and shape on the same device: ToUnfused is the
	// time kernel by kernel over this one's, OfCopy this rate over the copy's, ToFull
	// the time with every tile over this one's, ToVendor that of the vendor's product.
	ToUnfused *float64 `json:"times_unfused,omitempty"`
	OfCopy    *float64 `json:"of_copy,omitempty"`
	ToFull    *float64 `json:"times_own_full,omitempty"`
	ToVendor  *float64 `json:"times_vendor,omitempty"`
}

// DeviceOf returns the device of a row.
func (rec *Record) DeviceOf(k *Kernel) Device {
	for _, d := range rec.World.Devices {
		if d.Index == k.Device {
			return d
		}
	}
	return Device{Index: k.Device}
}

// Emulated tells that kernels ran thread by thread: their results are checked, and
// nothing is timed.
func (rec *Record) Emulated() bool {
	return len(rec.World.Devices) > 0 && rec.World.Devices[0].Kind == Checked
}

// OfKernels tells a record of hbm or of kernels from one of collectives.
func (rec *Record) OfKernels() bool { return rec.Asked != nil }

// LaunchBound tells that a launch alone takes half the time or more: then the rate
// is of launches, and neither a cache's nor the memory's.
func (k *Kernel) LaunchBound() bool {
	t := k.Timing
	return t != nil && t.Launch != nil && t.Seconds != nil && t.Seconds.Median < 2**t.Launch
}
