package soak

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/finding"
	"zbench/bench/base/jsonfile"
	"zbench/bench/run/plan"
	"zbench/bench/run/spec"
	"zbench/test/longtest"
	"zbench/test/schematest"
)

// fake is a process whose data are wrong at a rate of the case and the launch. It notes what it is asked.
type fake struct {
	plan.Process
	rate   func(c plan.Case, launch int) float64
	random *rand.Rand
	asked  []string
	ids    int
	begun  int
	fail   int // in that attempt; 0: never
}

func (f *fake) IDs(plan.Comms) ([]plan.CommID, error) {
	f.ids++
	return []plan.CommID{{ID: []byte{byte(f.ids), byte(f.ids >> 8)}}}, nil
}

func (f *fake) Join(_ context.Context, c plan.Comms, ids []plan.CommID) error {
	f.asked = append(f.asked, fmt.Sprintf("join %dx%d %x", c.Ranks, c.Count, ids[0].ID))
	return nil
}

func (f *fake) Begin(plan.Case, int) error {
	f.begun = 0
	f.asked = append(f.asked, "begin")
	return nil
}
func (f *fake) Unverifiable(plan.Case) string { return "" }

func (f *fake) Verify(_ context.Context, c plan.Case, launch int) (v plan.Verification, err error) {
	f.asked = append(f.asked, fmt.Sprint("verify ", launch))
	if f.fail > 0 && f.ids == f.fail {
		return v, errors.New("lost")
	}
	if f.rate != nil && f.random.Float64() < f.rate(c, f.begun) {
		v.Wrong, v.Located = 3, []plan.WrongPart{{Rank: 0, From: []int{2}, Elements: 3, Ranges: [][2]int64{{4, 6}}, Pattern: plan.Stale}}
		if c.Collective.Reduces {
			v.Located[0].From = []int{1, 2}
		}
	}
	f.begun++
	return v, nil
}

var world = spec.World{Nodes: 2, GPUsPerNode: 2, GPUsPerProcess: 1}

func soaked(t testing.TB, seed uint64, attempts int, rate func(c plan.Case, launch int) float64) *Tally {
	t.Helper()
	cases, err := Cases(world, []int64{16 << 10, 1 << 20})
	require.NoError(t, err)
	var tally Tally
	s := endless(cases, seed, attempts, tally.Add)
	require.NoError(t, s.Run(context.Background(), &fake{rate: rate, random: rand.New(rand.NewPCG(seed, 1))}))
	return &tally
}

// endless is a soak without a limit of time.
func endless(cases []plan.Case, seed uint64, attempts int, watch func(Attempt)) Soak {
	return Soak{
		Cases: cases, Seed: seed, Attempts: attempts, Launches: 2, Enough: func() bool { return false }, Fired: func() int { return 0 },
		Watch: func(a Attempt) error {
			watch(a)
			return nil
		},
	}
}

// Each attempt joins with new ids and verifies its launches, each with a number of its own: data of an earlier one
// are never right. All arms take turns.
func TestAttemptsAreFresh(t *testing.T) {
	require.ElementsMatch(t, []string{"all_gather", "broadcast", "all_reduce", "reduce_scatter", "all_to_all", "send_recv"}, Names())
	cases, err := Cases(world, []int64{16 << 10})
	require.NoError(t, err)
	f := &fake{}
	seen := map[string]int{}
	s := endless(cases, 0, 2*len(cases), func(a Attempt) { seen[fmt.Sprint(a.Arms)]++ })
	require.NoError(t, s.Run(context.Background(), f))
	require.Len(t, seen, len(cases))
	for key, n := range seen {
		require.Equal(t, 2, n, key)
	}
	require.Len(t, f.asked, 4*2*len(cases))
	require.Len(t, slices.Compact(slices.Sorted(slices.Values(f.asked))), 3*2*len(cases)+1, "ids and launches are used once")
	require.Equal(t, []string{"begin", "verify 0", "verify 1"}, f.asked[1:4])

	f = &fake{fail: 3}
	n := 0
	s.Watch = func(Attempt) error { n++; return nil }
	require.ErrorContains(t, s.Run(context.Background(), f), "attempt 3 (")
	require.Equal(t, 2, n)
	ctx, stop := context.WithCancel(context.Background())
	stop()
	require.ErrorIs(t, s.Run(ctx, &fake{}), context.Canceled)
	_, err = Cases(spec.World{Nodes: 1, GPUsPerNode: 1, GPUsPerProcess: 1}, []int64{1 << 20})
	require.ErrorContains(t, err, "nothing is sent")
}

// The bound covers the rate that was planted in at least 95 % of runs.
func TestTheBoundCovers(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	covered := 0
	const runs = 2000
	for range runs {
		n, p := 20+random.IntN(400), random.Float64()*[]float64{0.01, 0.1, 0.5}[random.IntN(3)]
		wrong := 0
		for range n {
			if random.Float64() < p {
				wrong++
			}
		}
		if p <= UpTo(wrong, n) {
			covered++
		}
	}
	t.Logf("%d of %d", covered, runs)
	require.GreaterOrEqual(t, covered, runs*95/100)
	d := Document{Nodes: make([]string, 22), Attempts: 4213, UpTo: UpTo(0, 4213)}
	require.Equal(t, "0 wrong in 4,213 attempts of 22 hosts: at most 1 in 1,404 attempts like these (95 %)", d.Counted())
}

// named are the arms that a tally names.
func named(t *Tally) []string {
	var all []string
	for _, a := range t.Arms() {
		if a.Named {
			all = append(all, a.Level)
		}
	}
	return all
}

// An arm that is wrong more often is named where the number of attempts can tell it, and none is where all are alike.
func TestArmsAreNamed(t *testing.T) {
	const runs = 1000
	alone, found := 0, map[string]int{}
	for seed := range uint64(runs) {
		alone += len(named(soaked(t, seed, 150, func(plan.Case, int) float64 { return 0.1 })))
		for what, of := range map[string]func(plan.Case) bool{
			"other stream": func(c plan.Case) bool { return c.Written.Apart() },
			"all_gather":   func(c plan.Case) bool { return c.Collective.Name == "all_gather" },
		} {
			names := named(soaked(t, seed, 150, func(c plan.Case, launch int) float64 {
				if of(c) && launch == 0 {
					return 0.35
				}
				return 0
			}))
			if slices.Equal(names, []string{what}) {
				found[what]++
			}
		}
	}
	t.Logf("of %d: alike %d, named %v", runs, alone, found)
	require.LessOrEqual(t, alone, runs/100)
	for what, n := range found {
		require.GreaterOrEqual(t, n, runs*95/100, what)
	}
}

// A soak that goes on with a part of its attempts makes the others as it would have.
func TestSavedAttemptsAreNotMadeAgain(t *testing.T) {
	cases, err := Cases(world, []int64{16 << 10})
	require.NoError(t, err)
	var all, again []Attempt
	f := &fake{}
	s := endless(cases, 3, 30, func(a Attempt) { all = append(all, a) })
	require.NoError(t, s.Run(context.Background(), f))
	text, err := jsonfile.Lines(strings.Repeat("a5", 16), Header{Schema: JournalSchema, Spec: spec.Spec{Sweep: &spec.Sweep{}}, Attempts: 30}, all)
	require.NoError(t, err)
	rest := f.asked
	for _, cut := range []int{0, 1, 17, 30} {
		lines := strings.SplitAfter(string(text), "\n")
		h, saved, err := ReadJournal([]byte(strings.Join(lines[:1+cut], "") + "{"))
		require.NoError(t, err)
		require.Equal(t, 30, h.Attempts)
		require.Len(t, saved, cut)
		again, f = nil, &fake{ids: cut}
		s := endless(cases, 3, 30, func(a Attempt) { again = append(again, a) })
		s.Saved = saved
		require.NoError(t, s.Run(context.Background(), f))
		require.Equal(t, all, again)
		require.ElementsMatch(t, rest[4*cut:], f.asked)
	}
	s.Seed, s.Saved = 4, all
	require.ErrorContains(t, s.Run(context.Background(), f), "another arm")
	_, _, err = ReadJournal([]byte(strings.Replace(string(text), "all_gather", "all_reduce", 1)))
	require.ErrorContains(t, err, "line ")
	lines := strings.SplitAfter(string(text), "\n")
	_, _, err = ReadJournal([]byte(strings.Join(slices.Delete(lines, 3, 4), "")))
	require.ErrorContains(t, err, "line 4: it is attempt 4, not 3")
	_, _, err = ReadJournal(nil)
	require.ErrorContains(t, err, "empty")
}

// Combinations of values are all there, and what they set stands over what is set.
func TestEnvironments(t *testing.T) {
	vary, err := ReadVary([]string{"NCCL_ALGO", "A=x,"})
	require.NoError(t, err)
	all := Environments(vary)
	require.Len(t, all, 4)
	require.Equal(t, "NCCL_ALGO=Ring A=x", all[0].String())
	require.Equal(t, []string{"B=1", "NCCL_ALGO=Tree"}, all[3].Over([]string{"A=0", "B=1", "NCCL_ALGO=Ring"}))
	require.Equal(t, Setting{"A", "not set"}, all[3].Settings()[1])
	require.Empty(t, Environments(nil))
	for words, want := range map[string]string{
		"B": "has no values", "A=1": "two values", "A=1,1": "each once", "A=1,2 A=3,4": "given twice", "a-b=1,2": "no variable",
		"A=1,2,3,4,5,6,7,8,9 B=1,2,3,4,5,6,7,8": "more than 64",
	} {
		_, err := ReadVary(strings.Fields(words))
		require.ErrorContains(t, err, want)
	}
}

// gathered are worlds by turns, as zbench soak --vary runs them, with data that are wrong at a rate of the environment
// and the case.
func gathered(t testing.TB, seed uint64, words string, children, attempts int, rate func(e Environment, c plan.Case) float64) *Document {
	t.Helper()
	vary, err := ReadVary(strings.Fields(words))
	require.NoError(t, err)
	all := Environments(vary)
	turn := Turns(seed, len(all))
	cases, err := Cases(world, []int64{16 << 10, 1 << 20})
	require.NoError(t, err)
	var worlds []World
	for n := range uint64(children) {
		w := World{Environment: all[turn()], Document: &Document{Complete: true, Nodes: []string{"n0", "n1"}, GPUs: 2}}
		s := endless(cases, seed+n, attempts, func(a Attempt) { w.Attempts = append(w.Attempts, a) })
		random := rand.New(rand.NewPCG(seed, n))
		require.NoError(t, s.Run(context.Background(), &fake{random: random, rate: func(c plan.Case, launch int) float64 {
			if launch > 0 {
				return 0
			}
			return rate(w.Environment, c)
		}}))
		worlds = append(worlds, w)
	}
	return Gather(worlds)
}

// A variable on which a fault depends is named, alone or together with the stream, and none where it depends on none.
func TestEnvironmentsAreNamed(t *testing.T) {
	runs := 200
	if longtest.Enabled() {
		runs = 2000
	}
	off := func(e Environment) bool { return e[0].Value == "1" }
	alone, found := 0, map[string]int{}
	for seed := range uint64(runs) {
		soak := func(rate func(e Environment, c plan.Case) float64) []string {
			d := gathered(t, seed, "NCCL_GDR_FLUSH_DISABLE NCCL_ALGO", 8, 24, rate)
			var all []string
			for _, a := range d.Arms {
				if a.Named {
					all = append(all, a.Factor+" "+a.Level)
				}
			}
			return all
		}
		if len(soak(func(Environment, plan.Case) float64 { return 0.1 })) > 0 {
			alone++
		}
		for want, wrong := range map[string]func(e Environment, c plan.Case) bool{
			"NCCL_GDR_FLUSH_DISABLE 1": func(e Environment, _ plan.Case) bool { return off(e) },
			"NCCL_ALGO Ring":           func(e Environment, _ plan.Case) bool { return e[1].Value == "Ring" },
			"data written on other stream, NCCL_GDR_FLUSH_DISABLE 1": func(e Environment, c plan.Case) bool { return off(e) && c.Written.Apart() },
		} {
			named := soak(func(e Environment, c plan.Case) float64 {
				if wrong(e, c) {
					return 0.35
				}
				return 0
			})
			if strings.Join(named, ", ") == want {
				found[want]++
			}
		}
	}
	t.Logf("of %d: alike %d, named %v", runs, alone, found)
	require.LessOrEqual(t, alone, runs/100)
	for what, n := range found {
		require.GreaterOrEqual(t, n, runs*95/100, what)
	}
}

// What is not checked in one environment is named with it, what in none is said once, and a world that failed is not
// checked either.
func TestEnvironmentsThatAreNotChecked(t *testing.T) {
	p := func(name string) Precondition { return Precondition{Name: name, Text: "t", Next: "n"} }
	world := func(value, failed string, all ...Precondition) World {
		return World{
			Environment: Environment{{"A", value}}, Failed: failed, Attempts: []Attempt{{Arms: []Setting{{theCollective, "all_gather"}}, Wrong: []int64{0}}},
			Document: &Document{Complete: failed == "", Nodes: []string{"n0", "n1"}, GPUs: 2, Preconditions: all},
		}
	}
	d := Gather([]World{world("1", "", p("both"), p("one")), world("2", "", p("both")), world("2", "hung", p("both"))})
	names := []string{}
	for _, p := range d.Preconditions {
		names = append(names, p.Name)
	}
	require.Equal(t, []string{"both", "one with A=1", "run with A=2"}, names)
	require.Equal(t, finding.NotChecked, d.State)
	require.Equal(t, 3, d.Attempts)
	require.False(t, d.Complete)
	require.Nil(t, Gather([]World{{Environment: Environment{{"A", "1"}}, Failed: "no library"}}))
}

// The document names the sender, what stood there and whether it was the first message; candidates of reductions
// among which is a sender that is certain count as that one.
func TestWhatIsSaid(t *testing.T) {
	name := func(rank int) (string, string) {
		return fmt.Sprintf("GPU %d of n%d", rank%2, rank/2), fmt.Sprint("n", rank/2)
	}
	tally := soaked(t, 1, 100, func(_ plan.Case, launch int) float64 { return map[int]float64{0: 0.5}[launch] })
	d := Document{Nodes: []string{"n0", "n1"}, GPUs: 2, Launches: 2, Preconditions: []Precondition{}, LeftOut: []string{}, Environment: []Variable{}}
	d.Judge(tally, name)
	require.Equal(t, finding.Fail, d.State)
	require.Len(t, d.Senders, 1)
	s := d.Senders[0]
	require.Equal(t, []int{2}, s.Ranks)
	require.Equal(t, []string{"n1"}, s.Nodes)
	require.Equal(t, []plan.Pattern{plan.Stale}, s.Patterns)
	require.Equal(t, d.Wrong, s.First)
	require.Equal(t, d.First, d.Wrong)
	f := d.Findings()
	require.Equal(t, finding.CodeWrongData, f[0].Code)
	require.Equal(t, "GPU 0 of n1", f[1].Subject.Name)

	later := Document{Nodes: d.Nodes}
	later.Judge(soaked(t, 1, 100, func(_ plan.Case, launch int) float64 { return map[int]float64{1: 0.5}[launch] }), name)
	require.Zero(t, later.First)
	require.Positive(t, later.Wrong)

	clean := Document{Nodes: d.Nodes}
	clean.Judge(soaked(t, 1, 100, nil), name)
	require.Equal(t, finding.Pass, clean.State)
	require.Equal(t, CodeClean, clean.Findings()[0].Code)
	env := map[string]string{}
	of := Conditions{Nodes: 2, Env: func(name string) string { return env[name] }}
	clean.Preconditions = of.Preconditions()
	clean.Judge(soaked(t, 1, 100, nil), name)
	require.Equal(t, finding.NotChecked, clean.State)
	env["NCCL_PROTO"], env["NCCL_GDR_FLUSH_DISABLE"], env["NCCL_NET"], of.RCCL, of.Log = "Simple", "0", "IB-CAST", "2.30.4", "NET/IB/0/GDRDMA"
	require.Empty(t, unchecked(of.Preconditions()), "%+v", of.Preconditions())
	of.Log += "\nNCCL INFO AllReduce: 65536 Bytes -> Algo RING proto SIMPLE channel{Lo..Hi}={0..7}"
	require.Empty(t, unchecked(of.Preconditions()))
	of.Log += "\nNCCL INFO AllReduce: 16384 Bytes -> Algo TREE proto LL channel{Lo..Hi}={0..7}"
	require.Equal(t, "NCCL_PROTO is Simple, but the library's log names LL", unchecked(of.Preconditions())[0].Text)
	of.Log = of.Log[:20]
	env["NCCL_PROTO"] = "Simple,LL"
	require.Len(t, unchecked(of.Preconditions()), 1)
}

// What is written fits the schema, and what is never written is refused.
func TestSchemaRefuses(t *testing.T) {
	d := Document{
		Simulated: true, Backend: "loopback", Fabric: "f", Faults: []string{"x"}, Fired: 3, Nodes: []string{"n0", "n1"}, GPUs: 2, Launches: 2,
		LeftOut: []string{"a"}, Environment: []Variable{{"A", "b"}}, Preconditions: []Precondition{{Name: "p", Text: "t", Next: "n"}},
	}
	d.Judge(soaked(t, 1, 100, func(plan.Case, int) float64 { return 0.5 }), func(int) (string, string) { return "g", "n0" })
	schema := schematest.Read(t, "schema/v1.json")
	require.NoError(t, schematest.Fits(t, schematest.Compile(t, schema), schematest.Written(t, &d)))
	schematest.Refuses(t, schema, schematest.Changes{Good: schematest.Written(t, &d), Bad: map[string]string{
		"/schema": `"zbench.soak/0"`, "/sha256": `"none"`, "/state": `"fine"`, "/arms/0/p": `2`, "/arms/0/up_to": `2`, "/up_to": `2`, "/senders/0/patterns/0": `"red"`, "/wrong": `"many"`,
	}})
	require.NotEmpty(t, d.Shown("1").Sections)
	require.NotContains(t, d.Counted(), "at most 1 in")
}

// journalLine is a line of a journal, without its newline.
func journalLine(t *testing.T, of any) string {
	t.Helper()
	text, err := jsonfile.Line(strings.Repeat("a5", 16), of)
	require.NoError(t, err)
	return string(text)
}

// What the schema of the journal must refuse.
func TestTheJournalsSchema(t *testing.T) {
	schema := schematest.Read(t, "schema/journal-v1.json")
	header := Header{
		Schema: JournalSchema, Attempts: 3, Launches: 2, Seconds: 60, Vary: []Vary{{"A", []string{"1", ""}}},
		Spec: spec.Spec{
			Schema: spec.Schema, Benchmark: spec.Collectives, Backend: "rocm",
			World: spec.World{Nodes: 2, GPUsPerNode: 8, GPUsPerProcess: 8, RanksPerGPU: 2},
			Sweep: &spec.Sweep{
				Collectives: Names(), Factor: 2, StepBytes: 8, Sizes: Sizes, InPlace: []bool{true}, Cache: "warm", GraphLaunches: 1,
				Groups: []int{2}, Strides: []int{2}, Scales: []int{1},
			},
			Kernels: &spec.Kernels{Data: "zeros"}, Advice: &spec.Advice{Framework: "ddp"},
		},
	}
	schematest.Refuses(t, schema, schematest.Changes{Good: journalLine(t, header), Bad: map[string]string{
		"/schema": `"zbench.soak-journal/0"`, "/seconds": `-1`, "/vary/0/name": `""`,
		"/spec/sweep/cache": `"hot"`, "/spec/sweep/collectives/0": `"ring"`, "/spec/sweep/factor": `0`, "/spec/sweep/step_bytes": `0`,
		"/spec/sweep/graph_launches": `0`, "/spec/sweep/groups/0": `1`, "/spec/sweep/strides/0": `1`, "/spec/sweep/scales/0": `0`, "/spec/sweep/sizes": `[]`,
		"/spec/schema": `"zbench.spec/0"`, "/spec/world/ranks_per_gpu": `1`, "/spec/kernels/data": `"ones"`, "/run": `"a5"`, "/crc32c": `"zz"`,
		"/spec/advice/contention": `{"compute":11,"messages":1} {"compute":0,"messages":0.1} {"compute":0,"messages":11}`,
	}}, schematest.Changes{Good: journalLine(t, Attempt{
		Arms: []Setting{{"size", "1 MiB"}}, Wrong: []int64{3, 0}, Fired: 1,
		Parts: []plan.WrongPart{{From: []int{2}, Elements: 3, Ranges: [][2]int64{{4, 6}}, Pattern: plan.Stale}},
	}), Bad: map[string]string{
		"/run": `"a5"`, "/crc32c": `"zz"`, "/arms/0/level": `1`, "/wrong/0": `-1`, "/parts/0/ranges/0": `[1]`, "/parts/0/pattern": `"red"`, "/number": `-1`,
	}})
}
