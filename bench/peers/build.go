package peers

import (
	"errors"
	"fmt"
	"slices"

	"zbench/bench/collective"
	"zbench/bench/record"
)

// builder collects rows into results.
type builder struct {
	rec     *record.Record
	index   map[resultKey]*building
	results []*building
	setups  setups
	rows    int
	skips   skips
	// seen has the cases that are measured, in whatever setup.
	seen map[caseKey]bool
	// separate is the number of rows refused because another world measured
	// the same case.
	separate int
}

// curveKey is what the keys of results have in common that differ in size,
// placement and setup.
type curveKey struct {
	collective, dtype, op string
	ranks, perProc        int
}

// caseKey is one case.
type caseKey struct {
	curveKey
	bytes   int64
	inPlace bool
}

// resultKey is one case in one setup.
type resultKey struct {
	caseKey
	setup *setup
}

// slot is the number of a case, and whether it is in place.
type slot struct {
	of      int32
	inPlace bool
}

// build makes the record. Only Import.File, SHA256 and Lines stay empty.
func (s *scan) build(o Options) (*record.Record, error) {
	if o.Collective != "" {
		if _, err := collective.ByName(o.Collective); err != nil {
			return nil, unsupported{o.Collective}
		}
	}
	b := &builder{rec: &record.Record{Schema: record.Schema}, index: map[resultKey]*building{}, seen: map[caseKey]bool{}}
	var tables []*test
	var used []*setting
	var lacks unsupported
	for _, t := range s.tests {
		t.giveUp()
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
		if t.rows.n > 0 {
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
	if len(b.results) == 0 {
		return nil, s.noRows(b, lacks)
	}
	b.finish(s)
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

// addTest adds the rows of a test.
func (b *builder) addTest(s *scan, set *setting) {
	t := set.test
	if t.rows.n == 0 {
		return
	}
	set.setup = b.setups.of(set)
	b.refuseClashes(set)
	// at has where the samples of a case of this test go, more how many there are.
	at, more := map[slot]*building{}, map[slot]int{}
	for r := range t.rows.all() {
		for i := range r.sides[:r.n] {
			more[slot{r.of, r.inPlace[i]}]++
		}
	}
	for r := range t.rows.all() {
		for i := range r.sides[:r.n] {
			where := slot{r.of, r.inPlace[i]}
			into, again := at[where]
			if again {
				s.repeatedRows(set)
			} else {
				into = b.result(s, set, set.caseOf(r, r.inPlace[i]), t.log.list[r.of])
				into.samples = slices.Grow(into.samples, more[where])
				at[where] = into
			}
			verify(into.res, t, r.sides[i].wrong, len(into.samples) == 0)
			into.samples = append(into.samples, &r.sides[i])
			into.countWarning(set, r, &r.sides[i])
		}
		b.rows++
	}
	if failed := t.unattributed(); failed > 0 {
		for _, into := range at {
			failRun(into.res, failed)
		}
	}
}

// result finds the result of a case in a setup, or begins it.
func (b *builder) result(s *scan, set *setting, c caseKey, printed printedCase) *building {
	key := resultKey{c, set.setup}
	if into := b.index[key]; into != nil {
		s.repeatedTable(set, into.owner)
		return into
	}
	into := &building{owner: set, res: &record.Result{
		Key:        record.Key(c.collective, c.dtype, c.op, c.bytes, c.ranks, c.perProc, c.inPlace),
		Collective: c.collective, Dtype: c.dtype, Op: c.op,
		BytesRequested: c.bytes, Bytes: c.bytes, Count: printed.elements,
		Ranks: c.ranks, Nodes: set.nodes, GPUsPerProcess: c.perProc, Groups: 1,
		InPlace: c.inPlace, Status: record.OK, Warnings: []record.Warning{},
	}}
	b.index[key], b.seen[c] = into, true
	b.results = append(b.results, into)
	b.setups.use(c.curveKey, set.setup)
	return into
}

// refuseClashes leaves out the rows of programs that wrote at once whose case is
// measured already: nothing tells whose they are.
func (b *builder) refuseClashes(set *setting) {
	t := set.test
	if !t.mixed() {
		return
	}
	here := map[caseKey]bool{}
	t.refuse(func(r *row) string {
		for i := range r.sides[:r.n] {
			if c := set.caseOf(r, r.inPlace[i]); b.seen[c] || here[c] {
				b.separate++
				return "another process or set of hosts in this log measured the same case, and the two are not repeats"
			}
		}
		for i := range r.sides[:r.n] {
			here[set.caseOf(r, r.inPlace[i])] = true
		}
		return ""
	})
}

// caseOf is the case of a row's side.
func (set *setting) caseOf(r *row, inPlace bool) caseKey {
	of := set.test.log.list[r.of]
	op := ""
	if set.Reduces {
		op = reduction(of.op)
	}
	return caseKey{curveKey{set.Name, dtype(of.dtype), op, set.ranks, set.perProc}, of.bytes, inPlace}
}

// dtype is a row's element type under zbench's name where it has one.
func dtype(name string) string {
	if d, err := collective.DtypeByName(name); err == nil {
		return d.Name
	}
	return name
}
