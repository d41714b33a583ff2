package plan_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/hardware/collective"
	"zbench/bench/run/plan"
	"zbench/bench/run/spec"
)

func axes(t *testing.T, names ...string) plan.Axes {
	t.Helper()
	a := plan.Axes{MinBytes: 1 << 10, MaxBytes: 1 << 13, Factor: 2, InPlace: []bool{false}, World: spec.World{Nodes: 1, GPUsPerNode: 8, GPUsPerProcess: 1}}
	a, err := a.Named("float", "sum", names...)
	require.NoError(t, err)
	return a
}

// A name that no table has is an error that names it.
func TestNamedAxes(t *testing.T) {
	a, err := plan.Axes{}.Named("bfloat16", "max", "send_recv", "all_reduce", "send_recv")
	require.NoError(t, err)
	require.Equal(t, "bfloat16", a.Dtypes[0].Name)
	require.Equal(t, "max", a.Ops[0].Name)
	require.Len(t, a.Collectives, 2)
	require.Equal(t, []string{"send_recv", "all_reduce"}, []string{a.Collectives[0].Name, a.Collectives[1].Name})
	for wrong, names := range map[string][3]string{"flot": {"flot", "sum", "all_reduce"}, "sun": {"float", "sun", "all_reduce"}, "all_redux": {"float", "sum", "all_redux"}} {
		_, err := plan.Axes{}.Named(names[0], names[1], names[2])
		require.ErrorContains(t, err, wrong)
	}
}

func TestCasesAreTheProductOfTheAxes(t *testing.T) {
	cases := axes(t, "all_reduce", "all_gather").Cases()
	require.Len(t, cases, 8)
	require.Equal(t, "all_reduce/float/sum/1024/r8/g1/oop", cases[0].Key)
	require.Equal(t, "all_gather/float/none/8192/r8/g1/oop", cases[7].Key)
	keys := map[string]bool{}
	for _, c := range cases {
		require.Empty(t, c.Skip)
		require.False(t, keys[c.Key], "a key twice: %s", c.Key)
		keys[c.Key] = true
	}
}

// What is named twice is run once: a journal refuses two cases of one key.
func TestSplitsAreTakenOnce(t *testing.T) {
	a := axes(t, "all_reduce")
	a.World.Nodes, a.MaxBytes = 4, a.MinBytes
	a.Groups, a.Strides, a.Scales = []int{2, 4, 2}, []int{8, 2, 8}, []int{1, 4, 2, 1, 2}
	require.NoError(t, a.Validate())
	var keys []string
	for _, c := range a.Cases() {
		keys = append(keys, strings.TrimPrefix(c.Key, "all_reduce/float/sum/1024/"))
	}
	require.Equal(t, []string{
		"r32/g1/oop", "r2/g1/oop/x16", "r4/g1/oop/x8", "r4/g1/oop/x8/s8", "r16/g1/oop/x2/s2", "r8/g1/oop", "r16/g1/oop",
	}, keys)
}

// The largest sizes that fit neither overflow nor repeat.
func TestSizesEndWithoutOverflow(t *testing.T) {
	a := axes(t, "all_reduce")
	a.MinBytes, a.MaxBytes, a.Factor = 1, math.MaxInt64, 2
	cases := a.Cases()
	require.Len(t, cases, 63)
	require.Equal(t, int64(1)<<62, cases[62].Requested)
	a.MinBytes, a.MaxBytes, a.Factor = 5, 5, 3
	require.Len(t, a.Cases(), 1)
	a.MaxBytes, a.Factor = 44, 3
	require.Len(t, a.Cases(), 2, "5 and 15; 45 is beyond the end")
}

func TestSizeThatRoundsToNothingIsSkipped(t *testing.T) {
	a := axes(t, "reduce_scatter")
	a.MinBytes, a.MaxBytes = 64, 128
	cases := a.Cases()
	require.Contains(t, cases[0].Skip, "rounds to 0")
	require.Empty(t, cases[1].Skip, "16 bytes for each of 8 ranks")
}

func TestValidate(t *testing.T) {
	good := axes(t, "all_reduce")
	require.NoError(t, good.Validate())
	for says, breakIt := range map[string]func(*plan.Axes){
		"no collective":      func(a *plan.Axes) { a.Collectives = nil },
		"at least 1 byte":    func(a *plan.Axes) { a.MinBytes = 0 },
		"below the smallest": func(a *plan.Axes) { a.MaxBytes = 1 },
		"at least 2":         func(a *plan.Axes) { a.Factor = 1 },
		"at least one rank":  func(a *plan.Axes) { a.World.Nodes = 0 },
	} {
		a := good
		breakIt(&a)
		require.ErrorContains(t, a.Validate(), says)
	}
	require.NoError(t, plan.DefaultOptions().Validate())
	for _, breakIt := range []func(*plan.Effort){
		func(o *plan.Effort) { o.Warmup = -1 }, func(o *plan.Effort) { o.Iterations = 0 },
		func(o *plan.Effort) { o.Burst.Precision = 2 }, func(o *plan.Effort) { o.Isolated.MaxTime = -1 },
		func(o *plan.Effort) { o.Isolated.MaxTime = math.Inf(1) }, func(o *plan.Effort) { o.Checks = -1 },
		// The loops count in 32 bits: 2³² + 1 would be one launch.
		func(o *plan.Effort) { o.Warmup = 1<<32 + 1 }, func(o *plan.Effort) { o.Iterations = 1<<32 + 1 },
		func(o *plan.Effort) { o.Checks = 1<<32 + 1 },
	} {
		o := plan.DefaultOptions()
		breakIt(&o)
		require.Error(t, o.Validate())
	}
}

// fp8 is moved, not reduced; in place all_to_all and send_recv make no sense.
func TestWhatCannotBeAsked(t *testing.T) {
	a := axes(t, "all_reduce")
	fp8, err := collective.DtypeByName("f8e4m3")
	require.NoError(t, err)
	a.Dtypes = []collective.Dtype{fp8}
	require.ErrorContains(t, a.Validate(), "all_reduce cannot reduce f8e4m3")
	a = axes(t, "all_gather")
	a.Dtypes = []collective.Dtype{fp8}
	require.NoError(t, a.Validate())
	a = axes(t, "all_to_all", "all_reduce")
	a.InPlace = []bool{false, true}
	require.Len(t, a.Cases(), 4+8, "asked for with the others it is left out")
	a.InPlace = []bool{true}
	require.Contains(t, a.Cases()[0].Skip, "in place all_to_all would overwrite", "asked for alone it is refused by name")
}

// Lists of types and operators are swept as products. What cannot be reduced is skipped, and a
// collective without operators is run once per type.
func TestEveryTypeAndOperator(t *testing.T) {
	a, err := plan.Axes{MinBytes: 1 << 20, MaxBytes: 1 << 20, Factor: 2, InPlace: []bool{false}, World: spec.World{Nodes: 1, GPUsPerNode: 2, GPUsPerProcess: 2}}.
		Named("all", "all", "all_reduce", "all_gather")
	require.NoError(t, err)
	require.NoError(t, a.Validate())
	types, ops := len(collective.Dtypes()), len(collective.Ops())
	cases := a.Cases()
	require.Len(t, cases, types*ops+types)
	keys := map[string]bool{}
	for _, c := range cases {
		require.False(t, keys[c.Key], c.Key)
		keys[c.Key] = true
		want := ""
		if c.Collective.Reduces && c.Dtype.MovedOnly {
			want = "all_reduce cannot reduce " + c.Dtype.Name
		}
		require.Equal(t, want, c.Skip, c.Key)
		again, ok := a.Like(c.Planned(), c.Requested)
		require.True(t, ok)
		require.Equal(t, c.Planned(), again.Planned())
	}
	a.Dtypes = nil
	require.ErrorContains(t, a.Validate(), "-d")
}

// Steps of bytes, as rccl-tests' -i has them.
func TestSizesBySteps(t *testing.T) {
	a := axes(t, "all_reduce")
	a.MinBytes, a.MaxBytes, a.Step, a.Factor = 1<<20, 5<<20, 3<<19, 0
	require.NoError(t, a.Validate())
	var sizes []int64
	for _, c := range a.Cases() {
		sizes = append(sizes, c.Requested)
	}
	require.Equal(t, []int64{2 << 19, 5 << 19, 8 << 19}, sizes)
	a.MaxBytes = math.MaxInt64
	require.ErrorContains(t, a.Validate(), "more than 10000 sizes")
	a.MinBytes, a.Step = math.MaxInt64-2, 2
	require.Len(t, a.Cases(), 2)
	a.Step = -1
	require.Error(t, a.Validate())
	a.Step, a.Factor, a.Calls.GraphLaunches = 0, 2, -1
	require.ErrorContains(t, a.Validate(), "-G")
	a.Calls.GraphLaunches = 1 << 32
	require.ErrorContains(t, a.Validate(), "-G")
}

// Every stride-th rank is a group; keys tell them from groups of neighbours of the
// same size.
func TestStrides(t *testing.T) {
	a := axes(t, "all_reduce")
	a.MaxBytes, a.World.Nodes, a.Groups, a.Strides = a.MinBytes, 4, []int{4}, []int{2, 8, 16}
	require.NoError(t, a.Validate())
	var keys []string
	var ranks, nodes []int
	for _, c := range a.Cases() {
		keys, ranks, nodes = append(keys, c.Key), append(ranks, c.Ranks), append(nodes, c.Nodes)
		again, ok := a.Like(c.Planned(), c.Requested)
		require.True(t, ok)
		require.Equal(t, c.Key, again.Key)
		seen := map[int]bool{}
		for g := range c.Parallel {
			for i := range c.Ranks {
				seen[c.Split.Rank(g, i, c.Ranks)] = true
			}
		}
		require.Len(t, seen, 32, "every rank is in one group")
	}
	require.Equal(t, []string{
		"all_reduce/float/sum/1024/r32/g1/oop", "all_reduce/float/sum/1024/r4/g1/oop/x8",
		"all_reduce/float/sum/1024/r16/g1/oop/x2/s2", "all_reduce/float/sum/1024/r4/g1/oop/x8/s8", "all_reduce/float/sum/1024/r2/g1/oop/x16/s16",
	}, keys)
	require.Equal(t, []int{32, 4, 16, 4, 2}, ranks)
	require.Equal(t, []int{4, 1, 4, 4, 2}, nodes)
	require.Equal(t, 19, plan.Split{Stride: 16}.Rank(3, 1, 2))
	for stride, says := range map[int]string{1: "be 2 at least", 32: "of two or more", 3: "must divide the 32 ranks", -8: "be 2 at least"} {
		a.Strides = []int{stride}
		require.ErrorContains(t, a.Validate(), says)
	}
	a.World.GPUsPerNode, a.World.Nodes, a.Groups, a.Strides = 6, 6, nil, []int{4}
	require.ErrorContains(t, a.Validate(), "divide the 6 GPUs of a node or be a multiple")
}
