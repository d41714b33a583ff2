package compare

import (
	"bufio"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/run/record"
)

// settings are the times of one job under two network settings, by size.
func settings(t *testing.T) (base, fresh map[int64]float64) {
	t.Helper()
	file, err := os.Open("testdata/polaris_settings.txt")
	require.NoError(t, err)
	defer file.Close() //nolint:errcheck // read
	base, fresh = map[int64]float64{}, map[int64]float64{}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var bytes int64
		var a, b float64
		if n, _ := fmt.Sscan(lines.Text(), &bytes, &a, &b); n == 3 {
			base[bytes], fresh[bytes] = a*1e-6, b*1e-6
		}
	}
	return base, fresh
}

// curve is a run with these times of one all_reduce.
func curveOf(name string, hosts []string, times map[int64]float64) Run {
	rec := planted(1, 0, nil)
	rec.World.Hosts = hosts
	template := rec.Results[0]
	rec.Results = nil
	for bytes, seconds := range times {
		r := template
		r.Bytes, r.BytesRequested = bytes, bytes
		r.Key = record.Key(r.Collective, r.Dtype, r.Op, bytes, 8, 8, false)
		timing := *r.Burst
		summary := *timing.MeanOfRanks
		summary.Median = seconds
		timing.MeanOfRanks, r.Burst = &summary, &timing
		rec.Results = append(rec.Results, r)
	}
	return Run{name, rec}
}

func texts(d *Document) string {
	var b strings.Builder
	for _, l := range d.Findings() {
		b.WriteString(l.Text + " → " + l.Hint + "\n")
	}
	return b.String()
}

// What a log a side shows is stated before what it does not: how much, at which size, and
// that it grows with size. Either way round.
func TestMagnitudeAndShapeOfUntestedLogs(t *testing.T) {
	slow, fast := settings(t)
	require.Len(t, slow, 29)
	d, err := Compare([]Run{curveOf("env1", nil, slow)}, []Run{curveOf("env3", nil, fast)}, Defaults())
	require.NoError(t, err)
	require.Equal(t, "UNCLEAR: 1 GiB −74 %, one run a side, not tested; of 29 cases 29 unclear.", d.Headline())
	require.Equal(t, "env3 ran 2.432 times faster than env1 (geometric mean over 29 cases), one run a side, not tested.", d.Findings()[1].Text)
	lines := d.Findings()[1:]
	require.Contains(t, lines[1].Text, "1 GiB −74 % (199 ms to 52.0 ms): the gain grows with size; −22.5 µs at small sizes. Mean bandwidth over the sizes: BASE 2.97 GB/s, NEW 11.1 GB/s.")
	require.Contains(t, lines[1].Hint, "bandwidth: `zbench rails`")
	require.Contains(t, lines[2].Hint, "to test it, give 3 runs a side")
	d, err = Compare([]Run{curveOf("env3", nil, fast)}, []Run{curveOf("env1", nil, slow), curveOf("again", nil, slower(slow, 1.01, 0, 0))}, Defaults())
	require.NoError(t, err)
	require.Regexp(t, `^SLOWER, not tested: 1 GiB \+284 %, beyond the \S+ % that runs may differ by, 1 run against 2, not tested; `, d.Headline())
	require.Contains(t, texts(d), "the loss grows with size")
	d, err = Compare([]Run{curveOf("a", nil, slow)}, []Run{curveOf("b", nil, slower(slow, 1.001, 0, 0))}, Defaults())
	require.NoError(t, err)
	require.Equal(t, ShapeNone, d.Shapes[0].Kind)
	require.Contains(t, d.Headline(), "+0.1 %, one run a side, not tested")
	require.NotContains(t, texts(d), "rails")
}

// slower are times by a factor, with seconds and seconds a byte more.
func slower(times map[int64]float64, by, latency, perByte float64) map[int64]float64 {
	out := map[int64]float64{}
	for bytes, v := range times {
		out[bytes] = v*by + latency + perByte*float64(bytes)
	}
	return out
}

// The kind is what was planted, over curves of any launch time, bandwidth and sizes: seconds
// a byte are bandwidth, seconds a launch latency, a factor is all alike where the sizes reach
// from launches to bytes. A gain is the loss from the other side.
func TestShapeIsWhatWasPlanted(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 4))
	for range 300 {
		launch, perByte := math.Exp(rng.Float64()*3)*5e-6, 1/(math.Exp(rng.Float64()*4)*5e9)
		bend := launch / perByte // the size whose bytes take as long as the launch
		step := []float64{2, 4, 16}[rng.IntN(3)]
		base := map[int64]float64{}
		for bytes := bend / 200; bytes < bend*200; bytes *= step {
			base[int64(bytes)] = (launch + perByte*float64(int64(bytes))) * math.Exp(0.01*rng.NormFloat64())
		}
		by := 0.3 + rng.Float64()
		for kind, fresh := range map[ShapeKind]map[int64]float64{
			ShapeBandwidth: slower(base, 1, 0, by*perByte),
			ShapeLatency:   slower(base, 1, by*launch, 0),
			ShapeAlike:     slower(base, 1+by, 0, 0),
			ShapeMixed:     slower(base, 1, -0.4*launch, by*perByte),
			ShapeNone:      slower(base, 1.01, 0, 0),
		} {
			for _, swap := range []bool{false, true} {
				a, b := curveOf("a", nil, base), curveOf("b", nil, fresh)
				if swap {
					a, b = b, a
				}
				d, err := Compare([]Run{a}, []Run{b}, Defaults())
				require.NoError(t, err)
				require.Equal(t, kind, d.Shapes[0].Kind, "%+v", d.Shapes[0])
			}
		}
		large := map[int64]float64{}
		for bytes, v := range base {
			if float64(bytes) > 4*bend {
				large[bytes] = v
			}
		}
		d, err := Compare([]Run{curveOf("a", nil, large)}, []Run{curveOf("b", nil, slower(large, 1+by, 0, 0))}, Defaults())
		require.NoError(t, err)
		if len(large) >= leastSizes {
			require.Equal(t, ShapeBandwidth, d.Shapes[0].Kind, "times that are the bytes'")
		}
	}
}

// A slow rail of several runs is called slower with the way to find it: clocks are not
// blamed, though the median case is slower, too. A slower clock still is.
func TestSlowRailIsNotBlamedOnClocks(t *testing.T) {
	bytes := map[int64]float64{}
	for size := int64(64 << 10); size <= 1<<30; size *= 2 {
		bytes[size] = 2e-5 + float64(size)/2e11
	}
	side := func(times map[int64]float64, seed uint64) (out []Run) {
		for i := range uint64(4) {
			rng := rand.New(rand.NewPCG(seed, i))
			run := map[int64]float64{}
			for size := int64(64 << 10); size <= 1<<30; size *= 2 {
				run[size] = times[size] * math.Exp(0.003*rng.NormFloat64())
			}
			out = append(out, curveOf(fmt.Sprint(seed, i), nil, run))
		}
		return out
	}
	for _, x := range []struct {
		times map[int64]float64
		kind  ShapeKind
		hint  string
	}{
		{slower(bytes, 1, 0, 1/2.5e11), ShapeBandwidth, "zbench rails"},
		{slower(bytes, 1.2, 0, 0), ShapeAlike, "clocks, placement"},
		{slower(bytes, 1, 2e-5, 0), ShapeLatency, "latency: "},
	} {
		d := compared(t, side(bytes, 1), side(x.times, 2))
		require.Equal(t, Slower, d.Verdict)
		require.Equal(t, x.kind, d.Shapes[0].Kind)
		require.Contains(t, texts(d), x.hint)
		require.Equal(t, x.kind == ShapeAlike, strings.Contains(texts(d), "clocks, placement"), texts(d))
	}
}

// Where hosts differ five runs a side are asked for, whatever the verdict, and not where
// they are the same.
func TestHostsThatDifferNeedMoreRuns(t *testing.T) {
	slow, _ := settings(t)
	side := func(n, from int, host string) (out []Run) {
		for i := range n {
			out = append(out, curveOf(fmt.Sprint(host, i), []string{host}, slower(slow, 1+0.001*float64(from+i), 0, 0)))
		}
		return out
	}
	asks := "give 5 runs a side, or runs of the same hosts by turns"
	require.Contains(t, texts(compared(t, side(3, 0, "a"), side(3, 4, "b"))), asks)
	require.NotContains(t, texts(compared(t, side(5, 0, "a"), side(5, 6, "b"))), asks)
	require.NotContains(t, texts(compared(t, side(3, 0, "a"), side(3, 4, "a"))), asks)
	d := compared(t, side(1, 0, "a"), side(1, 4, "b"))
	require.Equal(t, HostRuns, d.NeedsRuns)
	require.Contains(t, texts(d), "to test it, give 5 runs a side")
	require.Contains(t, fmt.Sprint(d.CaseTable(false).Notes), "if the runs of both sides are exchangeable, without modes of whole runs")
}
