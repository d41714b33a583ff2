package compare

import (
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/document"
	"zbench/bench/plain"
	"zbench/bench/record"
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
	require.NoError(t, r.Err(false))
	require.Error(t, r.Err(true))
	require.Error(t, few.Gate(nil).Err(true), "unclear is not checked")
	require.NotErrorIs(t, r.Err(true), record.ErrNotRecord)
}

func checksOf(d *Document, f *FailOn) []document.Check {
	d.Require(f, false)
	return d.checks()
}
