package spec

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func FuzzParseContention(f *testing.F) {
	for _, text := range []string{"0.2,1.05", " 0 , 1 ", "10,10", "1e-3,0.5", "0.123456789,1.00049"} {
		c, err := ParseContention(text)
		require.NoError(f, err)
		again, err := ParseContention(c.String())
		require.NoError(f, err)
		require.Equal(f, c, again, "the recorded command asks the same")
		f.Add(text)
	}
	for _, text := range []string{"", "0.2", "0.2,", ",1", "-0.1,1", "0.2,0.4", "0.2,11", "NaN,1", "0.2,inf", "11,1", "0.2,1,2"} {
		_, err := ParseContention(text)
		require.Error(f, err, text)
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if c, err := ParseContention(text); err == nil {
			require.True(t, c.Compute >= 0 && c.Compute <= 10 && c.Messages >= 0.5 && c.Messages <= 10, text)
		}
	})
}

func TestContentionIsOfStepsThatNobodyTimed(t *testing.T) {
	a := Advice{Framework: "ddp", Contention: &Contention{Compute: 0.2, Messages: 1}}
	require.NoError(t, a.Check())
	require.Equal(t, []string{"--framework", "ddp", "--contention", "0.2,1"}, a.Line())
	a.Observed = &Observed{}
	require.ErrorContains(t, a.Check(), "leave one out")
}
