package trace

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// world is a job of ranks that call all_reduce so many times. A kernel lasts from its rank's
// arrival to the end that all share.
func world(ranks, calls int, arrival func(rank, call int) float64, transfer float64) *Trace {
	t := &Trace{World: ranks, Groups: []Group{{Name: "0", Size: ranks}}}
	for r := range ranks {
		t.Ranks = append(t.Ranks, &Rank{Rank: r})
	}
	for c := range calls {
		last := 0.0
		for r := range ranks {
			last = max(last, arrival(r, c))
		}
		end := last + transfer
		for r, rank := range t.Ranks {
			skew := float64(r) * 17 // every rank's clock has its own zero
			rank.Calls = append(rank.Calls, Call{
				Collective: "all_reduce", Known: true, Dtype: "float", In: 1 << 20, Out: 1 << 20, Bytes: 4 << 20, Sequence: Unknown,
				Kernel: &Span{float64(c) + arrival(r, c) + skew, float64(c) + end + skew},
			})
		}
	}
	return t
}

// A rank that arrives late is named, its effect is what was planted, and without it none is.
func TestLateRankIsNamed(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	jitter := func(int, int) float64 { return rng.Float64() * 1e-3 }
	for _, late := range []int{-1, 0, 2, 3} {
		arrivals := map[[2]int]float64{}
		w := world(4, 60, func(r, c int) float64 {
			if a, ok := arrivals[[2]int{r, c}]; ok {
				return a
			}
			a := jitter(r, c)
			if r == late {
				a += 20e-3
			}
			arrivals[[2]int{r, c}] = a
			return a
		}, 5e-3)
		d := Answer(w, nil)
		require.NotNil(t, d.Waiting)
		require.Equal(t, 60, d.Waiting.Calls)
		latest, _, _ := d.Waiting.Latest()
		if late < 0 {
			require.Nil(t, latest)
			continue
		}
		require.Equal(t, late, latest.Rank)
		require.InEpsilon(t, 20e-3, latest.MadeWait/float64(latest.Last), 0.1)
		for _, r := range d.Waiting.Ranks {
			require.InEpsilon(t, 60*5e-3, r.Transfer, 1e-6)
			if r.Rank != late {
				require.InEpsilon(t, 60*20e-3, r.Waited, 0.1)
			}
		}
		require.Contains(t, d.Findings[len(d.Findings)-1].Text, "comes last to ")
	}
}

// A rank that sleeps before one call of each step is late, whoever comes last to the many others by chance: what the
// others wait decides. Ranks that come last often and by nothing are not.
func TestASleeperIsNamedByTheWaiting(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 56)) //nolint:gosec // reproducible
	for _, sleep := range []float64{120e-3, 0} {
		const perStep = 25
		arrivals := map[[2]int]float64{}
		w := world(8, 8*perStep, func(r, c int) float64 {
			at := [2]int{r, c}
			if _, ok := arrivals[at]; !ok {
				arrivals[at] = rng.Float64() * 1e-4
				if r == 5 && c%perStep == 0 {
					arrivals[at] += sleep
				}
				if r == 2 && c%perStep != 0 { // last most often, by microseconds
					arrivals[at] = 1.01e-4
				}
			}
			return arrivals[at]
		}, 1e-3)
		latest, last, of := Answer(w, nil).Waiting.Latest()
		require.NotNil(t, latest)
		if sleep > 0 {
			require.Equal(t, 5, latest.Rank)
			require.Equal(t, 8, last)
			require.LessOrEqual(t, of, 10)
		}
	}
}

// An input that requires grad has a gradient, too, which no bucket holds: the tensors are the parameters.
func TestAnInputsGradientIsNoParameter(t *testing.T) {
	b := Buckets{Dtype: "float", Bytes: []int64{400, 1200}}
	b.parameters([]Gradient{{Elements: 100}, {Elements: 200}, {Elements: 7}, {Elements: 100}})
	require.Equal(t, []int64{100, 200, 100}, b.Tensors)
	require.EqualValues(t, 7, b.leaf)
	require.Len(t, passesOf(notOf([]Gradient{{Elements: 100}, {Elements: 200}, {Elements: 7}, {Elements: 100}}, b.leaf), b.Tensors), 1)
	b = Buckets{Dtype: "float", Bytes: []int64{400, 1200}}
	b.parameters([]Gradient{{Elements: 100}, {Elements: 200}, {Elements: 99}})
	require.Empty(t, b.Tensors)
	require.Zero(t, b.leaf)
}

// What a model says of the sizes decides whether one rank's kernels wait: not the peak of its links.
func TestAloneIsHeldAgainstWhatASizeReaches(t *testing.T) {
	w := world(2, 10, func(int, int) float64 { return 0 }, 5e-3)
	w.Ranks = w.Ranks[:1]
	for seconds, share := range map[float64]float64{4.9e-3: 0, 1e-3: 0.8, 6e-3: 0, 0: 0} {
		d := Answer(w, func(string, int64, int) (float64, string) { return seconds, "a model" })
		if share == 0 {
			require.Nil(t, d.Alone, seconds)
			continue
		}
		require.InDelta(t, share, d.Alone.Share, 1e-9)
	}
}

// Calls that a rank lacks are not compared.
func TestOnlyWhatAllRanksHaveIsSplit(t *testing.T) {
	w := world(4, 10, func(r, _ int) float64 { return float64(r) * 1e-3 }, 1e-3)
	w.Ranks[2].Calls = w.Ranks[2].Calls[:7]
	require.Equal(t, 7, w.waiting().Calls)
	w.Ranks = w.Ranks[:3]
	require.Nil(t, w.waiting())
}

// Steps that repeat are found wherever the repetition begins; calls that are all alike are none.
func TestRepetition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		unit := rapid.SliceOfN(rapid.Int64Range(1, 4), 2, 9).Draw(t, "unit")
		before := rapid.SliceOfN(rapid.Int64Range(5, 9), 0, 4).Draw(t, "before")
		times := rapid.IntRange(3, 6).Draw(t, "times")
		r := &Rank{}
		for _, b := range before {
			r.Calls = append(r.Calls, Call{Bytes: b})
		}
		for range times {
			for _, b := range unit {
				r.Calls = append(r.Calls, Call{Bytes: b})
			}
		}
		p, from := r.period()
		if !slices.ContainsFunc(unit, func(b int64) bool { return b != unit[0] }) {
			if p != 0 {
				t.Fatalf("%d alike are no steps", p)
			}
			return
		}
		if p == 0 || len(unit)%p != 0 || from > len(before) {
			t.Fatalf("unit %d behind %d: period %d from %d", len(unit), len(before), p, from)
		}
	})
}

// DistributedDataParallel closes a bucket when it has reached its limit: the limits that are said
// to explain its buckets have the real one among them.
func TestLimitsExplainBuckets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// Of 256 elements: with one more in each, no 180 of them add up to a bucket by chance.
		tensors := rapid.SliceOfN(rapid.Map(rapid.Int64Range(8, 16<<10), func(n int64) int64 { return 2 * 256 * n }), 3, 60).Draw(t, "tensors")
		limit := rapid.Int64Range(1<<20, 30<<20).Draw(t, "limit")
		const first = int64(1 << 20)
		var buckets []int64
		size, now := int64(0), first
		for _, b := range tensors {
			size += b
			if size >= now {
				buckets, size, now = append(buckets, size), 0, limit
			}
		}
		if size > 0 {
			buckets = append(buckets, size)
		}
		if len(buckets) < 2 {
			return
		}
		r := &Rank{}
		for range 3 {
			r.Calls = append(r.Calls, Call{Collective: "broadcast", Dtype: "int64", Bytes: 8})
			for _, b := range buckets {
				r.Calls = append(r.Calls, Call{Collective: "all_reduce", Dtype: "bfloat16", Bytes: b})
			}
			for _, b := range tensors {
				r.Gradients = append(r.Gradients, Gradient{Elements: b / 2, Dtype: "bfloat16"})
			}
		}
		tr := &Trace{Groups: []Group{{Name: "dp", Size: 8}}, Ranks: []*Rank{r}}
		all := tr.buckets(r, r.split().steps)
		if len(all) != 1 || !slices.Equal(all[0].Bytes, buckets) || all[0].Steps != 3 {
			t.Fatalf("%v of %v", all, buckets)
		}
		if *all[0].FirstMost < first || all[0].Most != nil && *all[0].Most < limit {
			t.Fatalf("limit %d is not explained: %v", limit, *all[0].Most)
		}
		if all[0].Over == nil || *all[0].Over >= limit || len(all[0].Tensors) != len(tensors) {
			t.Fatalf("limit %d of %d tensors: over %v, %d tensors", limit, len(tensors), all[0].Over, len(all[0].Tensors))
		}
		for i := range r.Gradients {
			r.Gradients[i].Elements++
		}
		if wrong := tr.buckets(r, r.split().steps)[0]; wrong.Over != nil {
			t.Fatalf("tensors that do not add up explain buckets")
		}
	})
}

func TestHiddenAndExposed(t *testing.T) {
	r := &Rank{Whole: true, Calls: []Call{{Kernel: &Span{1, 3}}, {Kernel: &Span{2, 4}}, {Kernel: &Span{10, 11}}}, Computing: []Span{{0, 1.5}, {2.5, 3}, {10.5, 20}}}
	o := r.overlap()
	require.Equal(t, 4.0, o.Busy)
	require.Equal(t, 1.5, o.Hidden)
	require.Equal(t, 2.5, o.Exposed)
	r.Whole = false
	require.Nil(t, r.overlap(), "not stated where not all kernels are known")
}

func TestBytesAreWhatRCCLTestsCounts(t *testing.T) {
	for _, one := range []struct {
		collective string
		in, out    int64
		want       int64
	}{
		{"all_reduce", 10, 10, 40},
		{"all_gather", 10, 80, 320},
		{"all_gather", 10, Unknown, 320},
		{"reduce_scatter", 80, 10, 320},
		{"reduce_scatter", Unknown, 10, 320},
		{"all_to_all", 80, 80, 320},
		{"broadcast", 10, 10, 40},
		{"gather", 10, 0, 320},
		{"barrier", 1, 1, 4},
		{"all_reduce", Unknown, Unknown, Unknown},
		{"all_gather", 1 << 60, 1, Unknown},
	} {
		c := Call{Collective: one.collective, Dtype: "float", In: one.in, Out: one.out}
		c.Size(8)
		require.Equal(t, one.want, c.Bytes, one)
	}
	c := Call{Collective: "all_reduce", In: 1, Out: 1}
	c.Size(8)
	require.Equal(t, int64(Unknown), c.Bytes, "of an unknown type")
}

func TestEmptyTraceSaysSo(t *testing.T) {
	d := Answer(&Trace{Files: []string{"x"}}, nil)
	require.Equal(t, CodeNone, d.Findings[0].Code)
	require.NoError(t, d.WriteJSON(new(bytes.Buffer)))
}

// Two calls on two streams that wait for the same rank wait once, and a rank that moves data on one
// stream does not wait on the other.
func TestCallsThatWaitAtOnceWaitOnce(t *testing.T) {
	tr := &Trace{World: 2, Groups: []Group{{Name: "0", Size: 2}}}
	call := func(bytes int64, start, end float64) Call {
		return Call{Collective: "all_reduce", Bytes: bytes, Sequence: Unknown, Kernel: &Span{start, end}}
	}
	tr.Ranks = []*Rank{
		{Rank: 0, Calls: []Call{call(1, 0, 12), call(2, 1, 15)}},
		{Rank: 1, Calls: []Call{call(1, 10, 12), call(2, 11, 15)}},
	}
	w := tr.waiting()
	require.Equal(t, 2, w.Calls)
	require.InDelta(t, 10, w.Ranks[0].Waited, 1e-9, "from 0 to 10, when the first call's data move")
	require.InDelta(t, 5, w.Ranks[0].Transfer, 1e-9)
	require.InDelta(t, 10, w.Ranks[1].MadeWait, 1e-9)
	require.Zero(t, w.Ranks[1].Waited)
}
