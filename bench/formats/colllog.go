package formats

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"zbench/bench/collective"
	"zbench/bench/pattern"
	"zbench/bench/trace"
)

// The log of NCCL and RCCL with NCCL_DEBUG=INFO and NCCL_DEBUG_SUBSYS=COLL has a line for every
// call and no times. A node's ranks share it, so lines may be cut and run into each other.
func init() {
	register(Format{
		Name: "coll-log", Title: "a log of NCCL_DEBUG_SUBSYS=COLL", Holds: Calls, rank: 60,
		recognise: func(head []byte) bool {
			return has(head, "NCCL INFO", "NCCL CALL") && !has(head, "# Using devices", "#       size") || has(head, " opCount ")
		},
		read: readCollLog,
	})
}

// collLine is a call: NCCL's form, with RCCL's acc (from 2.26 on), task and globalrank.
// It begins behind the host, the process and the device.
var (
	collLine = pattern.New(`([A-Za-z][A-Za-z0-9.-]*):(\d+):\d+ \[(\d+)\] NCCL INFO (\w+): opCount ([0-9a-f]+) sendbuff \S+ recvbuff \S+(?: acc \S+)? count (\d+) datatype (\d+) op (\d+) root (-?\d+) comm (0x[0-9a-f]+) \[nranks=(\d+)\] stream (0x[0-9a-f]+|\(nil\))(?: task \d+ globalrank (\d+))?`)
	collInit = pattern.New(`([A-Za-z][A-Za-z0-9.-]*):(\d+):\d+ \[\d+\] NCCL INFO [A-Za-z ]*comm (0x[0-9a-f]+) rank (\d+) nranks (\d+)`)
)

// maxLine is the longest line that is looked at.
const maxLine = 64 << 10

type collLog struct {
	t     *trace.Trace
	of    map[string]*trace.Rank // by process and communicator, or by rank
	named map[string]int         // rank by process and communicator, from the lines of its making
	// order numbers the communicators of a process, whose addresses differ from rank to rank.
	order map[string]map[string]int
	// process is the rank of a process and communicator, where a line of a call tells.
	process map[string]int
	// broken is the number of lines with a call that cannot be read.
	broken int
}

func readCollLog(in *Input, t *trace.Trace) error {
	l := &collLog{t: t, of: map[string]*trace.Rank{}, named: map[string]int{}, order: map[string]map[string]int{}, process: map[string]int{}}
	r := bufio.NewReaderSize(in, maxLine)
	calls := 0
	for {
		line, err := r.ReadSlice('\n')
		n := l.line(line, in.Name)
		calls += n
		if err := bounded(t, calls); err != nil {
			return err
		}
		for errors.Is(err, bufio.ErrBufferFull) { // the rest of a long line
			_, err = r.ReadSlice('\n')
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
	}
	l.finish()
	return nil
}

func (l *collLog) line(line []byte, file string) (calls int) {
	if bytes.Contains(line, []byte(" nranks ")) {
		if m := collInit.FindSubmatch(line); m != nil {
			if n, err := strconv.Atoi(string(m[4])); err == nil {
				l.named[process(m[2], m[3])] = n
			}
		}
	}
	if !bytes.Contains(line, []byte("opCount")) {
		return 0
	}
	found := collLine.FindAllSubmatch(line, -1)
	l.broken += max(bytes.Count(line, []byte("opCount"))-len(found), 0)
	for _, m := range found {
		if !l.call(m, file) {
			l.broken++
		}
	}
	return len(found)
}

// process tells the ranks of a node apart by their process and communicator. Their host's name
// may have another line's letters in front.
func process(pid, comm []byte) string { return string(pid) + ":" + string(comm) }

func (l *collLog) call(m [][]byte, file string) bool {
	number := func(i, base int) int64 {
		n, err := strconv.ParseInt(string(m[i]), base, 64)
		if err != nil {
			return trace.Unknown
		}
		return n
	}
	size := number(11, 10)
	c := trace.Call{Sequence: number(5, 16), In: number(6, 10), Dtype: trace.TypeNumbered(int(number(7, 10))), Op: trace.OpNumbered(int(number(8, 10))), Stream: string(m[12])}
	if c.Sequence < 0 || c.In < 0 || size < 1 || size > maxRanks {
		return false
	}
	c.Out = c.In
	c.Collective, c.Known = trace.Named(string(m[4]))
	counted := c
	if k, err := collective.ByName(c.Collective); err == nil {
		if !k.Reduces {
			c.Op = ""
		}
		if k.SendShare || k.RecvShare || k.Shares { // the count is that of a rank's part
			counted.Collective, counted.In, counted.Out = "", c.In*size, c.In*size
		}
	}
	counted.Size(int(size))
	c.Bytes = counted.Bytes
	r, key := l.rank(m, number(13, 10), size, file)
	comms := l.order[key]
	if comms == nil {
		comms = map[string]int{}
		l.order[key] = comms
	}
	if _, met := comms[string(m[10])]; !met {
		comms[string(m[10])] = len(comms)
	}
	c.Group = l.t.Find(trace.Group{Name: "#" + strconv.Itoa(comms[string(m[10])]), Size: int(size)})
	l.t.World = max(l.t.World, int(size))
	r.Calls = append(r.Calls, c)
	return true
}

// rank is the rank of a line: it tells itself, or a line of the same process does.
func (l *collLog) rank(m [][]byte, told, size int64, file string) (r *trace.Rank, key string) {
	key = process(m[2], m[10])
	rank := trace.Unknown
	if told >= 0 && told < size {
		rank = int(told)
		l.process[key] = rank
	} else if n, ok := l.named[key]; ok {
		rank = n
		l.process[key] = rank
	} else if n, ok := l.process[key]; ok { // a cut line of a rank that others name
		rank = n
	}
	if rank >= 0 {
		key = strconv.Itoa(rank)
	}
	if r = l.of[key]; r == nil {
		r = &trace.Rank{Rank: rank, Host: string(m[1]), File: file}
		l.of[key] = r
	}
	return r, key
}

// finish says what of each rank is there.
func (l *collLog) finish() {
	t := l.t
	for key, rank := range l.process { // calls before the first line that names their rank
		early, r := l.of[key], l.of[strconv.Itoa(rank)]
		if early != nil && r != nil {
			r.Calls = append(early.Calls, r.Calls...)
			delete(l.of, key)
		}
	}
	longest := map[int]int64{}
	for _, r := range l.of {
		t.Ranks = append(t.Ranks, r)
		for i := range r.Calls {
			longest[r.Calls[i].Group] = max(longest[r.Calls[i].Group], r.Calls[i].Sequence)
		}
	}
	slices.SortFunc(t.Ranks, func(a, b *trace.Rank) int {
		return cmp.Or(cmp.Compare(a.Rank, b.Rank), strings.Compare(a.Host, b.Host))
	})
	if l.broken > 0 {
		t.Note("%d calls cannot be read: their lines are cut, or run into another's", l.broken)
	}
	for _, r := range t.Ranks {
		t.Note("rank %s: %s", trace.Number(r.Rank), state(r, longest))
	}
}

// state says how much of a rank's calls is there: a rank whose numbers begin at 0, have no gap
// and end with the longest of the group is whole.
func state(r *trace.Rank, longest map[int]int64) string {
	type span struct{ first, last, n int64 }
	of := map[int]span{}
	for i := range r.Calls {
		c := &r.Calls[i]
		s, ok := of[c.Group]
		if !ok {
			s.first = c.Sequence
		}
		of[c.Group] = span{min(s.first, c.Sequence), max(s.last, c.Sequence), s.n + 1}
	}
	whole, tail, first := true, true, int64(0)
	for g, s := range of {
		end := s.last == longest[g] && s.n == s.last-s.first+1
		whole, tail, first = whole && end && s.first == 0, tail && end, max(first, s.first)
	}
	switch n := len(r.Calls); {
	case whole:
		return fmt.Sprintf("all %d calls", n)
	case tail:
		return fmt.Sprintf("%d calls, from opCount %d (%x) on; what was before is not in the file", n, first, first)
	default:
		return fmt.Sprintf("%d calls; others are missing", n)
	}
}
