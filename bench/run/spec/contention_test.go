package spec

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestContentionIsReadAsItIsWritten(t *testing.T) {
	for _, text := range []string{"0.2,1.05", " 0 , 1 ", "10,10", "1e-3,0.5", "0.123456789,1.00049"} {
		c, err := ParseContention(text)
		require.NoError(t, err)
		again, err := ParseContention(c.String())
		require.NoError(t, err)
		require.Equal(t, c, again, "the recorded command asks the same")
	}
	for _, text := range []string{"", "0.2", "0.2,", ",1", "-0.1,1", "0.2,0.4", "0.2,11", "NaN,1", "0.2,inf", "11,1", "0.2,1,2"} {
		_, err := ParseContention(text)
		require.Error(t, err, text)
	}
}

func TestContentionIsOfStepsThatNobodyTimed(t *testing.T) {
	a := Advice{Framework: "ddp", Contention: &Contention{Compute: 0.2, Messages: 1}}
	require.NoError(t, a.Check())
	require.Equal(t, []string{"--framework", "ddp", "--contention", "0.2,1"}, a.Line())
	a.Observed = &Observed{}
	require.ErrorContains(t, a.Check(), "leave one out")
}
