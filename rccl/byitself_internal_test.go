package rccl

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"zbench/bench/run/plan"
	"zbench/bench/run/record"
	"zbench/internal/native"
)

// hanging is a library whose init of several ranks never ends, and of one rank only on
// some devices.
type hanging struct {
	library
	stuck, refused []int
	ever           chan struct{}
}

func (*hanging) NewUniqueID() (native.UniqueID, error) { return native.UniqueID{}, nil }

func (h *hanging) InitComms(_ native.UniqueID, ranks, _ int, devices []int, _ int, _ bool) ([]native.Comm, error) {
	if ranks > 1 || slices.Contains(h.stuck, devices[0]) {
		<-h.ever
	}
	if slices.Contains(h.refused, devices[0]) {
		return nil, errors.New("unhandled system error")
	}
	return nil, nil
}

// An init that does not end names the ranks that do not join a communicator by themselves
// either; where all do, or none does, no rank is told from another.
func TestInitThatDoesNotEndNamesTheStuckRank(t *testing.T) {
	for _, x := range []struct {
		stuck, refused []int
		suspects, says string
		certain        bool
	}{
		{stuck: []int{2}, suspects: "10", certain: true, says: "by themselves 1 of these 4 GPUs do not join a communicator of one rank either"},
		{refused: []int{3}, suspects: "11", certain: true, says: "culprit: rank 11"},
		{stuck: []int{0, 1}, suspects: "8-9", certain: true, says: "culprit: ranks 8–9"},
		{suspects: "8-11", says: "by itself each of its GPUs joins a communicator of one rank"},
		{stuck: []int{0, 1, 2, 3}, suspects: "8-11", says: "candidates: all 4 ranks"},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := &hanging{stuck: x.stuck, refused: x.refused, ever: make(chan struct{})}
			d := &Driver{cfg: Config{Ranks: 4, FirstRank: 8, World: 16, Deadlines: plan.Deadlines{Init: 7}}, library: l}
			c := plan.Comms{Ranks: 16, Count: 1}
			_, err := d.initComms(t.Context(), c, c.Held(8, 4)[0], []int{0, 1, 2, 3}, func() ([]native.Comm, error) {
				return l.InitComms(native.UniqueID{}, 16, 8, []int{0, 1, 2, 3}, 0, false)
			})
			stuck, ok := errors.AsType[*unended](err)
			require.True(t, ok)
			require.True(t, stuck.Timeout())
			require.ErrorContains(t, err, "not finished at the deadline of 7 s; ")
			require.ErrorContains(t, err, x.says)
			require.Equal(t, x.suspects, stuck.Evidence().Suspects)
			require.Equal(t, x.certain, stuck.Evidence().Certain)
			require.Equal(t, record.DuringInit, stuck.Evidence().During)
			close(l.ever)
		})
	}
}
