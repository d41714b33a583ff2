package rccl

import (
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/internal/native"
)

// A process takes the GPUs at its place on the node, or all that it sees where the
// launcher shows it its own alone.
func TestVisibleDevices(t *testing.T) {
	m, _ := trial{collective: "all_reduce"}.machine(t)
	cfg := trial{}.config(m)
	cfg.Ranks, cfg.FirstRank, cfg.World, cfg.Devices = 2, 6, 8, []int{6, 7}
	cfg.Native.Share = &native.Share{First: 6, Count: 2}
	d, err := Open(cfg)
	require.NoError(t, err)
	require.Equal(t, 0, d.ranks[0].rank.Device)
	require.NoError(t, d.Close())
	cfg.Native.Share = &native.Share{First: 4, Count: 4}
	_, err = Open(cfg)
	require.ErrorIs(t, err, native.ErrUnavailable)
	require.ErrorContains(t, err, "8 GPUs requested, 4 visible")
	cfg.Native.Share = &native.Share{}
	d, err = Open(cfg)
	require.NoError(t, err)
	require.Equal(t, 6, d.ranks[0].rank.Device)
	require.NoError(t, d.Close())
}
