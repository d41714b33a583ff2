package experiments

import (
	_ "embed"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"zbench/bench/answers/judge"
	"zbench/bench/answers/recommend"
	"zbench/bench/base/stat"
	"zbench/bench/job/trainer"
	"zbench/bench/run/record"
)

// StallRow is the outcome of stalls that were planted in tables of one kind. It counts seeds.
type StallRow struct {
	Curves string
	Seeds  int
	// Alarms counts tables without a stall in which one was found. Found counts stalls that were
	// found with their rows.
	Alarms, Found int
	// Refused counts tables with a stall for which zbench gives no bucket size. Within counts those
	// whose setting makes a step at most 1 % longer than the setting for the table without the
	// stall. Wrong counts all others.
	Refused, Within, Wrong int
	// LeftOut counts the settings that would be within 1 % if none were refused. Clear counts
	// tables in which no message of the answer lies between the sizes next to the stall;
	// ClearWithin counts those among them that are within 1 %.
	LeftOut, Clear, ClearWithin int
}

//go:embed testdata/alps.csv
var alpsText string

// alps returns published tables of all_reduce, by number of ranks. A table has sizes with the
// times, in seconds, out of place and in place.
func alps() (tables []table) {
	for line := range strings.Lines(alpsText) {
		f := strings.Split(strings.TrimSpace(line), ",")
		ranks, err := strconv.Atoi(f[0])
		if err != nil || len(f) != 4 { // skip comments and the header
			continue
		}
		number := func(s string) float64 { v, _ := strconv.ParseFloat(s, 64); return v }
		if n := len(tables); n == 0 || tables[n-1].ranks != ranks {
			tables = append(tables, table{ranks: ranks})
		}
		t := &tables[len(tables)-1]
		t.sizes = append(t.sizes, int64(number(f[1])))
		t.seconds = append(t.seconds, number(f[2])*1e-6, number(f[3])*1e-6)
	}
	return tables
}

// table is an imported table with two rows per size, out of place and in place.
type table struct {
	ranks   int
	sizes   []int64
	seconds []float64
}

// modelled returns a table of a latency and a bandwidth, with 3 % noise.
func modelled(rng *rand.Rand) table {
	t := table{ranks: 64}
	latency, rate := spread(rng, 10e-6, 74e-6), spread(rng, 50e9, 370e9)
	for s := int64(8); s <= 8<<30; s *= 2 {
		t.sizes = append(t.sizes, s)
		for range 2 {
			t.seconds = append(t.seconds, (latency+float64(s)/rate)*math.Exp(0.03*rng.NormFloat64()))
		}
	}
	return t
}

func (t table) record() *record.Record {
	rec := &record.Record{Schema: record.Schema, Source: record.Source{Kind: record.Imported}}
	rec.World.Ranks = t.ranks
	for i, s := range t.seconds {
		size, in := t.sizes[i/2], i%2 == 1
		rec.Results = append(rec.Results, record.Result{
			Case: record.Case{Key: record.Key("all_reduce", "bfloat16", "sum", size, t.ranks, 1, in), Status: record.OK}, Collective: "all_reduce", Dtype: "bfloat16", Op: "sum", Bytes: size, Ranks: t.ranks, Groups: 1,
			InPlace: in, Burst: &record.Timing{Iterations: 20, MeanOfRanks: stat.Summarize([]float64{s})}, Headline: "burst.mean_of_ranks",
		})
	}
	return rec
}

// Stalls plants a stall of 3 to 22 rows in each of a number of tables of a kind. Each of these rows
// takes 8 to 437 times as long.
func Stalls(seeds int) []StallRow {
	published := alps()
	return []StallRow{
		stalls("Alps, 4 to 256 GH200", seeds, func(seed int, _ *rand.Rand) table { return published[seed%len(published)] }),
		stalls("modelled", seeds, func(_ int, rng *rand.Rand) table { return modelled(rng) }),
	}
}

func stalls(name string, seeds int, draw func(seed int, rng *rand.Rand) table) StallRow {
	row := StallRow{Curves: name, Seeds: seeds}
	for seed := range seeds {
		rng := rand.New(rand.NewPCG(uint64(seed), 38))
		row.add(draw(seed, rng), rng)
	}
	return row
}

func (r *StallRow) add(t table, rng *rand.Rand) {
	clean := t.record()
	if len(clean.Stalls()) > 0 {
		r.Alarms++
	}
	n := 3 + rng.IntN(20)
	from := rng.IntN(len(t.seconds) - n - 6) // zbench needs rows after a stall to recognise it
	t.seconds = slices.Clone(t.seconds)
	for i := from; i < from+n; i++ {
		t.seconds[i] *= 8 * math.Exp(4*rng.Float64())
	}
	rec := t.record()
	if found(rec, from, n) {
		r.Found++
	}
	q := stallQuestion(t.ranks, rng)
	a := q.ask(rec, 0) // this answer ignores the rows of the stall
	ok := a.Best != nil && q.ask(clean, a.Elements).Current.Step <= 1.01*q.ask(clean, 0).Best.Step
	switch {
	case judge.FixFirst(rec) != nil:
		r.Refused++
	case ok:
		r.Within++
	default:
		r.Wrong++
	}
	if ok {
		r.LeftOut++
	}
	if !touches(rec, a) {
		r.Clear++
		if ok {
			r.ClearWithin++
		}
	}
}

// found returns true if a stall was found that has all planted rows except at most one. The stall
// may also have neighbouring rows if these are always slow.
func found(rec *record.Record, from, n int) bool {
	for _, s := range rec.Stalls() {
		in := 0
		for i := from; i < from+n; i++ {
			if slices.Contains(s.Rows, &rec.Results[i]) {
				in++
			}
		}
		if in >= n-1 && len(s.Rows) <= n+6 {
			return true
		}
	}
	return false
}

// touches reports whether a message of the answer lies between the sizes next to a stall that was
// found.
func touches(rec *record.Record, a recommend.Answer) bool {
	for _, s := range rec.Stalls() {
		first, last := s.Rows[0].Bytes/2, s.Rows[len(s.Rows)-1].Bytes*2
		for _, m := range a.Messages {
			if m.Smallest < last && m.Largest > first {
				return true
			}
		}
	}
	return false
}

// question is a question about DDP with a synthetic model.
type question struct{ recommend.Question }

func stallQuestion(ranks int, rng *rand.Rand) question {
	q := question{recommend.Question{Trainer: "ddp", Run: trainer.Run{DP: ranks, GradDtype: "bfloat16", ParamDtype: "bfloat16"}}}
	width := int64(spread(rng, 1024, 8192))
	for i := range 24 {
		for _, n := range []int64{width, 4 * width * width, 8 * width * width} {
			q.Params = append(q.Params, trainer.Param{Name: fmt.Sprintf("layers.%d.%d", i, n), Elements: n, Block: i + 1})
		}
	}
	q.Backward = spread(rng, 0.02, 0.5)
	q.Forward = q.Backward / 2
	return q
}

// ask answers the question for a table. current is the current setting; 0 if there is none.
func (q question) ask(rec *record.Record, current int64) recommend.Answer {
	curves, err := recommend.Curves([]recommend.Source{{Record: rec}})
	if err != nil {
		panic(err)
	}
	q.Curves, q.Current = curves, current
	a, err := recommend.Ask(q.Question)
	if err != nil {
		panic(err)
	}
	return a
}

// Failures lists the bars that do not hold. In a small run it lists only those that chance cannot
// explain.
func (r StallRow) Failures(small bool) (out []string) {
	for _, b := range []struct {
		what  string
		count int
		Bar
	}{
		{"found", r.Found, Bar{Rate: 0.95}},
		{"false alarms", r.Alarms, Bar{Rate: 0.01, AtMost: true}},
		{"refused or within 1 %", r.Refused + r.Within, Bar{Rate: 0.95}},
	} {
		if !b.Holds(b.count, r.Seeds) && (!small || !b.Plausible(b.count, r.Seeds)) {
			out = append(out, fmt.Sprintf("%s: %s %d of %d, bar %s", r.Curves, b.what, b.count, r.Seeds, b.Bar))
		}
	}
	return out
}
