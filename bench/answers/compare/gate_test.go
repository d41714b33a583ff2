package compare

import (
	"encoding/csv"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/finding"
	"zbench/bench/base/plain"
	"zbench/bench/run/record"
	"zbench/bench/show/document"
	"zbench/test/project"
)

func TestFailOn(t *testing.T) {
	for _, bad := range []string{"", "faster", "slower:", "slower:5", "slower:-1%", "slower:x%", "slower:NaN%", "slower:2000%"} {
		_, err := ParseFailOn(bad)
		require.Error(t, err, bad)
	}
	d := compared(t, plantedSide("b", 1, 4, 0.002, nil), plantedSide("n", 101, 4, 0.002, slowerAt(3, 0.1)))
	for text, want := range map[string]string{"slower": "fail", "slower:5%": "fail", "slower:15%": "pass"} {
		f, err := ParseFailOn(text)
		require.NoError(t, err)
		require.Equal(t, want, string(d.Gate(f).State), text)
		require.Len(t, checksOf(d, f), len(d.Cases)+1)
	}
	f, _ := ParseFailOn("slower:5%")
	texts := func(d *Document) (out []string) {
		for _, x := range d.Gate(f).Findings() {
			out = append(out, x.Text)
		}
		return out
	}
	require.Regexp(t, `^✗ FAIL: slower:5%: no case may be slower by 5 % or more; missed by 2 of \d+ cases, the worst .*B: slower, \+10 %, from .* to `, texts(d)[0])
	require.Regexp(t, `^✓ PASS: slower:5% for all cases together: the median over the cases changed by .* %`, texts(d)[1])
	d.Cases[0].Broken, d.Cases[0].Verdict = true, NotChecked
	require.Contains(t, texts(d)[0], "missed by 3 of "+plain.Count(len(d.Cases), "case")+", the worst "+d.Cases[0].text(), "no slowdown is worse than a failure")
	same := compared(t, plantedSide("b", 1, 4, 0.002, nil), plantedSide("n", 101, 4, 0.002, nil))
	require.Regexp(t, `; the worst of \d+ cases is .*: same, \+0\.\d %, from `, texts(same)[0])
	few := compared(t, plantedSide("b", 1, 2, 0.002, nil), plantedSide("n", 101, 2, 0.002, nil))
	f, _ = ParseFailOn("slower")
	r := few.Gate(f)
	require.Equal(t, "not_checked", string(r.State))
	require.NoError(t, r.Err(true))
	require.Error(t, r.Err(false))
	require.NotErrorIs(t, r.Err(false), record.ErrNotRecord)
}

func checksOf(d *Document, f *FailOn) []document.Check {
	d.Require(f, false)
	return d.checks()
}

// One run a side: a change beyond the gate by more than runs of one thing may differ by misses it; a smaller one
// is not checked, and never a pass. The allowance is said with its source, and by the number of cases.
func TestAGateOfOneRunASide(t *testing.T) {
	f, err := ParseFailOn("slower:5%")
	require.NoError(t, err)
	one := func(by float64) *Document {
		return compared(t, plantedSide("b", 1, 1, 0.01, nil), plantedSide("n", 101, 1, 0.01, slowerAt(4, by)))
	}
	allowed := *one(0).Cases[4].Allowance
	for _, x := range []struct {
		by   float64
		want finding.State
	}{
		{0, finding.NotChecked},
		{-0.9, finding.NotChecked},
		{0.9 * allowed, finding.NotChecked},
		{(1+allowed)*1.03 - 1, finding.NotChecked}, // beyond the allowance, within the gate
		{(1+allowed)*1.1 - 1, finding.Fail},
		{3, finding.Fail},
	} {
		d := one(x.by)
		require.Equal(t, x.want, d.Gate(f).State, "%+v", x)
		require.Equal(t, Unclear, d.Cases[4].Verdict, "nothing was tested")
		if d.Require(f, false); x.want == finding.Fail {
			require.Contains(t, d.Headline(), "SLOWER, not tested: 64 MiB +")
			require.Regexp(t, `64 MiB: SLOWER, not tested, \+\d+ %, from .*`+Percent(allowed), texts(d))
			require.Contains(t, texts(d), "amd-dev")
		}
	}
	few := one(3)
	for _, c := range few.Cases {
		require.GreaterOrEqual(t, *few.Cases[0].Allowance, *c.Allowance, "small sizes vary more")
	}
	alone := []Run{{"b", planted(1, 0.01, nil)}, {"n", planted(2, 0.01, nil)}}
	for _, r := range alone {
		r.Record.Results = r.Record.Results[4:5]
	}
	require.Less(t, *compared(t, alone[:1], alone[1:]).Cases[0].Allowance, allowed, "one case may do so by chance less often than one of many")
	noisy := []Run{{"b", planted(1, 0.01, nil)}, {"n", planted(2, 0.01, nil)}}
	for _, r := range noisy {
		for i := range r.Record.Results {
			s := r.Record.Results[i].Burst.MeanOfRanks
			s.N, s.CV = 4, new(0.3)
		}
	}
	require.Greater(t, *compared(t, noisy[:1], noisy[1:]).Cases[4].Allowance, allowed, "the runs vary within themselves")
	require.Nil(t, compared(t, plantedSide("b", 1, 3, 0.01, nil), plantedSide("n", 101, 3, 0.01, nil)).Cases[4].Allowance)
}

// The published runs vary by no more than is assumed: of 55 settings the worst pair of runs is within the
// allowance of as many cases.
func TestDataRunsVaryWithinTheAllowance(t *testing.T) {
	file, err := os.Open(filepath.Join(project.Published(t, "tuner"), "mi355x_pollara_allreduce_grid.csv"))
	require.NoError(t, err)
	defer file.Close() //nolint:errcheck // read
	lines := csv.NewReader(file)
	lines.Comment = '#'
	rows, err := lines.ReadAll()
	require.NoError(t, err)
	squares, df, worst := map[int64]float64{}, map[int64]float64{}, map[int64]float64{}
	for _, row := range rows[1:] {
		bytes, err := strconv.ParseInt(row[2], 10, 64)
		require.NoError(t, err)
		var c observed
		for _, cell := range row[6:] {
			v, err := strconv.ParseFloat(cell, 64)
			require.NoError(t, err)
			c.sides[0] = append(c.sides[0], math.Log(v))
		}
		squares[bytes] += c.squares()
		df[bytes] += float64(c.df())
		worst[bytes] = max(worst[bytes], slices.Max(c.sides[0])-slices.Min(c.sides[0]))
	}
	require.Len(t, squares, 3)
	for bytes := range squares {
		c := observed{bytes: bytes, sides: [2][]float64{{0}, {0}}}
		require.InEpsilon(t, 1, math.Sqrt(squares[bytes]/df[bytes]/c.assumed().variance), 0.6, bytes)
		require.Less(t, worst[bytes], quantile(1-0.01/55, betweenDF)*c.se(c.assumed()), bytes)
	}
}
