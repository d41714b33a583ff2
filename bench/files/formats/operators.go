package formats

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"zbench/bench/files/trace"
)

// Operators holds the times of PyTorch's operators in a profile.
type Operators struct {
	// Seconds is the mean time per call, by operator and inputs, such as "aten::mm float[64,32]
	// float[32,16]". It is the time of the call's kernels, or of the call on the host if there are
	// no kernels.
	Seconds map[string]float64
	// Device is the GPU's name; empty if the file lacks it.
	Device string
	// Computing is the time, in seconds, of all kernels that do not communicate. Known is the part
	// of it that operators with known inputs launched. Without kernels both are 0.
	Computing, Known float64
	// Damaged is the number of unreadable operators and kernels.
	Damaged int
}

// Errors of ReadOperators.
var (
	// ErrNoShapes is wrapped if a profile lacks the shapes of the operators' inputs.
	ErrNoShapes = errors.New("no operator that computes has the shapes of its inputs")
	// ErrNoKernels is wrapped if the profile names a GPU but has none of the GPU's kernels.
	ErrNoKernels = errors.New("it names a GPU, and has none of its kernels")
)

const (
	// maxKeys is the largest total length of the keys, and maxKey is the largest length of one key,
	// both in bytes.
	maxKeys, maxKey = 64 << 20, 1 << 16
	// maxDepth is the deepest nesting of operators.
	maxDepth = 256
)

// ReadOperators reads a PyTorch profile that has the shapes of inputs; the file may be compressed.
// A kernel counts for every operator whose call contains its launch, because a reader may look up
// any of them. Inputs without dimensions are left out. The error wraps ErrUnknown, ErrDamaged,
// ErrNoShapes or ErrNoKernels.
func ReadOperators(name string, r io.Reader) (o *Operators, err error) {
	err = unpack(name, r, maxTraces, func(name string, r io.Reader) error {
		in, head, err := peek(name, r)
		if err != nil {
			return err
		}
		if f, ok := Recognise(head); !ok || f.Name != "kineto" {
			return fmt.Errorf("%s: %w: no trace of PyTorch's profiler", name, ErrUnknown)
		}
		if o != nil {
			return fmt.Errorf("%s: %w: another rank's; give the profile of one", name, ErrUnknown)
		}
		p := profile{threads: map[word]int32{}, places: map[string]int32{}, byID: map[int64]moment{}, ran: map[int64]float64{}, outer: map[int64]int64{}}
		if err := p.read(in); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if o, err = p.operators(); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	})
	return o, err
}

// profile holds what a file says about operators. Times are in microseconds.
type profile struct {
	device  string
	threads map[word]int32
	// keys are the operators with their inputs. places finds a key's index. size is the total
	// length of the keys in bytes.
	keys   []string
	places map[string]int32
	size   int
	calls  []operatorCall
	// byID has the start of each call by its identifier. launched has the times of kernel launches.
	byID     map[int64]moment
	launched []moment
	// Field ran has the duration of kernels by the identifier of their launch. Field outer has the
	// identifier of the kernels' operator.
	ran   map[int64]float64
	outer map[int64]int64
	// kernels is the total time of the kernels that do not communicate.
	kernels float64
	damaged int
}

type operatorCall struct {
	key, thread int32
	begin, end  float64
	// Field took is the time of the kernels that were launched within the call.
	took float64
}

func (p *profile) read(in *Input) error {
	s := newStream(in)
	return s.object(func(key string) error {
		if key == "traceEvents" && s.next() == '[' {
			return s.array(p.event)
		}
		raw, err := s.value()
		if key == "deviceProperties" {
			p.device = deviceOf(raw)
		}
		return err
	})
}

// operatorMarks are texts that occur in the events to read.
var operatorMarks = [][]byte{[]byte(`"cpu_op"`), []byte(`"kernel"`), []byte(`"gpu_mem`), []byte(`_runtime"`), []byte(`_driver"`)}

func (p *profile) event(raw []byte) error {
	if bytes.Contains(raw[:min(len(raw), 64)], frames) || !slices.ContainsFunc(operatorMarks, func(m []byte) bool { return bytes.Contains(raw, m) }) {
		return nil
	}
	var e kinetoEvent
	if json.Unmarshal(raw, &e) != nil || !e.TS.ok || !e.Dur.ok || e.Dur.v < 0 {
		p.damaged++
		return nil
	}
	id, correlation := e.Args.External.whole(), e.Args.Correlation.whole()
	switch cat := string(e.Cat); {
	case cat == "cpu_op":
		p.call(&e, id)
	case cat == "kernel" || strings.HasPrefix(cat, "gpu_mem"):
		if _, communicates := trace.OfKernel(string(e.Name)); communicates || e.Args.Collective != "" || trace.LibraryOf(string(e.Name)) != "" {
			return nil
		}
		if correlation < 0 {
			correlation = -2 - id
		}
		p.kernels += e.Dur.v
		p.ran[correlation] += e.Dur.v
		p.outer[correlation] = id
	case correlation >= 0:
		p.launched = append(p.launched, moment{at: e.TS.v, id: correlation, thread: numbered(p.threads, e.TID)})
	}
	if len(p.calls)+len(p.byID)+len(p.launched)+len(p.ran) > maxSpans || p.size > maxKeys {
		return fmt.Errorf("%w: over %d operators and kernels: profile fewer steps", ErrDamaged, maxSpans)
	}
	return nil
}

func (p *profile) call(e *kinetoEvent, id int64) {
	begin := moment{at: e.TS.v, id: id, thread: numbered(p.threads, e.TID)}
	if id >= 0 {
		p.byID[id] = begin
	}
	name := e.operator()
	if name == "" {
		return
	}
	key, ok := p.places[name]
	if !ok {
		key = int32(len(p.keys))
		p.keys, p.places[name], p.size = append(p.keys, name), key, p.size+len(name)
	}
	p.calls = append(p.calls, operatorCall{key: key, thread: begin.thread, begin: begin.at, end: begin.at + e.Dur.v})
}

// operator returns the name of an operator with those inputs that have dimensions. The name is
// empty if there is no such input. It is also empty for autograd's nodes, which are not operators.
func (e *kinetoEvent) operator() string {
	name := string(e.Name)
	var dims []json.RawMessage
	var types []string
	if space, _, ok := strings.Cut(name, "::"); !ok || space == "autograd" || space == "torch" || strings.ContainsAny(name, " \t\n") ||
		json.Unmarshal(e.Args.Dims, &dims) != nil || json.Unmarshal(e.Args.Types, &types) != nil || len(dims) != len(types) {
		return ""
	}
	var key strings.Builder
	key.WriteString(name)
	for i, d := range dims {
		var text bytes.Buffer
		if json.Compact(&text, d) != nil || text.Len() <= len("[]") {
			continue
		}
		kind := types[i]
		if kind != "TensorList" {
			kind = cmp.Or(trace.TypeOf(kind), "?")
		}
		if key.WriteString(" " + kind + text.String()); key.Len() > maxKey {
			return ""
		}
	}
	if key.Len() == len(name) {
		return ""
	}
	return key.String()
}

// operators returns the mean times.
func (p *profile) operators() (*Operators, error) {
	host := len(p.ran) == 0
	if host && (p.device != "" || len(p.launched) > 0) {
		return nil, ErrNoKernels
	}
	p.launch()
	known := p.nest()
	o := &Operators{Seconds: map[string]float64{}, Device: p.device, Computing: p.kernels * 1e-6, Known: known * 1e-6, Damaged: p.damaged}
	calls := make([]float64, len(p.keys))
	for _, c := range p.calls {
		took := c.took
		if host {
			took = c.end - c.begin
		}
		if c.key >= 0 && took > 0 { // a call without a kernel computed on the host
			calls[c.key]++
			o.Seconds[p.keys[c.key]] += took * 1e-6
		}
	}
	for key, n := range calls {
		if n > 0 {
			o.Seconds[p.keys[key]] /= n
		}
	}
	if len(o.Seconds) == 0 {
		return nil, ErrNoShapes
	}
	return o, nil
}

// launch adds a launch for each kernel that has none. The launch begins when the kernel's operator
// begins.
func (p *profile) launch() {
	for _, l := range p.launched {
		delete(p.outer, l.id)
	}
	for correlation, id := range p.outer {
		if m, ok := p.byID[id]; ok {
			p.launched = append(p.launched, moment{at: m.at, id: correlation, thread: m.thread})
		}
	}
}

// nest adds to each call the time of the kernels that were launched within it, and returns the
// total time of kernels within calls. A call inside another call of the same operator and inputs
// gets the key −1, so that it does not count twice.
func (p *profile) nest() (known float64) {
	slices.SortFunc(p.launched, func(a, b moment) int {
		return cmp.Or(cmp.Compare(a.thread, b.thread), cmp.Compare(a.at, b.at), cmp.Compare(a.id, b.id))
	})
	slices.SortFunc(p.calls, func(a, b operatorCall) int {
		return cmp.Or(cmp.Compare(a.thread, b.thread), cmp.Compare(a.begin, b.begin), cmp.Compare(b.end, a.end))
	})
	var open []*operatorCall
	at := func(thread int32, when float64) {
		for len(open) > 0 && (open[len(open)-1].thread != thread || open[len(open)-1].end < when) {
			open = open[:len(open)-1]
		}
	}
	next := 0
	begin := func(thread int32, until float64) {
		for ; next < len(p.calls); next++ {
			c := &p.calls[next]
			if c.thread > thread || c.thread == thread && c.begin > until {
				return
			}
			at(c.thread, math.Nextafter(c.begin, math.Inf(1))) // calls that end when c begins do not contain c
			if slices.ContainsFunc(open, func(o *operatorCall) bool { return o.key == c.key }) {
				c.key = -1
			} else if len(open) < maxDepth {
				open = append(open, c)
			}
		}
	}
	for _, l := range p.launched {
		begin(l.thread, l.at)
		at(l.thread, l.at)
		took, ok := p.ran[l.id]
		if delete(p.ran, l.id); !ok || len(open) == 0 {
			continue
		}
		known += took
		for _, c := range open {
			c.took += took
		}
	}
	begin(math.MaxInt32, math.Inf(1))
	return known
}
