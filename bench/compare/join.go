package compare

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"zbench/bench/collective"
	"zbench/bench/plain"
	"zbench/bench/record"
	"zbench/bench/stat"
	"zbench/bench/unit"
)

// joined is a case of both sides; observed is nil where it cannot be compared.
type joined struct {
	Case
	observed *observed
}

// entry is one case of one run: its times by kind, and how it ended.
type entry struct {
	key, pool string
	bytes     int64
	// result or row is the case in the record.
	rec    *record.Record
	result *record.Result
	row    *record.Kernel
	kernel *stat.Summary
	status record.Status
	reason string
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
	{"burst", func(e *entry) *stat.Summary { return part(e.burst(), false) }},
	{"burst_slowest", func(e *entry) *stat.Summary { return part(e.burst(), true) }},
	{"isolated", func(e *entry) *stat.Summary { return part(e.isolated(), true) }},
	{"isolated_mean", func(e *entry) *stat.Summary { return part(e.isolated(), false) }},
	{"kernel", func(e *entry) *stat.Summary { return e.kernel }},
}

// part is the mean of ranks or the slowest rank of one way of timing.
func part(t *record.Timing, slowest bool) *stat.Summary {
	switch {
	case t == nil:
		return nil
	case slowest:
		return t.MaxOfRanks
	}
	return t.MeanOfRanks
}

func (e *entry) burst() *record.Timing {
	if e.result == nil {
		return nil
	}
	return e.result.Burst
}

func (e *entry) isolated() *record.Timing {
	if e.result == nil {
		return nil
	}
	return e.result.Isolated
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
	for i := range rec.Results {
		r := &rec.Results[i]
		out = append(out, &entry{key: r.Key, pool: r.Collective, bytes: max(r.Bytes, r.BytesRequested), result: r, status: r.Status, reason: r.Reason})
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

// groupOf is all that tells a collective's case from others but its size.
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

// kernelGroup names a kernel's row.
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

// join matches the cases of all runs by key, in BASE's order, then what only NEW has.
func join(base, fresh []member, o Options) []joined {
	var order []string
	cases := map[string]*[2][]*entry{}
	for s, runs := range [][]member{base, fresh} {
		for i, run := range runs {
			for _, e := range run.entries {
				c := cases[e.key]
				if c == nil {
					c = &[2][]*entry{make([]*entry, len(base)), make([]*entry, len(fresh))}
					cases[e.key] = c
					order = append(order, e.key)
				}
				if c[s][i] == nil { // a key twice in a record keeps the first
					c[s][i] = e
				}
			}
		}
	}
	out := make([]joined, 0, len(order))
	for _, key := range order {
		out = append(out, pair(cases[key], o))
	}
	first := map[string]int{} // a log has the rows of two placements in turns
	for i := len(out) - 1; i >= 0; i-- {
		first[out[i].Group] = i
	}
	slices.SortStableFunc(out, func(a, b joined) int {
		return cmp.Or(cmp.Compare(first[a.Group], first[b.Group]), cmp.Compare(a.Bytes, b.Bytes))
	})
	return out
}

// pair makes a case of its entries in both sides.
func pair(sides *[2][]*entry, o Options) joined {
	j := joined{}
	for _, e := range slices.Concat(sides[0], sides[1]) {
		if e != nil {
			j.Case = Case{Key: e.key, Group: e.group(), Bytes: e.bytes, Verdict: NotChecked, factor: e.factor()}
			j.observed = &observed{pool: e.pool}
			break
		}
	}
	for s, name := range []string{"BASE", "NEW"} {
		if why, bad := trouble(sides[s]); why != "" && j.Reason == "" {
			j.Reason = why + " in " + name
			j.Broken = bad && s == 1
		}
	}
	for _, kind := range timings {
		if o.Timing != "" && o.Timing != kind.name {
			continue
		}
		base, fresh := values(sides[0], kind.of), values(sides[1], kind.of)
		if len(base) > 0 && len(fresh) > 0 && !j.Broken {
			j.Timing, j.Reason = kind.name, ""
			j.observed.fill(base, fresh)
			return j
		}
	}
	j.observed = nil
	if j.Reason == "" {
		j.Reason = unmatched(sides, o)
	}
	return j
}

// present tells whether any run of a side has the case.
func present(side []*entry) bool {
	return slices.ContainsFunc(side, func(e *entry) bool { return e != nil })
}

// trouble is why a side has no value of a case, or why its value is not to be trusted:
// then bad is true. A side with a time in some runs and no failure has no trouble.
func trouble(side []*entry) (why string, bad bool) {
	if !present(side) {
		return "missing", false
	}
	usable := false
	for _, e := range side {
		switch {
		case e == nil:
		case e.status == record.Failed || e.status == record.WrongData:
			return strings.ReplaceAll(string(e.status), "_", " ") + ": " + plain.Text(e.reason), true
		case e.status == record.OK:
			usable = true
		case why == "":
			why = strings.ReplaceAll(string(e.status), "_", " ") + ": " + plain.Text(e.reason)
		}
	}
	if usable {
		return "", false
	}
	return why, false
}

// value is a run's log median of a case.
type value struct {
	run                   int
	log, rounding, within float64
}

// values are those of a side, of the runs that have them.
func values(side []*entry, of func(*entry) *stat.Summary) []value {
	var out []value
	for i, e := range side {
		if e == nil || e.status != record.OK {
			continue
		}
		s := of(e)
		if s == nil {
			continue
		}
		log, ok := logOf(s.Median)
		if !ok {
			continue
		}
		v := value{run: i, log: log}
		if s.Lo != nil && s.Hi != nil && *s.Hi > *s.Lo {
			v.within = square((*s.Hi - *s.Lo) / 2 / 1.96 / s.Median)
		}
		if t := e.burst(); t != nil && t.Rounding != nil && of(e) == t.MeanOfRanks {
			v.rounding = square((t.Rounding.Hi-t.Rounding.Lo)/s.Median) / 12
		}
		out = append(out, v)
	}
	return out
}

func square(x float64) float64 { return x * x }

// fill takes the values of both sides.
func (c *observed) fill(base, fresh []value) {
	n := float64(len(base) + len(fresh))
	for _, v := range slices.Concat(base, fresh) {
		c.rounding += v.rounding / n
		c.within += v.within / n
	}
	for _, v := range base {
		c.base, c.baseRuns = append(c.base, v.log), append(c.baseRuns, v.run)
	}
	for _, v := range fresh {
		c.new, c.newRuns = append(c.new, v.log), append(c.newRuns, v.run)
	}
}

// unmatched says which kinds of time each side has.
func unmatched(sides *[2][]*entry, o Options) string {
	kinds := func(side []*entry) string {
		var names []string
		for _, kind := range timings {
			if len(values(side, kind.of)) > 0 {
				names = append(names, kind.name)
			}
		}
		if len(names) == 0 {
			return "no time"
		}
		return strings.Join(names, " and ")
	}
	base, fresh := kinds(sides[0]), kinds(sides[1])
	if o.Timing != "" {
		return fmt.Sprintf("no %s time on both sides: BASE has %s, NEW %s", o.Timing, base, fresh)
	}
	return fmt.Sprintf("different times: BASE has %s, NEW %s", base, fresh)
}
