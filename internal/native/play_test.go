package native_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/internal/native"
)

// played is a step of two messages, of which computation waits for the first, on a rig with streams of
// computation.
func played(t *testing.T, r *rig) (*native.Play, []native.Stream) {
	t.Helper()
	var compute []native.Stream
	var base []native.Address
	for _, rank := range r.ranks {
		s, err := r.p.NewStream(rank.Device)
		require.NoError(t, err)
		compute, base = append(compute, s), append(base, rank.Send)
	}
	work := simple("all_gather")
	p, err := r.b.NewPlay(compute, base, nil, []native.PlayOp{
		{Kind: native.PlaySpin, Seconds: 1e-3},
		{Kind: native.PlayLaunch},
		{Kind: native.PlaySpin, Seconds: 2e-3},
		{Kind: native.PlayLaunch, Message: 1},
		{Kind: native.PlayWait},
		{Kind: native.PlaySpin, Seconds: 3e-3},
	}, []native.PlayMessage{{Work: work, Send: 512, Recv: 1024, SendShare: 28}, {Work: simple("all_reduce"), Send: 4096, Recv: 4096}})
	require.NoError(t, err)
	t.Cleanup(p.Close)
	return p, compute
}

// A message stands behind computation's event on its own stream, and computation behind the message's where it
// waits; nothing waits on the host until all steps are enqueued.
func TestStepCallsInOrder(t *testing.T) {
	const n, steps = 3, 2
	r := newRig(t, n, true)
	p, compute := played(t, r)
	r.p.TakeCalls()
	seconds, err := p.Run(steps)
	require.NoError(t, err)
	require.Len(t, seconds, n*steps)
	calls := r.p.TakeCalls()
	r.checkDevices(t, calls)
	require.Equal(t, 0, index(calls, "barrier"))
	require.Less(t, last(calls, "wait"), index(calls, "query"), "no wait inside")
	for i, rank := range r.ranks {
		mine := r.of(calls, i)
		var computing []native.RecordedCall
		for _, c := range calls {
			if c.Stream == compute[i].Pointer() {
				require.Equal(t, rank.Device, c.Device)
				computing = append(computing, c)
			}
		}
		require.Equal(t, "record", computing[0].Name, "the beginning")
		for k := range steps {
			c := computing[1+7*k : 8+7*k]
			require.Equal(t, []string{"kernel", "record", "kernel", "record", "wait", "kernel", "record"}, names(c))
			require.Equal(t, fmt.Sprint("delay ", i), r.kernels[c[0].Handle])
			m := mine[5*k : 5+5*k]
			require.Equal(t, []string{"wait", "all_gather", "record", "wait", "all_reduce"}, names(m), "nothing waits for the second")
			require.Equal(t, c[1].Handle, m[0].Handle, "the first message is behind the first computation")
			require.Equal(t, c[3].Handle, m[3].Handle)
			require.NotEqual(t, m[0].Handle, m[3].Handle)
			require.Equal(t, m[2].Handle, c[4].Handle, "computation waits for the first message")
			base := uintptr(rank.Send.Pointer())
			require.Equal(t, []uintptr{512 + 28*uintptr(i), 1024}, []uintptr{uintptr(m[1].Send) - base, uintptr(m[1].Recv) - base})
			require.Equal(t, uintptr(4096), uintptr(m[4].Send)-base, "the rank's share is of the first alone")
		}
		require.Equal(t, []string{"wait", "query"}, names(mine[5*steps:])[:2], "who waits for the messages' stream has waited for both")
	}
}

// Launches go to the ranks in turn: no device waits while another one's queue is filled.
func TestWorkIsLaunchedInTurn(t *testing.T) {
	const n, launches = 3, 4
	r := newRig(t, n, true)
	_, compute := played(t, r)
	base, work := make([]native.Address, n), make([]native.Step, n)
	for i, rank := range r.ranks {
		base[i] = rank.Send
		work[i].Launch = native.Launch{Grid: [3]uint32{1, 1, 1}, Block: [3]uint32{1, 1, 1}}
	}
	p, err := r.b.NewPlay(compute, base, work, []native.PlayOp{{Kind: native.PlayWork, Launches: launches}}, nil)
	require.NoError(t, err)
	t.Cleanup(p.Close)
	r.p.TakeCalls()
	_, err = p.Run(1)
	require.NoError(t, err)
	calls := r.p.TakeCalls()
	r.checkDevices(t, calls)
	var order []int
	for _, c := range calls {
		if c.Name == "kernel" {
			order = append(order, c.Device)
		}
	}
	require.Equal(t, []int{0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2}, order)
}

func TestStepsThatCannotBeTaken(t *testing.T) {
	r := newRig(t, 1, true)
	p, compute := played(t, r)
	_, err := p.Run(native.MaxSteps + 1)
	require.ErrorContains(t, err, "1 to 63")
	_, err = p.Run(0)
	require.Error(t, err)
	_, err = r.b.NewPlay(compute, []native.Address{r.ranks[0].Send}, nil, []native.PlayOp{{Kind: native.PlayLaunch, Message: 1}}, nil)
	require.ErrorContains(t, err, "of 0 messages")
	r.b.Cancel()
	_, err = p.Run(1)
	require.ErrorIs(t, err, native.ErrCancelled)
}

// Computation that is watched has events on its stream alone.
func TestComputationIsWatched(t *testing.T) {
	r := newRig(t, 1, true)
	p, compute := played(t, r)
	r.p.TakeCalls()
	seconds, err := p.Watch(true, 2, 1)
	require.NoError(t, err)
	require.Len(t, seconds, 1)
	var computing []native.RecordedCall
	for _, c := range r.p.TakeCalls() {
		if c.Stream == compute[0].Pointer() {
			computing = append(computing, c)
		}
	}
	require.Equal(t, []string{"kernel", "record", "kernel", "record", "wait", "record", "kernel", "record", "record"}, names(computing)[10:], "the second step")
	_, err = p.Watch(true, 2, 2)
	require.ErrorContains(t, err, "computations 2 to 4 of 3")
}

// A message that is watched has an event on its own stream before it, behind what it waits for, and one behind it.
func TestMessagesAreWatched(t *testing.T) {
	const n = 2
	r := newRig(t, n, true)
	p, _ := played(t, r)
	r.p.TakeCalls()
	seconds, err := p.Watch(false, 1, 1)
	require.NoError(t, err)
	require.Len(t, seconds, n)
	calls := r.p.TakeCalls()
	r.checkDevices(t, calls)
	for i := range n {
		m := r.of(calls, i)
		require.Equal(t, []string{"wait", "all_gather", "record", "wait", "record", "all_reduce", "record"}, names(m)[7:14], "the second step")
		require.NotEqual(t, m[4].Handle, m[6].Handle)
	}
	_, err = p.Run(1)
	require.NoError(t, err)
	require.NotContains(t, names(r.of(r.p.TakeCalls(), 0))[3:5], "record", "no event more in the steps that are timed")
	for _, bad := range [][2]int{{0, 0}, {-1, 1}, {1, 2}, {0, native.MaxWatched + 1}} {
		_, err = p.Watch(false, bad[0], bad[1])
		require.ErrorContains(t, err, "are watched at once")
	}
}
