package issuemodel

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func read(t *testing.T, text string) Loop {
	t.Helper()
	l, err := Read(text)
	require.NoError(t, err)
	return l
}

// A loop that reads its operands from LDS and multiplies them behind that keeps the matrix
// units waiting, the more the longer memory takes.
func TestWaitsShow(t *testing.T) {
	text, err := os.ReadFile("testdata/one_wait_a_stage.s")
	require.NoError(t, err)
	l := read(t, string(text))
	require.InDelta(t, 0.72, l.Busy(2, 64, 800), 0.01)
	require.InDelta(t, 0.80, l.Busy(2, 64, 500), 0.01)
	require.InDelta(t, 0.37, l.Busy(1, 64, 800), 0.01)
	require.Less(t, l.Busy(2, 64, 2000), 0.45)
}

// What follows from the rules alone: each resource bounds a loop that asks for more of it.
func TestBounds(t *testing.T) {
	matrices := func(n int, more string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "\tv_mfma_f32_16x16x16_bf16 a[%d:%d], v[0:1], v[2:3], a[%d:%d]\n", 4*i, 4*i+3, 4*i, 4*i+3)
		}
		return b.String() + more
	}
	access := "\tds_read_b128 v[0:3], v4\n"
	for _, c := range []struct {
		what, loop string
		blocks     int
		want       float64
	}{
		{"nothing else", matrices(16, ""), 1, 1},
		{"a chain: each sum waits for the one before", matrices(1, ""), 1, 16.0 / 24},
		{"two waves of chains", matrices(1, ""), 2, 1},
		{"LDS: 16 reads of 8 clocks by four waves, to 16 x 16 clocks", matrices(16, strings.Repeat(access, 16)+"\ts_waitcnt lgkmcnt(15)\n"), 2, 0.5},
		{"memory: 8 loads of 16 clocks by four waves", matrices(16, strings.Repeat("\tglobal_load_dwordx4 v[0:3], v[4:5], off\n", 8)+"\ts_waitcnt vmcnt(63)\n"), 2, 0.5},
		{"a wait for all of LDS", matrices(16, access+"\ts_waitcnt lgkmcnt(0)\n"), 1, 256.0 / (240 + 4 + 8 + 128 + 4)},
	} {
		require.InDelta(t, c.want, read(t, c.loop).Busy(c.blocks, 64, 500), 0.03, c.what)
	}
	// a wait that leaves the latest load is one round later
	load := "\tglobal_load_dwordx4 v[0:3], v[4:5], off\n"
	late, soon := read(t, matrices(16, load+"\ts_waitcnt vmcnt(1)\n")), read(t, matrices(16, load+"\ts_waitcnt vmcnt(0)\n"))
	require.Greater(t, late.Busy(1, 64, 400), 1.4*soon.Busy(1, 64, 400))
	// a barrier holds a block's waves together: it costs next to nothing where they are alike
	require.Greater(t, read(t, matrices(16, "\ts_barrier\n")).Busy(1, 64, 400), 0.95)
}

func TestUnknownInstructions(t *testing.T) {
	for _, text := range []string{"", "; nothing", "buffer_load_dwordx4 v0", "v_mfma_f32_32x32x8_bf16 a[0:15], v[0:1], v[2:3], a[0:15]"} {
		_, err := Read(text)
		require.Error(t, err, text)
	}
}
