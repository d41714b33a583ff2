package soak

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/finding"
	"zbench/bench/plan"
	"zbench/bench/spec"
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
	s := Soak{Cases: cases, Seed: seed, Attempts: attempts, Launches: 2, Enough: func() bool { return false }, Watch: tally.Add}
	require.NoError(t, s.Run(context.Background(), &fake{rate: rate, random: rand.New(rand.NewPCG(seed, 1))}))
	return &tally
}

// Each attempt joins with new ids and verifies its launches, each with a number of its own: data of an earlier one
// are never right. All arms take turns.
func TestAttemptsAreFresh(t *testing.T) {
	require.ElementsMatch(t, []string{"all_gather", "broadcast", "all_reduce", "reduce_scatter", "all_to_all", "send_recv"}, Names())
	cases, err := Cases(world, []int64{16 << 10})
	require.NoError(t, err)
	f := &fake{}
	seen := map[string]int{}
	s := Soak{Cases: cases, Attempts: 2 * len(cases), Launches: 2, Enough: func() bool { return false }, Watch: func(a Attempt) { seen[a.Case.Key+string(a.Case.Written)]++ }}
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
	s.Watch = func(Attempt) { n++ }
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
	const runs = 200
	alone, found := 0, map[string]int{}
	for seed := range uint64(runs) {
		alone += len(named(soaked(t, seed, 150, func(plan.Case, int) float64 { return 0.1 })))
		for what, of := range map[string]func(plan.Case) bool{
			"other stream": func(c plan.Case) bool { return c.Written == plan.OtherStream },
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
		"/schema": `"zbench.soak/0"`, "/sha256": `"none"`, "/state": `"fine"`, "/arms/0/p": `2`, "/up_to": `2`, "/senders/0/patterns/0": `"red"`, "/wrong": `"many"`,
	}})
	require.NotEmpty(t, d.Shown("1").Sections)
	require.NotContains(t, d.Counted(), "at most 1 in")
}
