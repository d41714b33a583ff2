package kernel

import (
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/option"
	"zbench/bench/run/spec"
)

// What a setting takes it writes again, each value once; what is beyond its bounds is refused in words.
func TestSettingsReadWhatTheyWrite(t *testing.T) {
	rows := Setting{Name: "rows", Unit: "int", Value: UpTo(10, "a matrix has 1 to %d rows", false, func(k *spec.Kernels) *int { return &k.Rows })}
	reduce := Setting{Name: "reduce", Unit: "int", Value: UpTo(10, "a side is 1 to %d", true, func(k *spec.Kernels) *int { return &k.Reduce })}
	hidden := Setting{Name: "hidden", Unit: "ints", Value: AllUpTo(64, "a row has 1 to %d elements", func(k *spec.Kernels) *[]int { return &k.Hidden })}
	sweep := Setting{Name: "sweep", Value: option.Switch(func(k *spec.Kernels) *bool { return &k.Sweep })}
	for _, c := range []struct {
		s           Setting
		given, want []string
		err         string
	}{
		{rows, []string{"3", "10"}, []string{"10"}, ""},
		{rows, []string{"0"}, nil, `"0": a matrix has 1 to 10 rows`},
		{rows, []string{"11"}, nil, `"11": a matrix has 1 to 10 rows`},
		{reduce, []string{"4", "0"}, nil, ""},
		{hidden, []string{"8, 16", "8", "64"}, []string{"8,16,64"}, ""},
		{hidden, []string{"8,65"}, nil, `"65": a row has 1 to 64 elements`},
		{hidden, []string{","}, nil, `"": a row has 1 to 64 elements`},
		{sweep, []string{"true"}, []string{"true"}, ""},
		{sweep, []string{"true", "false"}, nil, ""},
	} {
		k := &spec.Kernels{}
		err := c.s.Set(k, c.given)
		if c.err != "" {
			require.EqualError(t, err, c.err)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, c.want, c.s.Shown(k), "%s %v", c.s.Name, c.given)
	}
}

// Families are in the order of their rows; one that is unknown has nothing of its own.
func TestFamiliesAreInOrder(t *testing.T) {
	defer func(before []Family) { families = before }(families)
	Register(Family{Name: "b", Order: 2})
	Register(Family{Name: "a", Order: 1, OneDevice: true})
	require.Equal(t, "a", families[0].Name)
	require.True(t, Of("a").OneDevice)
	require.Equal(t, Family{Name: "c"}, Of("c"))
}
