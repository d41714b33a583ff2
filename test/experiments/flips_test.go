package experiments

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	fullFlips, fullLines   = 500, 50
	smallFlips, smallLines = fullFlips / 5, fullLines / 5
)

func TestFlipsFull(t *testing.T) {
	if !*full {
		t.Skip("-args -full")
	}
	for _, bare := range []bool{false, true} {
		var all Flips
		for seed := range 20 {
			f, err := RunFlips(uint64(seed), fullFlips, fullLines, bare)
			require.NoError(t, err)
			all.Flips, all.Refused, all.Named, all.Equal = all.Flips+f.Flips, all.Refused+f.Refused, all.Named+f.Named, all.Equal+f.Equal
			all.Lines, all.LinesRefused, all.Silent = all.Lines+f.Lines, all.LinesRefused+f.LinesRefused, append(all.Silent, f.Silent...)
		}
		fmt.Printf("bare %t: %d flips: %d refused, %d named, %d equal; %d lines: %d refused; %d silent\n",
			bare, all.Flips, all.Refused, all.Named, all.Equal, all.Lines, all.LinesRefused, len(all.Silent))
		if !bare {
			require.Empty(t, all.Silent)
			require.Equal(t, all.Lines, all.LinesRefused)
		}
	}
}

// No bit that is turned changes a figure without a word, and no line of another run is read. The
// same bits and lines do where files have neither ids nor checksums, as earlier ones.
func TestFlipsAtAFifth(t *testing.T) {
	f, err := RunFlips(1, smallFlips, smallLines, false)
	require.NoError(t, err)
	require.Empty(t, f.Silent)
	require.Equal(t, smallLines, f.LinesRefused)
	require.Positive(t, f.Refused)
	require.Positive(t, f.Named)
	bare, err := RunFlips(1, smallFlips, smallLines, true)
	require.NoError(t, err)
	require.NotEmpty(t, bare.Silent)
	require.Less(t, bare.LinesRefused, smallLines)
}
