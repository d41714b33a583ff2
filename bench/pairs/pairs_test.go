package pairs_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/pairs"
)

// fleet is the matrix of nodes with noise of 2 % per sample and 1 % per pair, in GB/s; lost
// is what a pair loses.
func fleet(seed uint64, nodes int, lost func(a, b int) float64) []pairs.Sample {
	r := rand.New(rand.NewPCG(seed, 7))
	var all []pairs.Sample
	for a := range nodes {
		for b := range nodes {
			if a < b {
				v := 350e9 * (1 + 0.02*r.NormFloat64()) * (1 + 0.01*r.NormFloat64()) * (1 - lost(a, b))
				all = append(all, pairs.Sample{From: name(a), To: name(b), Rate: v})
			}
		}
	}
	return all
}

func name(i int) string { return fmt.Sprintf("node%03d", i) }

func none(int, int) float64 { return 0 }

// A slow node is named and no other; without one nothing is. The fleets are of all sizes
// that have a majority.
func TestSlowNode(t *testing.T) {
	for _, nodes := range []int{3, 4, 8, 32} {
		for seed := range uint64(40) {
			slow, share := int(seed)%nodes, 0.15
			if nodes < 8 { // few pairs show it
				share = 0.2
			}
			v := pairs.Judge(fleet(seed, nodes, func(a, b int) float64 {
				if a == slow || b == slow {
					return share
				}
				return 0
			}))
			require.Len(t, v.Slow, 1, "%d nodes, seed %d: %+v", nodes, seed, v.Slow)
			require.Equal(t, name(slow), v.Slow[0].From)
			require.Empty(t, v.Slow[0].To)
			require.InDelta(t, share, v.Slow[0].Share, 0.08)
			require.Equal(t, nodes-1, v.Slow[0].Pairs)
			require.Empty(t, pairs.Judge(fleet(seed, nodes, none)).Slow, "%d healthy nodes, seed %d", nodes, seed)
		}
	}
}

// A slow pair is not a slow node, nor are two.
func TestSlowPair(t *testing.T) {
	for seed := range uint64(40) {
		v := pairs.Judge(fleet(seed, 16, func(a, b int) float64 {
			if a == 3 && b == 9 {
				return 0.3
			}
			return 0
		}))
		require.Len(t, v.Slow, 1, "seed %d: %+v", seed, v.Slow)
		require.Equal(t, []string{name(3), name(9), pairs.Low}, []string{v.Slow[0].From, v.Slow[0].To, v.Slow[0].Confidence})
	}
	again := fleet(1, 16, none)
	for range 2 {
		again = append(again, pairs.Sample{From: "node000", To: "x", Rate: 350e9}, pairs.Sample{From: "node001", To: "x", Rate: 350e9}, pairs.Sample{From: "node002", To: "x", Rate: 200e9})
	}
	v := pairs.Judge(again)
	require.Equal(t, pairs.High, v.Slow[0].Confidence, "measured again, slow again")
	require.Equal(t, "node002", v.Slow[0].From)
}

// Two slow nodes are both named; so is a slow pair of a slow node.
func TestTwoFaults(t *testing.T) {
	v := pairs.Judge(fleet(3, 16, func(a, b int) float64 {
		switch {
		case a == 3 && b == 9:
			return 0.5
		case a == 3 || b == 3:
			return 0.2
		case a == 5 || b == 5:
			return 0.1
		}
		return 0
	}))
	require.Len(t, v.Slow, 3, "%+v", v.Slow)
	require.Equal(t, "node003", v.Slow[0].From)
	require.Equal(t, "node005", v.Slow[1].From)
	require.Equal(t, "node009", v.Slow[2].To)
}

// Of one pair nothing tells which end is slow; a node with one partner is not judged.
func TestTooLittle(t *testing.T) {
	v := pairs.Judge([]pairs.Sample{{From: "a", To: "b", Rate: 1e9}})
	require.True(t, v.Undecided)
	require.Empty(t, v.Slow)
	v = pairs.Judge(append(fleet(1, 8, none), pairs.Sample{From: "lonely", To: "node001", Rate: 100e9}))
	require.Equal(t, []string{"lonely"}, v.Single)
	require.Len(t, v.Slow, 1)
	require.Equal(t, "node001", v.Slow[0].To, "the pair is slow, not the node")
	require.True(t, pairs.Judge([]pairs.Sample{{From: "a", To: "b"}, {From: "b", To: "c"}}).Undecided)
}

func TestRead(t *testing.T) {
	for text, want := range map[string][]pairs.Sample{
		"node a,node b,GB/s\na,b,1.5\n# note\na,c,\nb , c,nan\n": {{From: "a", To: "b", Rate: 1.5e9}},
		"a,b,2\n": {{From: "a", To: "b", Rate: 2e9}},
		"src,dst0,dst1,sum\n0,,47,47\n1,46,,46\n": {{From: "0", To: "1", Rate: 47e9}, {From: "1", To: "0", Rate: 46e9}},
		",a,b\na,,3\nb,4,\n":                      {{From: "a", To: "b", Rate: 3e9}, {From: "b", To: "a", Rate: 4e9}},
	} {
		got, err := pairs.Read([]byte(text))
		require.NoError(t, err, "%q", text)
		require.Equal(t, want, got, "%q", text)
	}
	for text, says := range map[string]string{
		"":                    "no line has two different names",
		"a,b,c\n":             "no line has two different names",
		"a,b,1\na,b,x\n":      `line 2: "x" is no bandwidth`,
		"a,a,1\n":             `line 1: "a" is paired with itself`,
		"a,b\n":               "line 1 has 2 columns",
		"a,b,1\nb,c,-1\n":     "is no bandwidth",
		",a,b,c\na,,y,\nb,\n": "line 2, column b",
	} {
		_, err := pairs.Read([]byte(text))
		require.ErrorContains(t, err, says, "%q", text)
	}
}

// The published matrix of a healthy MI300X node, all 56 links busy (TransferBench), names
// nothing; with one link or one GPU slowed it names that.
func TestRecordedMatrix(t *testing.T) {
	text, err := os.ReadFile("../../../shared/data/xgmi_mi300x_transferbench_a2a.csv")
	if err != nil {
		t.Skip("there are no recordings beside the source")
	}
	samples, err := pairs.Read(text)
	require.NoError(t, err)
	require.Len(t, samples, 56)
	require.Empty(t, pairs.Judge(samples).Slow)
	samples[10].Rate *= 0.8
	v := pairs.Judge(samples)
	require.Len(t, v.Slow, 1)
	require.Equal(t, [2]string{samples[10].From, samples[10].To}, [2]string{v.Slow[0].From, v.Slow[0].To})
	samples[10].Rate /= 0.8
	for i := range samples {
		if samples[i].From == "6" || samples[i].To == "6" {
			samples[i].Rate *= 0.85
		}
	}
	v = pairs.Judge(samples)
	require.Len(t, v.Slow, 1)
	require.Equal(t, "6", v.Slow[0].From)
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("a,b,1\nb,c,2\na,c,1e-300\n"))
	f.Add([]byte(",a,b,c\na,,1,2\nb,1,,3\nc,0,0,0\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		samples, err := pairs.Read(text)
		if err != nil {
			return
		}
		v := pairs.Judge(samples)
		require.LessOrEqual(t, v.Pairs, len(samples))
		for _, s := range v.Slow {
			require.True(t, s.Share > 0 && s.Share <= 1, "%v", s)
		}
	})
}

// In a large fleet one sample of a hundred is slow by chance. Such pairs are to be repeated:
// none is named, and a slow node among them still is.
func TestSamplesSlowByChance(t *testing.T) {
	for seed := range uint64(10) {
		for _, share := range []float64{0, 0.15} {
			r := rand.New(rand.NewPCG(seed, 8))
			v := pairs.Judge(fleet(seed, 64, func(a, b int) float64 {
				lost := 0.0
				if a == 7 || b == 7 {
					lost = share
				}
				if r.IntN(100) == 0 {
					lost = 1 - (1-lost)/(1.5+1.5*r.Float64())
				}
				return lost
			}))
			require.Greater(t, len(v.Unclear), 5)
			if share == 0 {
				require.Empty(t, v.Slow)
				continue
			}
			require.Len(t, v.Slow, 1)
			require.Equal(t, name(7), v.Slow[0].From)
		}
	}
}
