package compare

import (
	"fmt"
	"slices"
	"strings"

	"zbench/bench/collective"
	"zbench/bench/plain"
	"zbench/bench/record"
	"zbench/bench/stat"
	"zbench/bench/unit"
)

// entry is one case of one run.
type entry struct {
	key, pool string
	bytes     int64
	// The case in the record is result or row; the other is nil. rec is the record of row.
	rec    *record.Record
	result *record.Result
	row    *record.Kernel
	// burst and isolated are the times of a result, kernel those of a row; nil for none.
	burst, isolated *record.Timing
	kernel          *stat.Summary
	status          record.Status
	reason          string
}

// Timings are the kinds of time, the preferred first. Two kinds are never compared.
func Timings() []string {
	out := make([]string, len(timings))
	for i, t := range timings {
		out[i] = t.name
	}
	return out
}

// timing is a kind of time.
type timing struct {
	name string
	of   func(*entry) *stat.Summary
}

// timings are the kinds of time of a case.
var timings = []timing{
	{"burst", func(e *entry) *stat.Summary { return part(e.burst, false) }},
	{"burst_slowest", func(e *entry) *stat.Summary { return part(e.burst, true) }},
	{"isolated", func(e *entry) *stat.Summary { return part(e.isolated, true) }},
	{"isolated_mean", func(e *entry) *stat.Summary { return part(e.isolated, false) }},
	{"kernel", func(e *entry) *stat.Summary { return e.kernel }},
}

// part is the mean over ranks or the slowest rank of a timing.
func part(t *record.Timing, slowest bool) *stat.Summary {
	switch {
	case t == nil:
		return nil
	case slowest:
		return t.MaxOfRanks
	}
	return t.MeanOfRanks
}

// timed tells whether the case has a time of any kind.
func (e *entry) timed() bool {
	return slices.ContainsFunc(timings, func(t timing) bool { return t.of(e) != nil })
}

// member is a run with its cases.
type member struct {
	Run
	entries []*entry
}

// members reads the cases of runs.
func members(runs []Run) []member {
	out := make([]member, len(runs))
	for i, r := range runs {
		out[i] = member{r, entries(r.Record)}
	}
	return out
}

// entries are the cases of a record.
func entries(rec *record.Record) []*entry {
	var out []*entry
	for r := range rec.Each() {
		out = append(out, &entry{key: r.Key, pool: r.Collective, bytes: max(r.Bytes, r.BytesRequested), result: r, burst: r.Burst, isolated: r.Isolated, status: r.Status, reason: r.Reason})
	}
	for i := range rec.Kernels {
		k := &rec.Kernels[i]
		e := &entry{key: k.Key, pool: rec.Benchmark(), bytes: k.Moved, rec: rec, row: k, status: k.Status, reason: k.Reason}
		if k.Timing != nil {
			e.kernel = k.Timing.Seconds
		}
		out = append(out, e)
	}
	return out
}

// ended says how the case ended, and why.
func (e *entry) ended() string { return e.status.Text() + ": " + plain.Text(e.reason) }

// group names the case without its size.
func (e *entry) group() string {
	if e.row != nil {
		return kernelGroup(e.rec, e.row)
	}
	return groupOf(e.result)
}

// factor over seconds is the case's bandwidth; 0 where there is none.
func (e *entry) factor() float64 {
	if e.row != nil {
		return float64(e.row.Moved)
	}
	c, err := collective.ByName(e.result.Collective)
	if err != nil || e.result.Ranks < 1 {
		return 0
	}
	return float64(e.result.Bytes) * c.BusFactor(e.result.Ranks)
}

// groupOf names a collective's case by all that tells it from others, except its size.
func groupOf(r *record.Result) string {
	words := []string{plain.Text(r.Collective), r.Dtype}
	if r.Op != "" {
		words = append(words, r.Op)
	}
	place := "out of place"
	if r.InPlace {
		place = "in place"
	}
	text := strings.Join(words, " ") + ", " + place
	if r.Ranks > 0 {
		text += ", " + plain.Count(r.Ranks, "rank")
	}
	if r.Nodes > 0 {
		text += " on " + plain.Count(r.Nodes, "node")
	}
	if r.Groups > 1 {
		text += fmt.Sprintf(", %d groups", r.Groups)
	}
	if r.Stride > 0 {
		text += fmt.Sprintf(", stride %d", r.Stride)
	}
	if r.GPUsPerProcess > 1 {
		text += fmt.Sprintf(", %d GPUs per process", r.GPUsPerProcess)
	}
	if r.Setup != "" {
		text += ", " + plain.Text(r.Setup)
	}
	return text
}

// kernelGroup names a kernel's row without its size in bytes.
func kernelGroup(rec *record.Record, k *record.Kernel) string {
	words := []string{k.Kernel}
	for _, w := range []string{k.Dtype, k.Role, k.Shape.Name} {
		if w != "" {
			words = append(words, w)
		}
	}
	if k.Shape.Rows > 0 {
		words = append(words, fmt.Sprintf("%d×%d", k.Shape.Rows, k.Shape.Cols))
	}
	if k.Shape.Array > 0 {
		words = append(words, unit.Bytes(k.Shape.Array))
	}
	if len(rec.World.Devices) > 1 {
		words = append(words, fmt.Sprintf("GPU %d", k.Device))
	}
	return strings.Join(words, " ")
}

// Reading is a case of one record.
type Reading struct {
	// Key of the case in the record; Group is all that tells it from others but its size.
	Key, Group string
	Bytes      int64
	// Seconds are its median; 0 where it has none, and Why says so.
	Seconds float64
	Why     string
}

// Readings are the cases of a record with their medians in a kind of time, one of Timings.
func Readings(rec *record.Record, timing string) []Reading {
	var out []Reading
	for _, e := range entries(rec) {
		r := Reading{Key: e.key, Group: e.group(), Bytes: e.bytes, Why: "it has no " + timing + " time"}
		if e.status != record.OK {
			r.Why = e.ended()
		}
		for _, kind := range timings {
			if s := kind.of(e); kind.name == timing && s != nil && e.status == record.OK {
				r.Seconds, r.Why = s.Median, ""
			}
		}
		out = append(out, r)
	}
	return out
}
