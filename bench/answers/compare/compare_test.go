package compare

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/stat"
	"zbench/bench/run/record"
	"zbench/test/rendertest"
)

func compared(t *testing.T, base, fresh []Run) *Document {
	t.Helper()
	d, err := Compare(base, fresh, Defaults())
	require.NoError(t, err)
	return d
}

// A case that takes 10 % longer at one size is found there and nowhere else; its pair
// without the plant has no verdict but the same.
func TestAPlantedChangeIsFoundWhereItIs(t *testing.T) {
	for _, x := range []struct {
		by   float64
		want Verdict
	}{{0.1, Slower}, {-0.1, Faster}, {0, Same}} {
		d := compared(t, plantedSide("b", 1, 4, 0.002, nil), plantedSide("n", 101, 4, 0.002, slowerAt(3, x.by)))
		require.Equal(t, x.want, d.Verdict)
		for _, c := range d.Cases {
			want := Same
			if c.Bytes == sizes[3] {
				want = x.want
				require.InDelta(t, x.by, *c.Change, 0.01)
			}
			require.Equal(t, want, c.Verdict, "%s %+v", c.Key, c.Test)
			require.LessOrEqual(t, c.Test.Lo, *c.Change)
			require.GreaterOrEqual(t, c.Test.Hi, *c.Change)
		}
		require.Equal(t, Same, d.Common.Verdict, "two cases of ten are no common shift")
	}
}

// A change that is certain and small is none: significance is not enough.
func TestAChangeBelowTheMinimumIsTheSame(t *testing.T) {
	d := compared(t, plantedSide("b", 1, 4, 1e-4, nil), plantedSide("n", 101, 4, 1e-4, slowerAt(3, 0.01)))
	i := slices.IndexFunc(d.Cases, func(c Case) bool { return c.Bytes == sizes[3] })
	require.LessOrEqual(t, d.Cases[i].Test.AdjustedP, 0.01)
	require.Equal(t, Same, d.Cases[i].Verdict)
}

func TestAShiftOfAllCasesIsOneLine(t *testing.T) {
	all := func(int) float64 { return 1.06 }
	d := compared(t, plantedSide("b", 1, 5, 0.01, nil), plantedSide("n", 101, 5, 0.01, all))
	require.Equal(t, Slower, d.Common.Verdict)
	require.InDelta(t, 0.06, d.Common.Change, 0.02)
	require.Contains(t, d.Findings().Only(CodeCommon)[0].Text, "The median case is slower by")
}

// Below three runs a side nothing is concluded, and the document says what is needed;
// a known variation between runs is enough.
func TestTooFewRunsAreUnclear(t *testing.T) {
	for n := 1; n < MinRuns; n++ {
		base, fresh := plantedSide("b", 1, n, 0.001, nil), plantedSide("n", 101, n, 0.001, slowerAt(3, 0.5))
		d := compared(t, base, fresh)
		require.Equal(t, Unclear, d.Verdict)
		require.Equal(t, len(d.Cases), d.Counts.Unclear)
		require.Equal(t, MinRuns, d.NeedsRuns)
		require.Nil(t, d.Common)
		require.Contains(t, d.Findings().Only(CodeUnclear)[0].Hint, "give 3 runs a side, or --between-run-cv")
		o := Defaults()
		o.BetweenRunCV = 0.005
		known, err := Compare(base, fresh, o)
		require.NoError(t, err)
		require.Equal(t, Slower, known.Verdict)
		require.Equal(t, 2, known.Counts.Slower)
	}
}

// Runs that vary too much for a verdict say how many would do, and so many do.
func TestTheNeededRunsAreEnough(t *testing.T) {
	d := compared(t, plantedSide("b", 1, 3, 0.04, nil), plantedSide("n", 101, 3, 0.04, slowerAt(3, 0.08)))
	require.Positive(t, d.Counts.Unclear)
	i := slices.IndexFunc(d.Cases, func(c Case) bool { return c.Bytes == sizes[3] && c.Verdict == Unclear })
	require.GreaterOrEqual(t, i, 0)
	n := d.Cases[i].NeedsRuns
	require.Greater(t, n, 3)
	require.Less(t, n, 300)
	more := compared(t, plantedSide("b", 1001, n, 0.04, nil), plantedSide("n", 5001, n, 0.04, slowerAt(3, 0.08)))
	require.Equal(t, Slower, more.Cases[i].Verdict)
}

// From ten runs a side a rank test stands beside, and agrees on a large change.
func TestTheRankTestStandsBesideFromTenRuns(t *testing.T) {
	for n, has := range map[int]bool{RankRuns - 1: false, RankRuns: true} {
		d := compared(t, plantedSide("b", 1, n, 0.01, nil), plantedSide("n", 101, n, 0.01, slowerAt(3, 0.2)))
		for _, c := range d.Cases {
			require.Equal(t, has, c.RankP != nil)
			if has && c.Verdict == Slower {
				require.InEpsilon(t, 1.08e-5, *c.RankP, 0.01, "2 of the 184,756 orders of 10 and 10")
			}
		}
	}
}

// What must not be compared is refused, with the two values.
func TestRefusals(t *testing.T) {
	base := plantedSide("b", 1, 3, 0.01, nil)
	changed := func(change func(*record.Record)) []Run {
		out := plantedSide("n", 101, 3, 0.01, nil)
		for i := range out {
			change(out[i].Record)
		}
		return out
	}
	for _, x := range []struct {
		want  string
		fresh []Run
	}{
		{"simulated", changed(func(r *record.Record) { r.Simulated, r.Source.Kind = true, record.Simulated })},
		{"AMD Instinct MI300X, AMD Instinct MI355X", changed(func(r *record.Record) { r.World.GPU = "AMD Instinct MI355X" })},
		{"collectives, hbm", changed(func(r *record.Record) { r.Spec.Benchmark = "hbm" })},
		{"NEW has no run", nil},
		{"one run", append(plantedSide("n", 101, 3, 0.01, nil), plantedSide("copy", 101, 1, 0.01, nil)...)},
	} {
		_, err := Compare(base, x.fresh, Defaults())
		var refused *RefusedError
		require.ErrorAs(t, err, &refused)
		require.Contains(t, err.Error(), x.want)
		require.NotEmpty(t, refused.Hint)
	}
	_, err := Compare(base, changed(func(r *record.Record) { r.World.GPU = "MI300X" }), Defaults())
	require.NoError(t, err, "a log's shorter name is the same GPU")
}

// Burst is not compared with isolated, nor a mean over ranks with the slowest rank.
func TestKindsOfTimesAreNotMixed(t *testing.T) {
	base, fresh := plantedSide("b", 1, 3, 0.01, nil), plantedSide("n", 101, 3, 0.01, nil)
	for _, r := range fresh {
		for i := range r.Record.Results {
			x := &r.Record.Results[i]
			x.Isolated = &record.Timing{Iterations: 1, MaxOfRanks: x.Burst.MeanOfRanks}
			x.Burst = nil
		}
	}
	d := compared(t, base, fresh)
	require.Equal(t, NotChecked, d.Verdict)
	require.Equal(t, len(d.Cases), d.Counts.NotChecked)
	require.Equal(t, "different times: BASE has burst, NEW isolated", d.Cases[0].Reason)
	require.Nil(t, d.Cases[0].Change)
}

// The kind of time can be chosen; one that a side lacks is not checked.
func TestTheTimingCanBeChosen(t *testing.T) {
	sides := [2][]Run{plantedSide("b", 1, 3, 0.001, nil), plantedSide("n", 101, 3, 0.001, nil)}
	for s, runs := range sides {
		for _, r := range runs {
			for i := range r.Record.Results {
				x := &r.Record.Results[i]
				x.Isolated = &record.Timing{Iterations: 1, MaxOfRanks: stat.Summarize([]float64{x.Burst.MeanOfRanks.Median * (2 + 0.2*float64(s))})}
			}
		}
	}
	for timing, want := range map[string]Verdict{"": Same, "burst": Same, "isolated": Slower, "burst_slowest": NotChecked} {
		o := Defaults()
		o.Timing = timing
		d, err := Compare(sides[0], sides[1], o)
		require.NoError(t, err)
		require.Equal(t, want, d.Verdict, timing)
		if want == NotChecked {
			require.Equal(t, "no burst_slowest time on both sides: BASE has burst and isolated, NEW burst and isolated", d.Cases[0].Reason)
		}
	}
}

// A case that failed, is missing or was interrupted on a side is not checked; one that
// failed in NEW alone is broken.
func TestCasesWithoutATimeAreNotChecked(t *testing.T) {
	for _, x := range []struct {
		status record.Status
		where  string
		broken bool
	}{
		{record.Failed, "NEW", true},
		{record.WrongData, "NEW", true},
		{record.Interrupted, "NEW", false},
		{record.Skipped, "NEW", false},
		{record.Failed, "BASE", false},
		{"missing", "NEW", false},
		{"missing", "BASE", false},
	} {
		base, fresh := plantedSide("b", 1, 3, 0.01, nil), plantedSide("n", 101, 3, 0.01, nil)
		side := fresh
		if x.where == "BASE" {
			side = base
		}
		for _, r := range side {
			if x.status == "missing" {
				r.Record.Results = r.Record.Results[1:]
				continue
			}
			r.Record.Results[0].Status, r.Record.Results[0].Reason = x.status, "it ended"
		}
		d := compared(t, base, fresh)
		i := slices.IndexFunc(d.Cases, func(c Case) bool {
			return c.Group == "all_reduce float sum, out of place, 8 ranks on 1 node, 8 GPUs per process" && c.Bytes == sizes[0]
		})
		require.GreaterOrEqual(t, i, 0)
		c := d.Cases[i]
		require.Equal(t, NotChecked, c.Verdict, x)
		require.Equal(t, x.broken, c.Broken, x)
		require.Contains(t, c.Reason, strings.ReplaceAll(string(x.status), "_", " "))
		require.Contains(t, c.Reason, "in "+x.where)
		f, err := ParseFailOn("slower:5%")
		require.NoError(t, err)
		require.NotEqual(t, "pass", string(d.Gate(f).State), "never a pass")
	}
}

func TestWhatElseDiffersIsListed(t *testing.T) {
	base, fresh := plantedSide("b", 1, 3, 0.01, nil), plantedSide("n", 101, 3, 0.01, nil)
	for i, r := range fresh {
		r.Record.Source.Libraries[0].Version = "2.30.4"
		r.Record.Source.Environment = map[string]string{"NCCL_ALGO": "Ring"}
		r.Record.World.Hosts = []string{"node-" + string(rune('a'+i))}
		r.Record.Spec.Sweep.Iterations = 100
	}
	d := compared(t, base, fresh)
	got := map[string]Change{}
	for _, c := range d.Changes {
		got[c.What] = c
	}
	require.Len(t, got, 4)
	require.Equal(t, []string{"2.30.4"}, got["library librccl"].New)
	require.Equal(t, Change{"variable NCCL_ALGO", []string{"not known"}, []string{"Ring"}, false}, got["variable NCCL_ALGO"])
	require.True(t, got["hosts"].Within)
	require.Equal(t, []string{"100"}, got["launches in a burst (-n)"].New)
	require.Equal(t, []string{base[0].Name + " and " + fresh[0].Name +
		" differ in direct all_reduce (DDA) (default from RCCL 2.30.4 on, up to 8 MiB): off, on. A different time is to be expected."}, d.Notes)
}

// The order of a side's runs, and a factor common to all times, change nothing.
func TestNeitherOrderNorUnitMatters(t *testing.T) {
	base, fresh := plantedSide("b", 1, 4, 0.01, nil), plantedSide("n", 101, 4, 0.01, slowerAt(2, 0.05))
	want := compared(t, base, fresh)
	slices.Reverse(base)
	twice := func(runs []Run) []Run {
		for _, r := range runs {
			for i := range r.Record.Results {
				r.Record.Results[i].Burst.MeanOfRanks = stat.Summarize([]float64{2 * r.Record.Results[i].Burst.MeanOfRanks.Median})
			}
		}
		return runs
	}
	got := compared(t, twice(base), twice(fresh))
	for i := range want.Cases {
		require.Equal(t, want.Cases[i].Verdict, got.Cases[i].Verdict)
		require.InEpsilon(t, want.Cases[i].Test.P, got.Cases[i].Test.P, 1e-6)
	}
	// The sides exchanged: the change is the reciprocal.
	back := compared(t, fresh, base)
	for i := range got.Cases {
		require.InDelta(t, 1, (1+*got.Cases[i].Change)*(1+*back.Cases[i].Change), 1e-12)
		require.InEpsilon(t, got.Cases[i].Test.P, back.Cases[i].Test.P, 1e-6)
	}
}

// A record of nothing, of NaN and of zero times makes a document, not a panic.
func TestEmptyAndAbsurdRecords(t *testing.T) {
	empty := []Run{{"e", &record.Record{}}}
	d := compared(t, empty, empty)
	require.Equal(t, NotChecked, d.Verdict)
	require.Contains(t, d.Headline(), "NOT CHECKED: of 0 cases")
	odd := plantedSide("n", 1, 3, 0.01, nil)
	for i, bad := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		odd[0].Record.Results[i].Burst.MeanOfRanks.Median = bad
	}
	d = compared(t, plantedSide("b", 101, 3, 0.01, nil), odd)
	require.Equal(t, Unclear, d.Cases[0].Verdict, "two runs are left")
	var b bytes.Buffer
	require.NoError(t, d.WriteJSON(&b))
	require.NoError(t, json.Unmarshal(b.Bytes(), &Document{}))
	rendertest.Text(t, d.Shown(), 100, true)
	rendertest.CSV(t, d.Shown())
	rendertest.Markdown(t, d.Shown())
}
