package gpu

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestVerdicts(t *testing.T) {
	for want, f := range map[string]finding{
		"ok":                           {ratios: []float64{0.5, 1, 1.1}, bar: 0.98},
		"MISSED":                       {ratios: []float64{0.97, 0.9, 2}, bar: 0.98},
		"MISSED: nothing was measured": {bar: 1},
		"ok, below the target":         {ratios: []float64{1}, bar: 0.9, target: 1.3},
		"stated":                       {ratios: []float64{0.1}},
		"NOT CHECKED: no torch":        {ratios: []float64{0.1}, bar: 1, missing: "no torch"},
		"MISSED: zbench: exit code 4":  {missing: "no torch", failed: "zbench: exit code 4"},
	} {
		require.Equal(t, want, f.verdict())
	}
}

// Sides take turns in being first, a side that failed is not run again, and
// neither a peer that is missing nor one that gave nothing becomes a ratio.
func TestAlternate(t *testing.T) {
	var order []string
	named := func(name string, fails bool) side {
		return side{name, func(said map[string]string) (figures, error) {
			order = append(order, name)
			if fails {
				return nil, errors.New("broken")
			}
			said["odd"] = "it has no such thing"
			return figures{"a": float64(len(order))}, nil
		}}
	}
	all := alternate(t.Context(), 3, named("x", false), named("y", false), named("z", true))
	require.Equal(t, []string{"x", "y", "z", "y", "x", "x", "y"}, order)
	require.Equal(t, []float64{1, 5, 6}, all["x"].of["a"])
	f := against("", "", all["x"], all["y"], "a", "a", 0, 0)
	require.Equal(t, []float64{2, 0.8, 7. / 6}, f.ratios)
	require.Equal(t, "NOT CHECKED: it failed: broken", against("", "", all["x"], all["z"], "a", "a", 1, 0).verdict())
	require.Equal(t, "NOT CHECKED: it has no such thing", against("", "", all["x"], all["y"], "a", "odd", 1, 0).verdict())
	require.Equal(t, "NOT CHECKED: it gave no figure", against("", "", all["x"], all["y"], "a", "b", 1, 0).verdict())
	require.Equal(t, "MISSED: zbench: it failed: broken", against("", "", all["z"], all["x"], "a", "a", 1, 0).verdict())
}

// A side that failed is no pass: the ratios there are stay beside it. A row is judged on the turns
// that it had when the time was over.
func TestFewerTurns(t *testing.T) {
	calls := 0
	tires := side{"tires", func(map[string]string) (figures, error) {
		if calls++; calls > 2 {
			return figures{"b": 1}, errors.New("out of memory")
		}
		return figures{"a": 1}, nil
	}}
	steady := side{"steady", func(map[string]string) (figures, error) { return figures{"a": 1}, nil }}
	all := alternate(t.Context(), 5, steady, tires)
	f := against("", "", all["steady"], all["tires"], "a", "a", 1, 0)
	require.Equal(t, "ok", f.verdict(), "two turns of the peer are enough")
	require.Equal(t, "1.000 (1.000 to 1.000), 2 of 5 turns", ratioText(f))
	require.Equal(t, []float64{1, 1}, f.ratios)
	require.Equal(t, "MISSED: zbench: 2 of 5 turns: it failed: out of memory", against("", "", all["tires"], all["steady"], "a", "a", 1, 0).verdict())
	require.Equal(t, []float64{1}, all["tires"].of["b"], "what was printed before it failed")
	require.Equal(t, "ok", ratios("", "", all["steady"], "a", []float64{1, 1}, 1, 0).verdict())
	require.Equal(t, "NOT CHECKED: no turn has what it is compared with", ratios("", "", all["steady"], "a", nil, 1, 0).verdict())
	late := &turns{asked: 5, of: map[string][]float64{"a": {1, 1, 1, 1}}, missing: errLate}
	require.Equal(t, "ok", against("", "", late, all["steady"], "a", "a", 1, 0).verdict())
	require.Equal(t, "MISSED: zbench: the time was over (LIMIT)", against("", "", late, all["steady"], "b", "a", 1, 0).verdict())
}

// Within 2 %, or 1 µs where that is more; a size that nccl-tests lacks is not
// checked.
func TestBursts(t *testing.T) {
	peer := &turns{asked: 3, of: map[string][]float64{"1 KiB": {5e-6, 9e-6, 5e-6}, "1 GiB": {1e-3, 1e-3, 1e-3}}}
	for verdict, ours := range map[string]map[string][]float64{
		"ok": {"1 KiB": {5.9e-6}, "1 GiB": {1.019e-3}},
		"MISSED: 1 KiB: 6.1 µs against 5 µs, medians of 1 and 3 turns":        {"1 KiB": {6.1e-6}, "1 GiB": {1e-3}},
		"MISSED: 1 GiB: 970 µs against 1000 µs, medians of 1 and 3 turns":     {"1 KiB": {6.1e-6}, "1 GiB": {9.7e-4}},
		"NOT CHECKED: 2 GiB: it gave no figure":                               {"2 GiB": {1e-3}, "1 GiB": {1e-3}},
		"MISSED: 1 GiB: 1.5e+04 µs against 1000 µs, medians of 1 and 3 turns": {"2 GiB": {1e-3}, "1 GiB": {0.015}},
		"MISSED: zbench: it gave no figure":                                   {},
	} {
		require.Equal(t, verdict, bursts("", "", &turns{asked: 1, of: ours}, peer).verdict())
	}
}

func TestReadPeers(t *testing.T) {
	said := map[string]string{}
	f, err := readPeers([]byte("with,\"torch 2, CUDA 13\"\nfigure,bmm,products:1x2x3,1.5e-05\nmissing,Liger,norm:1x2,\"No module, none\"\n"), said)
	require.NoError(t, err)
	require.Equal(t, figures{"bmm products:1x2x3": 1.5e-5}, f)
	require.Equal(t, map[string]string{"Liger norm:1x2": "No module, none"}, said)
	require.Contains(t, with, "torch 2, CUDA 13")
	with = nil
	for _, bad := range []string{"figure,a,b,0\n", "figure,a,b,nan\n"} {
		_, err := readPeers([]byte(bad), said)
		require.ErrorContains(t, err, "peers.py", bad)
	}
	f, err = readPeers([]byte("W1121 a \"library\" talks,\n\"\nfigure,bmm,c,2\nfigure,a,b\nTraceback\n"), said)
	require.NoError(t, err)
	require.Equal(t, figures{"bmm c": 2}, f)
}

// standIn is a program of sh.
func standIn(t *testing.T, name, text string) string {
	file := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(file, []byte("#!/bin/sh\n"+text), 0o700)) //nolint:gosec // it is to be run
	return file
}

// BabelStream's own output: what comes before the table is no row.
func TestBabelStream(t *testing.T) {
	t.Setenv("BABELSTREAM", standIn(t, "cuda-stream", `echo "CUDA Driver: 13000"
echo "function,num_times,n_elements,sizeof,max_mbytes_per_sec,min_runtime,max_runtime,avg_runtime"
[ "$*" = "-s 128 --csv" ] && echo "Copy,40,128,8,4e6,0.000512,0.0006,0.00055" && echo "Dot,40,128,8,4e6,0.0005,0.0006,0.00055"
`))
	f, err := babelStream(t.Context(), 1024)
	require.NoError(t, err)
	require.Equal(t, figures{"copy": 0.000512, "dot": 0.0005}, f)
	t.Setenv("BABELSTREAM", standIn(t, "cuda-stream", "echo out of memory >&2; exit 3"))
	_, err = babelStream(t.Context(), 1024)
	require.ErrorContains(t, err, "out of memory")
	require.NotErrorIs(t, err, errAbsent)
	t.Setenv("BABELSTREAM", "/nowhere/cuda-stream")
	_, err = babelStream(t.Context(), 1024)
	require.ErrorIs(t, err, errAbsent)
	t.Setenv("BABELSTREAM", standIn(t, "cuda-stream", "true"))
	_, err = babelStream(t.Context(), 1024)
	require.ErrorContains(t, err, "no rows")
}

// The table has a row for each finding and the ratio of each turn is kept.
func TestTable(t *testing.T) {
	found := []finding{
		compared("memory", "copy", []float64{2e-3, 1e-3, 1e-3}, []float64{1e-3, 1e-3, 2e-3}, 0.98, 0),
		{row: "norm", what: "Liger", missing: "no module"},
	}
	text := markdown([]string{"a GPU"}, found)
	require.True(t, strings.HasPrefix(text, "a GPU\n\n| row |"), text)
	require.Contains(t, text, "| memory | copy | 1000 µs | 1000 µs | 1.000 (0.500 to 2.000) | ≥ 0.98 | ok |\n")
	require.Contains(t, text, "| norm | Liger |  |  |  |  | NOT CHECKED: no module |\n")
	require.Equal(t, "row,what,turn,ratio\n\"memory\",\"copy\",1,0.5\n\"memory\",\"copy\",2,1\n\"memory\",\"copy\",3,2\n", turnsCSV(found))
}
