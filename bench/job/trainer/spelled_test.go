package trainer

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A setting of each trainer is read as its users write it.
func TestSettingsAreSpelledAsTheTrainersDo(t *testing.T) {
	params := []Param{{Name: "embed", Elements: 1000}, {Name: "layers.0.w", Elements: 500}, {Name: "layers.1.w", Elements: 500}}
	for _, x := range []struct {
		trainer, text string
		zero          int
		want          int64
	}{
		{"ddp", "25", 0, 25 << 19},
		{"ddp", "0.25", 0, 1 << 17},
		{"ddp", "default", 0, 0},
		{"megatron", "40_000_000", 1, 40e6},
		{"megatron", "350M", 1, 350e6},
		{"deepspeed", "5e8", 2, 5e8},
		{"deepspeed", "500M", 1, 5e8},
		{"fsdp2", "2", 3, 1000},
		{"xla", "1048576", 0, 1 << 19},
		{"xla", "1048576", 1, 8 << 19},
	} {
		tr, err := ByName(x.trainer)
		require.NoError(t, err)
		n, err := tr.Spelled(x.text, WithBlocks(params), Run{DP: 8, GradDtype: "bfloat16", ParamDtype: "bfloat16", Zero: x.zero})
		require.NoError(t, err, x)
		require.Equal(t, x.want, n, x)
	}
	for _, name := range Names() {
		tr, err := ByName(name)
		require.NoError(t, err)
		for _, text := range []string{"", "none", "much", "-3", "0", "25 apples"} {
			_, err = tr.Spelled(text, params, Run{DP: 8, GradDtype: "bfloat16", ParamDtype: "bfloat16"})
			require.ErrorContains(t, err, "setting", name+" "+text)
		}
	}
}
