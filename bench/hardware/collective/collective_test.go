package collective

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Factors of nccl-tests doc/PERFORMANCE.md and of its GetBw functions.
func TestBusFactors(t *testing.T) {
	for name, by := range map[string]map[int]float64{
		"all_reduce":     {1: 0, 2: 1, 4: 1.5, 8: 1.75, 16: 1.875, 1024: 2046.0 / 1024, 2160: 4318.0 / 2160},
		"reduce_scatter": {1: 0, 2: 0.5, 4: 0.75, 8: 0.875, 16: 0.9375, 1024: 1023.0 / 1024, 2160: 2159.0 / 2160},
		"all_gather":     {1: 0, 2: 0.5, 4: 0.75, 8: 0.875, 16: 0.9375, 1024: 1023.0 / 1024, 2160: 2159.0 / 2160},
		"all_to_all":     {1: 0, 8: 0.875}, "all_to_allv": {1: 0, 8: 0.875}, "gather": {1: 0, 8: 0.875}, "scatter": {1: 0, 8: 0.875},
		"broadcast": {1: 1, 8: 1}, "reduce": {1: 1, 8: 1}, "send_recv": {1: 1, 8: 1},
	} {
		c, err := ByName(name)
		require.NoError(t, err)
		for n, want := range by {
			require.Equal(t, want, c.BusFactor(n), "%s on %d ranks", name, n)
		}
	}
}

func layout(t *testing.T, name string, requested int64, n, elt int) Layout {
	t.Helper()
	c, err := ByName(name)
	require.NoError(t, err)
	return c.Layout(requested, n, elt)
}

// Sizes as rccl-tests prints them; shares are rounded down to 16 bytes.
func TestLayouts(t *testing.T) {
	for _, x := range []struct {
		name      string
		requested int64
		n, elt    int
		want      Layout
	}{
		{"all_reduce", 1 << 20, 8, 4, Layout{1 << 20, 1 << 18, 1 << 20, 1 << 20}},
		{"all_reduce", 10, 8, 4, Layout{8, 2, 8, 8}},
		{"all_reduce", 3, 8, 4, Layout{}},
		{"all_gather", 1 << 20, 8, 4, Layout{1 << 20, 1 << 15, 1 << 17, 1 << 20}},
		{"reduce_scatter", 1 << 20, 8, 4, Layout{1 << 20, 1 << 15, 1 << 20, 1 << 17}},
		// 1000 / 8 = 125 B, rounded down to 112 B a rank.
		{"all_gather", 1000, 8, 4, Layout{896, 28, 112, 896}},
		{"reduce_scatter", 1000, 8, 2, Layout{896, 56, 896, 112}},
		// 8 ranks of 16 B are the least; one byte below rounds to nothing.
		{"all_gather", 128, 8, 4, Layout{128, 4, 16, 128}},
		{"all_gather", 127, 8, 4, Layout{}},
		// Rank counts that do not divide the size.
		{"reduce_scatter", 1 << 20, 12, 8, Layout{1048512, 10922, 1048512, 87376}},
		{"all_to_all", 1000, 8, 4, Layout{896, 28, 896, 896}},
		{"gather", 1000, 8, 4, Layout{896, 28, 112, 896}},
		{"scatter", 1000, 8, 4, Layout{896, 28, 896, 112}},
		{"broadcast", 1002, 8, 4, Layout{1000, 250, 1000, 1000}},
		{"send_recv", 1002, 8, 4, Layout{1000, 250, 1000, 1000}},
		{"all_gather", 1 << 30, 1000, 4, Layout{1073728000, 268432, 1073728, 1073728000}},
	} {
		got := layout(t, x.name, x.requested, x.n, x.elt)
		require.Equal(t, x.want, got, "%s %d B over %d", x.name, x.requested, x.n)
	}
}

// Whatever the size and the world, nothing is larger than asked for, the
// buffers hold the count, and a rank's share is aligned and the largest such.
func TestLayoutProperties(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for n := 1; n <= 2160; n++ {
		for _, c := range All() {
			d := dtypes[rng.IntN(len(dtypes))]
			requested := rng.Int64N(1 << (1 + rng.IntN(36)))
			if n%10 == 0 {
				requested = 0
			}
			l := c.Layout(requested, n, d.Size)
			require.LessOrEqual(t, l.Bytes, requested)
			require.Equal(t, l.Bytes, max(l.SendBytes, l.RecvBytes))
			blocks := int64(1)
			if c.Shares {
				blocks = int64(n)
			}
			require.Equal(t, blocks*l.Count*int64(d.Size), min(l.SendBytes, l.RecvBytes), "%s: the count is of the smaller buffer", c.Name)
			if !c.SendShare && !c.RecvShare && !c.Shares {
				require.Less(t, requested-l.Bytes, int64(d.Size))
				continue
			}
			require.Zero(t, l.Bytes%int64(n))
			require.Zero(t, l.Bytes/int64(n)%16)
			require.Less(t, requested-l.Bytes, int64(n)*(16+int64(d.Size)), "more is lost than alignment takes")
			if n > 1 && l.Bytes > 0 && !c.Shares {
				require.Equal(t, c.SendShare, l.SendBytes < l.RecvBytes)
			}
		}
	}
}

func TestLargestSizesDoNotOverflow(t *testing.T) {
	for _, c := range All() {
		l := c.Layout(math.MaxInt64/2, 2160, 8)
		require.Positive(t, l.Bytes, c.Name)
		require.Positive(t, l.Count, c.Name)
	}
}

func TestNames(t *testing.T) {
	require.Equal(t, []string{"all_reduce", "reduce_scatter", "all_gather"}, Default())
	require.Equal(t, Default(), Names()[:3])
	require.Subset(t, Names(), []string{"broadcast", "reduce", "all_to_all", "send_recv", "gather", "scatter"})
	for spelling, want := range map[string]string{
		"all_reduce": "all_reduce", "AllReduce": "all_reduce", "all_reduce_perf": "all_reduce", "ALLGATHER": "all_gather", "ReduceScatter": "reduce_scatter",
	} {
		c, err := ByName(spelling)
		require.NoError(t, err, spelling)
		require.Equal(t, want, c.Name)
	}
	for _, c := range All() {
		require.NotEmpty(t, c.Does)
		for _, name := range append(c.Aliases, c.Name) {
			got, err := ByName(name)
			require.NoError(t, err)
			require.Equal(t, c.Name, got.Name, "the spelling %q is another row's", name)
		}
	}
	padded, err := ByName(" all_reduce ")
	require.NoError(t, err)
	require.Equal(t, "all_reduce", padded.Name)
	_, err = ByName("all_redcue")
	require.EqualError(t, err, `unknown collective "all_redcue": valid are `+strings.Join(Names(), ", "))
}

func TestDtypesAndOps(t *testing.T) {
	for name, size := range map[string]int{
		"int8": 1, "uint8": 1, "int32": 4, "INT": 4, "uint32": 4, "int64": 8, "uint64": 8,
		"half": 2, "fp16": 2, "Float16": 2, "float": 4, "fp32": 4, "double": 8, "bf16": 2, "bfloat16": 2,
	} {
		d, err := DtypeByName(name)
		require.NoError(t, err, name)
		require.Equal(t, size, d.Size, name)
	}
	seen := map[string]bool{}
	for _, d := range Dtypes() {
		for _, name := range append(d.Aliases, d.Name) {
			require.False(t, seen[name], "%q is spelt twice", name)
			seen[name] = true
		}
	}
	_, err := DtypeByName("fp7")
	require.ErrorContains(t, err, `unknown dtype "fp7": valid are int8, uint8,`)
	for _, o := range Ops() {
		got, err := OpByName(o.Name)
		require.NoError(t, err)
		require.Equal(t, o, got)
	}
	_, err = OpByName("mean")
	require.ErrorContains(t, err, `unknown op "mean": valid are sum, prod`)
}

// The tables are copied out: a caller cannot change them for the others.
// A list has each name once, however it is spelled; all is the whole table.
func TestListsOfTypesAndOperators(t *testing.T) {
	types, names, err := DtypesByName("bf16,FLOAT,fp32,bfloat16")
	require.NoError(t, err)
	require.Equal(t, "bfloat16,float", names)
	require.Equal(t, []string{"bfloat16", "float"}, []string{types[0].Name, types[1].Name})
	ops, names, err := OpsByName("ALL")
	require.NoError(t, err)
	require.Equal(t, "sum,prod,max,min,avg,mulsum", names)
	require.Equal(t, Ops(), ops)
	types, _, err = DtypesByName(Every)
	require.NoError(t, err)
	require.Equal(t, Dtypes(), types)
	for _, bad := range []string{"", "float,", "float,flot", "all,float"} {
		_, _, err := DtypesByName(bad)
		require.Error(t, err, bad)
	}
}

func TestTablesAreTheCallersOwn(t *testing.T) {
	All()[0].Name, Names()[0], Dtypes()[0].Size, Ops()[0].Name = "x", "x", 99, "x"
	require.Equal(t, "all_reduce", All()[0].Name)
	require.Equal(t, "all_reduce", Names()[0])
	require.Equal(t, 1, Dtypes()[0].Size)
	require.Equal(t, "sum", Ops()[0].Name)
}

// What each rank must receive, by hand, for three ranks: b is the block, the
// value is source·100 + index of the first element in shares of the call.
func TestResults(t *testing.T) {
	const reduced = -1
	for name, want := range map[string][3][]int{
		"all_reduce":     {{reduced}, {reduced}, {reduced}},
		"reduce_scatter": {{reduced}, {reduced + 1000}, {reduced + 2000}},
		"all_gather":     {{0, 100, 200}, {0, 100, 200}, {0, 100, 200}},
		"broadcast":      {{100}, {100}, {100}},
		"reduce":         {nil, {reduced}, nil},
		"all_to_all":     {{0, 100, 200}, {1, 101, 201}, {2, 102, 202}},
		"send_recv":      {{200}, {0}, {100}},
		"gather":         {nil, {0, 100, 200}, nil},
		"scatter":        {{100}, {101}, {102}},
	} {
		c, err := ByName(name)
		require.NoError(t, err)
		for rank := range 3 {
			r := c.Result(rank, 3, 1)
			var got []int
			for b := range r.Blocks {
				if r.Reduced {
					got = append(got, reduced+1000*r.Base)
				} else {
					got = append(got, (r.From+b*r.Step)*100+r.Base)
				}
			}
			require.Equal(t, want[rank], got, "%s, rank %d", name, rank)
			require.Equal(t, c.Reduces, r.Reduced || r.Blocks == 0 && c.Reduces, name)
		}
	}
}

func TestUnknownTypeIsNoText(t *testing.T) {
	var d Dtype
	require.NoError(t, d.UnmarshalText([]byte("bfloat16")))
	require.Equal(t, "bfloat16", d.Name)
	require.Error(t, d.UnmarshalText([]byte("flot")))
}
