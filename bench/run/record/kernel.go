package record

import (
	"fmt"
	"slices"
	"strings"

	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
	"zbench/bench/base/stat"
	"zbench/bench/base/unit"
	"zbench/bench/run/spec"
)

// Kinds of device. Figures of one kind are never shown as figures of another kind.
const (
	GPU        = "GPU memory"
	HostMemory = "host memory"
	// Checked is a device whose kernels are emulated: results, no times.
	Checked = "results checked, not timed"
	// OnLoopback is the loopback under a vendor's names: times are of its virtual clock,
	// not of the data moved.
	OnLoopback = "simulated"
)

// Roles of a kernel's row. The first five are for streams: a fixed configuration for comparison with
// other tools, zbench's default, the fastest of a tuning, another point of a tuning, a size of a sweep.
const (
	Reference = "reference"
	Preset    = "preset"
	Best      = "best"
	Tune      = "tune"
	SizeSweep = "sweep"
	// These are for fused kernels: the fused kernel, the same work kernel by kernel, and a copy of as many
	// bytes.
	Fused   = "fused"
	Unfused = "unfused"
	Copy    = "copy"
	// These are for products: a product of zbench, the same with every tile of a symmetric product, a
	// product of the vendor, and a sequence of both.
	Own    = "own"
	Full   = "full"
	Vendor = "vendor"
	Hybrid = "hybrid"
	// Pass is a pass over memory. Sequence is all launches of one step.
	Pass     = "pass"
	Sequence = "sequence"
	// These are for a vendor's products by heuristics: one of the vendor's choices, and the call that
	// PyTorch makes.
	Choice = "choice"
	Torch  = "pytorch"
)

// Roles returns all roles.
func Roles() []string {
	return []string{Reference, Preset, Best, Tune, SizeSweep, Fused, Unfused, Copy, Own, Full, Vendor, Hybrid, Pass, Sequence, Choice, Torch}
}

// Kernel is one kernel, or a sequence of kernels, at one shape on one device: a
// row of hbm or of a family of kernels.
type Kernel struct {
	Case
	// Index of the device in the world.
	Device int `json:"device"`
	// Name of the kernel, or the formula of a product.
	Kernel string `json:"kernel"`
	// Element type.
	Dtype string `json:"dtype"`
	// Role of the row among the rows of its kernel.
	Role string `json:"role"`
	// Vendor library of the kernel; absent for zbench's own.
	Library string `json:"library,omitempty"`
	// Shape of the kernel's data.
	Shape Shape `json:"shape"`
	// Launch configuration of the kernel.
	Config LaunchConfig `json:"config"`
	// Bytes that one launch moves, by the convention in counting.
	Moved int64 `json:"moved"`
	// Counting describes the convention of moved.
	Counting string `json:"counting,omitempty"`
	// Bytes that one launch touches.
	WorkingSet int64 `json:"working_set"`
	// The working set is below four times the last-level cache, so the rate is not the rate of the memory.
	CacheResident bool `json:"cache_resident"`
	// Floating-point operations of one launch by definition; absent if none are counted.
	Effective float64 `json:"effective_flop,omitempty"`
	// Floating-point operations of the tiles that one launch makes; absent if none are counted.
	Executed float64 `json:"executed_flop,omitempty"`
	// Times; null if nothing was timed.
	Timing *KernelTiming `json:"timing"`
	// Figures derived from the times.
	Metrics Metrics `json:"metrics"`
}

// Shape is the shape of a kernel's data. Fields that do not apply are absent.
type Shape struct {
	// Name of the matrices in the model.
	Name string `json:"name,omitempty"`
	// Size of one array of a stream, in bytes.
	Array int64 `json:"array,omitempty"`
	// Rows of a matrix.
	Rows int64 `json:"rows,omitempty"`
	// Columns of a matrix.
	Cols int64 `json:"cols,omitempty"`
	// Depth of a product, the length of its sums.
	Depth int64 `json:"depth,omitempty"`
	// Layout of a product's operands in BLAS's notation by columns: TN, NN or NT.
	Layout string `json:"layout,omitempty"`
	// Launches of this shape in a microbatch of the model.
	Count int64 `json:"count,omitempty"`
	// Number of equal matrices.
	Batch int64 `json:"batch,omitempty"`
	// Measured is the number of measured matrices of the batch.
	Measured int64 `json:"measured_batch,omitempty"`
}

// LaunchConfig is a kernel's launch configuration. Fields that do not apply are absent.
type LaunchConfig struct {
	// Threads of a block.
	Block int `json:"block,omitempty"`
	// Vectors of 16 bytes that a thread loads before it stores.
	Loads int `json:"loads,omitempty"`
	// Stores bypass the caches.
	NonTemporal bool `json:"non_temporal,omitempty"`
	// Grid is exact for one tile per block, resident for as many blocks as the device holds at
	// once, strided for four tiles per block, one grid apart.
	Grid string `json:"grid,omitempty"`
	// Blocks of the grid.
	Blocks int64 `json:"blocks,omitempty"`
	// Choice is the rank among the vendor's heuristics, from 1.
	Choice int `json:"choice,omitempty"`
	// Workspace of the vendor's product.
	Workspace int64 `json:"workspace,omitempty"`
	// Threads on the host; absent on a GPU.
	CPUs int `json:"cpus,omitempty"`
}

// KernelTiming holds a kernel's times. The summary is of seconds per launch, or per round of a
// sequence.
type KernelTiming struct {
	// Launches is the smallest number of launches behind one sample: a batch between two events.
	Launches int `json:"launches" jsonschema:"minimum=1"`
	// Seconds per launch, or per round of a sequence.
	Seconds *stat.Summary `json:"seconds"`
	// Stop is the rule that ended the last pass.
	Stop string `json:"stop"`
	// Seconds of a launch of the same kernel with almost no data, back to back as in a sample;
	// absent if not measured.
	Launch *float64 `json:"launch,omitempty" jsonschema:"exclusiveMinimum=0"`
	// Conditions of the device in each pass, in order; absent if none were read.
	Conditions []Conditions `json:"conditions,omitempty"`
}

// Clock returns the mean clock of the units over the passes in hertz, and the share by which it
// fell from the first to the last; 0 if unknown.
func (t *KernelTiming) Clock() (hz, fell float64) {
	if t == nil {
		return 0, 0
	}
	clocks := slice.Where(slice.Map(t.Conditions, func(c Conditions) float64 { return c.Clock }), func(hz float64) bool { return hz > 0 })
	if n := len(clocks); n > 0 {
		hz, fell = stat.Mean(clocks), max(0, 1-clocks[n-1]/clocks[0])
	}
	return hz, fell
}

// Most returns the highest value of each condition over the passes, and all limits of the clock.
func (t *KernelTiming) Most() (most Conditions) {
	if t == nil {
		return most
	}
	var limits []string
	for _, c := range t.Conditions {
		most.Clock, most.Power, most.PowerLimit = max(most.Clock, c.Clock), max(most.Power, c.Power), max(most.PowerLimit, c.PowerLimit)
		most.Temperature, most.MemoryTemperature = max(most.Temperature, c.Temperature), max(most.MemoryTemperature, c.MemoryTemperature)
		limits = append(limits, strings.Split(c.LimitedBy, ", ")...)
	}
	limits = slice.Where(limits, func(by string) bool { return by != "" })
	most.LimitedBy = strings.Join(slice.Distinct(limits), ", ")
	return most
}

// ConditionsText describes the device's conditions in a few words; empty if none were read.
func (t *KernelTiming) ConditionsText() string {
	var parts []string
	if hz, _ := t.Clock(); hz > 0 {
		parts = append(parts, unit.Hertz(hz))
	}
	most := t.Most()
	if most.Power > 0 {
		parts = append(parts, fmt.Sprintf("%.0f W", most.Power))
	}
	if most.Temperature > 0 {
		parts = append(parts, fmt.Sprintf("%.0f °C", most.Temperature))
	}
	return strings.Join(parts, ", ")
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

// DeviceName returns the name of the first device; "an unknown device" if the record has none.
func (rec *Record) DeviceName() string {
	if len(rec.World.Devices) == 0 {
		return "an unknown device"
	}
	return rec.World.Devices[0].Name
}

// KernelRows returns the results of kernels, for reading or changing in place.
func (rec *Record) KernelRows() []*Kernel { return slice.Pointers(rec.Kernels) }

// GPU names the device of a row, with its node if several were measured.
func (rec *Record) GPU(k *Kernel) string {
	if host := rec.DeviceOf(k).Host; host != "" {
		return fmt.Sprintf("GPU %d of %s", k.Device%max(1, rec.World.GPUsPerNode), plain.Line(host))
	}
	return fmt.Sprintf("GPU %d", k.Device)
}

// Emulated reports whether kernels ran thread by thread: their results are checked, and nothing is
// timed.
func (rec *Record) Emulated() bool {
	return len(rec.World.Devices) > 0 && rec.World.Devices[0].Kind == Checked
}

// OfKernels reports whether a record is of hbm or kernels, not of collectives.
func (rec *Record) OfKernels() bool { return rec.Spec != nil && rec.Spec.Kernels != nil }

// Benchmark returns the name of the benchmark, empty for an import.
func (rec *Record) Benchmark() string {
	if rec.Spec == nil {
		return ""
	}
	return rec.Spec.Benchmark
}

// ResumeCommand returns the command that resumes the record's run in a folder.
func (rec *Record) ResumeCommand(dir string) string {
	return "`zbench " + spec.Command(rec.Benchmark()) + " --resume " + plain.Shell(dir) + "`"
}

// OnLoopback reports whether the loopback's clock determined the times of kernels.
func (rec *Record) OnLoopback() bool {
	return slices.ContainsFunc(rec.World.Devices, func(d Device) bool { return d.Kind == OnLoopback })
}

// Text describes the shape: rows, columns and depth of a product, rows and columns of a matrix,
// else the size of an array.
func (s Shape) Text() string {
	switch {
	case s.Depth > 0:
		return fmt.Sprintf("%d × %d × %d %s", s.Rows, s.Cols, s.Depth, s.Layout)
	case s.Rows > 0:
		return fmt.Sprintf("%d × %d", s.Rows, s.Cols)
	}
	return unit.Bytes(s.Array)
}

// Size returns the shape in the form of the commands' flags: MxNxK/LAYOUT of a product, with the
// batch if there is one, and MxN of a matrix; empty for a stream.
func (s Shape) Size() string {
	switch {
	case s.Depth > 0 && s.Batch > 1:
		return fmt.Sprintf("%dx%dx%dx%d/%s", s.Rows, s.Cols, s.Depth, s.Batch, s.Layout)
	case s.Depth > 0:
		return fmt.Sprintf("%dx%dx%d/%s", s.Rows, s.Cols, s.Depth, s.Layout)
	case s.Rows > 0:
		return fmt.Sprintf("%dx%d", s.Rows, s.Cols)
	}
	return ""
}

// LaunchBound reports whether a launch alone takes at least half the time. Then the rate measures
// launches, not a cache or the memory.
func (k *Kernel) LaunchBound() bool {
	t := k.Timing
	return t != nil && t.Launch != nil && t.Seconds != nil && t.Seconds.Median < 2**t.Launch
}

// Bound returns launch-bound or cache-resident if that limits the rate, empty if the memory does.
func (k *Kernel) Bound() string {
	switch {
	case k.LaunchBound():
		return "launch-bound"
	case k.CacheResident:
		return "cache-resident"
	}
	return ""
}
