package trace

import (
	"cmp"
	"math"
	"slices"
)

// Node is a part of a rank's work: a call, or a span of computation.
type Node struct {
	// Call is nil for computation.
	Call *Call
	// Start and Seconds are the start and the duration of the node; 0 if unknown.
	Start, Seconds float64
	// After are the earlier nodes that must end before this node begins.
	After []int
}

// Graph returns a rank's work, in an order in which every node comes after the nodes that it waits
// for. A call waits for the computation before it and for the previous call on its stream.
// Computation also waits for the calls that ended in the gap since the previous computation.
// Without times, the calls of a stream follow each other.
func (r *Rank) Graph() []Node {
	g := graph{last: -1, before: math.Inf(-1), streams: map[string]int{}, of: map[*Call]int{}}
	calls := slices.Clone(r.Calls)
	slices.SortStableFunc(calls, func(a, b Call) int { return cmp.Compare(a.Kernel.Begin(), b.Kernel.Begin()) })
	for i := range calls {
		if calls[i].Kernel != nil {
			g.byEnd = append(g.byEnd, &calls[i])
		}
	}
	slices.SortStableFunc(g.byEnd, func(a, b *Call) int { return cmp.Compare(a.Kernel.End, b.Kernel.End) })
	for i := range calls {
		if k := calls[i].Kernel; k != nil {
			for g.next < len(r.Computing) && max(r.Computing[g.next].Start, g.at) < k.Start {
				g.compute(r.Computing, k.Start)
			}
		}
		g.call(&calls[i])
	}
	for g.next < len(r.Computing) {
		g.compute(r.Computing, math.Inf(1))
	}
	return g.nodes
}

type graph struct {
	nodes   []Node
	streams map[string]int // the last call on each stream
	last    int            // the last node of computation, or -1
	cut     bool           // whether a call follows that node
	before  float64        // end of the last computation
	next    int            // index of the next span of computation
	at      float64        // end of its finished part
	byEnd   []*Call        // calls with times, sorted by end
	of      map[*Call]int  // the node of each call
	passed  int            // how many of byEnd ended before the finished computation
}

// compute adds a node for the next span of computation, at most up to the given time.
func (g *graph) compute(all []Span, until float64) {
	s := all[g.next]
	start := max(s.Start, g.at)
	end := min(s.End, until)
	if end == s.End {
		g.next++
	}
	g.at = end
	var waits []int
	for ; g.passed < len(g.byEnd) && g.byEnd[g.passed].Kernel.End <= start; g.passed++ {
		if c := g.byEnd[g.passed]; c.Kernel.End > g.before {
			waits = append(waits, g.of[c])
		}
	}
	g.before = end
	if g.last >= 0 && !g.cut && len(waits) == 0 {
		g.nodes[g.last].Seconds += end - start
		return
	}
	n := Node{Start: start, Seconds: end - start}
	if g.last >= 0 {
		n.After = append(n.After, g.last)
	}
	n.After = append(n.After, waits...)
	g.nodes = append(g.nodes, n)
	g.last, g.cut = len(g.nodes)-1, false
}

func (g *graph) call(c *Call) {
	n := Node{Call: c, Seconds: c.Took}
	if c.Kernel != nil {
		n.Start, n.Seconds = c.Kernel.Start, c.Kernel.Seconds()
		g.of[c] = len(g.nodes)
		g.cut = true
	}
	if g.last >= 0 {
		n.After = append(n.After, g.last)
	}
	if before, ok := g.streams[c.Stream]; ok {
		n.After = append(n.After, before)
	}
	g.streams[c.Stream] = len(g.nodes)
	g.nodes = append(g.nodes, n)
}
