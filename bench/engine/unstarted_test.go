package engine_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/exit"
	"zbench/bench/engine"
	"zbench/bench/run/plan"
	"zbench/bench/run/record"
	"zbench/test/foldertest"
)

// stuckStart is a failure before the first launch, with evidence.
type stuckStart struct{ evidence *record.Evidence }

func (e stuckStart) Error() string              { return "init of 1 of 16 ranks: not finished" }
func (e stuckStart) Evidence() *record.Evidence { return e.evidence }

func startEvidence() *record.Evidence {
	e := &record.Evidence{During: record.DuringInit, Deadline: new(4.0)}
	ranks := make([]record.RankProgress, 16)
	ranks[3].Lost = true
	e.SetRanks(ranks)
	return e
}

// stuckDriver fails when it allocates, and has a second witness.
type stuckDriver struct {
	*modelled
	err    error
	closed func()
}

func (d stuckDriver) Allocate(context.Context, plan.Room) error { return d.err }
func (d stuckDriver) Witness() *record.Witness {
	return &record.Witness{Source: "RAS", State: record.WitnessDegraded, Communicators: []record.WitnessComm{}, Ranks: []record.WitnessRank{{State: record.RankMissing, Rank: new(3)}}}
}

func (d stuckDriver) Close() error {
	d.closed()
	return nil
}

// What fails before the first case, when the driver is opened or when it allocates, leaves a
// record with the failure and its evidence, and the sweep can be resumed: it is then the same
// as one without the failure. The record is there before the driver is closed.
func TestAFailureBeforeTheFirstCaseIsKept(t *testing.T) {
	want := whole(t, small())
	for name, open := range map[string]func(m *modelled, files *foldertest.Memory) (engine.Ranks, error){
		"open": func(*modelled, *foldertest.Memory) (engine.Ranks, error) { return nil, stuckStart{startEvidence()} },
		"open without evidence": func(*modelled, *foldertest.Memory) (engine.Ranks, error) {
			return nil, exit.With(exit.Run, errors.New("1 of 2 processes have registered; missing: process 1"), "look at its node")
		},
		"allocate": func(m *modelled, files *foldertest.Memory) (engine.Ranks, error) {
			return stuckDriver{m, stuckStart{startEvidence()}, func() { require.Contains(t, files.Files("out"), engine.ResultsFile, "saved before the close") }}, nil
		},
	} {
		files := foldertest.New()
		e := at(files, &modelled{})
		usual := e.Open
		e.Open = func(ctx context.Context, u *engine.Setup) (engine.Ranks, error) {
			m, err := usual(ctx, u)
			require.NoError(t, err)
			return open(m.(*modelled), files) //nolint:forcetypeassert // at makes it
		}
		out, err := runWith(context.Background(), t, e, small())
		require.Error(t, err, name)
		known, ok := errors.AsType[*exit.Error](err)
		require.True(t, ok, name)
		require.Equal(t, exit.Run, known.Code)
		require.Contains(t, known.Hint, "--resume out", name)
		require.NotNil(t, out, name)
		rec, err := record.Decode(strings.NewReader(files.Files("out")[engine.ResultsFile]))
		require.NoError(t, err, name)
		require.Len(t, rec.Results, 6)
		require.Equal(t, record.Failed, rec.Results[0].Status)
		require.Equal(t, record.Skipped, rec.Results[1].Status)
		if name != "open without evidence" {
			require.Contains(t, rec.Results[0].Reason, "init of 1 of 16 ranks: not finished")
			require.Equal(t, "3", rec.Results[0].Evidence.Suspects)
		}
		if name == "allocate" {
			require.Equal(t, record.WitnessDegraded, rec.Results[0].Evidence.Witness.State)
			require.Contains(t, rec.Results[0].Reason, "RAS reports rank 3 missing")
		}
		require.NoError(t, resume(t, files), name)
		same(t, want, files.Files("out"))
	}
}

// What the user can mend at once leaves no folder: wrong flags, a library that is not there,
// an interruption.
func TestARefusalBeforeTheFirstCaseLeavesNothing(t *testing.T) {
	for _, refusal := range []error{exit.Usagef("omit it", "a flag"), exit.ErrUnavailable, exit.With(exit.Interrupted, context.Canceled, ""), context.Canceled} {
		files := foldertest.New()
		e := at(files, &modelled{})
		e.Open = func(context.Context, *engine.Setup) (engine.Ranks, error) { return nil, refusal }
		out, err := runWith(context.Background(), t, e, small())
		require.ErrorIs(t, err, refusal)
		require.Nil(t, out)
		require.Empty(t, files.Files("out"))
	}
}
