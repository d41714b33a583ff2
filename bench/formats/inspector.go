package formats

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"

	"zbench/bench/collective"
	"zbench/bench/trace"
)

// NCCL's Inspector and RCCL's ACCL profiler write a JSON object a line: a collective with its
// bytes and its seconds, waiting included. Bandwidths in the file are not read.
func init() {
	register(Format{
		Name: "inspector", Title: "a log of NCCL's Inspector or of RCCL's ACCL profiler", Holds: Calls, rank: 40,
		recognise: func(head []byte) bool { return begins(head, '{') && has(head, `"coll_perf"`, `"p2p_perf"`) },
		read:      readInspector,
	})
}

type inspectorLine struct {
	Header struct {
		ID    word   `json:"id"`
		Name  word   `json:"comm_name"`
		Rank  number `json:"rank"`
		Ranks number `json:"n_ranks"`
	} `json:"header"`
	Metadata struct {
		Host word `json:"hostname"`
	} `json:"metadata"`
	Coll *struct {
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

// inspected is what a file has come to so far.
type inspected struct {
	t     *trace.Trace
	ranks map[int]*trace.Rank
	last  map[[2]int]int64 // the number of the last call, by rank and group
	// damaged lines are no records, lost calls are missing between others, fast ones have no time.
	damaged, fast, calls int
	lost                 int64
}

func readInspector(in *Input, t *trace.Trace) error {
	all := &inspected{t: t, ranks: map[int]*trace.Rank{}, last: map[[2]int]int64{}}
	r := bufio.NewReaderSize(in, 1<<20)
	for {
		line, err := r.ReadSlice('\n')
		if len(line) > 2 {
			all.line(line, in.Name)
		}
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = r.ReadSlice('\n')
		}
		if many := bounded(t, all.calls); many != nil {
			return many
		}
		switch {
		case errors.Is(err, io.EOF):
			all.finish()
			return nil
		case err != nil:
			return err //nolint:wrapcheck // the reader's own
		}
	}
}

func (all *inspected) line(text []byte, file string) {
	var l inspectorLine
	if json.Unmarshal(text, &l) != nil || l.Coll == nil && l.P2P == nil && l.Summary == nil {
		all.damaged++
		return
	}
	if s := l.Summary; s != nil {
		if n := max(s.Dropped.whole(), 0) + max(s.Leaked.whole(), 0); n > 0 {
			all.t.Note("the profiler dropped or lost %d collectives, by its own summary", n)
		}
		return
	}
	rank, ok := l.rank(all.t, all.ranks, file)
	if !ok {
		all.damaged++
		return
	}
	c := l.call(all.t)
	if c.Took == 0 {
		all.fast++
	}
	key := [2]int{rank.Rank, c.Group}
	if before, seen := all.last[key]; seen && c.Sequence > before+1 {
		all.lost += c.Sequence - before - 1
	}
	all.last[key] = c.Sequence
	rank.Calls = append(rank.Calls, c)
	all.calls++
}

func (all *inspected) finish() {
	if all.damaged > 0 {
		all.t.Note("%d lines are no records", all.damaged)
	}
	if all.lost > 0 {
		all.t.Note("the sequence numbers have gaps: %d calls are not in the file (the profiler's ring holds 1,024, and it leaves small messages out)", all.lost)
	}
	if all.fast > 0 {
		all.t.Note("%d calls have no time: the profiler counts whole microseconds", all.fast)
	}
}

func (l *inspectorLine) rank(t *trace.Trace, ranks map[int]*trace.Rank, file string) (*trace.Rank, bool) {
	n := l.Header.Rank.whole()
	if n < 0 || n >= maxRanks {
		return nil, false
	}
	r := ranks[int(n)]
	if r == nil {
		r = &trace.Rank{Rank: int(n), Host: limited(string(l.Metadata.Host)), File: file}
		ranks[int(n)] = r
		t.Ranks = append(t.Ranks, r)
	}
	return r, true
}

func (l *inspectorLine) call(t *trace.Trace) trace.Call {
	ranks := l.Header.Ranks.whole()
	if ranks < 0 || ranks > maxRanks {
		ranks = 0
	}
	t.World = max(t.World, int(ranks))
	c := trace.Call{In: trace.Unknown, Out: trace.Unknown, Group: t.Find(trace.Group{Name: limited(string(l.Header.ID)), Description: limited(string(l.Header.Name)), Size: int(ranks)})}
	var micros number
	if l.Coll != nil {
		name, known := trace.Named(string(l.Coll.Name))
		c.Collective, c.Known, c.Sequence, c.Bytes, micros = limited(name), known, l.Coll.Sequence.whole(), l.Coll.Bytes.whole(), l.Coll.Micros
	} else {
		c.Collective, c.Known, c.Sequence, c.Bytes, micros = "send_recv", true, l.P2P.Sequence.whole(), l.P2P.Bytes.whole(), l.P2P.Micros
	}
	// The bytes are those of the call's count, which is a rank's part for all_gather and
	// reduce_scatter (inspectorComputeCollBw multiplies them by the ranks).
	if k, err := collective.ByName(c.Collective); err == nil && (k.SendShare || k.RecvShare) && c.Bytes > 0 {
		if ranks == 0 || c.Bytes > 1<<60/ranks {
			c.Bytes = trace.Unknown
		} else {
			c.Bytes *= ranks
		}
	}
	if us := micros.whole(); us > 0 {
		c.Took = float64(us) / 1e6
	}
	return c
}
