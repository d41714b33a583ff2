package judge_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/answers/judge"
	"zbench/bench/base/stat"
	"zbench/bench/run/record"
)

// withPolicies is a record of all_gather with and without windows, which make it so many times as long, at four sizes with
// noise, and of an all_reduce that was not served.
func withPolicies(times, noise float64, seed uint64) *record.Record {
	draw := rand.New(rand.NewPCG(seed, 62)) //nolint:gosec // a test's noise
	rec := &record.Record{}
	add := func(r record.Result, median float64) {
		samples := make([]float64, 30)
		for i := range samples {
			samples[i] = median * (1 + noise*draw.NormFloat64())
		}
		r.Burst = &record.Timing{Iterations: 20, MeanOfRanks: stat.Summarize(samples)}
		rec.Results = append(rec.Results, r)
	}
	for size := int64(1 << 20); size <= 1<<26; size *= 4 {
		r := record.Result{Case: record.Case{Key: fmt.Sprint("g/", size), Status: record.OK}, Collective: "all_gather", BytesRequested: size, Bytes: size, Ranks: 8, Nodes: 1}
		add(r, 1e-5+float64(size)/3e11)
		r.Key, r.Setup, r.Registration = r.Key+"/w", "register window, CTA zero", 0.004
		add(r, times*(1e-5+float64(size)/3e11))
	}
	rec.Results = append(rec.Results, record.Result{
		Case: record.Case{Key: "r", Status: record.Skipped, Reason: "copy engines move data and reduce none"}, Collective: "all_reduce", Setup: "register window, CTA zero",
	})
	return rec
}

func policyText(t *testing.T, rec *record.Record) string {
	t.Helper()
	for _, f := range judge.Record(rec) {
		if f.Code == judge.CodePolicy {
			return f.Text
		}
	}
	t.Fatal("no sentence on the policy")
	return ""
}

// Of planted effects with noise at most 1 % are told with the wrong sign, where there is none at most 1 % at all. The limit
// is printed, and what was not served is named each time.
func TestPoliciesAreToldBySign(t *testing.T) {
	const seeds = 100
	for _, planted := range []float64{0, 0.01, 0.03, 0.1} {
		for _, sign := range []float64{-1, 1} {
			wrong, named := 0, 0
			for seed := range uint64(seeds) {
				text := policyText(t, withPolicies(1+sign*planted, 0.02, seed))
				faster, slower := strings.Contains(text, "faster ±"), strings.Contains(text, "slower ±")
				if faster && (sign > 0 || planted == 0) || slower && (sign < 0 || planted == 0) {
					wrong++
				}
				if faster || slower {
					named++
				}
				require.Regexp(t, `(±|within) <?[0-9.]+ % on average over 4 cases`, text)
				require.Contains(t, text, "all_reduce: copy engines")
				require.Contains(t, text, "Registering took 4.00 ms")
			}
			require.LessOrEqual(t, wrong, seeds/100, planted)
			if planted >= 0.03 {
				require.Equal(t, seeds, named, planted)
			}
		}
	}
}

// Where the effect depends on the size, the sentence has both ends.
func TestPoliciesBySize(t *testing.T) {
	rec := withPolicies(0.9, 0.001, 1)
	require.NotContains(t, policyText(t, rec), "from")
	first := rec.Results[1].Burst.MeanOfRanks
	for _, v := range []*float64{&first.Median, first.Lo, first.Hi} {
		*v *= 1.4
	}
	require.Regexp(t, `from 10 % faster at \d+ MiB to 26 % slower at 1 MiB`, policyText(t, rec))
}
