package muon

import (
	"math"
	"time"

	"zbench/bench/record"
)

// Schema names the form of a Report.
const Schema = "zbench.muon/1"

// Report is what zbench kernels muon has found. Figures in base units: seconds,
// bytes, floating-point operations per second; null where there is none.
type Report struct {
	// Version of the format.
	Schema string `json:"schema"`
	// What wrote the record.
	Tool record.Tool `json:"tool"`
	// When the record was made, in UTC (RFC 3339).
	Created time.Time `json:"created"`
	// Device is the GPU's name.
	Device string `json:"device"`
	// Backend is the libraries underneath: rocm, cuda or loopback.
	Backend string `json:"backend"`
	// Emulated is true where the kernels ran on the host: results were checked, nothing
	// was timed.
	Emulated bool `json:"emulated"`
	// Coefficients is the name of the Newton–Schulz coefficients.
	Coefficients string `json:"coefficients"`
	// The model whose matrices were stepped; absent for shapes.
	Preset string `json:"preset,omitempty"`
	// Seed of the matrices.
	Seed uint64 `json:"seed"`
	// Asked are the shapes that were asked for, with what they are in the model.
	Asked []string `json:"asked"`
	// Done is how many of the shapes that were asked for have ended, from the first.
	Done int `json:"done"`
	// Shapes are the figures by shape; empty where nothing was timed.
	Shapes []ShapeFacts `json:"shapes"`
	// Checks are results held against float64.
	Checks []Check `json:"checks"`
	// Step is the seconds that Newton–Schulz takes for all matrices of the preset on this
	// one device; null before all shapes are done.
	Step *float64 `json:"newton_schulz_seconds_per_step"`
	// Vendor is the library of the vendor's matrix products, or why there is none.
	Vendor string `json:"vendor"`
}

// ShapeFacts are the figures of one shape.
type ShapeFacts struct {
	// Shape is the batch that the model has.
	Shape Shape `json:"shape"`
	// Measured is the number of matrices that were measured at once.
	Measured int `json:"measured_batch"`
	// Rows are kernels and sequences of kernels.
	Rows []Row `json:"rows"`
}

// Rows that others look for by name: the pass over memory that begins a step, the
// whole iteration, and what follows a symmetric product's name where it was made
// without symmetry.
const (
	Prepare   = "momentum, cast, norm"
	Iteration = "Newton–Schulz"
	EveryTile = ", every tile"
)

// Row is one kernel or sequence, over the batch that was measured.
type Row struct {
	// What is the kernel or the sequence.
	What string `json:"what"`
	// Seconds is the median time; null where nothing was timed.
	Seconds *float64 `json:"median_seconds"`
	// Samples is the number of batches that the median is of.
	Samples int `json:"samples"`
	// Effective is the products' operations by definition over the time, in FLOP/s; null
	// without a time.
	Effective *float64 `json:"effective_flops"`
	// Executed is the operations of the tiles that were made over the time, in FLOP/s;
	// null without a time.
	Executed *float64 `json:"executed_flops"`
	// Bytes is the least that has to move, in bytes.
	Bytes float64 `json:"least_bytes"`
	// Rate is least_bytes over the time, in bytes per second; null without a time.
	Rate *float64 `json:"bytes_per_second"`
	// ToFull is the time of zbench's own kernel without symmetry over this one's, a ratio;
	// null where there is none.
	ToFull *float64 `json:"times_own_full"`
	// ToVendor is the time of the vendor's product over this one's, a ratio; null where
	// there is none.
	ToVendor *float64 `json:"times_vendor"`
}

// Check is a result held against its bar.
type Check struct {
	// The shape that was asked for.
	Of string `json:"of"`
	// The shape that was checked.
	Shape string `json:"shape"`
	// What was checked.
	What string `json:"what"`
	// How far a result is from the reference.
	Found Error `json:"found"`
	// How far a result is from the reference.
	Bar Error `json:"bar"`
}

// Worst keeps the larger of what was found and another finding.
func (c *Check) Worst(e Error) {
	c.Found.Frobenius = worse(c.Found.Frobenius, e.Frobenius)
	c.Found.Max = worse(c.Found.Max, e.Max)
}

// worse is the larger. What is no number is the largest that JSON has a word for.
func worse(a, b float64) float64 {
	if math.IsNaN(a) || math.IsNaN(b) {
		return math.MaxFloat64
	}
	return min(math.MaxFloat64, max(a, b))
}

// OK tells whether the bar is kept.
func (c Check) OK() bool { return c.Found.Within(c.Bar) }

// Reduced is the shape with its long side brought to at most side, the ratio
// kept as far as whole numbers do: what float64 can follow in a second.
func (s Shape) Reduced(side int) Shape {
	if s.Long() <= side {
		return s
	}
	short := max(1, s.Short()*side/s.Long())
	r := Shape{Name: s.Name, Rows: short, Cols: side, Batch: min(s.Batch, 2)}
	if s.Rows > s.Cols {
		r.Rows, r.Cols = r.Cols, r.Rows
	}
	return r
}
