package formats

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"zbench/bench/files/trace"
)

// readiness finds the time at which a gradient was ready. Autograd's thread runs ahead of the
// device. The thread launches kernels and then hands the gradient over. The gradient is ready on
// the device once all these kernels have ended.
type readiness struct {
	// threads maps the names of threads to numbers.
	threads map[string]int32
	// nodes are the times at which the host evaluated autograd's nodes. launched are the times of
	// the host's kernel launches.
	nodes, launched []moment
	// Field ran has the computing kernels, with the identifier of their launch.
	ran       []kernelRun
	gradients []threaded
	// Field many is true if there were too many entries to keep all.
	many bool
}

// moment is a time on the host in seconds. end is 0 if it does not matter.
type moment struct {
	at     float64
	end    float64
	id     int64
	thread int32
}

type kernelRun struct {
	id int64
	trace.Span
}

type threaded struct {
	trace.Gradient
	thread int32
}

// thread returns the number of the event's thread.
func (r *readiness) thread(e *kinetoEvent) int32 {
	if r.many = r.many || len(r.threads) > maxGroups; r.many {
		return r.threads[limited(string(e.TID))]
	}
	return numbered(r.threads, limited(string(e.TID)))
}

// keep appends to a list, or sets many if the list is full.
func keep[T any](r *readiness, list *[]T, one T) {
	if len(*list) >= maxSpans/2 {
		r.many = true
		return
	}
	*list = append(*list, one)
}

func (k *kineto) node(e *kinetoEvent) {
	if s := k.span(e); s != nil {
		keep(&k.ready, &k.ready.nodes, moment{at: s.Start, end: s.End, thread: k.ready.thread(e)})
	}
}

func (k *kineto) launch(e *kinetoEvent) {
	if s, id := k.span(e), e.Args.Correlation.whole(); s != nil && id >= 0 {
		keep(&k.ready, &k.ready.launched, moment{at: s.Start, id: id, thread: k.ready.thread(e)})
	}
}

// worker is a thread that produced gradients.
type worker struct {
	nodes   []float64    // start times of its autograd nodes
	ends    []float64    // end times of its autograd nodes
	starts  []float64    // host times of the kernel launches in runs
	runs    []trace.Span // per launch: the start of its kernel, and the latest end of all kernels so far
	settled float64      // host time of its last gradient
}

// workers returns the threads that produced gradients, by number.
func (r *readiness) workers() map[int32]*worker {
	byTime := func(a, b moment) int { return cmp.Compare(a.at, b.at) }
	slices.SortFunc(r.nodes, byTime)
	slices.SortFunc(r.launched, byTime)
	slices.SortFunc(r.ran, func(a, b kernelRun) int { return cmp.Compare(a.id, b.id) })
	all := map[int32]*worker{}
	for _, g := range r.gradients {
		all[g.thread] = &worker{settled: math.Inf(-1)}
	}
	for _, n := range r.nodes {
		if w := all[n.thread]; w != nil {
			w.nodes, w.ends = append(w.nodes, n.at), append(w.ends, n.end)
		}
	}
	for _, l := range r.launched {
		i, ok := slices.BinarySearchFunc(r.ran, l.id, func(k kernelRun, id int64) int { return cmp.Compare(k.id, id) })
		w := all[l.thread]
		if !ok || w == nil {
			continue
		}
		run := r.ran[i].Span
		if n := len(w.runs); n > 0 {
			run.End = max(run.End, w.runs[n-1].End)
		}
		w.starts, w.runs = append(w.starts, l.at), append(w.runs, run)
	}
	return all
}

// handled returns the end of the autograd node that handed over a gradient. The node includes the
// trainer's work before sending: DDP divides the gradient there.
func (w *worker) handled(at *trace.Span) float64 {
	after, _ := slices.BinarySearch(w.nodes, math.Nextafter(at.Start, math.Inf(1)))
	return max(at.End, w.ends[max(after-1, 0)])
}

// settle sets the time of each gradient. The gradients are in order. steps are the host's step
// marks. device is true if the file has kernels. In that case times on the host do not count.
func (r *readiness) settle(steps []trace.Step, device bool) {
	workers := r.workers()
	for i := range r.gradients {
		g := &r.gradients[i]
		if g.At == nil || r.many {
			continue
		}
		w := workers[g.thread]
		from := w.settled
		w.settled = g.At.End
		if j, _ := slices.BinarySearchFunc(steps, g.At.Start, func(s trace.Step, at float64) int { return cmp.Compare(s.Start, at) }); j > 0 {
			from = max(from, steps[j-1].Start)
		}
		first, _ := slices.BinarySearch(w.nodes, from)
		if first == len(w.nodes) || w.nodes[first] > g.At.Start {
			continue
		}
		if !device {
			g.Made = &trace.Span{Start: w.nodes[first], End: g.At.End}
			continue
		}
		begin, _ := slices.BinarySearch(w.starts, w.nodes[first])
		end, _ := slices.BinarySearch(w.starts, w.handled(g.At))
		if end == 0 {
			continue
		}
		g.Made = &trace.Span{Start: w.runs[end-1].End, End: w.runs[end-1].End} // the gradient was ready when the last earlier kernel ended
		if begin < end {
			g.Made.Start = min(g.Made.Start, w.runs[begin].Start)
		}
	}
}

// launches reports whether an event launches a kernel or a graph of kernels.
func (e *kinetoEvent) launches() bool {
	return e.Args.Correlation.ok && strings.Contains(string(e.Name), "Launch")
}
