package compare

import (
	"fmt"
	"slices"
	"strings"

	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
	"zbench/bench/base/unit"
	"zbench/bench/hardware/collective"
	"zbench/bench/run/record"
)

// entry is one case of one run.
type entry struct {
	record.Row
	pool string
	// group is the case's name without its size.
	group string
	// factor divided by seconds is the case's bandwidth; 0 if there is none.
	factor float64
	// burst is the burst timing, to which the first kind of time belongs; nil if there is none.
	burst *record.Timing
}

// timings are the kinds of time of a case.
var timings = record.TimeNames()

// Timings returns the kinds of time, the preferred one first. Different kinds are never compared.
func Timings() []string { return record.TimeNames() }

// member is a run with its cases.
type member struct {
	Run
	entries []*entry
}

// members returns the runs with their cases.
func members(runs []Run) []member {
	return slice.Map(runs, func(r Run) member { return member{r, entries(r.Record)} })
}

// entries returns the cases of a record.
func entries(rec *record.Record) []*entry {
	var out []*entry
	for _, r := range rec.Each() {
		e := &entry{Row: r.Row(), pool: r.Collective, group: groupOf(r), burst: r.Burst}
		if c, err := collective.ByName(r.Collective); err == nil && r.Ranks > 0 {
			e.factor = float64(r.Bytes) * c.BusFactor(r.Ranks)
		}
		out = append(out, e)
	}
	for _, k := range rec.KernelRows() {
		out = append(out, &entry{Row: k.Row(), pool: rec.Benchmark(), group: kernelGroup(rec, k), factor: float64(k.Moved)})
	}
	return out
}

// `ended` returns how the case ended, with the reason.
func (e *entry) ended() string { return e.Status.Text() + ": " + plain.Text(e.Reason) }

// groupOf names a collective's case by all of its properties except its size.
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
		words = append(words, rec.GPU(k))
	}
	return strings.Join(words, " ")
}

// Reading is a case of one record.
type Reading struct {
	// Key is the case's key in the record; Group has all of its properties except the size.
	Key, Group string
	Bytes      int64
	// Seconds is the median of the case; 0 if it has none. Why says why there is no median.
	Seconds float64
	Why     string
}

// Readings returns the cases of a record with their medians in a kind of time, one of Timings.
func Readings(rec *record.Record, timing string) []Reading {
	var out []Reading
	kind := slices.Index(timings, timing)
	for _, e := range entries(rec) {
		r := Reading{Key: e.Key, Group: e.group, Bytes: e.Bytes}
		switch {
		case e.Status != record.OK:
			r.Why = e.ended()
		case kind < 0 || e.Times[kind] == nil:
			r.Why = "it has no " + timing + " time"
		default:
			r.Seconds = e.Times[kind].Median
		}
		out = append(out, r)
	}
	return out
}
