package trace

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// lengthOf is when the last node of a step ends where each begins when those that it waits for have ended.
func lengthOf(nodes []Node, took func(n Node) float64) (end float64) {
	ends := make([]float64, len(nodes))
	for i, n := range nodes {
		for _, k := range n.After {
			ends[i] = max(ends[i], ends[k])
		}
		ends[i] += took(n)
		end = max(end, ends[i])
	}
	return end
}

// A job whose step is known is read back from when its kernels ran: the step has its length, with messages as fast
// as they were and with messages that take no time.
func TestAStepIsReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type op struct{ work, send, idle float64 }
		ms := func(name string, least int) float64 { return float64(rapid.IntRange(least, 40).Draw(t, name)) * 1e-3 }
		var ops []op
		for range rapid.IntRange(1, 5).Draw(t, "messages") {
			ops = append(ops, op{ms("work", 1), ms("send", 1), ms("idle", 0)})
		}
		r := &Rank{Whole: true}
		now, period := 0.0, 0.0
		for range 4 {
			begin, network := now, 0.0
			for i, o := range ops {
				r.Computing = append(r.Computing, Span{now, now + o.work})
				now += o.work
				at := max(now, network)
				network = at + o.send
				r.Calls = append(r.Calls, Call{Collective: "all_reduce", Known: true, Dtype: "float", Bytes: int64(i+1) << 20, Kernel: &Span{at, network}})
				now += o.idle // for the host
			}
			now = max(now, network)
			r.Computing = append(r.Computing, Span{now, now + 1e-3})
			now += 1e-3
			r.Steps = append(r.Steps, Step{"", Span{begin, now}})
			period = now - begin
		}
		for i := range r.Calls {
			r.Calls[i].Enqueued = r.Calls[i].Kernel
		}
		job := &Trace{Device: "SIMULATED MI300X", Groups: []Group{{Size: 8, Ranks: []int{1, 3, 5, 7, 9, 11, 13, 15}}}, Ranks: []*Rank{r}}
		own, err := job.Own()
		require.NoError(t, err)
		require.True(t, own.Simulated)
		require.InDelta(t, period, own.Seconds, 1e-9)
		require.InDelta(t, period, lengthOf(own.Nodes, func(n Node) float64 { return n.Seconds }), 1e-9)
		alone := 0.0
		for _, n := range own.Nodes {
			if n.Call == nil {
				alone += n.Seconds
			}
		}
		require.InDelta(t, alone, own.Computing, 1e-9)
		require.Equal(t, []int{3, 8, 2}, []int{own.Steps, own.Groups[0].Size, own.Groups[0].Apart()})
	})
}

func TestTracesThatCannotBeReplayed(t *testing.T) {
	at := func(start float64) *Span { return &Span{start, start + 1} }
	step := func(change func(c *Call)) *Trace {
		r := &Rank{Whole: true, Computing: []Span{{0, 1}}}
		for i := range 3 {
			c := Call{Collective: "all_reduce", Known: true, Dtype: "float", Bytes: 64, Kernel: at(float64(10 * i))}
			other := c
			other.Bytes, other.Kernel = 32, at(float64(10*i+2))
			if change != nil {
				change(&other)
			}
			r.Calls = append(r.Calls, c, other)
		}
		return &Trace{Groups: []Group{{Size: 8}, {Size: 4}}, Ranks: []*Rank{r}}
	}
	_, err := step(nil).Own()
	require.NoError(t, err)
	own, err := step(func(c *Call) { c.Group = 1 }).Own()
	require.NoError(t, err)
	for _, n := range own.Nodes {
		for _, k := range n.After {
			require.True(t, n.Call == nil || own.Nodes[k].Call == nil, "a group's calls do not follow those of another")
		}
	}
	job := step(func(c *Call) { c.Group = 1 })
	job.Groups[1].Size = 1
	own, err = job.Own()
	require.NoError(t, err)
	for _, n := range own.Nodes {
		require.True(t, n.Call == nil || n.Call.Group == 0, "a call of one rank is none")
	}
	job.Groups[0].Size = 1
	_, err = job.Own()
	require.ErrorContains(t, err, "single ranks")
	for want, change := range map[string]func(c *Call){
		"no time of the kernel":          func(c *Call) { c.Kernel = nil },
		"cannot be made again, nonsense": func(c *Call) { c.Collective, c.Known = "nonsense", false },
	} {
		_, err := step(change).Own()
		require.ErrorContains(t, err, want)
	}
	few := step(nil)
	few.Ranks[0].Calls = few.Ranks[0].Calls[:2]
	_, err = few.Own()
	require.ErrorContains(t, err, "two steps")
	few.Ranks[0].Whole = false
	_, err = few.Own()
	require.ErrorContains(t, err, "kernels that compute")
	_, err = (&Trace{}).Own()
	require.ErrorContains(t, err, "no calls")
}
