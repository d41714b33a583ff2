// Package recordtest makes records for tests of how records are shown.
package recordtest

import (
	"math"
	"time"

	"zbench/bench/base/stat"
	"zbench/bench/hardware/collective"
	"zbench/bench/run/record"
	"zbench/bench/run/spec"
)

// model is the time of a collective in the fabric's model for 1,024 ranks. x is the time, in
// seconds, that its bytes take on the bus.
func model(x float64) float64 {
	const a, r, floor = 171.6e-6, 1689e-6, 160e-6
	return max(floor, x+min(a+2*math.Sqrt(a*x), r))
}

// Sample spreads a time like seven bursts do, without a random generator.
func Sample(t float64, salt int) *stat.Summary {
	values := make([]float64, 7)
	for i := range values {
		values[i] = t * (1 + 0.012*math.Sin(float64(salt*7+i*i+i)))
	}
	return stat.Summarize(values)
}

// Sweep returns a record like a sweep of 1,024 ranks: 3 collectives, with sizes that double from 1
// KiB on.
func Sweep(sizes int) *record.Record {
	const ranks, elt, bus = 1024, 4, 360e9
	rec := &record.Record{
		Schema: record.Schema, Tool: record.Tool{Name: "zbench", Version: "1.0.0"},
		Created: time.Date(2026, 11, 20, 9, 30, 0, 0, time.UTC), Simulated: true,
		Source: record.Source{Kind: record.Simulated, Backend: "loopback", Clock: "virtual"},
		World:  record.World{World: spec.World{Nodes: 128, GPUsPerNode: 8, GPUsPerProcess: 1}, Ranks: ranks, GPU: "MI300X"},
		Fabric: roofed(),
		Spec: &spec.Spec{Seed: 1, Sweep: &spec.Sweep{
			Collectives: collective.Default(), MinBytes: 1 << 10, MaxBytes: 1 << (9 + sizes), Factor: 2, Dtype: "float", Op: "sum",
			InPlace: []bool{false}, Iterations: 20, Warmup: 5, Checks: 1, Precision: 0.01, MaxTime: 0.4, Cache: "cold",
		}},
		Warnings: []record.Warning{{
			Code: "extrapolated", Message: "The fabric's model was fitted on up to 8 nodes; this sweep has 128.",
			Hint: "Measure on the cluster itself before changing a training run.",
		}},
	}
	for ci, c := range collective.All()[:3] {
		for i := range sizes {
			rec.Results = append(rec.Results, OneCase(c, int64(1)<<(10+i), ranks, elt, bus, ci*100+i))
		}
	}
	return rec
}

// OneCase returns a case of a collective with a bus bandwidth in bytes per second. salt selects its
// samples.
func OneCase(c collective.Collective, requested int64, ranks, elt int, bus float64, salt int) record.Result {
	op := ""
	if c.Reduces {
		op = "sum"
	}
	l := c.Layout(requested, ranks, elt)
	r := record.Result{
		Case:       record.Case{Key: record.Key(c.Name, "float", op, requested, ranks, 1, false), Status: record.OK, Verified: record.Verified{State: record.NotVerified, Reason: "memory"}},
		Collective: c.Name, Dtype: "float", Op: op, BytesRequested: requested, Bytes: l.Bytes, Count: l.Count,
		Ranks: ranks, Nodes: ranks / 8, GPUsPerProcess: 1, Extrapolated: true,
	}
	if l.Bytes == 0 {
		r.Status, r.Reason = record.Skipped, "rounds to 0"
		return r
	}
	if requested <= 1<<20 {
		wrong := int64(0)
		r.Verified = record.Verified{State: record.VerifiedOK, Wrong: &wrong, Launches: 1}
	}
	t := model(c.BusFactor(ranks) * float64(l.Bytes) / bus)
	r.Burst = &record.Timing{Iterations: 20, MeanOfRanks: Sample(t, salt)}
	r.Isolated = &record.Timing{
		Iterations: 1, MaxOfRanks: Sample(t*1.02, salt+1), Spread: Sample(2e-7, salt+2), Stop: "max_time",
		Late: []record.LateCount{{Rank: 3, Count: 4}, {Rank: 700 + salt%9, Count: 3}},
	}
	r.SetHeadline(c.BusFactor(ranks))
	if requested == 1<<19 {
		r.Warnings = []record.Warning{{Code: "skew", Message: "The ranks' times spread by more than 10 %.", Hint: "Run `zbench rails` to find the slow one."}}
	}
	return r
}

// roofed returns a fabric with three roofs.
func roofed() *record.Fabric {
	return &record.Fabric{
		Name: "mi300x-pollara", Title: "MI300X, 8 per node, 8 × 400 Gb/s Pollara",
		Roofs: []record.Roof{
			{Label: "8 NICs at line rate", BusBW: 400e9, Source: "data sheet, 8 × 50 GB/s"},
			{Label: "measured on 2 nodes", BusBW: 361e9, Source: "vendor's blog, 2025-08"},
			{Label: "xGMI, one node", BusBW: 323e9, Source: "rccl-tests on 8 GPUs, 2025-06"},
		},
		Extrapolated: []string{"R above 8 nodes", "all_gather and reduce_scatter by size"},
		Sources:      []string{"rccl-tests on 8 × MI300X, 2025-06", "Pollara 400 product brief, 2025"},
	}
}

// BothPlaces returns a sweep in which every case was also run in place. times is the ratio of the
// time in place to the time out of place.
func BothPlaces(sizes int, times float64) *record.Record {
	rec := Sweep(sizes)
	rec.Spec.Sweep.InPlace = []bool{false, true}
	for _, r := range rec.Results {
		r.InPlace = true
		r.Key += "-ip"
		if r.Burst != nil {
			burst, alone := *r.Burst.MeanOfRanks, *r.Isolated.MaxOfRanks
			burst.Median *= times
			alone.Median *= times
			burst.Lo, burst.Hi, alone.Lo, alone.Hi = nil, nil, nil, nil
			b, a := *r.Burst, *r.Isolated
			b.MeanOfRanks, a.MaxOfRanks = &burst, &alone
			r.Burst, r.Isolated = &b, &a
		}
		rec.Results = append(rec.Results, r)
	}
	return rec
}
