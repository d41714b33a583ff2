package formats

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"zbench/bench/base/pattern"
	"zbench/bench/base/slice"
	"zbench/bench/base/unit"
	"zbench/bench/files/trace"
	"zbench/bench/hardware/collective"
	"zbench/bench/hardware/signs"
)

// With NCCL_DEBUG=INFO and NCCL_DEBUG_SUBSYS=COLL, NCCL and RCCL log a line for every call, without
// times. The ranks of a node write into one log, so lines may be cut or run into each other.
func init() {
	register(Format{
		Name: "coll-log", Title: "a log of NCCL_DEBUG_SUBSYS=COLL", Holds: Calls, rank: 60,
		recognise: func(head []byte) bool {
			return has(head, "NCCL INFO", "NCCL CALL") && !has(head, "# Using devices", "#       size") || has(head, " opCount ")
		},
		read: readCollLog,
	})
}

// collLine matches a call as NCCL logs it, with the fields acc (from 2.26 on), task and globalrank
// that RCCL adds. Its first groups are the host, the process and the device.
var (
	collLine = pattern.New(`([A-Za-z0-9_.-]+):(\d+):\d+ \[(\d+)\] NCCL INFO (\w+): opCount ([0-9a-f]+) sendbuff \S+ recvbuff \S+(?: acc \S+)? count (\d+) datatype (\d+) op (\d+) root (-?\d+) comm (0x[0-9a-f]+) \[nranks=(\d+)\] stream (0x[0-9a-f]+|\(nil\))(?: task \d+ globalrank (\d+))?`)
	collInit = pattern.New(`([A-Za-z0-9_.-]+):(\d+):\d+ \[(\d+)\] NCCL INFO [A-Za-z ]*comm 0x[0-9a-f]+ rank (\d+) n[rR]anks (\d+)`)
)

// maxLine is the largest number of bytes of a line that are read.
const maxLine = 64 << 10

type collLog struct {
	t *trace.Trace
	// The list `all` has one rank per process and device, in order of appearance. The map `of`
	// holds the same ranks by process and device. The map `met` holds each rank by host, process
	// and device as written in the lines.
	all []*collRank
	of  map[string][]*collRank
	met map[string]*collRank
	// broken is the number of lines with an unreadable call. lines is the number of all lines.
	// tuning is the number of lines of NCCL_DEBUG_SUBSYS=TUNING.
	broken, lines, tuning int
	signs                 signs.Reader
}

// collRank is a rank of the job: a device of a process. Its number is its rank in its largest
// communicator.
type collRank struct {
	trace.Rank
	// comms numbers the rank's communicators by their addresses, which differ from rank to rank.
	comms map[string]int
}

// number stores the rank's number in a communicator of the given size.
func (r *collRank) number(rank, size int64) {
	if rank >= 0 && rank < size && size <= maxRanks && int(size) > r.Within {
		r.Rank.Rank, r.Within = int(rank), int(size)
	}
}

func readCollLog(in *Input, t *trace.Trace) error {
	l := &collLog{t: t, of: map[string][]*collRank{}, met: map[string]*collRank{}}
	calls := 0
	err := eachLine(in, maxLine, func(line []byte) error {
		calls += l.line(line, in.Name)
		if len(l.all) > maxGroups {
			return fmt.Errorf("%w: over %d ranks in one file", ErrDamaged, maxGroups)
		}
		return bounded(t, calls)
	})
	if err == nil {
		for _, f := range l.signs.Found(false) {
			f.Subjects = slice.Map(f.Subjects, limited)
			t.Signs = append(t.Signs, trace.Sign{Found: f, File: in.Name})
		}
		if l.tuning > 0 && calls == 0 {
			t.Instead = fmt.Sprintf("%s has %s of NCCL_DEBUG_SUBSYS=TUNING: a collective and its bytes, and not which communicator and call it is; set NCCL_DEBUG_SUBSYS=INIT,COLL beside it", in.Name, unit.Count(int64(l.tuning), "line"))
		}
		l.finish()
	}
	return err
}

// eachLine calls visit for each line of a file, including a last line without a newline. The
// argument `most` is the largest number of bytes that it passes. It cuts longer lines.
func eachLine(in io.Reader, most int, visit func(line []byte) error) error {
	r := bufio.NewReaderSize(in, most)
	for {
		line, err := r.ReadSlice('\n')
		if err := visit(line); err != nil {
			return err
		}
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = r.ReadSlice('\n')
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err //nolint:wrapcheck // the reader's own error
		}
	}
}

func (l *collLog) line(line []byte, file string) (calls int) {
	l.lines++
	l.signs.Take(l.lines, string(line))
	if bytes.Contains(line, []byte(" Bytes -> Algo ")) {
		l.tuning++
	}
	if has(line, " nranks ", " nRanks ") {
		if m := collInit.FindSubmatch(line); m != nil {
			l.rank(m, file).number(parsed(m[4], 10), parsed(m[5], 10))
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

// parsed returns the number in a text, or Unknown if the text is not a number.
func parsed(text []byte, base int) int64 {
	n, err := strconv.ParseInt(string(text), base, 64)
	if err != nil {
		return trace.Unknown
	}
	return n
}

func (l *collLog) call(m [][]byte, file string) bool {
	number := func(i, base int) int64 { return parsed(m[i], base) }
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
		if k.SendShare || k.RecvShare || k.Shares { // the count is one rank's part
			counted.Collective, counted.In, counted.Out = "", c.In*size, c.In*size
		}
	}
	counted.Size(int(size))
	c.Bytes = counted.Bytes
	r := l.rank(m, file)
	r.number(number(13, 10), size)
	c.Group = l.t.Find(trace.Group{Name: "#" + strconv.Itoa(numbered(r.comms, string(m[10]))), Size: int(size)})
	l.t.World = max(l.t.World, int(size))
	r.Calls = append(r.Calls, c)
	return true
}

// rank returns the rank that wrote a line. The end of another line may run into the host's name, so
// hosts are compared by their ends.
func (l *collLog) rank(m [][]byte, file string) *collRank {
	host, key := limited(string(m[1])), string(m[2])+":"+string(m[3])
	whole := host + ":" + key
	if r := l.met[whole]; r != nil {
		return r
	}
	for _, r := range l.of[key] {
		if strings.HasSuffix(host, r.Host) || strings.HasSuffix(r.Host, host) {
			if len(host) < len(r.Host) {
				r.Host = host
			}
			l.met[whole] = r
			return r
		}
	}
	r := &collRank{Rank: trace.Rank{Rank: trace.Unknown, Host: host, PID: int(parsed(m[2], 10)), Device: int(parsed(m[3], 10)), File: file}, comms: map[string]int{}}
	l.of[key], l.all, l.met[whole] = append(l.of[key], r), append(l.all, r), r
	return r
}

// finish adds notes that say how complete each rank's calls are.
func (l *collLog) finish() {
	t := l.t
	longest := map[int]int64{}
	for _, r := range l.all {
		if len(r.Calls) == 0 {
			continue
		}
		t.Ranks = append(t.Ranks, &r.Rank)
		for i := range r.Calls {
			longest[r.Calls[i].Group] = max(longest[r.Calls[i].Group], r.Calls[i].Sequence)
		}
	}
	slices.SortFunc(t.Ranks, func(a, b *trace.Rank) int {
		return cmp.Or(cmp.Compare(a.Rank, b.Rank), strings.Compare(a.Host, b.Host), cmp.Compare(a.Device, b.Device), cmp.Compare(a.PID, b.PID))
	})
	if l.broken > 0 {
		t.Note("%d calls cannot be read: their lines are cut, or run into another's", l.broken)
	}
	l.doubt()
	alike := map[string][]*trace.Rank{} // ranks by how complete their calls are
	for _, r := range t.Ranks {
		text := state(r, longest)
		alike[text] = append(alike[text], r)
	}
	for _, text := range slices.SortedFunc(maps.Keys(alike), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(alike[a]), len(alike[b])), strings.Compare(a, b))
	}) {
		t.Note("%s: %s", trace.NamesOf(alike[text]), text)
	}
}

// doubt sets Doubtful for groups that cannot be told apart because the log lacks their first calls.
// Two groups of one size, for example, differ only in the order of their first calls, and each
// rank's calls may begin with another group.
func (l *collLog) doubt() {
	for _, r := range l.all {
		met := map[int]bool{}
		begun, late := map[int][]int{}, map[int]bool{} // the rank's groups by size, and the sizes with a group that begins late
		for i := range r.Calls {
			c := &r.Calls[i]
			if met[c.Group] {
				continue
			}
			met[c.Group] = true
			size := l.t.Groups[c.Group].Size
			begun[size], late[size] = append(begun[size], c.Group), late[size] || c.Sequence > 0
		}
		for _, size := range slices.Sorted(maps.Keys(begun)) {
			for _, g := range begun[size] {
				if group := &l.t.Groups[g]; len(begun[size]) > 1 && late[size] && !group.Doubtful {
					group.Doubtful = true
					l.t.Note("the calls of %s are not compared over ranks: it has as many ranks as another group, and the log begins behind their first calls", group.Title())
				}
			}
		}
	}
}

// state describes how complete a rank's calls are. They are complete if their numbers begin at 0,
// have no gap, and end with the highest number in the group.
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
		return fmt.Sprintf("all %s", unit.Count(int64(n), "call"))
	case tail:
		return fmt.Sprintf("%s, from opCount %d (%x) on; what was before is not in the file", unit.Count(int64(n), "call"), first, first)
	default:
		return fmt.Sprintf("%s; others are missing", unit.Count(int64(n), "call"))
	}
}
