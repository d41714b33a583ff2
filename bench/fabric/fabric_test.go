package fabric_test

import (
	"bytes"
	"encoding/csv"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/collective"
	"zbench/bench/fabric"
)

func resolve(t *testing.T, name string, nodes, gpus int) *fabric.Machine {
	t.Helper()
	f, err := fabric.ByName(name)
	require.NoError(t, err)
	m, err := f.Resolve(fabric.World{Nodes: nodes, GPUsPerNode: gpus, GPUsPerProcess: 1}, fabric.Options{Seed: 1})
	require.NoError(t, err)
	return m
}

func TestEveryFabricLoadsAndResolvesEverywhere(t *testing.T) {
	require.Equal(t, fabric.Default, fabric.Names()[0])
	for _, name := range fabric.Names() {
		f, err := fabric.ByName(name)
		require.NoError(t, err)
		require.Equal(t, name, f.Name)
		require.NotEmpty(t, f.Sources)
		for _, m := range f.Models {
			require.NotEmpty(t, m.Source, "%s: every model names its source", name)
		}
		for _, r := range f.Roofs {
			require.NotEmpty(t, r.Source, "%s: every roof names its source", name)
		}
		for nodes := 1; nodes <= f.MaxNodes; nodes++ {
			for gpus := 1; gpus <= f.Node.GPUs; gpus++ {
				m := resolve(t, name, nodes, gpus)
				for _, c := range collective.Names() {
					curve := m.Curves[m.Whole()][c]
					require.Positive(t, curve.B)
					require.Positive(t, curve.Floor)
					require.False(t, math.IsNaN(curve.Time(1<<30)) || math.IsInf(curve.Time(1<<30), 0))
				}
			}
		}
	}
}

// The constants of DESIGN §4, as they come out.
func TestConstants(t *testing.T) {
	of := func(nodes int) fabric.Curve {
		m := resolve(t, "mi300x-pollara", nodes, 8)
		return m.Curves[m.Whole()]["all_reduce"]
	}
	one := of(1)
	require.Equal(t, fabric.Curve{B: 323e9, A: 7.5e-6, R: 65e-6, Floor: 13e-6, K: 1.75}, one)
	two := of(2)
	require.InDelta(t, 361e9, two.B, 1)
	require.InDelta(t, 320e-6, two.R, 1e-12)
	many := of(128)
	require.InDelta(t, 360e9, many.B, 1)
	require.InDelta(t, 12e-6+2*(6.3e-6+10.5e-6*7), many.A, 1e-12)
	require.InDelta(t, 320e-6*math.Pow(64, 0.4), many.R, 1e-12)
}

func TestOneNodeIsTheSameInBothFiles(t *testing.T) {
	for gpus := 1; gpus <= 8; gpus++ {
		require.Equal(t, resolve(t, "mi300x-8gpu", 1, gpus), resolve(t, "mi300x-pollara", 1, gpus))
	}
}

func TestWhatNobodyMeasuredIsSaid(t *testing.T) {
	require.Empty(t, resolve(t, "mi300x-pollara", 1, 8).Extrapolated["all_reduce"])
	require.Empty(t, resolve(t, "mi300x-pollara", 2, 8).Extrapolated["all_reduce"])
	require.NotEmpty(t, resolve(t, "mi300x-pollara", 1, 4).Extrapolated["all_reduce"])
	require.NotEmpty(t, resolve(t, "mi300x-pollara", 1, 8).Extrapolated["all_gather"])
	require.NotEmpty(t, resolve(t, "mi300x-pollara", 128, 8).Extrapolated["all_reduce"])
}

// The model against published tables: sizes from 1 MiB, out of place. The
// figures and their sources are in testdata.
func TestModelAgainstPublishedCurves(t *testing.T) {
	for _, c := range []struct {
		file, fabric string
		mean, worst  float64
	}{
		{"mi300x_1node_rocmblog.csv", "mi300x-8gpu", 0.03, 0.10},
		{"mi300x_1node_aac8.csv", "mi300x-8gpu", 0.03, 0.10},
	} {
		curve := resolve(t, c.fabric, 1, 8).Curves[fabric.Group{Ranks: 8}]["all_reduce"]
		var sum, worst float64
		rows := published(t, c.file)
		for _, row := range rows {
			err := math.Abs(curve.Time(row.bytes)/row.seconds - 1)
			sum += err
			worst = max(worst, err)
		}
		require.NotEmpty(t, rows)
		t.Logf("%s: mean %.2f %%, worst %.2f %% over %d sizes", c.file, 100*sum/float64(len(rows)), 100*worst, len(rows))
		require.LessOrEqual(t, sum/float64(len(rows)), c.mean)
		require.LessOrEqual(t, worst, c.worst)
	}
}

type point struct{ bytes, seconds float64 }

func published(t *testing.T, file string) []point {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", file))
	require.NoError(t, err)
	r := csv.NewReader(bytes.NewReader(text))
	r.Comment = '#'
	rows, err := r.ReadAll()
	require.NoError(t, err)
	var out []point
	for _, row := range rows[1:] {
		size, err := strconv.ParseFloat(row[0], 64)
		require.NoError(t, err)
		micros, err := strconv.ParseFloat(row[1], 64)
		require.NoError(t, err)
		if size >= 1<<20 {
			out = append(out, point{size, micros * 1e-6})
		}
	}
	return out
}

func TestRefusals(t *testing.T) {
	f, err := fabric.ByName(fabric.Default)
	require.NoError(t, err)
	_, err = fabric.ByName("mi300x")
	require.ErrorContains(t, err, "valid are mi300x-pollara, mi300x-8gpu")
	for _, c := range []struct {
		world fabric.World
		says  string
	}{
		{fabric.World{Nodes: 0, GPUsPerNode: 8, GPUsPerProcess: 1}, "1 to 1024 nodes, not 0"},
		{fabric.World{Nodes: 2000, GPUsPerNode: 8, GPUsPerProcess: 1}, "not 2000"},
		{fabric.World{Nodes: 1, GPUsPerNode: 9, GPUsPerProcess: 1}, "1 to 8 GPUs a node, not 9"},
		{fabric.World{Nodes: 1, GPUsPerNode: 8, GPUsPerProcess: 3}, "do not divide"},
		{fabric.World{Nodes: 1, GPUsPerNode: 8, GPUsPerProcess: 0}, "do not divide"},
	} {
		_, err := f.Resolve(c.world, fabric.Options{})
		require.ErrorContains(t, err, c.says)
	}
}

func TestParseNamesTheKey(t *testing.T) {
	good, err := os.ReadFile("data/mi300x-8gpu.yaml")
	require.NoError(t, err)
	_, err = fabric.Parse(good)
	require.NoError(t, err)
	for was, now := range map[string]string{
		"max_nodes: 1":       "max_node: 1",
		"noise: 0.01":        "noise: 3",
		"{min: 1, max: 1}\n": "{min: 2, max: 2}\n",
		"hbm_bytes: 2061":    "hbm_bytes: -2061",
		"gpus: 8\n":          "gpus: eight\n",
	} {
		require.Contains(t, string(good), was)
		_, err := fabric.Parse([]byte(strings.Replace(string(good), was, now, 1)))
		require.Error(t, err, now)
	}
}

func FuzzParse(f *testing.F) {
	for _, name := range []string{"mi300x-8gpu", "mi300x-pollara"} {
		text, err := os.ReadFile("data/" + name + ".yaml")
		require.NoError(f, err)
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		fab, err := fabric.Parse(text)
		if err != nil {
			return
		}
		m, err := fab.Resolve(fabric.World{Nodes: 1, GPUsPerNode: 1, GPUsPerProcess: 1}, fabric.Options{Seed: 1})
		require.NoError(t, err)
		require.NotEmpty(t, m.Text())
	})
}
