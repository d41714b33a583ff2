package compare

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"zbench/bench/base/stat"
	"zbench/bench/run/record"
	"zbench/bench/run/spec"
)

// sizes are those of a planted sweep.
var sizes = []int64{1 << 10, 1 << 14, 1 << 18, 1 << 22, 1 << 26}

// planted makes a measured run: each size's time with relative noise between runs,
// times the factor of the size's place.
func planted(seed uint64, noise float64, factor func(i int) float64) *record.Record {
	rng := rand.New(rand.NewPCG(seed, 18))
	rec := &record.Record{
		Schema: record.Schema, Tool: record.Tool{Name: "zbench", Version: "1"}, Created: time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC),
		Source: record.Source{Kind: record.Measured, Backend: "rocm", Clock: "monotonic", Libraries: []record.Library{{Name: "librccl", Version: "2.27.7"}}},
		World:  record.World{World: spec.World{Nodes: 1, GPUsPerNode: 8, GPUsPerProcess: 8}, Ranks: 8, GPU: "AMD Instinct MI300X"},
		Spec:   &spec.Spec{Schema: spec.Schema, Benchmark: spec.Collectives, Backend: "rocm", Sweep: &spec.Sweep{Iterations: 20, Warmup: 5, Cache: "cold"}},
	}
	for _, name := range []string{"all_reduce", "all_gather"} {
		for i, size := range sizes {
			seconds := (1e-5 + float64(size)/3e11) * math.Exp(noise*rng.NormFloat64())
			if factor != nil {
				seconds *= factor(i)
			}
			r := record.Result{
				Case: record.Case{Key: record.Key(name, "float", "sum", size, 8, 8, false), Status: record.OK}, Collective: name, Dtype: "float", Op: "sum", BytesRequested: size, Bytes: size,
				Ranks: 8, Nodes: 1, GPUsPerProcess: 8,
				Burst: &record.Timing{Iterations: 20, MeanOfRanks: stat.Summarize([]float64{seconds})},
			}
			r.SetHeadline(1.75)
			rec.Results = append(rec.Results, r)
		}
	}
	return rec
}

// side makes n runs with seeds from the first on.
func plantedSide(name string, first uint64, n int, noise float64, factor func(i int) float64) []Run {
	out := make([]Run, n)
	for i := range out {
		out[i] = Run{fmt.Sprint(name, i), planted(first+uint64(i), noise, factor)}
	}
	return out
}

// slowerAt slows one size down.
func slowerAt(at int, by float64) func(int) float64 {
	return func(i int) float64 {
		if i == at {
			return 1 + by
		}
		return 1
	}
}
