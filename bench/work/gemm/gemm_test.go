package gemm

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/spell"
	"zbench/bench/job/trainer"
	"zbench/bench/run/spec"
)

// published is a model's linear layers as its publishers give them, out × in.
type published struct {
	Source                                        string
	Hidden, Layers, Vocab, Experts, Chosen, Dense int64
	Linear, First, Rest, Expert                   map[string][2]int64
}

// The shapes of each preset are those of the published configuration: each layer with its three products,
// and no other.
func TestPresetsAreThePublishedModels(t *testing.T) {
	text, err := os.ReadFile("testdata/published.json")
	require.NoError(t, err)
	var all map[string]published
	require.NoError(t, json.Unmarshal(text, &all))
	require.Len(t, all, len(trainer.PresetNames()))
	const tokens = 16384
	for name, p := range all {
		require.NotEmpty(t, p.Source)
		m, err := Of(name, tokens, 0)
		require.NoError(t, err)
		require.Equal(t, p.Hidden, m.Hidden)
		want := map[string]int64{} // by pass, size and batch: launches
		layer := func(sides [2]int64, tokens, batch, count int64) {
			out, in := sides[0], sides[1]
			want[fmt.Sprint(Forward, TN, tokens, out, in, batch)] += count
			want[fmt.Sprint(Dgrad, NN, tokens, in, out, batch)] += count
			want[fmt.Sprint(Wgrad, NT, out, in, tokens, batch)] += count
		}
		for _, sides := range p.Linear {
			layer(sides, tokens, 1, p.Layers)
		}
		for _, sides := range p.First {
			layer(sides, tokens, 1, p.Dense)
		}
		for _, sides := range p.Rest {
			layer(sides, tokens, 1, p.Layers-p.Dense)
		}
		for _, sides := range p.Expert {
			layer(sides, (tokens*p.Chosen+p.Experts-1)/p.Experts, p.Experts, p.Layers-p.Dense)
		}
		layer([2]int64{p.Vocab, p.Hidden}, tokens, 1, 1)
		got := map[string]int64{}
		for _, s := range m.Shapes {
			got[fmt.Sprint(s.Pass, s.Layout, s.M, s.N, s.K, s.Batch)] += s.Count
		}
		require.Equal(t, want, got, name)
	}
}

// The operations of a pass are those of the parameters that compute for each token.
func TestOperationsAreThoseOfTheActiveParameters(t *testing.T) {
	for _, name := range trainer.PresetNames() {
		m, err := Of(name, 4096, 0)
		require.NoError(t, err)
		passes := map[string]float64{}
		for _, s := range m.Shapes {
			passes[s.Pass] += s.Flop() * float64(s.Count)
		}
		model, err := trainer.Preset(name)
		require.NoError(t, err)
		for pass, flop := range passes {
			require.InEpsilon(t, 2*4096*float64(model.ActiveParams), flop, 0.04, "%s %s: convolutions, norms and biases are left out", name, pass)
		}
		require.Len(t, passes, 3)
	}
	_, err := Of("gpt", 1, 0)
	var unknown *spell.Unknown
	require.ErrorAs(t, err, &unknown)
	one, err := Of("zaya1", 1, 0)
	require.NoError(t, err)
	for _, s := range one.Shapes {
		require.Positive(t, min(s.M, s.N, s.K, s.Count, s.Batch), "an expert has at least a token")
	}
}

// drawn are shapes with and without a batch; sides are near multiples of tiles or anything.
func drawn(rng *rand.Rand, n int) []Shape {
	side := func() int64 {
		if rng.IntN(2) == 0 {
			return int64(1+rng.IntN(20))*128 + int64(rng.IntN(3)) - 1
		}
		return 1 + rng.Int64N(3000)
	}
	var all []Shape
	for range n {
		all = append(all, Shape{Layout: []string{TN, NN, NT}[rng.IntN(3)], M: side(), N: side(), K: side(), Batch: 1 + rng.Int64N(3), Count: 1 + rng.Int64N(9)})
	}
	return all
}

// counted gives each tile to the unit that is free first and counts what all make and what lies within C.
func counted(s Shape, t Tile, units int) (tiles, waves int64, lost float64) {
	busy := make([]int64, units)
	useful := 0.0
	for range s.Batch {
		for row := int64(0); row < s.M; row += t.M {
			for col := int64(0); col < s.N; col += t.N {
				at := slices.Index(busy, slices.Min(busy))
				busy[at]++
				tiles++
				useful += float64(min(t.M, s.M-row)) * float64(min(t.N, s.N-col))
			}
		}
	}
	waves = slices.Max(busy)
	return tiles, waves, 1 - useful/(float64(waves)*float64(units)*float64(t.M*t.N))
}

// 200 shapes: what tiles lose, and the tile that loses least, by giving out tile by tile.
func TestFillingEqualsACount(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for i, s := range drawn(rng, 200) {
		units := []int{304, 132, 1 + rng.IntN(400)}[i%3]
		var least float64
		for k, tile := range Tiles() {
			tiles, waves, lost := counted(s, tile, units)
			f := Fill(s, tile, units)
			require.Equal(t, [2]int64{tiles, waves}, [2]int64{f.Tiles, f.Waves}, "%s on %d by %s", s, units, tile)
			require.InDelta(t, lost, f.Lost, 1e-12)
			if k == 0 || lost < least {
				least = lost
			}
		}
		require.InDelta(t, least, Best(s, units).Lost, 1e-12)
	}
}

// byTiles is a model by its tiles alone. Its seconds are in the time of an operation of all units, so that
// its rate is the share of theirs.
func byTiles(m Model, units int) Point {
	p := Point{Hidden: m.Hidden}
	for _, s := range m.Shapes {
		flop := s.Flop() * float64(s.Count)
		p.Flop += flop
		p.Seconds += flop / (1 - Best(s, units).Lost)
	}
	return p
}

// 200 sets of shapes: the advice is what a search of all pairs finds.
func TestAdviceEqualsASearch(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	found := 0
	for range 200 {
		base := int64(16+rng.IntN(100)) * Step
		var points []Point
		for _, h := range Hiddens(base, 1+rng.IntN(8)) {
			var p Point
			for range 1 + rng.IntN(3) {
				s := Shape{Layout: TN, M: 128 * (1 + rng.Int64N(40)), N: h, K: h, Batch: 1, Count: 1}
				one := byTiles(Model{Hidden: h, Shapes: []Shape{s}}, 304)
				_, _, lost := counted(s, Best(s, 304).Tile, 304)
				require.InEpsilon(t, s.Flop()/(1-lost), one.Seconds, 1e-9)
				p = Point{h, p.Flop + one.Flop, p.Seconds + one.Seconds}
			}
			points = append(points, p)
		}
		slices.SortFunc(points, func(a, b Point) int { return cmp.Compare(a.Rate(), b.Rate()) }) // no order is relied on
		var at Point
		for _, p := range points {
			if p.Hidden == base {
				at = p
			}
		}
		var next *Point
		var cheaper []int64
		for i, p := range points {
			if p.Hidden > base && p.Flop*at.Seconds >= 1.03*at.Flop*p.Seconds*(1-1e-15) && (next == nil || p.Hidden < next.Hidden) {
				next = &points[i]
			}
			if p.Flop > at.Flop && p.Seconds <= at.Seconds {
				cheaper = append(cheaper, p.Hidden)
			}
		}
		slices.Sort(cheaper)
		p, gain, ok := Better(points, base)
		require.Equal(t, next != nil, ok)
		if ok {
			require.Equal(t, next.Hidden, p.Hidden)
			require.GreaterOrEqual(t, gain, 0.03)
			found++
		}
		var got []int64
		for _, p := range Cheaper(points, base) {
			got = append(got, p.Hidden)
		}
		require.Equal(t, cheaper, got)
		lines := Advise(points, base, func(v float64) string { return fmt.Sprintf("%.3f", v) })
		require.Len(t, lines, 3)
		if ok {
			require.Contains(t, lines[1], fmt.Sprintf("is %d:", p.Hidden))
		}
	}
	require.Greater(t, found, 20, "some have a better neighbour")
	require.Nil(t, Advise(nil, 64, nil))
}

// A preset with another hidden size has it in every layer that had the published one.
func TestAroundAPreset(t *testing.T) {
	models, err := Models(&spec.Kernels{Preset: "zaya1-base", Tokens: 16384, Around: 4})
	require.NoError(t, err)
	require.Equal(t, int64(2048), models[0].Hidden)
	var points []Point
	for _, m := range models {
		points = append(points, byTiles(m, 304))
	}
	points = sorted(points)
	require.Len(t, points, 9)
	for i, p := range points {
		require.Equal(t, int64(2048-4*64+64*i), p.Hidden)
		require.Greater(t, p.Rate(), 0.5)
		require.LessOrEqual(t, p.Rate(), 1.0)
	}
	near, err := Of("zaya1-base", 16384, 2112)
	require.NoError(t, err)
	require.True(t, slices.ContainsFunc(near.Shapes, func(s Shape) bool { return s.N == 262272 && s.K == 2112 }), "the shared output layer follows")
	require.Equal(t, []int64{64, 128, 192}, Hiddens(64, 2))
	_, err = Models(&spec.Kernels{Preset: "gpt", Tokens: 1, Around: 1})
	require.Error(t, err)
}

func TestParseShape(t *testing.T) {
	for text, want := range map[string]Shape{
		"4096x8192x1024":       {Layout: TN, M: 4096, N: 8192, K: 1024, Batch: 1, Count: 1},
		"1x2X3x4/nt":           {Layout: NT, M: 1, N: 2, K: 3, Batch: 4, Count: 1},
		"16777216x1x1x4096/NN": {Layout: NN, M: 1 << 24, N: 1, K: 1, Batch: 4096, Count: 1},
	} {
		got, err := ParseShape(text)
		require.NoError(t, err)
		require.Equal(t, want, got)
		again, err := ParseShape(got.String())
		require.NoError(t, err)
		require.Equal(t, want, again)
	}
	for _, text := range []string{"", "1x2", "1x2x3x4x5", "0x1x1", "1x1x-1", "1x1x16777217", "1x1x1x4097", "1x1x1/TT", "axbxc", "1x1x1/"} {
		_, err := ParseShape(text)
		require.Error(t, err, text)
		require.NotContains(t, err.Error(), "\n")
	}
}

// Operands that must be transposed for TN, and rows a power of two apart.
func TestOperands(t *testing.T) {
	s := Shape{M: 8192, N: 2048, K: 1000, Batch: 2}
	for layout, want := range map[string]struct {
		turned  int
		strides string
	}{
		TN: {0, "C"},  // A 8192 × 1000, B 2048 × 1000
		NN: {1, "BC"}, // B 1000 × 2048
		NT: {2, "ABC"},
	} {
		s.Layout = layout
		n, elements := s.Turned()
		require.Equal(t, want.turned, n)
		require.Equal(t, map[int]int64{0: 0, 1: 2 * 1000 * 2048, 2: 2 * 1000 * (2048 + 8192)}[n], elements)
		require.Equal(t, want.strides, s.Strides(2, 2), layout)
	}
	require.Empty(t, s.Strides(1, 1)[:0])
	require.Equal(t, "A", Shape{Layout: TN, M: 3, N: 17, K: 2048, Batch: 1}.Strides(2, 2)[:1])
	require.Empty(t, Shape{Layout: TN, M: 3, N: 1024, K: 1024, Batch: 1}.Strides(2, 2), "2 KiB is below a channel's stride")
	require.True(t, strings.HasPrefix(s.String(), "8192x2048x1000x2/"))
}
