package judge

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/finding"
	"zbench/bench/base/stat"
	"zbench/bench/run/record"
	"zbench/bench/run/spec"
)

// steady is the summary of n samples around a value, which differ by a share up and down.
func steady(n int, value, differ float64) *stat.Summary {
	all := make([]float64, n)
	for i := range all {
		all[i] = value * (1 + differ*float64(i*7%11-5)/5)
	}
	return stat.Summarize(all)
}

// sound is a simulated sweep of three nodes of two GPUs without a fault: whole worlds at the model's times, two
// groups of three and three of two, each with bursts and launches alone.
func sound(t *testing.T) *record.Record {
	t.Helper()
	world := spec.World{Nodes: 3, GPUsPerNode: 2, GPUsPerProcess: 1}
	rec := &record.Record{Simulated: true, World: record.World{World: world, Ranks: 6}, Fabric: &record.Fabric{Name: "mi300x-pollara"}}
	for _, bytes := range []int64{1 << 20, 4 << 20} {
		for groups, ranks := range []int{0, 6, 3, 2} {
			r := record.Result{
				Collective: "all_reduce", Dtype: "float", Op: "sum", Bytes: bytes, BytesRequested: bytes, Ranks: ranks, Nodes: 3, GPUsPerProcess: 1, Groups: groups,
				Case: record.Case{Status: record.OK, Verified: record.Verified{State: record.VerifiedOK}}, Burst: &record.Timing{}, Isolated: &record.Timing{Spread: steady(60, 1e-6, 0.01)},
			}
			if groups == 0 {
				continue
			}
			rec.Results = append(rec.Results, r)
		}
	}
	want := expect(rec)
	for i := range rec.Results {
		r := &rec.Results[i]
		seconds, known := want.seconds(r)
		require.Equal(t, r.Groups == 1, known)
		if !known {
			seconds = 1e-4
			r.SlowestGroup = &record.SlowestGroup{FirstRank: r.Ranks, Median: 1.01 * seconds, Typical: seconds, Fastest: 0.99 * seconds}
		}
		for rank := range r.Ranks {
			r.Isolated.Late = append(r.Isolated.Late, record.LateCount{Rank: rank, Count: 60 / r.Ranks})
		}
		r.Burst.MeanOfRanks, r.Isolated.MaxOfRanks = steady(20, seconds, 0.01), steady(60, seconds, 0.01)
		r.SlowLaunches = &record.SlowLaunches{Launches: 60, Groups: []record.SlowGroup{{FirstRank: 0, Count: 1}}}
	}
	return rec
}

// classes are the names that the OK has.
func classes(of []compared) (names []string) {
	for _, c := range of {
		if !slices.Contains(names, c.Class) {
			names = append(names, c.Class)
		}
	}
	return names
}

// Each figure that is lowered beyond its limit takes the OK away, although no detector names it; below the
// limit it does not. The OK names what was compared, and nothing that the record does not have.
func TestTheGateOfASweep(t *testing.T) {
	whole := func(rec *record.Record) *record.Result { return &rec.Results[0] }
	group := func(groups int) func(*record.Record) *record.Result {
		return func(rec *record.Record) *record.Result {
			return &rec.Results[slices.IndexFunc(rec.Results, func(r record.Result) bool { return r.Groups == groups })]
		}
	}
	for name, x := range map[string]struct {
		class string
		of    func(*record.Record) *record.Result
		lower func(r *record.Result, lost float64)
		much  float64
		less  float64
	}{
		"a burst": {"bursts", whole, func(r *record.Result, lost float64) {
			r.Burst.MeanOfRanks = steady(20, r.Burst.MeanOfRanks.Median/(1-lost), 0.01)
		}, 0.09, 0.03},
		"some bursts": {"bursts", whole, func(r *record.Result, lost float64) {
			r.Burst.MeanOfRanks.Mean /= 1 - lost // the median stays
		}, 0.09, 0.03},
		"launches alone": {"single launches", whole, func(r *record.Result, lost float64) {
			r.Isolated.MaxOfRanks = steady(60, r.Isolated.MaxOfRanks.Median/(1-lost), 0.01)
		}, 0.055, 0.03},
		"one of two groups": {"groups that ran at once", group(2), func(r *record.Result, lost float64) {
			g := r.SlowestGroup
			g.Median = g.Fastest / (1 - lost)
			g.Typical = (g.Median + g.Fastest) / 2
		}, 0.07, 0.03},
		"one of three groups": {"groups that ran at once", group(3), func(r *record.Result, lost float64) {
			r.SlowestGroup.Median = r.SlowestGroup.Fastest / (1 - lost)
		}, 0.07, 0.03},
		"half of four groups": {"groups that ran at once", group(3), func(r *record.Result, lost float64) {
			g := r.SlowestGroup
			r.Groups, g.Median = 4, g.Fastest/(1-lost)
			g.Typical = (g.Median + g.Fastest) / 2
		}, 0.07, 0.03},
		"slow launches": {"slow launches", whole, func(r *record.Result, lost float64) {
			r.SlowLaunches.Groups[0].Count = int(lost * 120) // of two cases
		}, 0.06, 0.02},
		"uneven bursts": {"uneven bursts", whole, func(r *record.Result, lost float64) {
			r.Burst.MeanOfRanks.CV = new(lost * 2) // the median of two cases
		}, 0.06, 0.04},
	} {
		rec := sound(t)
		require.Len(t, Record(rec).Only(CodeNoFault), 1, "%s: %v", name, Record(rec))
		require.Contains(t, Record(rec)[0].Text, x.class)
		x.lower(x.of(rec), x.less)
		require.Equal(t, finding.Pass, judgement(Record(rec)).State, "%s: %v", name, Record(rec))
		rec = sound(t)
		x.lower(x.of(rec), x.much)
		l := Record(rec)
		require.Equal(t, finding.Unclear, judgement(l).State, "%s: %v", name, l)
		require.Empty(t, l.Only(CodeNoFault))
		require.Contains(t, fmt.Sprint(l.Only(finding.CodeUnclear)), x.class, name)
		require.NotEmpty(t, l.Only(finding.CodeUnclear)[0].Candidates)
		require.Contains(t, Unclear(rec), x.class, "a recommendation says so")
	}
}

// A rank or a node for which the others wait is behind although the launches do not tell beyond 1 in a million.
func TestTheGateOfLateRanks(t *testing.T) {
	for name, x := range map[string]struct {
		counts []int
		state  finding.State
	}{
		"even":             {[]int{5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5}, finding.Pass},
		"a rank":           {[]int{5, 5, 5, 18, 3, 5, 5, 5, 5, 3, 3, 3, 5, 5, 3, 2}, finding.Unclear},
		"a node":           {[]int{7, 8, 7, 8, 7, 8, 7, 8, 2, 3, 2, 3, 2, 3, 2, 3}, finding.Unclear},
		"a rank, too late": {[]int{0, 0, 0, 70, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0}, finding.Fail},
	} {
		var late []record.LateCount
		for rank, n := range x.counts {
			late = append(late, record.LateCount{Rank: rank, Count: n})
		}
		rec := launches(16, 30e-6, 9e-6, late)
		rec.Results[0].Verified.State = record.VerifiedOK
		require.Equal(t, x.state, judgement(Record(rec)).State, "%s: %v", name, Record(rec))
	}
}

// A check that is left out is not named: the OK has the classes that there are figures of, and without any, and
// without verified data, nothing was checked.
func TestTheOKNamesWhatWasChecked(t *testing.T) {
	all := classes(judged{sound(t), expect(sound(t))}.compared())
	require.Len(t, all, 7)
	for name, drop := range map[string]func(r *record.Result){
		"bursts":                  func(r *record.Result) { r.Burst = nil },
		"single launches":         func(r *record.Result) { r.Isolated = nil },
		"groups that ran at once": func(r *record.Result) { r.SlowestGroup = nil },
		"late ranks":              func(r *record.Result) { r.Isolated.Late = r.Isolated.Late[:1]; r.Isolated.Late[0].Count = 3 },
	} {
		rec := sound(t)
		for i := range rec.Results {
			drop(&rec.Results[i])
		}
		ok := Record(rec).Only(CodeNoFault)
		require.Len(t, ok, 1, "%s: %v", name, Record(rec))
		for _, class := range all {
			left := slices.Contains(classes(judged{rec, expect(rec)}.compared()), class)
			require.Equal(t, left, strings.Contains(ok[0].Text, class), "%s: %s", name, class)
			require.False(t, left && class == name)
		}
	}
	rec := sound(t)
	for i := range rec.Results {
		r := &rec.Results[i]
		r.Burst, r.Isolated, r.SlowestGroup, r.Verified.State = nil, nil, nil, record.NotVerified
	}
	require.Equal(t, finding.NotChecked, judgement(Record(rec)).State)
	require.Len(t, Record(rec).Only(finding.CodeNotChecked), 1)
}

// Of GPUs each case is compared, not only the fastest one.
func TestTheGateOfGPUs(t *testing.T) {
	of := func(rates map[string][]float64) *record.Record {
		rec := &record.Record{Spec: &spec.Spec{Benchmark: spec.HBM}, World: record.World{World: spec.World{Nodes: 1, GPUsPerNode: 4}}}
		for i := range 4 {
			rec.World.Devices = append(rec.World.Devices, record.Device{Index: i, Kind: record.GPU})
		}
		for name, all := range rates {
			for i, rate := range all {
				rec.Kernels = append(rec.Kernels, record.Kernel{
					Case: record.Case{Key: record.KernelKey(name, i), Status: record.OK, Verified: record.Verified{State: record.VerifiedOK}}, Kernel: name, Device: i,
					Timing: &record.KernelTiming{Seconds: steady(30, 1e-3, 0.01)}, Metrics: record.Metrics{Rate: &rate},
				})
			}
		}
		return rec
	}
	fast := []float64{4e12, 4.01e12, 3.99e12, 4e12}
	for name, x := range map[string]struct {
		other []float64
		state finding.State
	}{
		"alike":           {[]float64{3e12, 3.01e12, 2.99e12, 3e12}, finding.Pass},
		"one a little":    {[]float64{3e12, 2.88e12, 3e12, 3e12}, finding.Pass},
		"one behind":      {[]float64{3e12, 2.8e12, 3e12, 3e12}, finding.Unclear},
		"half are behind": {[]float64{3e12, 2.8e12, 3e12, 2.8e12}, finding.Unclear},
		"one of two":      {[]float64{3e12, 2.8e12}, finding.Unclear},
		"a GPU alone":     {[]float64{3e12}, finding.Pass},
	} {
		l := Record(of(map[string][]float64{"copy": fast, "dot": x.other}))
		require.Equal(t, x.state, judgement(l).State, "%s: %v", name, l)
	}
}

// A single rank has no peer to be behind, however its bursts differ.
func TestOneRankIsNotBehind(t *testing.T) {
	rec := sound(t)
	for i := range rec.Results {
		r := &rec.Results[i]
		r.Ranks, r.Nodes, r.Groups, r.SlowestGroup, r.Isolated.Late = 1, 1, 1, nil, nil
		r.Burst.MeanOfRanks = steady(20, 1e-5, 0.6)
	}
	require.Empty(t, judged{Record: rec}.compared())
	rec.Results[0].Ranks = 2
	require.NotEmpty(t, judged{Record: rec}.compared())
}
