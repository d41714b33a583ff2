// Package trace is the common form of a job's collectives, whether they come from a profiler's
// trace, an execution trace or a library's log. Package formats reads these files.
//
// A trace is not a curve. The kernel of a collective waits for the last rank before it moves data,
// so bytes divided by one rank's kernel time are not a bandwidth. This package never computes that
// quotient.
package trace

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"zbench/bench/base/slice"
	"zbench/bench/base/unit"
	"zbench/bench/hardware/collective"
	"zbench/bench/hardware/signs"
	"zbench/bench/run/record"
)

// Unknown stands for a rank, a sequence number or a number of bytes that the file lacks.
const Unknown = -1

// Trace holds the calls of a job.
type Trace struct {
	// Format is the name of the format of the files.
	Format string
	// Files are the files with calls, in the order of reading.
	Files []string
	// World is the number of ranks of the job; 0 if unknown.
	World  int
	Groups []Group
	Ranks  []*Rank
	// Foreign are kernels that communicate but belong to no known collective library.
	Foreign []Foreign
	// Notes list missing, damaged or ignored parts of the input.
	Notes []string
	// Signs are the defects that logs state.
	Signs []Sign
	// Instead describes the content of files without calls; empty if unknown.
	Instead string
	// Recorded is true for dumps of a flight recorder: names of groups are unique in the job, and a
	// rank's calls end where the rank stopped.
	Recorded bool
	// Device is the name of the GPU; empty if no file states it.
	Device string
	// named has indices into Groups by name. found has the results of earlier calls of Find.
	named map[string][]int
	found map[asked]int
}

// Sign is a line of a file that states a defect.
type Sign struct {
	signs.Found
	File string
}

// Group is a communicator or a process group.
type Group struct {
	// Name identifies the group in the trace. Description is the purpose that the trainer states;
	// it may be empty.
	Name, Description string
	// Size is the number of ranks in the group; 0 if unknown. Ranks lists these ranks, if the file
	// has them.
	Size  int
	Ranks []int
	// Doubtful is true if the name may mean different groups on different ranks.
	Doubtful bool
}

// Title returns a name of the group for people.
func (g Group) Title() string {
	name := "group " + g.Name
	if g.Description != "" && g.Description != "undefined" {
		name += " (" + g.Description + ")"
	}
	if g.Size > 0 {
		name += fmt.Sprintf(", %d ranks", g.Size)
	}
	return name
}

// Rank holds the work of one rank.
type Rank struct {
	// Rank is the rank's number in the job; Unknown if the file lacks it.
	Rank       int
	Host, File string
	// PID is the number of the process on that host; 0 if unknown. Device is the runtime's device
	// number in that process; Unknown if the file lacks it.
	PID, Device int
	// Within is the size of the communicator in which the rank has this number, if the rank has
	// several communicators; 0 if unknown.
	Within int
	Calls  []Call
	// Steps are the step marks of the profiler; empty if the file has none.
	Steps []Step
	// Computing are the spans in which a kernel ran that does not communicate. They are in order
	// and disjoint. Whole is false if some were not kept.
	Computing []Span
	Whole     bool
	// Gradients are the gradients that autograd accumulated, in order; empty if the file has no
	// shapes.
	Gradients []Gradient
	// Unnamed is the number of collective kernels for which the file has no bytes.
	Unnamed int
	// Damaged is the number of unreadable records.
	Damaged int
	// Lost is the number of earlier calls that a full ring buffer has dropped.
	Lost int64
}

// Span is a range of time, in seconds on the rank's clock.
type Span struct{ Start, End float64 }

// Seconds returns the length of the span.
func (s Span) Seconds() float64 { return s.End - s.Start }

// Begin returns the start of a span, or 0 for nil.
func (s *Span) Begin() float64 {
	if s == nil {
		return 0
	}
	return s.Start
}

// Gradient is a gradient that autograd produced.
type Gradient struct {
	Elements int64
	// Dtype is rccl-tests' name of the element type.
	Dtype string
	// At is the time on the host; nil if the file has no times.
	At *Span
	// Made is the part of the backward pass that made this gradient: from the previous gradient, or
	// the beginning of the pass, until this gradient was ready. It is on the device's clock if the
	// device computes; nil if unknown.
	Made *Span
}

// Step is a training step marked by the profiler.
type Step struct {
	Name string
	Span
}

// Call is one call of a collective on one rank.
type Call struct {
	// Group is an index into Trace.Groups.
	Group int
	// Collective is zbench's name of the collective if Known is true, else the file's name.
	Collective string
	Known      bool
	// Dtype is rccl-tests' name of the element type, and Op is its name of the operator. Both are
	// empty if unknown.
	Dtype, Op string
	// In and Out are the numbers of elements in the rank's two buffers; Unknown if the file lacks
	// them.
	In, Out int64
	// Bytes is the size as rccl-tests counts it: the larger buffer of a rank that has the whole
	// data. Unknown if the file lacks it.
	Bytes int64
	// Part is the number of bytes that the rank sends, if the group's number of ranks is unknown
	// and Bytes would be Part times that number; else 0.
	Part int64
	// Sequence is the number of the call in its group. It is the same on all ranks; Unknown if the
	// file lacks it.
	Sequence int64
	// State is the progress of the call, if the file has it.
	State State
	// Stream identifies the stream; empty if unknown.
	Stream string
	// Enqueued is the time of the host's call. Kernel is the time of execution on the device, which
	// includes waiting for other ranks. Either is nil if the file lacks it.
	Enqueued *Span
	Kernel   *Span
	// Took is a duration without a start, in seconds, from a library's own profiler; 0 if unknown.
	// It includes waiting for other ranks.
	Took float64
}

// Size computes the bytes of a call from the elements of its buffers.
func (c *Call) Size(ranks int) {
	c.Bytes = Unknown
	d, err := collective.DtypeByName(c.Dtype)
	if err != nil {
		return
	}
	in, out := max(c.In, 0), max(c.Out, 0)
	if k, err := collective.ByName(c.Collective); err == nil && ranks > 0 {
		if k.SendShare {
			in = scaled(in, ranks)
		}
		if k.RecvShare {
			out = scaled(out, ranks)
		}
	}
	if n := max(in, out); n > 0 || c.In == 0 || c.Out == 0 {
		if n > maxElements {
			return
		}
		c.Bytes = n * int64(d.Size)
	}
}

// Settle completes groups of unknown size, and then the bytes of their calls. Such a group gets the
// size of the job if the files belong to ranks 0 to n−1 and state no other size.
func (t *Trace) Settle() {
	if t.Recorded {
		t.settleRecorded()
	}
	numbered := len(t.Ranks) > 1 && t.World == 0
	for i, r := range t.Ranks {
		numbered = numbered && r.Rank == i
	}
	if numbered {
		t.World = len(t.Ranks)
	}
	for i := range t.Groups {
		if g := &t.Groups[i]; numbered && g.Size == 0 && g.Name == Unnamed {
			g.Size = t.World
		}
	}
	for _, r := range t.Ranks {
		for i := range r.Calls {
			c := &r.Calls[i]
			if n := t.Groups[c.Group].Size; c.Part > 0 && n > 0 && c.Part <= MaxBytes/int64(n) {
				c.Bytes, c.Part = c.Part*int64(n), 0
			}
		}
	}
}

// Unnamed is the name of the group of calls whose group the file does not state.
const Unnamed = "?"

// MaxBytes is larger than any buffer. A larger number means that the file is damaged.
const MaxBytes = 1 << 60

// maxElements is larger than any buffer. A larger number means that the file is damaged.
const maxElements = 1 << 50

func scaled(n int64, ranks int) int64 {
	if n > maxElements/int64(ranks) {
		return maxElements + 1
	}
	return n * int64(ranks)
}

// Foreign counts the kernels of a library that communicates without a collective library.
type Foreign struct {
	// Library is the name of the library.
	Library string `json:"library"`
	// Kernels is the number of its kernels.
	Kernels int `json:"kernels"`
	// Seconds is the total time of these kernels.
	Seconds float64 `json:"seconds"`
}

// Timed reports whether at least one call has a kernel time.
func (t *Trace) Timed() bool {
	return slices.ContainsFunc(t.Ranks, func(r *Rank) bool {
		return slices.ContainsFunc(r.Calls, func(c Call) bool { return c.Kernel != nil || c.Took > 0 })
	})
}

// Calls returns the number of calls of all ranks.
func (t *Trace) Calls() int {
	return slice.Sum(t.Ranks, func(r *Rank) int { return len(r.Calls) })
}

// Missing returns the ranks of the job without data in the trace. It returns nil if the number of
// ranks, or the number of a rank, is unknown.
func (t *Trace) Missing() (missing []int) {
	if t.World == 0 || slices.ContainsFunc(t.Ranks, func(r *Rank) bool { return r.Rank < 0 }) {
		return nil
	}
	have := map[int]bool{}
	for _, r := range t.Ranks {
		have[r.Rank] = true
	}
	for i := range t.World {
		if !have[i] {
			missing = append(missing, i)
		}
	}
	return missing
}

// Note adds a note, unless it exists already.
func (t *Trace) Note(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(t.Notes, text) && len(t.Notes) < maxNotes {
		t.Notes = append(t.Notes, text)
	}
}

const maxNotes = 100

// asked holds the arguments of a call of Find. The result of the call can be kept, because groups
// only become more specific.
type asked struct {
	name, description string
	size              int
	ranks             string
}

// Find returns the index of a group and adds the group if it is new. New facts about a known group
// are kept.
func (t *Trace) Find(g Group) int {
	ranks := make([]byte, 0, 128)
	for _, r := range g.Ranks {
		ranks = binary.AppendVarint(ranks, int64(r))
	}
	q := asked{g.Name, g.Description, g.Size, string(ranks)}
	if i, ok := t.found[q]; ok {
		return i
	}
	if t.found == nil {
		t.named, t.found = map[string][]int{}, map[asked]int{}
	}
	at := slices.IndexFunc(t.named[g.Name], func(i int) bool { return t.Groups[i].same(g) })
	if at < 0 {
		t.Groups = append(t.Groups, g)
		t.named[g.Name] = append(t.named[g.Name], len(t.Groups)-1)
		t.found[q] = len(t.Groups) - 1
		return len(t.Groups) - 1
	}
	i := t.named[g.Name][at]
	t.found[q] = i
	x := &t.Groups[i]
	x.Description, x.Size = cmp.Or(x.Description, g.Description), cmp.Or(x.Size, g.Size)
	if len(x.Ranks) == 0 {
		x.Ranks = g.Ranks
	}
	return i
}

// Method `same` reports whether two groups of the same name can be one group. In the files of a
// job, subgroups of different ranks often share a name.
func (g Group) same(other Group) bool {
	return (g.Size == 0 || other.Size == 0 || g.Size == other.Size) &&
		(len(g.Ranks) == 0 || len(other.Ranks) == 0 || slices.Equal(g.Ranks, other.Ranks))
}

// Simulated reports whether zbench loopback --torch wrote the trace, so that a model decided its
// times. The name of the GPU tells.
func (t *Trace) Simulated() bool { return strings.HasPrefix(t.Device, "SIMULATED") }

// Add adds the ranks of another trace of the same job.
func (t *Trace) Add(other *Trace) {
	t.Format, t.Device = cmp.Or(t.Format, other.Format), cmp.Or(t.Device, other.Device)
	t.World, t.Recorded = max(t.World, other.World), t.Recorded || other.Recorded
	t.Files, t.Signs = append(t.Files, other.Files...), append(t.Signs, other.Signs...)
	t.Instead = cmp.Or(t.Instead, other.Instead)
	place := slice.Map(other.Groups, t.Find)
	for _, r := range other.Ranks {
		for i := range r.Calls {
			r.Calls[i].Group = place[r.Calls[i].Group]
		}
		if same := t.process(r, other.Format); same != nil {
			if r.Within > same.Within {
				same.Rank, same.Within = r.Rank, r.Within
			}
			same.Calls = append(same.Calls, r.Calls...)
			continue
		}
		t.Ranks = append(t.Ranks, r)
	}
	for _, f := range other.Foreign {
		t.AddForeign(f)
	}
	for _, n := range other.Notes {
		t.Note("%s", n)
	}
	slices.SortStableFunc(t.Ranks, func(a, b *Rank) int { return cmp.Compare(a.Rank, b.Rank) })
}

// process returns the rank to which r belongs, with the calls of another communicator; nil if there
// is none. Some profilers write one file per communicator.
func (t *Trace) process(r *Rank, format string) *Rank {
	i := slices.IndexFunc(t.Ranks, func(o *Rank) bool {
		return format == "inspector" && r.PID > 0 && o.PID == r.PID && o.Host == r.Host && !slices.ContainsFunc(o.Calls, func(c Call) bool { return c.Group == r.Calls[0].Group })
	})
	if i < 0 {
		return nil
	}
	return t.Ranks[i]
}

// numbered reports whether every rank has a number of its own.
func (t *Trace) numbered() bool {
	seen := map[int]bool{}
	for _, r := range t.Ranks {
		if r.Rank < 0 || seen[r.Rank] {
			return false
		}
		seen[r.Rank] = true
	}
	return true
}

// Name returns "rank 5", or the process if the file has no rank number: "process 45010 [2] of h03".
func (r *Rank) Name() string {
	if r.Rank >= 0 || r.PID == 0 {
		return "rank " + Number(r.Rank)
	}
	return fmt.Sprintf("process %d [%d] of %s", r.PID, r.Device, r.Host)
}

// NamesOf lists ranks by their numbers, or by their processes.
func NamesOf(ranks []*Rank) string {
	if slices.ContainsFunc(ranks, func(r *Rank) bool { return r.Rank < 0 }) {
		return unit.FirstFew(slice.Map(ranks, (*Rank).Name), 4)
	}
	return "rank " + record.RankList(record.RankSet(slice.Map(ranks, func(r *Rank) int { return r.Rank })))
}

// AddForeign adds kernels of a library that communicates without collectives.
func (t *Trace) AddForeign(f Foreign) {
	for i := range t.Foreign {
		if t.Foreign[i].Library == f.Library {
			t.Foreign[i].Kernels += f.Kernels
			t.Foreign[i].Seconds += f.Seconds
			return
		}
	}
	t.Foreign = append(t.Foreign, f)
}
