package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/folder"
	"zbench/bench/engine"
	"zbench/bench/run/plan"
	"zbench/bench/run/spec"
	"zbench/test/foldertest"
)

// onGPUs asks for a sweep on real GPUs.
func onGPUs(w spec.World) spec.Spec {
	s := small()
	s.Backend, s.World = "rocm", w
	return s
}

// A world of several processes needs what one process finds out by itself.
func TestPrepareLaunchResolvesTheWorld(t *testing.T) {
	u, err := engine.PrepareLaunch(onGPUs(spec.World{Nodes: 16, GPUsPerNode: 8, GPUsPerProcess: 4}))
	require.NoError(t, err)
	require.Equal(t, 128, u.Spec.World.Size())
	for _, c := range []struct {
		world spec.World
		says  string
	}{
		{spec.World{Nodes: 2, GPUsPerProcess: 1}, "the number of GPUs on each node is not known"},
		{spec.World{Nodes: 2, GPUsPerNode: 8, GPUsPerProcess: 3}, "do not make processes of 3 GPUs"},
		{spec.World{Nodes: 0, GPUsPerNode: 8, GPUsPerProcess: 8}, "--nodes 0"},
	} {
		_, err := engine.PrepareLaunch(onGPUs(c.world))
		require.ErrorContains(t, err, c.says)
	}
	faulty := onGPUs(spec.World{Nodes: 2, GPUsPerNode: 8, GPUsPerProcess: 8})
	faulty.Faults = []string{"late_gpu:node=0,gpu=1,seconds=1"}
	_, err = engine.PrepareLaunch(faulty)
	require.ErrorContains(t, err, "--fault needs the loopback")
	_, err = engine.Prepare(onGPUs(spec.World{Nodes: 16, GPUsPerNode: 8, GPUsPerProcess: 8}), false)
	require.ErrorContains(t, err, "--nodes must be 1") // one process alone
}

// unconnected is a driver whose ranks cannot connect: the sweep ends after its estimate.
type unconnected struct{ modelled }

func (*unconnected) Facts() (engine.Facts, error) { return engine.Facts{Memory: 192 << 30}, nil }
func (*unconnected) Allocate(context.Context, plan.Room) error {
	return errors.New("planted: no connection")
}

// The estimate is held against the end of the job, in a dry run and when a sweep
// begins; with the loopback seconds are simulated, and nothing is held against it.
func TestEstimateIsHeldAgainstTheEndOfTheJob(t *testing.T) {
	files := foldertest.New()
	e := at(files, &modelled{})
	var notes strings.Builder
	e.Note = func(format string, args ...any) { fmt.Fprintf(&notes, format, args...) }
	e.Deadline = e.Now().Add(time.Second)
	u, err := engine.Prepare(onGPUs(spec.World{Nodes: 1, GPUsPerProcess: 8}), false)
	require.NoError(t, err)
	est, warning, err := e.Estimate(t.Context(), u, nil)
	require.NoError(t, err)
	require.Equal(t, 6, est.Cases)
	require.Contains(t, warning, "The job ends in 1.00 s, and the sweep can take longer")
	require.Empty(t, notes.String())

	e.Open = func(context.Context, *engine.Setup) (engine.Ranks, error) { return &unconnected{}, nil }
	dir, err := folder.New(e.Host, "out", "collectives", false)
	require.NoError(t, err)
	_, err = e.Run(t.Context(), u, dir)
	require.ErrorContains(t, err, "planted")
	require.NoError(t, dir.Close())
	require.Contains(t, notes.String(), est.Text(false)+warning+"\n")

	e = at(files, &modelled{})
	e.Deadline = e.Now().Add(time.Nanosecond)
	u, err = engine.Prepare(small(), false)
	require.NoError(t, err)
	est, warning, err = e.Estimate(t.Context(), u, nil)
	require.NoError(t, err)
	require.Equal(t, 6, est.Cases)
	require.Empty(t, warning)
}
