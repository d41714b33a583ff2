package rails

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
	"zbench/bench/base/unit"
)

// Times are the calls of a running job.
type Times struct {
	Calls []Call
	// Hosts are the names of the nodes. Node gives the index in Hosts of each rank's node. Both are empty
	// if the file has no column for hosts.
	Hosts []string
	Node  map[int]int
}

// columns are the columns of a file of times, with their other names.
var columns = []struct {
	name  string
	other []string
}{
	{"rank", []string{"global_rank", "pid"}},
	{"collective", []string{"coll", "op", "operation", "name", "func"}},
	{"bytes", []string{"size", "message_size", "msg_size", "nbytes"}},
	{"start", []string{"start_time", "ts", "timestamp", "begin"}},
	{"duration", []string{"dur", "time", "elapsed"}},
	{"host", []string{"node", "hostname"}},
}

// ReadTimes reads a line for each call of each rank: rank, collective, bytes, start, duration, and
// optionally host. A header may name the columns in any order, and the unit of start and duration
// (start_us, duration_ms). Without a unit, start and duration are in seconds.
func ReadTimes(r io.Reader) (*Times, error) {
	all, err := lines(r)
	if err != nil {
		return nil, err
	}
	at, scale, headed, err := timesHeader(all[0].cells)
	if err != nil {
		return nil, fmt.Errorf("%w: line %d: %w", ErrFormat, all[0].number, err)
	}
	first := all[0]
	if headed {
		all = all[1:]
	}
	t := &Times{}
	hosts := map[string]int{}
	for _, row := range all {
		if len(row.cells) != len(first.cells) {
			return nil, fmt.Errorf("%w: line %d has %s, line %d %d: is a line end missing?", ErrFormat, row.number, plain.Count(len(row.cells), "cell"), first.number, len(first.cells))
		}
		c, host, err := call(row.cells, at, scale)
		if err != nil {
			return nil, fmt.Errorf("%w: line %d: %w", ErrFormat, row.number, err)
		}
		t.Calls = append(t.Calls, c)
		if host == "" {
			continue
		}
		if _, known := hosts[host]; !known {
			hosts[host] = len(t.Hosts)
			t.Hosts = append(t.Hosts, host)
		}
		if t.Node == nil {
			t.Node = map[int]int{}
		}
		if before, known := t.Node[c.Rank]; known && before != hosts[host] {
			return nil, fmt.Errorf("%w: line %d: rank %d is on host %s, and on %s before", ErrFormat, row.number, c.Rank, plain.Line(short(host)), plain.Line(short(t.Hosts[before])))
		}
		t.Node[c.Rank] = hosts[host]
	}
	if len(t.Calls) == 0 {
		return nil, fmt.Errorf("%w: there are no calls after the header", ErrFormat)
	}
	return t, nil
}

// timesHeader returns the index of each column, −1 if missing, and the units of start and duration in
// seconds. Without a header the cells are in the order of `columns`.
func timesHeader(cells []string) (at []int, scale [2]float64, headed bool, err error) {
	scale = [2]float64{1, 1}
	if len(cells) < 5 {
		return nil, scale, false, fmt.Errorf("%s; a line is rank, collective, bytes, start, duration", plain.Count(len(cells), "cell"))
	}
	if _, err := strconv.Atoi(cells[0]); err == nil {
		at = []int{0, 1, 2, 3, 4, -1}
		if len(cells) > 5 {
			at[5] = 5
		}
		return at, scale, false, nil
	}
	var missing []string
	for k, c := range columns {
		i := slices.IndexFunc(cells, func(cell string) bool {
			base, _ := timeUnit(cell)
			return base == c.name || slices.Contains(c.other, base)
		})
		at = append(at, i)
		if i < 0 && c.name != "host" {
			missing = append(missing, c.name)
		}
		if i >= 0 && (k == 3 || k == 4) {
			_, scale[k-3] = timeUnit(cells[i])
		}
	}
	if len(missing) > 0 {
		return nil, scale, true, fmt.Errorf("the header has no column %s", strings.Join(missing, ", "))
	}
	return at, scale, true, nil
}

// timeUnit removes the unit from a column's name: start_us, "dur (ms)", time[ns].
func timeUnit(cell string) (base string, seconds float64) {
	base = strings.ToLower(strings.TrimSpace(cell))
	trimmed := strings.TrimRight(base, ")]")
	for _, u := range []struct {
		name    string
		seconds float64
	}{{"us", 1e-6}, {"µs", 1e-6}, {"ms", 1e-3}, {"ns", 1e-9}, {"sec", 1}, {"s", 1}} {
		for _, mark := range []string{"_", " (", "(", " [", "["} {
			if cut, ok := strings.CutSuffix(trimmed, mark+u.name); ok {
				return strings.TrimSpace(cut), u.seconds
			}
		}
	}
	return base, 1
}

// call reads the call in one line of the file.
func call(cells []string, at []int, scale [2]float64) (c Call, host string, err error) {
	cell := func(k int) string {
		if at[k] < 0 || at[k] >= len(cells) {
			return ""
		}
		return cells[at[k]]
	}
	rank, err := strconv.Atoi(cell(0))
	if err != nil || rank < 0 {
		return c, "", fmt.Errorf("rank %q is not a whole number from 0", plain.Line(short(cell(0))))
	}
	if cell(1) == "" {
		return c, "", errors.New("the collective is empty")
	}
	for _, name := range []string{cell(1), cmp.Or(cell(5), "no host")} {
		if err := nameError(name); err != nil {
			return c, "", err
		}
	}
	bytes, err := unit.ParseBytes(cell(2))
	if err != nil {
		return c, "", fmt.Errorf("bytes: %w", err)
	}
	var seconds [2]float64
	for i, name := range []string{"start", "duration"} {
		v, gap, err := number(cell(3 + i))
		if err != nil || gap {
			return c, "", fmt.Errorf("%s %q is not a number", name, plain.Line(short(cell(3+i))))
		}
		seconds[i] = v * scale[i]
	}
	if seconds[1] < 0 {
		return c, "", fmt.Errorf("duration is at least 0, not %s", short(cell(4)))
	}
	return Call{Rank: rank, Collective: cell(1), Bytes: bytes, Start: seconds[0], Duration: seconds[1]}, cell(5), nil
}

// Place puts gpusPerNode ranks on each node, in order, if the file has no hosts.
func (t *Times) Place(gpusPerNode int) {
	if len(t.Hosts) > 0 || gpusPerNode < 1 {
		return
	}
	t.Node = map[int]int{}
	for _, c := range t.Calls {
		t.Node[c.Rank] = c.Rank / gpusPerNode
	}
	last := slice.Most(t.Calls, func(c Call) int { return c.Rank / gpusPerNode })
	if last >= mostEnds {
		return
	}
	for node := range last + 1 {
		t.Hosts = append(t.Hosts, strconv.Itoa(node))
	}
}
