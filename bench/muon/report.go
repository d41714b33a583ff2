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
	Schema  string      `json:"schema"`
	Tool    record.Tool `json:"tool"`
	Created time.Time   `json:"created"`
	Device  string      `json:"device"`
	// Backend is the libraries'; Emulated tells that the kernels ran on the host:
	// then there are checks and no figures.
	Backend      string `json:"backend"`
	Emulated     bool   `json:"emulated"`
	Coefficients string `json:"coefficients"`
	Preset       string `json:"preset,omitempty"`
	Seed         uint64 `json:"seed"`
	// Asked are the shapes that were asked for, as Shape.Title; the first Done of
	// them have ended.
	Asked  []string     `json:"asked"`
	Done   int          `json:"done"`
	Shapes []ShapeFacts `json:"shapes"`
	Checks []Check      `json:"checks"`
	// Step is the seconds that Newton–Schulz takes for all matrices of the preset
	// on this one device; null before all shapes are done.
	Step *float64 `json:"newton_schulz_seconds_per_step"`
	// Vendor says which library the vendor's products are from, or why there are
	// none.
	Vendor string `json:"vendor"`
}

// ShapeFacts are the figures of one shape.
type ShapeFacts struct {
	Shape Shape `json:"shape"`
	// Measured is the batch that was measured; the shape's is what a model has.
	Measured int   `json:"measured_batch"`
	Rows     []Row `json:"rows"`
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
	What string `json:"what"`
	// Seconds is the median; Samples how many batches it is of.
	Seconds *float64 `json:"median_seconds"`
	Samples int      `json:"samples"`
	// Effective counts the products by definition, Executed the tiles that were
	// made; both in FLOP/s.
	Effective *float64 `json:"effective_flops"`
	Executed  *float64 `json:"executed_flops"`
	// Bytes is the least that has to move, Rate that by the time.
	Bytes float64  `json:"least_bytes"`
	Rate  *float64 `json:"bytes_per_second"`
	// ToFull is the time of our own kernel without symmetry over this one's,
	// ToVendor that of the vendor's product.
	ToFull   *float64 `json:"times_own_full"`
	ToVendor *float64 `json:"times_vendor"`
}

// Check is a result held against its bar.
type Check struct {
	// Of is the shape that was asked for; Shape the one that was checked, smaller
	// where float64 or the emulation could not follow.
	Of    string `json:"of"`
	Shape string `json:"shape"`
	What  string `json:"what"`
	Found Error  `json:"found"`
	Bar   Error  `json:"bar"`
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
