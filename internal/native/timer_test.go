package native

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The clock is counted by the kernel itself: what the counters show at both ends of the work,
// unit by unit. One that was planted is read, also where it begins in the middle.
func TestTheClockIsCounted(t *testing.T) {
	for fault, want := range map[string][2]float64{
		"":                            {2.1e9, 2.1e9},
		"fault clock 0 1.2e9 0\n":     {1.2e9, 1.2e9},
		"fault clock 1 1.2e9 0\n":     {2.1e9, 2.1e9}, // of another GPU
		"fault clock 0 1.2e9 0.004\n": {2.1e9, 1.2e9}, // two runs of 2 ms later
	} {
		p, err := Open(Choice{Backend: "loopback", Machine: []byte("zbench-machine 1\nclock virtual\nranks 2\ngpus_per_process 2\nhbm_bytes 1073741824\ngpu one\n" + fault)})
		require.NoError(t, err)
		s, err := p.NewStream(0)
		require.NoError(t, err)
		timer, err := p.NewTimer([]Stream{s})
		require.NoError(t, err)
		m, err := p.LoadModule(0, "delay.hip", nil)
		require.NoError(t, err)
		f, err := m.Function("zb_delay")
		require.NoError(t, err)
		require.NoError(t, timer.Load([][]Step{{{Function: f, Launch: line(1, 1), Args: []any{uint64(1e6)}}}}))
		plain, err := timer.Run(2, 10)
		require.NoError(t, err)
		clocks, err := timer.Clocks()
		require.NoError(t, err)
		require.Equal(t, []float64{0}, clocks, "not counted yet")
		require.NoError(t, timer.CountClocks())
		for run := range 2 {
			require.NoError(t, timer.ClearClocks())
			counted, err := timer.Run(2, 10)
			require.NoError(t, err)
			require.InEpsilon(t, plain[0], counted[0], 0.01, "what is timed is the work alone")
			clocks, err = timer.Clocks()
			require.NoError(t, err)
			require.InEpsilon(t, want[run], clocks[0], 0.01, fault)
		}
		timer.Close()
		require.NoError(t, m.Close())
		require.NoError(t, p.FreeStream(s))
		p.Close()
	}
}
