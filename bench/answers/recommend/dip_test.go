package recommend

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/unit"
	"zbench/bench/job/trainer"
)

// dipped is a curve that is by so much slower between two sizes.
func dipped(by, from, to float64) func(s float64) float64 {
	return func(s float64) float64 {
		t := 1e-3 + s/150e9
		if from <= s && s <= to {
			t *= by
		}
		return t
	}
}

// sure is a question that nothing but its curve speaks against.
func sure(t *testing.T, sizes []int64, seconds func(s float64) float64) Question {
	q := ddp(spread1(curve(t, "all_reduce", 16, sizes, seconds)))
	q.Curves[0].Runs, q.Bootstrap = 2, 30
	return q
}

// evenly is the question of a model without a large tensor.
func evenly(t *testing.T, sizes []int64, seconds func(s float64) float64, compute float64) Question {
	q := sure(t, sizes, seconds)
	q.Params, q.Backward, q.Forward = nil, compute, compute/2
	for range 100 {
		q.Params = append(q.Params, trainer.Param{Name: "w", Elements: 10_000_000})
	}
	return q
}

// A sweep that ends inside a dip makes every larger setting look bad: where the
// answer would cost more than it says, should the dip end there, it is not believed.
func TestSweepThatEndsInADip(t *testing.T) {
	const mib = float64(unit.MiB)
	missed := 0
	for _, by := range []float64{1.3, 1.8, 2.5} {
		for _, end := range []int64{128 * unit.MiB, 256 * unit.MiB, 512 * unit.MiB} {
			for _, first := range []float64{1, 2} { // sizes of the sweep in the dip, by powers of two
				for _, compute := range []float64{5e-3, 20e-3, 50e-3} {
					seconds := dipped(by, float64(end)/first, float64(end)*1.1)
					a := ask(t, evenly(t, doubling(64*unit.KiB, end), seconds, compute))
					truth := evenly(t, wide(), seconds, compute)
					truth.Current = a.Elements
					regret := ask(t, truth).Current.Nominal
					if regret > 0.05 {
						missed++
						require.Equal(t, Low, a.Confidence.Level, "×%g from %g MiB to the end at %d MiB, computation %g s, regret %g: %+v",
							by, float64(end)/first/mib, end>>20, compute, regret, a.Confidence)
					}
				}
			}
		}
	}
	require.Greater(t, missed, 10, "the worlds are hard enough")
}

// What ends in a dip is told from what does not.
func TestDipsThatDoNotMatter(t *testing.T) {
	const mib = float64(unit.MiB)
	for name, q := range map[string]Question{
		"no dip":                  sure(t, wide(), dipped(1, 0, 0)),
		"a dip in the middle":     sure(t, wide(), dipped(1.8, 64*mib, 512*mib)),
		"a sweep that goes on":    sure(t, doubling(64*unit.KiB, 8*unit.GiB), dipped(1.8, 128*mib, 256*mib)),
		"communication is hidden": hidden1(sure(t, doubling(64*unit.KiB, 2*unit.GiB), dipped(1.8, 1024*mib, 2048*mib))),
	} {
		a := ask(t, q)
		require.NotContains(t, reasons(a), "ends_in_dip", "%s: %+v", name, a.Confidence)
	}
	a := ask(t, sure(t, doubling(64*unit.KiB, 512*unit.MiB), dipped(1.8, 400*mib, 600*mib)))
	require.Equal(t, Low, reasons(a)["ends_in_dip"], "%+v", a.Confidence)
	for _, r := range a.Confidence.Reasons {
		if r.Code == "ends_in_dip" {
			require.Contains(t, r.Message, "all_reduce of 16 ranks: the sweep ends at 512 MiB in a dip")
			require.Contains(t, r.Message, "-e")
		}
	}
}

func hidden1(q Question) Question {
	q.Backward, q.Forward = 6, 3
	return q
}

// Runs that differ by more than half are no repeats of each other: the answer says
// so with the names of the files, whatever else speaks for it.
func TestRunsOfDifferentEnvironments(t *testing.T) {
	q := sure(t, wide(), affine)
	for apart, want := range map[float64]string{0.02: "", 0.2: Medium, 0.45: Medium, 0.6: Low, 10.54: Low} {
		for i := range q.Curves[0].Points {
			q.Curves[0].Points[i].Disagree = apart
			q.Curves[0].Points[i].Fastest, q.Curves[0].Points[i].Slowest = "good.log", "other.log"
		}
		a := ask(t, q)
		level := reasons(a)["runs_disagree"]
		if apart > 0.5 {
			level = reasons(a)["not_repeats"]
			at := slices.IndexFunc(a.Confidence.Reasons, func(r Reason) bool { return r.Code == "not_repeats" })
			require.Contains(t, a.Confidence.Reasons[at].Message, "good.log")
			require.Contains(t, a.Confidence.Reasons[at].Message, "other.log")
			require.NotContains(t, reasons(a), "runs_disagree")
		}
		require.Equal(t, want, level, "%g", apart)
	}
	// Only where the answer's messages are.
	for i := range q.Curves[0].Points {
		q.Curves[0].Points[i].Disagree = 0
	}
	q.Curves[0].Points[0].Disagree = 10
	require.NotContains(t, reasons(ask(t, q)), "not_repeats")
}
