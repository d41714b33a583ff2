package formats

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"zbench/bench/base/pattern"
	"zbench/bench/files/trace"
	"zbench/bench/hardware/collective"
)

// NCCL's Inspector and RCCL's ACCL profiler write one JSON object per line: a collective with its
// bytes and its seconds, which include waiting. zbench does not read the bandwidths in the file.
// ACCL writes one file per communicator and rank; only the file name tells the communicator and the
// process.
func init() {
	register(Format{
		Name: "inspector", Title: "a log of NCCL's Inspector or of RCCL's ACCL profiler", Holds: Calls, rank: 40,
		recognise: func(head []byte) bool { return begins(head, '{') && has(head, `"coll_perf"`, `"p2p_perf"`) },
		read:      readInspector,
	})
}

// acclName matches the end of ACCL's file names (ROCm/rocm-systems
// projects/rccl/plugins/profiler/accl).
var acclName = pattern.New(`accl_profiler_rank\d+_(.+)_pid(\d+)_(0x[0-9a-f]+)\.`)

type inspectorHeader struct {
	ID    word   `json:"id"`
	Name  word   `json:"comm_name"`
	Rank  number `json:"rank"`
	Ranks number `json:"n_ranks"`
}

type inspectorMeta struct {
	Host word `json:"hostname"`
	PID  word `json:"pid"`
}

type inspectorLine struct {
	Header   *inspectorHeader `json:"header"`
	Metadata *inspectorMeta   `json:"metadata"`
	Coll     *struct {
		Name     word   `json:"coll"`
		Sequence number `json:"coll_sn"`
		Bytes    number `json:"coll_msg_size_bytes"`
		Micros   number `json:"coll_exec_time_us"`
	} `json:"coll_perf"`
	P2P *struct {
		Name     word   `json:"p2p"`
		Sequence number `json:"p2p_sn"`
		Bytes    number `json:"p2p_msg_size_bytes"`
		Micros   number `json:"p2p_exec_time_us"`
	} `json:"p2p_perf"`
	Summary *struct {
		Dropped  number `json:"dropped_collectives"`
		Leaked   number `json:"leaked_collectives"`
		Complete *bool  `json:"complete"`
	} `json:"summary"`
}

// inspected is the state of reading a file.
type inspected struct {
	t     *trace.Trace
	ranks []*inspectedRank
	of    map[inspectorMeta][]*inspectedRank // by process
	last  map[inspectedCalls]int64           // number of the last call
	// header and metadata are the latest that were read. They apply to lines without their own
	// header or metadata.
	header   inspectorHeader
	metadata inspectorMeta
	// damaged is the number of lines that are not records. fast is the number of calls without a
	// time. calls is the number of all calls. lost is the number of missing calls between other
	// calls.
	damaged, fast, calls int
	lost                 int64
	// id is the communicator of calls whose header names no communicator. named is true if it comes
	// from the file name. mixed is true if such calls belong to several communicators.
	id           word
	named, mixed bool
	// open is the beginning of an object that spans several lines.
	open []byte
}

type inspectedCalls struct {
	rank  *inspectedRank
	group int
	p2p   bool
}

// inspectedRank is a rank of the job. Its number is its rank in its largest communicator. comms has
// its rank in every communicator.
type inspectedRank struct {
	trace.Rank
	comms map[word]int64
}

func readInspector(in *Input, t *trace.Trace) error {
	all := &inspected{t: t, of: map[inspectorMeta][]*inspectedRank{}, last: map[inspectedCalls]int64{}, id: word("of " + in.Name)}
	if m := acclName.FindStringSubmatch(in.Name); m != nil {
		all.metadata, all.id, all.named = inspectorMeta{Host: word(m[1]), PID: word(m[2])}, word(m[3]), true
	}
	err := eachLine(in, 1<<20, func(line []byte) error {
		if line = all.whole(line); len(line) > 2 {
			all.line(line, in.Name)
		}
		if all.mixed {
			return fmt.Errorf("%w: %s has the calls of several communicators of a rank, which its lines do not tell apart: RCCL's profiler says it in the name of each file (accl_profiler_rank…_pid…_0x….jsonl); give its files as they were written", ErrDamaged, in.Name)
		}
		return bounded(t, all.calls)
	})
	if err == nil {
		all.finish()
	}
	return err
}

// Method whole joins the lines of an object that spans several lines. It returns nothing until the
// object is complete. Only the first and the last line of such an object begin at the margin. A
// line with a complete object is returned unchanged.
func (all *inspected) whole(line []byte) []byte {
	at := string(bytes.TrimRight(line, " \t\r\n,"))
	if len(all.open) == 0 && at != "{" || len(all.open) > 1<<20 {
		all.open = nil
		return line
	}
	if all.open = append(all.open, line...); at != "}" {
		return nil
	}
	defer func() { all.open = nil }()
	return bytes.TrimRight(all.open, ", \t\r\n")
}

func (all *inspected) line(text []byte, file string) {
	var l inspectorLine
	if json.Unmarshal(text, &l) != nil || l.Header != nil && l.Header.Ranks.noCount() || l.Coll != nil && l.Coll.Bytes.noCount() || l.P2P != nil && l.P2P.Bytes.noCount() {
		all.damaged++
		return
	}
	if l.Header != nil {
		all.header = *l.Header
		all.unnamed()
	}
	if l.Metadata != nil {
		all.metadata = *l.Metadata
	}
	if l.Coll == nil && l.P2P == nil && l.Summary == nil {
		if l.Header == nil && l.Metadata == nil {
			all.damaged++
		}
		return // a marker, or a record of another type
	}
	if s := l.Summary; s != nil {
		if n := max(s.Dropped.whole(), 0) + max(s.Leaked.whole(), 0); n > 0 {
			all.t.Note("the profiler dropped or lost %d collectives, by its own summary", n)
		}
		return
	}
	rank := all.rank(file)
	if rank == nil {
		all.damaged++
		return
	}
	c := l.call(all.t, &all.header)
	if c.Took == 0 {
		all.fast++
	}
	key := inspectedCalls{rank, c.Group, l.P2P != nil}
	before, seen := all.last[key]
	if seen && c.Sequence > before+1 {
		all.lost += c.Sequence - before - 1
	}
	all.mixed = all.mixed || seen && c.Sequence <= before && all.header.ID == all.id && !all.named
	all.last[key] = c.Sequence
	rank.Calls = append(rank.Calls, c)
	all.calls++
}

// If a header names no communicator, unnamed gives the header the file's communicator.
func (all *inspected) unnamed() {
	if all.header.ID != "" {
		return
	}
	if all.header.ID = all.id; !all.named {
		all.t.Note("no line says of which communicator its call is, so no call is compared with another file's: RCCL's profiler says it in the file's name (accl_profiler_rank…_pid…_0x….jsonl)")
	}
}

func (all *inspected) finish() {
	for _, r := range all.ranks {
		all.t.Ranks = append(all.t.Ranks, &r.Rank)
	}
	if all.damaged > 0 {
		all.t.Note("%d lines are no records", all.damaged)
	}
	if all.lost > 0 {
		all.t.Note("the sequence numbers have gaps: %d calls are not in the file (the profiler's ring holds 1,024, and it leaves small messages out)", all.lost)
	}
	if all.fast > 0 {
		all.t.Note("%d calls have no time: NCCL's Inspector counts whole microseconds", all.fast)
	}
}

// rank returns the rank to which a header belongs: it has the header's process, and the header's
// number in the header's communicator. One process may drive several ranks.
func (all *inspected) rank(file string) *inspectedRank {
	h, m := &all.header, all.metadata
	n, size := h.Rank.whole(), h.Ranks.whole()
	if n < 0 || n >= maxRanks || size > maxRanks {
		return nil
	}
	var found *inspectedRank
	for _, r := range all.of[m] {
		number, met := r.comms[h.ID]
		if met && number == n {
			return r
		}
		if !met && found == nil && (r.Rank.Rank == int(n) || m.PID != "" && len(all.of[m]) == 1) {
			found = r
		}
	}
	if found == nil {
		pid, _ := strconv.Atoi(string(m.PID))
		found = &inspectedRank{Rank: trace.Rank{Host: limited(string(m.Host)), PID: pid, Device: trace.Unknown, File: file}, comms: map[word]int64{}}
		all.ranks, all.of[m] = append(all.ranks, found), append(all.of[m], found)
	}
	if int(size) > found.Within || len(found.comms) == 0 {
		found.Rank.Rank, found.Within = int(n), int(max(size, 0))
	}
	found.comms[h.ID] = n
	return found
}

func (l *inspectorLine) call(t *trace.Trace, h *inspectorHeader) trace.Call {
	ranks := h.Ranks.whole()
	if ranks < 0 || ranks > maxRanks {
		ranks = 0
	}
	t.World = max(t.World, int(ranks))
	c := trace.Call{In: trace.Unknown, Out: trace.Unknown, Group: t.Find(trace.Group{Name: limited(string(h.ID)), Description: limited(string(h.Name)), Size: int(ranks)})}
	var micros number
	if l.Coll != nil {
		name, known := trace.Named(string(l.Coll.Name))
		c.Collective, c.Known, c.Sequence, c.Bytes, micros = limited(name), known, l.Coll.Sequence.whole(), l.Coll.Bytes.whole(), l.Coll.Micros
	} else {
		c.Collective, c.Known, c.Sequence, c.Bytes, micros = "send_recv", true, l.P2P.Sequence.whole(), l.P2P.Bytes.whole(), l.P2P.Micros
	}
	// The bytes follow from the count of the call, which is one rank's part for all_gather and
	// reduce_scatter (inspectorComputeCollBw multiplies them by the ranks).
	if k, err := collective.ByName(c.Collective); err == nil && (k.SendShare || k.RecvShare) && c.Bytes > 0 {
		if ranks == 0 || c.Bytes > 1<<60/ranks {
			c.Bytes = trace.Unknown
		} else {
			c.Bytes *= ranks
		}
	}
	if micros.ok && micros.v > 0 {
		c.Took = micros.v / 1e6
	}
	return c
}
