package peers

import (
	"errors"
	"fmt"
	"math"

	"zbench/bench/collective"
	"zbench/bench/record"
	"zbench/bench/stat"
)

// builder collects rows into results.
type builder struct {
	rec   *record.Record
	index map[string]int
	// These run parallel to rec.Results.
	owner   []setting
	seconds [][]float64
	bus     [][]float64
	rows    int
	skips   skips
	// separate is the number of rows refused because another world measured
	// the same case.
	separate int
}

// build makes the record. Only Import.File, SHA256 and Lines stay empty.
func (s *scan) build(o Options) (*record.Record, error) {
	if o.Collective != "" {
		if _, err := collective.ByName(o.Collective); err != nil {
			return nil, unsupported{o.Collective}
		}
	}
	b := &builder{rec: &record.Record{Schema: record.Schema}, index: map[string]int{}}
	var tables []*test
	var used []setting
	var lacks unsupported
	for _, t := range s.tests {
		if t.layout == nil {
			b.skips.merge(t.skips...)
			continue
		}
		tables = append(tables, t)
		set, err := s.resolve(t, o)
		switch {
		case errors.As(err, &lacks):
			t.skipRows(lacks.Error())
		case err != nil:
			return nil, err
		case t.whole():
			s.checkAverage(t)
		}
		b.addTest(s, set)
		if len(t.rows) > 0 {
			used = append(used, set)
			s.tableWarnings(set)
		}
		b.skips.merge(t.skips...)
	}
	s.noteWarnings()
	if len(tables) == 0 {
		return nil, s.noTable()
	}
	s.separateWarning(b, tables)
	if len(b.rec.Results) == 0 {
		return nil, s.noRows(b, lacks)
	}
	b.finish()
	s.fill(b.rec, tables, used)
	b.rec.Source.Imports[0].Rows, b.rec.Source.Imports[0].Skipped = b.rows, append([]record.Skip{}, b.skips...)
	return b.rec, nil
}

// noRows explains why tables gave no result.
func (s *scan) noRows(b *builder, lacks unsupported) error {
	why := b.skips.text()
	if why == "" {
		why = "the table has no rows"
	}
	for _, w := range s.warnings {
		why += "; " + w.Message
	}
	err := ErrNoRows
	if lacks != (unsupported{}) {
		err = ErrCollective
	}
	return fmt.Errorf("%w: %s", err, why)
}

// addTest adds the rows of a test that do not clash with another world's.
func (b *builder) addTest(s *scan, set setting) {
	t, taken := set.test, []row{}
	for _, r := range t.rows {
		if b.clash(set, r) {
			t.skips.add("another process or set of hosts in this log measured the same case, and the two are not repeats", r.line)
			b.separate++
			continue
		}
		for _, sd := range r.sides[:r.n] {
			if i, ok := b.index[set.key(r, sd.inPlace)]; ok {
				s.repeatWarning(set, b.owner[i].test)
			}
			b.addSide(set, r, sd)
		}
		taken = append(taken, r)
		b.rows++
	}
	t.rows = taken
}

// repeatWarning says what was taken for a repeat without the log saying so.
func (s *scan) repeatWarning(set setting, earlier *test) {
	t := set.test
	oneProcess := len(t.worlds) == 0 || len(t.worlds[0].procs) == 1
	switch {
	case earlier != t:
		s.warn("repeated_table", "if they ran with different settings, import them separately",
			"two tables hold the same cases of %s in the same world: they are taken for repeats", set.Name)
	case !t.cycles && oneProcess:
		s.warn("repeated_rows", "if several processes wrote at once (tests built without MPI), import the output of one",
			"a table of %s holds cases more than once and marks no cycles: they are taken for repeats", set.Name)
	}
}

// op is the reduction operator of a row, where the collective has one.
func (set setting) op(r row) string {
	if !set.Reduces {
		return ""
	}
	return reduction(r.op)
}

// dtype is a row's element type under zbench's name where it has one.
func dtype(name string) string {
	if d, err := collective.DtypeByName(name); err == nil {
		return d.Name
	}
	return name
}

func (set setting) key(r row, inPlace bool) string {
	return record.Key(set.Name, dtype(r.dtype), set.op(r), r.bytes, set.ranks, set.perProc, inPlace)
}

// clash reports whether a row's case was measured already by another world:
// then the row is no repeat of it.
func (b *builder) clash(set setting, r row) bool {
	for _, sd := range r.sides[:r.n] {
		if i, ok := b.index[set.key(r, sd.inPlace)]; ok && !repeats(b.owner[i], set) {
			return true
		}
	}
	return false
}

// repeats reports whether two tests ran in the same world, one after the other.
// Of one-rank worlds that cannot be known: a program built without MPI makes
// one such world per process.
func repeats(a, b setting) bool {
	x, y := a.test, b.test
	if x.mixed() || y.mixed() || x.stream != y.stream {
		return false
	}
	if x == y {
		return true
	}
	if len(x.worlds) == 0 || len(y.worlds) == 0 {
		return a.ranks != 1
	}
	return a.ranks > 1 && a.hosts == b.hosts
}

// addSide adds one side of a row as a new result or as a further sample.
func (b *builder) addSide(set setting, r row, sd cellSide) {
	key := set.key(r, sd.inPlace)
	i, ok := b.index[key]
	if !ok {
		i = len(b.rec.Results)
		b.index[key] = i
		b.rec.Results = append(b.rec.Results, record.Result{
			Key: key, Collective: set.Name, Dtype: dtype(r.dtype), Op: set.op(r),
			BytesRequested: r.bytes, Bytes: r.bytes, Count: r.elements,
			Ranks: set.ranks, Nodes: set.nodes, GPUsPerProcess: set.perProc, Groups: 1,
			InPlace: sd.inPlace, Status: record.OK, Warnings: []record.Warning{},
		})
		b.owner, b.seconds, b.bus = append(b.owner, set), append(b.seconds, nil), append(b.bus, nil)
	}
	res := &b.rec.Results[i]
	b.seconds[i] = append(b.seconds[i], scaled(sd.time, set.unit))
	b.bus[i] = append(b.bus[i], scaled(sd.bus, 1e9))
	verify(res, set.test, sd, !ok)
	set.sideWarnings(res, r, sd)
}

// sideWarnings says what is doubtful about one printed time.
func (set setting) sideWarnings(res *record.Result, r row, sd cellSide) {
	time, _ := parseNumber(sd.time)
	if time.half/time.v > telling {
		res.Warnings = append(res.Warnings, record.Warning{
			Code:    "coarse_time",
			Message: fmt.Sprintf("line %d: the log prints the time as %s", r.line, sd.time),
			Hint:    "too few digits to compare; leave this size out",
		})
	}
	switch f, ratio := set.BusFactor(max(set.ranks, 1)), sd.ratio(r.bytes, set.unit); {
	case !set.factor:
		res.Warnings = append(res.Warnings, record.Warning{
			Code:    "printed_busbw",
			Message: fmt.Sprintf("line %d: busbw is the printed %s GB/s", r.line, sd.bus),
			Hint:    "pass --ranks so that it can be computed from the time",
		})
	case f*(1+slack) < ratio.lo || f*(1-slack) > ratio.hi:
		res.Warnings = append(res.Warnings, record.Warning{
			Code:    "busbw_mismatch",
			Message: fmt.Sprintf("line %d: the log prints busbw %s GB/s, which its time does not give", r.line, sd.bus),
			Hint:    "busbw here is computed from the time; check the line",
		})
	}
}

// finish summarises the samples.
func (b *builder) finish() {
	for i := range b.rec.Results {
		res, set := &b.rec.Results[i], b.owner[i]
		res.Burst = &record.Timing{Iterations: set.test.iters, MeanOfRanks: stat.Summarize(b.seconds[i])}
		if set.factor {
			res.SetHeadline(set.BusFactor(set.ranks))
			continue
		}
		res.SetHeadline(0)
		printed := stat.Quantile(b.bus[i], 0.5)
		res.BusBW = &printed
	}
}

// whole reports whether every row was taken, but for those of size 0.
func (t *test) whole() bool {
	return len(t.skips) == 0 || len(t.skips) == 1 && t.skips[0].Reason == sizeZero
}

// checkAverage compares the log's average busbw with that of the rows: a
// difference means that rows were lost or misread.
func (s *scan) checkAverage(t *test) {
	if t.average == nil || t.mixed() || t.continues || len(t.rows) == 0 {
		return
	}
	sum, n := 0.0, 0
	add := func(v number) { sum, n = sum+v.v, n+1 }
	for _, v := range t.emptyBus {
		add(v)
	}
	for _, r := range t.rows {
		for _, v := range r.printedBus() {
			add(v)
		}
	}
	// Each printed busbw is rounded to 0.01 GB/s.
	if mean := sum / float64(n); math.Abs(mean-t.average.v) > max(slack*t.average.v, 0.006) {
		s.warn("average_mismatch", "rows were lost or misread: compare the record with the log", "the log's average bus bandwidth is %g GB/s, that of the rows read is %.4g GB/s", t.average.v, mean)
	}
}
