package formats

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"

	"zbench/bench/base/plain"
	"zbench/bench/files/trace"
)

// Kineto, PyTorch's profiler, writes a Chrome trace per rank. From PyTorch 2.3 (2024) on a trace
// has the bytes of collectives; earlier traces have only the names of kernels.
func init() {
	register(Format{
		Name: "kineto", Title: "a trace of PyTorch's profiler", Holds: Calls, rank: 10,
		recognise: func(head []byte) bool {
			return begins(head, '{') && has(head, `"traceEvents"`, `"schemaVersion"`)
		},
		read: readKineto,
	})
}

// begins reports whether a text begins with a byte, apart from white space.
func begins(head []byte, c byte) bool {
	head = bytes.TrimLeft(head, " \t\r\n")
	return len(head) > 0 && head[0] == c
}

// Function `has` reports whether a text contains any of the words.
func has(head []byte, words ...string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return bytes.Contains(head, []byte(w)) })
}

// maxSpans is the largest number of kernels whose times are kept. The times show which
// communication ran behind computation.
const maxSpans = 1 << 21

type kineto struct {
	t    *trace.Trace
	rank *trace.Rank
	// byID finds a call by the identifier that links a kernel to the host's call.
	byID map[int64]int
	// groups are the groups of the file's table, by name.
	groups groupTable
	// origin is the time of the first event in microseconds. It is subtracted from all times, so
	// that seconds keep their digits.
	origin  float64
	started bool
	marked  []trace.Step // the device's step marks, used if the host has none
	onHost  []trace.Call // calls of gloo, whose group is set at the end
	within  within
	ready   readiness
	// annotated holds the host's annotations by thread. untold holds the kernels that may need an
	// annotation's name.
	annotated map[int32][]annotation
	untold    []untold
}

func readKineto(in *Input, t *trace.Trace) error {
	k := &kineto{
		t: t, rank: &trace.Rank{Rank: trace.Unknown, File: in.Name, Whole: true},
		byID: map[int64]int{}, groups: groupTable{}, within: within{rank: trace.Unknown}, ready: readiness{threads: map[string]int32{}},
	}
	s := newStream(in)
	err := s.object(func(key string) error {
		if key == "traceEvents" && s.next() == '[' {
			return s.array(k.event)
		}
		raw, err := s.value()
		if err != nil {
			return err
		}
		switch key {
		case "distributedInfo":
			k.distributed(raw)
		case "deviceProperties":
			t.Device = deviceOf(raw)
		}
		return nil
	})
	if err != nil {
		return err
	}
	k.finish()
	return nil
}

// deviceOf returns the name of the first GPU, or empty text if there is none.
func deviceOf(raw []byte) string {
	var all []struct{ Name string }
	if json.Unmarshal(raw, &all) != nil || len(all) == 0 {
		return ""
	}
	return limited(all[0].Name)
}

func (k *kineto) distributed(raw []byte) {
	var d struct {
		Rank   number          `json:"rank"`
		World  number          `json:"world_size"`
		Groups json.RawMessage `json:"pg_config"`
	}
	if json.Unmarshal(raw, &d) != nil {
		k.rank.Damaged++
		return
	}
	if d.Rank.noCount() || d.World.noCount() {
		k.rank.Damaged++
	}
	if n := d.Rank.whole(); n < maxRanks {
		k.rank.Rank = int(n)
	}
	if n := d.World.whole(); n > 0 && n <= maxRanks {
		k.t.World = int(n)
	}
	k.groups.add(k.t, d.Groups)
}

// maxRanks limits the number of ranks. Every job has fewer ranks.
const maxRanks = 1 << 20

// limited returns a name on one line. It cuts names that are longer than any real one.
func limited(name string) string {
	const most = 200
	if len(name) > most {
		name = strings.ToValidUTF8(name[:most], "") + "…"
	}
	return plain.Line(strings.ToValidUTF8(name, "�"))
}

// number is a JSON number, or a number inside a string.
type number struct {
	v  float64
	ok bool
}

func (n *number) UnmarshalJSON(b []byte) error {
	v, err := strconv.ParseFloat(string(bytes.Trim(b, `"`)), 64)
	n.v, n.ok = v, err == nil && !math.IsNaN(v) && !math.IsInf(v, 0)
	if errors.Is(err, strconv.ErrRange) {
		return err // such a number is not a measured value: the record is damaged
	}
	return nil
}

// whole returns the number as a count, or Unknown if it is not a count.
func (n number) whole() int64 {
	if !n.ok || n.v != math.Trunc(n.v) || n.v < 0 || n.v > 1<<53 {
		return trace.Unknown
	}
	return int64(n.v)
}

// noCount reports whether the number is present but cannot be a count, because it is negative or
// not whole.
func (n number) noCount() bool { return n.ok && n.whole() < 0 }

// word is a JSON string. Any other value is kept as its text.
type word string

func (w *word) UnmarshalJSON(b []byte) error {
	var s string
	if json.Unmarshal(b, &s) != nil {
		s = string(b)
	}
	*w = word(s)
	return nil
}

type kinetoEvent struct {
	Cat  word   `json:"cat"`
	Name word   `json:"name"`
	TS   number `json:"ts"`
	Dur  number `json:"dur"`
	TID  word   `json:"tid"`
	Args struct {
		Collective  word   `json:"Collective name"`
		In          number `json:"In msg nelems"`
		Out         number `json:"Out msg nelems"`
		GroupSize   number `json:"Group size"`
		Dtype       word   `json:"dtype"`
		Group       word   `json:"Process Group Name"`
		Description word   `json:"Process Group Description"`
		Ranks       word   `json:"Process Group Ranks"`
		Rank        number `json:"Rank"`
		Sequence    number `json:"Seq"`
		External    number `json:"External id"`
		Correlation number `json:"correlation"`
		Stream      word   `json:"stream"`
		// Dims and Types describe the gradients that autograd accumulates.
		Dims  json.RawMessage `json:"Input Dims"`
		Types json.RawMessage `json:"Input type"`
	} `json:"args"`
}

// marks are texts that occur in the events that zbench reads. All other events are skipped without
// decoding.
var marks = [][]byte{[]byte(`ernel"`), []byte(`record_param_comms`), []byte(`ProfilerStep#`), []byte(`"torch::autograd::AccumulateGrad"`), []byte(`"gloo:`), []byte(`"nccl:`), []byte(evaluate), []byte("Launch")}

// frames is the category of Python stack frames.
var frames = []byte(`"python_function"`)

func (k *kineto) event(raw []byte) error {
	if raw == nil {
		k.rank.Damaged++
		return nil
	}
	if bytes.Contains(raw[:min(len(raw), 64)], frames) { // most events are Python frames: skip them quickly
		return nil
	}
	if !slices.ContainsFunc(marks, func(m []byte) bool { return bytes.Contains(raw, m) }) {
		return nil
	}
	var e kinetoEvent
	if json.Unmarshal(raw, &e) != nil || e.Dur.ok && e.Dur.v < 0 || e.Args.GroupSize.noCount() {
		k.rank.Damaged++
		return nil
	}
	switch {
	case strings.EqualFold(string(e.Cat), "kernel"):
		k.kernel(&e)
	case e.Name == "record_param_comms":
		k.called(&e)
	case e.Name == accumulate:
		k.gradient(&e)
	case strings.HasPrefix(string(e.Name), "gloo:"):
		k.gloo(&e)
	case strings.HasPrefix(string(e.Name), "nccl:"):
		k.annotate(&e)
	case strings.HasPrefix(string(e.Name), "ProfilerStep#"):
		k.step(&e)
	case strings.HasPrefix(string(e.Name), evaluate):
		k.node(&e)
	case e.launches():
		k.launch(&e)
	}
	return bounded(k.t, len(k.rank.Calls)+len(k.onHost)+len(k.untold))
}

// accumulate is autograd's operator that adds a gradient to its parameter. evaluate is the prefix
// of autograd's nodes.
const (
	accumulate = "torch::autograd::AccumulateGrad"
	evaluate   = "autograd::engine::evaluate_function"
)

func (k *kineto) gradient(e *kinetoEvent) {
	if n, dtype := e.tensors(); dtype != "" && len(k.ready.gradients) <= maxCalls {
		k.ready.gradients = append(k.ready.gradients, threaded{trace.Gradient{Elements: n, Dtype: dtype, At: k.span(e)}, k.ready.thread(e)})
	}
}

// tensors returns the number of elements in an operator's inputs and the type of the first input.
// The type is empty if the file has no shapes.
func (e *kinetoEvent) tensors() (elements int64, dtype string) {
	var dims []json.RawMessage
	var types []string
	if json.Unmarshal(e.Args.Dims, &dims) != nil || json.Unmarshal(e.Args.Types, &types) != nil || len(dims) == 0 || len(types) == 0 {
		return 0, ""
	}
	for _, d := range dims {
		var shape []int64
		if json.Unmarshal(d, &shape) == nil && len(shape) > 0 {
			elements = min(elements+product(shape), 1<<50)
		}
	}
	return elements, trace.TypeOf(types[0])
}

// gloo adds a collective that the library gloo runs on the host. Its time is the time of the event
// on gloo's thread. gloo does not state the group, so the group of all ranks is assumed.
func (k *kineto) gloo(e *kinetoEvent) {
	name, known := trace.Named(strings.TrimPrefix(string(e.Name), "gloo:"))
	c := trace.Call{Collective: limited(name), Known: known, Sequence: trace.Unknown, Stream: limited(string(e.TID)), Kernel: k.span(e)}
	c.In, c.Dtype = e.tensors()
	c.Out = c.In
	k.onHost = append(k.onHost, c)
}

// product returns the number of elements of a shape, or 0 if the shape is invalid.
func product(dims []int64) int64 {
	n := int64(1)
	for _, d := range dims {
		if d < 0 || d > 0 && n > 1<<50/d {
			return 0
		}
		n *= d
	}
	return n
}

// span returns an event's time in seconds since the first event, or nil if it has no time.
func (k *kineto) span(e *kinetoEvent) *trace.Span {
	if !e.TS.ok || !e.Dur.ok || e.Dur.v < 0 {
		return nil
	}
	if !k.started {
		k.origin, k.started = e.TS.v, true
	}
	start := e.TS.v - k.origin
	return &trace.Span{Start: start / 1e6, End: (start + e.Dur.v) / 1e6}
}

func (k *kineto) step(e *kinetoEvent) {
	span := k.span(e)
	if span == nil || len(k.rank.Steps) > maxCalls {
		return
	}
	s := trace.Step{Name: limited(string(e.Name)), Span: *span}
	if strings.HasPrefix(string(e.Cat), "gpu") {
		k.marked = append(k.marked, s)
		return
	}
	k.rank.Steps = append(k.rank.Steps, s)
}

// Method called adds a call on the host.
func (k *kineto) called(e *kinetoEvent) {
	if !trace.IsCall(string(e.Args.Collective)) { // traces before 2024 have no name here
		return
	}
	c := k.callOf(e)
	c.Enqueued, c.Sequence = k.span(e), e.Args.Sequence.whole()
	k.within.number(e.Args.Rank.whole(), k.t.Groups[c.Group])
}

// kernel adds work on the device. The kernel of a collective is linked to its call on the host.
func (k *kineto) kernel(e *kinetoEvent) {
	span := k.span(e)
	if span == nil {
		k.rank.Damaged++
	}
	name, own := trace.OfKernel(string(e.Name))
	if e.Args.Collective == "" && !own {
		if l := trace.LibraryOf(string(e.Name)); l != "" {
			f := trace.Foreign{Library: l, Kernels: 1}
			if span != nil {
				f.Seconds = span.Seconds()
			}
			k.t.AddForeign(f)
		} else if span != nil {
			k.compute(*span)
			keep(&k.ready, &k.ready.ran, kernelRun{e.Args.Correlation.whole(), *span})
		}
		return
	}
	if e.Args.Collective == "" {
		k.untold = append(k.untold, untold{e.Args.Correlation.whole(), trace.Call{
			Collective: name, Known: true, In: trace.Unknown, Out: trace.Unknown, Bytes: trace.Unknown,
			Sequence: trace.Unknown, Stream: limited(string(e.Args.Stream)), Kernel: span,
		}})
		return
	}
	if !trace.IsCall(string(e.Args.Collective)) {
		return
	}
	c := k.callOf(e)
	if c.Kernel != nil && span != nil { // a call of several kernels lasts from the start of the first to the end of the last
		span.Start, span.End = min(span.Start, c.Kernel.Start), max(span.End, c.Kernel.End)
	}
	c.Kernel, c.Stream = span, limited(string(e.Args.Stream))
}

// callOf returns the call with the event's identifier, or makes one from the event.
func (k *kineto) callOf(e *kinetoEvent) *trace.Call {
	a, id := &e.Args, e.Args.External.whole()
	if i, ok := k.byID[id]; ok {
		return &k.rank.Calls[i]
	}
	name, known := trace.Named(string(a.Collective))
	c := trace.Call{
		Group: k.group(e), Collective: limited(name), Known: known, Dtype: trace.TypeOf(string(a.Dtype)),
		In: a.In.whole(), Out: a.Out.whole(), Sequence: trace.Unknown,
	}
	c.Size(k.t.Groups[c.Group].Size)
	k.rank.Calls = append(k.rank.Calls, c)
	i := len(k.rank.Calls) - 1
	if id >= 0 {
		k.byID[id] = i
	}
	return &k.rank.Calls[i]
}

func (k *kineto) group(e *kinetoEvent) int {
	g := trace.Group{Name: limited(string(e.Args.Group)), Description: limited(string(e.Args.Description)), Ranks: listed(string(e.Args.Ranks))}
	if n := e.Args.GroupSize.whole(); n > 0 && n <= maxRanks {
		g.Size = int(n)
	}
	if g.Size == 0 {
		g.Size = len(g.Ranks)
	}
	if len(g.Ranks) != g.Size {
		g.Ranks = nil // the profiler shortens long lists
	}
	if known, ok := k.groups[g.Name]; ok && g.Ranks == nil {
		g.Ranks = known.Ranks
		g.Size = cmp.Or(g.Size, known.Size)
	}
	if g.Name == "" {
		g.Name = trace.Unnamed
		g.Size = cmp.Or(g.Size, k.t.World)
	}
	return k.t.Find(g)
}

// listed reads a list of ranks such as "[0, 1, 2]". It returns nil for any other text.
func listed(text string) []int {
	var list []int
	if json.Unmarshal([]byte(text), &list) != nil || slices.ContainsFunc(list, func(r int) bool { return r < 0 || r >= maxRanks }) {
		return nil
	}
	return list
}

// compute adds a span of computation, unless there are too many.
func (k *kineto) compute(s trace.Span) {
	if len(k.rank.Computing) >= maxSpans {
		k.rank.Computing = trace.Merge(k.rank.Computing)
		k.rank.Whole = k.rank.Whole && len(k.rank.Computing) < maxSpans/2
	}
	if k.rank.Whole {
		k.rank.Computing = append(k.rank.Computing, s)
	}
}

func (k *kineto) finish() {
	r := k.rank
	if r.Rank < 0 {
		r.Rank = k.within.rank
	}
	r.Computing = trace.Merge(r.Computing)
	k.tell()
	for _, c := range k.onHost {
		g := trace.Group{Name: "0", Size: k.t.World}
		if known, ok := k.groups["0"]; ok {
			g = known
		}
		c.Group = k.t.Find(g)
		c.Size(g.Size)
		r.Calls = append(r.Calls, c)
	}
	inOrder := func(a, b trace.Step) int { return cmp.Compare(a.Start, b.Start) }
	slices.SortStableFunc(r.Steps, inOrder)
	slices.SortStableFunc(k.marked, inOrder)
	slices.SortStableFunc(k.ready.gradients, func(a, b threaded) int { return cmp.Compare(a.At.Begin(), b.At.Begin()) })
	k.ready.settle(r.Steps, len(k.ready.ran) > 0)
	for _, g := range k.ready.gradients {
		r.Gradients = append(r.Gradients, g.Gradient)
	}
	if len(r.Steps) == 0 {
		r.Steps = k.marked
	}
	slices.SortStableFunc(r.Calls, func(a, b trace.Call) int { return cmp.Compare(begin(a), begin(b)) })
	r.Calls = paired(r.Calls)
	for i := range k.t.Foreign {
		k.t.Note("no collective of a library in %d kernels of %s: they do not tell what they send", k.t.Foreign[i].Kernels, k.t.Foreign[i].Library)
	}
	k.groups.settle(k.t, r)
}

// paired joins host calls without a kernel to kernels without a call, because no identifier links
// them. A call and its kernel must be of the same kind, and the kernel must follow the call. The
// earliest call of a kind gets the first kernel. The list calls must be in order.
func paired(calls []trace.Call) []trace.Call {
	waiting := map[trace.Call][]int{}
	joined := make([]bool, len(calls))
	for i := range calls {
		c := &calls[i]
		if c.In < 0 || (c.Enqueued == nil) == (c.Kernel == nil) {
			continue
		}
		kind := trace.Call{Group: c.Group, Collective: c.Collective, Dtype: c.Dtype, In: c.In, Out: c.Out}
		if c.Enqueued != nil {
			waiting[kind] = append(waiting[kind], i)
			continue
		}
		if list := waiting[kind]; len(list) > 0 {
			calls[list[0]].Kernel, calls[list[0]].Stream = c.Kernel, c.Stream
			waiting[kind], joined[i] = list[1:], true
		}
	}
	kept := calls[:0]
	for i := range calls {
		if !joined[i] {
			kept = append(kept, calls[i])
		}
	}
	return kept
}

// begin returns the start of a call for sorting. Without times the calls keep their order.
func begin(c trace.Call) float64 {
	switch {
	case c.Enqueued != nil:
		return c.Enqueued.Start
	case c.Kernel != nil:
		return c.Kernel.Start
	}
	return 0
}
