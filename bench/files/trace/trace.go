// Package trace is the common form of a job's collectives, from a profiler's trace, an execution
// trace or a library's log. Package formats reads them into it.
//
// A trace is not a curve. A kernel of a collective waits for the last rank before it moves
// anything, so bytes over one rank's kernel time is no bandwidth. Nothing in this package divides
// them.
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

// Unknown is a rank, a sequence number or a count of bytes that the file lacks.
const Unknown = -1

// Trace holds the calls of a job.
type Trace struct {
	// Format is the name of the calls' format.
	Format string
	// Files are the files with calls, in reading order.
	Files []string
	// World is the number of ranks of the job; 0 if unknown.
	World  int
	Groups []Group
	Ranks  []*Rank
	// Foreign are kernels that communicate and belong to no known collective library.
	Foreign []Foreign
	// Notes list missing, damaged or ignored parts of the input.
	Notes []string
	// Signs are defects that a log states.
	Signs []Sign
	// Instead describes files without calls; empty if unknown.
	Instead string
	// Recorded is true for a flight recorder's dumps: a group's name is unique in the job, and a
	// rank's calls end where it stopped.
	Recorded bool
	// Device is the GPU's name, if a file tells.
	Device string
	// named has the indices in Groups by name, found the answers of earlier calls of Find.
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
	// Name identifies a group in the trace; Description is the trainer's word for its purpose, if
	// any.
	Name, Description string
	// Size is the number of its ranks; 0 is unknown. Ranks lists them, if the file does.
	Size  int
	Ranks []int
	// Doubtful is true if the name may mean different groups on different ranks.
	Doubtful bool
}

// Title returns the group's name for people.
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
	// Rank is its number in the job; Unknown if the file lacks it.
	Rank       int
	Host, File string
	// PID is the process on that host, 0 if unknown; Device the runtime's number in that process,
	// Unknown if the file lacks it.
	PID, Device int
	// Within is the size of the communicator in which the rank has its number, if it has several; 0
	// is unknown.
	Within int
	Calls  []Call
	// Steps are the profiler's marks; empty if the file has none.
	Steps []Step
	// Computing are the stretches in which a kernel ran that does not communicate, in order and
	// disjoint. Whole is false if not all are kept.
	Computing []Span
	Whole     bool
	// Gradients are the tensors whose gradients autograd accumulated, in its order; empty if the
	// file has no shapes.
	Gradients []Gradient
	// Unnamed is the number of collective kernels without bytes in the file.
	Unnamed int
	// Damaged is the number of unreadable records.
	Damaged int
	// Lost is the number of calls before the first, which a full ring has dropped.
	Lost int64
}

// Span is a stretch of time, in seconds on the rank's clock.
type Span struct{ Start, End float64 }

// Seconds is the length of the span.
func (s Span) Seconds() float64 { return s.End - s.Start }

// Begin returns the start of a span; 0 for nil.
func (s *Span) Begin() float64 {
	if s == nil {
		return 0
	}
	return s.Start
}

// Gradient is a tensor's gradient as autograd produced it.
type Gradient struct {
	Elements int64
	// Dtype is rccl-tests' name of the element type.
	Dtype string
	// At is its host time; nil if the file has no times.
	At *Span
	// Made is the time of the backward pass for this gradient: from the previous gradient, or the
	// beginning, until it was ready, on the device's clock if it computes there; nil if unknown.
	Made *Span
}

// Step is a training step marked by the profiler.
type Step struct {
	Name string
	Span
}

// Call is one collective of one rank.
type Call struct {
	// Group is the index of the group in Trace.Groups.
	Group int
	// Collective is zbench's name, or the file's if zbench has none; Known says which.
	Collective string
	Known      bool
	// Dtype is rccl-tests' name of the element type, Op of the operator; empty is unknown.
	Dtype, Op string
	// In and Out are the elements of the rank's two buffers; Unknown if the file lacks them.
	In, Out int64
	// Bytes is the size as rccl-tests counts it: the larger of the send and receive buffer of a
	// rank that has all of it. Unknown if the file lacks it.
	Bytes int64
	// Part is the rank's sent data, in bytes, if Bytes is Part times an unknown number of ranks of
	// the group; else 0.
	Part int64
	// Sequence numbers the calls of a group equally on all ranks; Unknown if the file lacks it.
	Sequence int64
	// State is the progress of the call, if the file has it.
	State State
	// Stream is its stream; empty is unknown.
	Stream string
	// Enqueued is the time of the host's call, Kernel the device's execution, including waiting for
	// peers. Either is nil if the file lacks it.
	Enqueued *Span
	Kernel   *Span
	// Took is a duration without a start, in seconds, from a library's own profiler; 0 is unknown.
	// It includes waiting for peers.
	Took float64
}

// Size sets the bytes of a call from its buffers' elements.
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

// Settle gives groups of unknown size that of the job, if the files are those of ranks 0 to the
// last and state nothing else, and derives their calls' bytes.
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

// Unnamed is the group of calls whose group the file does not name.
const Unnamed = "?"

// MaxBytes is far beyond any buffer; more means damage.
const MaxBytes = 1 << 60

// maxElements is far beyond any buffer; more means damage.
const maxElements = 1 << 50

func scaled(n int64, ranks int) int64 {
	if n > maxElements/int64(ranks) {
		return maxElements + 1
	}
	return n * int64(ranks)
}

// Foreign are kernels of one library that communicate without a collective library.
type Foreign struct {
	// Library is its name.
	Library string `json:"library"`
	// Kernels is their number.
	Kernels int `json:"kernels"`
	// Seconds is the time of all of them.
	Seconds float64 `json:"seconds"`
}

// Timed reports whether any call has its kernel's time.
func (t *Trace) Timed() bool {
	return slices.ContainsFunc(t.Ranks, func(r *Rank) bool {
		return slices.ContainsFunc(r.Calls, func(c Call) bool { return c.Kernel != nil || c.Took > 0 })
	})
}

// Calls returns the number of calls of all ranks.
func (t *Trace) Calls() int {
	return slice.Sum(t.Ranks, func(r *Rank) int { return len(r.Calls) })
}

// Missing returns the ranks of the job without any data in the trace; nil if the number of ranks or
// a rank's own is unknown.
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

// Note adds a note once.
func (t *Trace) Note(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(t.Notes, text) && len(t.Notes) < maxNotes {
		t.Notes = append(t.Notes, text)
	}
}

const maxNotes = 100

// asked is a question to Find. Its answer stays, because a group only ever becomes more specific.
type asked struct {
	name, description string
	size              int
	ranks             string
}

// Find returns the index of a group, which is added if it is new. It keeps the known facts about
// it.
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

// same reports whether two groups with one name can be the same: subgroups of different ranks often
// share a name over the files of a job.
func (g Group) same(other Group) bool {
	return (g.Size == 0 || other.Size == 0 || g.Size == other.Size) &&
		(len(g.Ranks) == 0 || len(other.Ranks) == 0 || slices.Equal(g.Ranks, other.Ranks))
}

// Simulated reports whether zbench loopback --torch wrote the trace, by its name of the GPU: a
// model decided its times.
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

// process returns the rank for which r has the calls of another communicator: profilers write one
// file for each.
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

// Name returns the rank's number, or its process if the file has none: "rank 5", "process 45010 [2]
// of h03".
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

// AddForeign counts kernels of a library without collectives.
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
