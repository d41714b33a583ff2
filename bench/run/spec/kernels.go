package spec

import (
	"fmt"
	"math"
	"slices"
)

// Benchmarks in addition to Collectives; other kernels have their own names.
const (
	HBM  = "hbm"
	Muon = "muon"
	Gemm = "gemm"
)

// Kernels is a run of hbm or of a kernel. Fields that do not apply to a benchmark are absent.
type Kernels struct {
	// Index of the GPU (--device).
	Device int `json:"device"`
	// All GPUs of the machine at once (--all-gpus).
	AllGPUs bool `json:"all_gpus,omitempty"`
	// Half the 95 % interval of the median over the median at which a timing ends, a
	// ratio.
	Precision float64 `json:"precision"`
	// Measured time after which a timing ends, in seconds.
	MaxTime float64 `json:"max_time"`
	// Peak of the memory in bytes per second, in place of the published one.
	Peak float64 `json:"peak,omitempty"`
	// Size of one array of a stream, in bytes.
	Size int64 `json:"size,omitempty"`
	// Every size up to the size of the arrays is measured, too (--sweep).
	Sweep bool `json:"sweep,omitempty"`
	// Try configurations of each kernel and measure the best (--tune).
	Tune bool `json:"tune,omitempty"`
	// Names of the streams.
	Streams []string `json:"streams,omitempty"`
	// Element types.
	Dtypes []string `json:"dtypes,omitempty"`
	// Data in the arrays: random or zeros.
	Data string `json:"data,omitempty"`
	// Rows of a fused kernel's matrices.
	Rows int `json:"rows,omitempty"`
	// Hidden lists the elements of a row.
	Hidden []int `json:"hidden,omitempty"`
	// Preset is the model whose matrices Muon steps, or whose products are timed.
	Preset string `json:"preset,omitempty"`
	// Shapes are matrices for Muon, as MxN or MxNxBATCH, or products, as MxNxK or MxNxKxBATCH with
	// the layout after a slash.
	Shapes []string `json:"shapes,omitempty"`
	// Coefficients of Newton–Schulz.
	Coefficients string `json:"coefficients,omitempty"`
	// Reduce is the longest side that is emulated in place of a shape; absent if the shape itself
	// is emulated.
	Reduce int `json:"reduce,omitempty"`
	// Tokens of a microbatch, for a preset's products.
	Tokens int `json:"tokens,omitempty"`
	// Neighbours of the hidden size on each side whose products are also timed.
	Around int `json:"around,omitempty"`
	// Number of timed choices of the vendor's heuristics.
	Choices int `json:"choices,omitempty"`
	// Measure the reachable rate, on all GPUs at once (--peak of gemm).
	Reachable bool `json:"reachable,omitempty"`
	// Results are not verified (--check 0).
	Unchecked bool `json:"unchecked,omitempty"`
	// Keys of the measured rows; absent if all rows are measured.
	Only []string `json:"only,omitempty"`
}

func (k Kernels) clone() *Kernels {
	k.Streams, k.Dtypes, k.Hidden, k.Shapes = slices.Clone(k.Streams), slices.Clone(k.Dtypes), slices.Clone(k.Hidden), slices.Clone(k.Shapes)
	k.Only = slices.Clone(k.Only)
	return &k
}

// maxNamed is the most streams, types, lengths or shapes in a request.
const maxNamed = 1 << 12

// foreign returns a field of the request that its benchmark does not have; empty if there is none.
func (k *Kernels) foreign(benchmark string) string {
	if k == nil {
		return ""
	}
	muon, gemm, streams := benchmark == Muon, benchmark == Gemm, benchmark == HBM
	for _, f := range []struct {
		name       string
		given, has bool
	}{
		{"all_gpus", k.AllGPUs, !muon && !gemm},
		{"peak", k.Peak != 0, !muon && !gemm},
		{"size", k.Size != 0, streams},
		{"sweep", k.Sweep, streams},
		{"tune", k.Tune, streams},
		{"streams", len(k.Streams) > 0, streams},
		{"data", k.Data != "", streams},
		{"dtypes", len(k.Dtypes) > 0, !muon},
		{"rows", k.Rows != 0, !muon && !gemm && !streams},
		{"hidden", len(k.Hidden) > 0, !muon && !gemm && !streams},
		{"preset", k.Preset != "", muon || gemm},
		{"shapes", len(k.Shapes) > 0, muon || gemm},
		{"coefficients", k.Coefficients != "", muon},
		{"reduce", k.Reduce != 0, muon},
		{"tokens", k.Tokens != 0, gemm},
		{"around", k.Around != 0, gemm},
		{"choices", k.Choices != 0, gemm},
		{"reachable", k.Reachable, gemm},
	} {
		if f.given && !f.has {
			return f.name
		}
	}
	return ""
}

func (k *Kernels) check() error {
	for _, v := range []float64{k.Precision, k.MaxTime, k.Peak} {
		if !(v >= 0) || math.IsInf(v, 0) {
			return fmt.Errorf("precision %g, max_time %g, peak %g", k.Precision, k.MaxTime, k.Peak)
		}
	}
	switch {
	case k.Device < 0 || k.Size < 0 || k.Rows < 0 || k.Reduce < 0 || k.Tokens < 0 || k.Around < 0 || k.Choices < 0:
		return fmt.Errorf("device %d, size %d, rows %d, reduce %d, tokens %d, around %d, choices %d", k.Device, k.Size, k.Rows, k.Reduce, k.Tokens, k.Around, k.Choices)
	case len(k.Streams)+len(k.Dtypes)+len(k.Hidden)+len(k.Shapes)+len(k.Only) > maxNamed:
		return fmt.Errorf("more than %d names", maxNamed)
	}
	return nil
}
