package formats

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"

	"zbench/bench/base/pattern"
	"zbench/bench/files/peers"
	"zbench/bench/files/trace"
)

// PyTorch's flight recorder keeps a rank's last collectives in a ring buffer. When a job hangs, it
// dumps them as a pickle, or as JSON with the same keys.
func init() {
	register(Format{
		Name: "flight-recorder", Title: "a dump of PyTorch's flight recorder", Holds: Calls, rank: 5,
		recognise: func(head []byte) bool {
			return (begins(head, '{') || begins(head, 0x80)) && has(head, "pg_config", "collective_seq_id") && has(head, "collective_seq_id", "pg_status", "nccl_comm_state", "comm_lib_version") && !has(head, `"traceEvents"`)
		},
		read: readRecorder,
	})
}

// recorded is one entry of a dump.
type recorded struct {
	Record   number    `json:"record_id"`
	Group    [2]word   `json:"process_group"`
	Sequence number    `json:"collective_seq_id"`
	P2P      number    `json:"p2p_seq_id"`
	Name     word      `json:"profiling_name"`
	Millis   number    `json:"duration_ms"`
	In       [][]int64 `json:"input_sizes"`
	Out      [][]int64 `json:"output_sizes"`
	InTypes  []word    `json:"input_dtypes"`
	OutTypes []word    `json:"output_dtypes"`
	State    word      `json:"state"`
	Retired  bool      `json:"retired"`
	IsP2P    bool      `json:"is_p2p"`
}

// recorder is the state of reading a dump.
type recorder struct {
	t      *trace.Trace
	rank   *trace.Rank
	groups groupTable
	// last has the index of the last call of each group.
	last map[int]int
	// emitted is the number of JSON bytes made from a pickle's entries.
	emitted int
}

// rankInName matches the rank at the end of a dump's name, such as nccl_trace_rank_12, with or
// without an extension.
var rankInName = pattern.New(`(\d{1,7})(?:\.\w{1,8})?$`)

func readRecorder(in *Input, t *trace.Trace) error {
	l := &recorder{t: t, rank: &trace.Rank{Rank: trace.Unknown, File: in.Name}, groups: groupTable{}, last: map[int]int{}}
	if m := rankInName.FindStringSubmatch(path.Base(in.Name)); m != nil {
		if n, err := strconv.Atoi(m[1]); err == nil && n < maxRanks {
			l.rank.Rank, t.World = n, n+1
		}
	}
	s := newStream(in)
	read := l.json
	if s.next() == 0x80 {
		read = l.pickle
	}
	if err := read(s); err != nil {
		return err
	}
	l.groups.settle(t, l.rank)
	t.Recorded = true
	return nil
}

func (l *recorder) json(s *stream) error {
	return s.object(func(key string) error {
		switch key {
		case "entries":
			return s.array(l.entry)
		case "pg_config":
			raw, err := s.value()
			l.groups.add(l.t, raw)
			return err
		}
		_, err := s.value()
		return err
	})
}

// pickle converts the entries of a pickle to JSON and reads them.
func (l *recorder) pickle(s *stream) error {
	over := fmt.Errorf("%w: over %d bytes: dump without stack traces", ErrDamaged, maxPickle)
	var text strings.Builder
	if _, err := io.Copy(&text, peers.Bounded(io.MultiReader(bytes.NewReader(s.buf[s.at:]), s.r), maxPickle, over)); err != nil {
		return err //nolint:wrapcheck // the reader's own error
	}
	v, err := unpickle(text.String(), "frames")
	if err != nil {
		return err
	}
	all, ok := v.(*pickledBox)
	if !ok || !all.dict {
		return fmt.Errorf("%w: the pickle is no dict", ErrDamaged)
	}
	if raw, ok := emit(nil, all.get("pg_config"), 0); ok {
		l.groups.add(l.t, raw)
	}
	entries, _ := all.get("entries").(*pickledBox)
	if entries == nil {
		return nil
	}
	var raw []byte
	for _, e := range entries.items {
		if raw, ok = emit(raw[:0], e, 0); !ok {
			raw = nil
		}
		if l.emitted += len(raw); l.emitted > maxJSON/2 {
			return fmt.Errorf("%w: the pickle's entries are over %d bytes", ErrDamaged, maxJSON/2)
		}
		if err := l.entry(raw); err != nil {
			return err
		}
	}
	return nil
}

// entry reads a call. Several entries with the same number are one call of several tensors.
func (l *recorder) entry(raw []byte) error {
	var e recorded
	if raw == nil || json.Unmarshal(raw, &e) != nil || e.Sequence.whole() < 0 {
		l.rank.Damaged++
		return nil
	}
	c, number := e.call(), e.Record.whole()
	if len(l.rank.Calls) == 0 {
		l.rank.Lost = max(number, 0)
	}
	c.Group = l.t.Find(trace.Group{Name: limited(string(e.Group[0])), Description: limited(string(e.Group[1]))})
	if at, met := l.last[c.Group]; met && !e.IsP2P && l.rank.Calls[at].Sequence == c.Sequence {
		before := &l.rank.Calls[at]
		before.In, before.Out = min(before.In+max(c.In, 0), 1<<50), min(before.Out+max(c.Out, 0), 1<<50)
		if before.State == trace.Completed {
			before.State = c.State
		}
		return nil
	}
	if !e.IsP2P {
		l.last[c.Group] = len(l.rank.Calls)
	}
	l.rank.Calls = append(l.rank.Calls, c)
	return bounded(l.t, len(l.rank.Calls))
}

func (e *recorded) call() trace.Call {
	name, _, _ := strings.Cut(string(e.Name), " ") // such as nccl:send 0->1
	kind, known := trace.Named(name)
	c := trace.Call{Collective: limited(kind), Known: known, Sequence: e.Sequence.whole(), State: trace.State(e.State), In: tensors(e.In), Out: tensors(e.Out), Bytes: trace.Unknown}
	if !known {
		c.Collective = limited(name[strings.LastIndexByte(name, ':')+1:])
	}
	if e.IsP2P {
		c.Sequence = e.P2P.whole()
	}
	for _, types := range [][]word{e.OutTypes, e.InTypes} {
		if len(types) > 0 {
			c.Dtype = trace.TypeOf(string(types[0]))
		}
	}
	if e.Retired && c.State == trace.Scheduled {
		c.State = trace.Completed // a call of gloo has no other sign that it ended
	}
	if !c.State.Known() {
		c.State = ""
	}
	if c.Took = max(e.Millis.v, 0) / 1e3; !e.Millis.ok || c.Took > 1e9 {
		c.Took = 0
	}
	return c
}

// tensors returns the total number of elements of tensors with these sizes, or Unknown if there are
// none.
func tensors(sizes [][]int64) int64 {
	all := int64(trace.Unknown)
	for _, dims := range sizes {
		n := int64(1)
		for _, d := range dims {
			n = int64(min(float64(n)*float64(max(d, 0)), 1<<50)) // exact to 2^53
		}
		all = min(max(all, 0)+n, 1<<50)
	}
	return all
}
