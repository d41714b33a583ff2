package peers

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"zbench/bench/base/stat"
	"zbench/bench/hardware/collective"
	"zbench/bench/run/record"
)

// maxResults is the largest number of cases, over all runs and placements.
const maxResults = 1 << 18

// builder collects rows into results.
type builder struct {
	rec     *record.Record
	index   map[resultKey]*building
	results []*building
	setups  setups
	rows    int
	skips   skips
	most    int // largest number of results
}

// curveKey identifies the results of one curve, which differ only in size, placement and setup.
type curveKey struct {
	collective, dtype, op string
	ranks, perProc        int
}

// caseKey identifies a case.
type caseKey struct {
	curveKey
	bytes   int64
	inPlace bool
}

// resultKey identifies a case in one setup.
type resultKey struct {
	caseKey
	setup *setup
}

// slot identifies a case of a table by its cells and its placement.
type slot struct {
	of      printedCase
	inPlace bool
}

// build makes the record. It leaves Import.File, SHA256 and Lines empty.
func (s *scan) build(o Hints) (*record.Record, error) {
	if o.Collective != "" {
		if _, err := collective.ByName(o.Collective); err != nil {
			return nil, unsupported{o.Collective}
		}
	}
	b := &builder{rec: &record.Record{Schema: record.Schema}, index: map[resultKey]*building{}, setups: newSetups(), most: s.most}
	var tables []*test
	var used []*setting
	var unnamed error
	for _, t := range s.tests {
		if t.layout == nil {
			b.skips.merge(t.skips...)
			continue
		}
		tables = append(tables, t)
		if t.mixed() {
			t.skipRows("several programs wrote into this table at once: " + rebuildHint)
		}
		set, err := s.resolve(t, o)
		switch {
		case err != nil:
			// Another table may name its collective.
			unnamed = cmp.Or(unnamed, err)
			t.skipRows(err.Error())
		case t.whole():
			s.checkAverage(t)
		}
		if err := b.addTest(s, set); err != nil {
			return nil, err
		}
		if len(t.rows) > 0 {
			used = append(used, set)
			s.tableWarnings(set)
		}
		b.skips.merge(t.skips...)
	}
	s.signWarnings()
	s.emptySections()
	if len(tables) == 0 {
		return nil, s.noTable()
	}
	if len(b.results) == 0 {
		return nil, s.noRows(b, unnamed)
	}
	b.finish(s)
	s.fill(b.rec, tables, used)
	b.rec.Source.Imports[0].Rows, b.rec.Source.Imports[0].Skipped = b.rows, append([]record.Skip{}, b.skips...)
	return b.rec, nil
}

// noRows returns the error for tables without a result. unnamed is the first error about a
// collective.
func (s *scan) noRows(b *builder, unnamed error) error {
	why := b.skips.text()
	if why == "" {
		why = "the table has no rows"
	}
	for _, w := range s.warnings {
		why += "; " + w.Message
	}
	if unnamed == nil {
		return fmt.Errorf("%w: %s", ErrNoRows, why)
	}
	if lacks, ok := errors.AsType[unsupported](unnamed); ok {
		return fmt.Errorf("%w: %s", lacks, why)
	}
	return fmt.Errorf("%w: %s", ErrCollective, why)
}

// addTest adds the rows of a test. If cases repeat, the table is divided into several tables,
// unless it marks its cycles.
func (b *builder) addTest(s *scan, set *setting) error {
	failed := set.test.unattributed()
	set.describe()
	for _, part := range set.passes() {
		if err := b.addRows(s, part, failed); err != nil {
			return err
		}
	}
	return nil
}

// passes divides a table into tables that have each case once, unless the table marks its cycles.
func (set *setting) passes() []*setting {
	t := set.test
	if len(t.rows) == 0 {
		return nil
	}
	times, most := map[slot]int{}, 0
	var pass []int
	for _, r := range t.rows {
		n := 0
		for i := range r.sides[:r.n] {
			n = max(n, times[slot{r.printedCase, r.inPlace[i]}])
		}
		for i := range r.sides[:r.n] {
			times[slot{r.printedCase, r.inPlace[i]}] = n + 1
		}
		pass, most = append(pass, n), max(most, n)
	}
	if t.cycles || most == 0 {
		return []*setting{set}
	}
	parts := make([]*setting, most+1)
	for i := range parts {
		part, rows := *set, *t
		rows.rows = nil
		part.test, part.whole = &rows, set
		parts[i] = &part
	}
	for i, r := range t.rows {
		into := parts[pass[i]].test
		into.rows = append(into.rows, r)
	}
	return parts
}

// addRows adds the rows of a table or of one pass of it. failed is the number of failed checks that
// no row shows.
func (b *builder) addRows(s *scan, set *setting, failed int64) error {
	t := set.test
	set.setup = b.setupOf(set)
	// The map `at` has the result of each case of this test.
	at := map[slot]*building{}
	for _, r := range t.rows {
		for i := range r.sides[:r.n] {
			where := slot{r.printedCase, r.inPlace[i]}
			into, again := at[where]
			if !again {
				into = b.result(s, set, set.caseOf(r, r.inPlace[i]), r.elements)
				at[where] = into
			}
			verify(into.res, t, r.sides[i].wrong, len(into.samples) == 0)
			into.samples = append(into.samples, &r.sides[i])
			into.countWarning(set, r, &r.sides[i])
		}
		b.rows++
	}
	if failed > 0 {
		for _, into := range at {
			failRun(into.res, failed)
		}
	}
	if len(b.results) > b.most {
		return fmt.Errorf("%w: more than %d results at line %d; split the file", ErrTooLarge, b.most, t.rows[0].line)
	}
	return nil
}

// result returns the result of a case in a setup. It adds the result if it is new.
func (b *builder) result(s *scan, set *setting, c caseKey, elements int64) *building {
	key := resultKey{c, set.setup}
	if into := b.index[key]; into != nil {
		s.repeatedTable(set, into.owner)
		return into
	}
	into := &building{owner: set, res: &record.Result{
		Case:       record.Case{Key: record.Key(c.collective, c.dtype, c.op, c.bytes, c.ranks, c.perProc, c.inPlace), Status: record.OK, Warnings: []record.Warning{}},
		Collective: c.collective, Dtype: c.dtype, Op: c.op,
		BytesRequested: c.bytes, Bytes: c.bytes, Count: elements,
		Ranks: c.ranks, Nodes: set.nodes, GPUsPerProcess: c.perProc, Groups: 1,
		InPlace: c.inPlace,
	}}
	b.index[key] = into
	b.results = append(b.results, into)
	b.setups.use(c.curveKey, set.setup)
	return into
}

// caseOf returns the case of one side of a row.
func (set *setting) caseOf(r *row, inPlace bool) caseKey {
	op := ""
	if set.Reduces {
		op = reduction(r.op)
	}
	return caseKey{curveKey{set.Name, dtype(r.dtype), op, set.ranks, set.perProc}, r.bytes, inPlace}
}

// dtype returns zbench's name of an element type, or the printed name if zbench has none.
func dtype(name string) string {
	if d, err := collective.DtypeByName(name); err == nil {
		return d.Name
	}
	return name
}

// building is a result to which rows can still be added.
type building struct {
	res *record.Result
	// owner is the setting of the first row. All later rows have the same setup.
	owner   *setting
	samples []*side
	// doubts counts the printed times that may be wrong.
	doubts notes
}

func (into *building) curve() curveKey {
	r := into.res
	return curveKey{r.Collective, r.Dtype, r.Op, r.Ranks, r.GPUsPerProcess}
}

// finish summarises the samples, and names the setups if there are several.
func (b *builder) finish(s *scan) {
	b.setups.name()
	b.setupWarning(s)
	var scratch []float64
	for _, into := range b.results {
		if label := b.setups.labels[into.curve()][into.owner.setup]; label != "" {
			into.res.Setup = label
			into.res.Key += "/" + slug(label)
		}
		into.time(&scratch)
		into.res.Warnings = into.doubts.warnings()
		b.rec.Results = append(b.rec.Results, *into.res)
		into.samples = nil
	}
}

// time makes the timing of a result from its samples. All results share the buffer scratch.
func (into *building) time(scratch *[]float64) {
	set, res := into.owner, into.res
	list := func(of func(*side) float64) []float64 {
		*scratch = (*scratch)[:0]
		for _, s := range into.samples {
			*scratch = append(*scratch, of(s))
		}
		return *scratch
	}
	median := func(of func(*side) float64) float64 {
		values := list(of)
		slices.Sort(values)
		return stat.QuantileSorted(values, 0.5)
	}
	digits := func(s *side) rounding { return s.rounding(res.Bytes, set.unit, set.scale) }
	res.Burst = &record.Timing{
		Iterations:  set.test.header.iters,
		MeanOfRanks: stat.Summarize(list(func(s *side) float64 { return digits(s).at })),
		// The median of the times lies between the medians of their lower and upper ends.
		Rounding: &record.Interval{
			Lo: median(func(s *side) float64 { return digits(s).lo }),
			Hi: median(func(s *side) float64 { return digits(s).hi }),
		},
	}
	if set.factor {
		res.SetHeadline(set.BusFactor(set.ranks))
		return
	}
	res.SetHeadline(0)
	printed := median(func(s *side) float64 { return scaled(s.bus, 1e9) })
	res.BusBW = &printed
}

// notes are warnings about lines, one per code. A warning describes the first line with that code.
type notes []note

type note struct {
	record.Warning
	count int
}

// note counts a line. message returns the text of the warning, for the first line.
func (n *notes) note(code, hint string, message func() string) {
	for i := range *n {
		if (*n)[i].Code == code {
			(*n)[i].count++
			return
		}
	}
	*n = append(*n, note{record.Warning{Code: code, Message: message(), Hint: hint}, 1})
}

// warnings returns the notes. Each one ends with the number of further lines.
func (n notes) warnings() []record.Warning {
	out := []record.Warning{}
	for _, d := range n {
		if d.count > 1 {
			d.Message += fmt.Sprintf(" (and %d more such lines)", d.count-1)
		}
		out = append(out, d.Warning)
	}
	return out
}

// countWarning adds notes if a printed time may be wrong.
func (into *building) countWarning(set *setting, r *row, s *side) {
	bytes := into.res.Bytes
	at := s.rounding(bytes, set.unit, set.scale)
	if at.fromAlg {
		into.doubts.note("time_from_algbw", "what the printed digits leave open is in burst.rounding", func() string {
			return fmt.Sprintf("line %d: the log prints the time as %s, so the time is size over algbw (%s GB/s), which has more digits", r.line, s.time, s.alg)
		})
	}
	if (at.hi-at.lo)/2 > decisivePrecision*at.at {
		into.doubts.note("coarse_time", "too few digits to compare; leave this size out", func() string {
			return fmt.Sprintf("line %d: the log prints the time as %s", r.line, s.time)
		})
	}
	switch f, ratio := set.BusFactor(max(set.ranks, 1)), s.ratio(bytes, set.unit); {
	case !set.factor:
		into.doubts.note("printed_busbw", "pass --ranks so that it can be computed from the time", func() string {
			return fmt.Sprintf("line %d: busbw is the printed %s GB/s", r.line, s.bus)
		})
	case f*(1+slack) < ratio.lo || f*(1-slack) > ratio.hi:
		into.doubts.note("busbw_mismatch", "busbw here is computed from the time; check the line", func() string {
			return fmt.Sprintf("line %d: the log prints busbw %s GB/s, which its time does not give", r.line, s.bus)
		})
	}
}

// repeatedTable warns that the rows of a table count as repeats of an earlier table, or of other
// rows in the same table, although the log does not say so.
func (s *scan) repeatedTable(set, earlier *setting) {
	if earlier.test == set.test || set.repeatSaid {
		return
	}
	set.repeatSaid = true
	if set.whole != nil && set.whole == earlier.whole {
		s.warn("repeated_rows", "if several processes wrote at once (tests built without MPI), import the output of one",
			"a table of %s holds cases more than once and marks no cycles: they are taken for repeats", set.Name)
		return
	}
	s.warn("repeated_table", "if something that the log does not say was changed between them (the environment), import them separately",
		"two tables hold the same cases of %s on the same devices with the same settings, and times within 30 %%: they are taken for repeats", set.Name)
}

// Method whole reports whether all rows were read, apart from rows of size 0.
func (t *test) whole() bool {
	return len(t.skips) == 0 || len(t.skips) == 1 && t.skips[0].Reason == sizeZero
}

// checkAverage compares the log's average busbw with the average of the rows. A difference means
// that rows were lost or misread.
func (s *scan) checkAverage(t *test) {
	if t.average == nil || t.continues || len(t.rows) == 0 {
		return
	}
	sum, n := 0.0, 0
	for _, v := range t.emptyBus {
		sum, n = sum+v.value(), n+1
	}
	for _, r := range t.rows {
		for _, s := range r.sides[:r.n] {
			sum, n = sum+s.bus.value(), n+1
		}
	}
	// Each printed busbw is rounded to 0.01 GB/s.
	average := t.average.value()
	if mean := sum / float64(n); math.Abs(mean-average) > max(slack*average, 0.006) {
		s.warn("average_mismatch", "rows were lost or misread: compare the record with the log", "the log's average bus bandwidth is %g GB/s, that of the rows read is %.4g GB/s", average, mean)
	}
}
