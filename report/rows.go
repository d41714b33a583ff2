package report

import (
	"math"
	"slices"
	"strings"

	"zbench/bench/record"
	"zbench/bench/unit"
)

// Figure is a curve in a few numbers: its best bus bandwidth and its latency.
type Figure struct {
	Name string
	// Best is the highest bus bandwidth, at the size BestAt; Burst and Alone the
	// two times at LatencyAt, the smallest size that ended ok. Empty when there
	// is none.
	Best, BestAt, Burst, Alone, LatencyAt string
	Cases                                 string
	Extrapolated                          bool
}

// Group is one curve as a block of the results table.
type Group struct {
	Name string
	Rows []Row
}

// Row is one result, printed.
type Row struct {
	Key, Size, Count string
	Burst, Alone     TimeCells
	// Spread is what the ranks differ by, in µs and as a share of the time.
	Spread, Stop string
	// AlgBW and BusBW are in GB/s.
	AlgBW, BusBW, Verified, Notes string
}

// TimeCells are one timing: its median and interval in µs, and n / n_eff.
type TimeCells struct{ Median, Interval, N string }

// WarningLine is a warning with the cases it qualifies.
type WarningLine struct{ Code, Message, Hint, Cases string }

// OtherCase is a case that did not end ok.
type OtherCase struct{ Key, Name, Size, Status, Reason, Time string }

// figures sums each curve up.
func figures(curves []curve) []Figure {
	out := make([]Figure, 0, len(curves))
	for _, c := range curves {
		f := Figure{Name: c.name}
		best, ended := -1.0, 0
		for _, r := range c.rows {
			if r.Status != record.OK {
				continue
			}
			ended++
			f.Extrapolated = f.Extrapolated || r.Extrapolated
			if bw, ok := busBWOf(r); ok && bw > best {
				best = bw
				f.Best, f.BestAt = unit.Rate(bw), unit.Bytes(r.Bytes)
			}
			if f.LatencyAt == "" {
				f.latency(r)
			}
		}
		f.Cases = plural(int64(ended), "case") + " ok"
		if rest := len(c.rows) - ended; rest > 0 {
			f.Cases += ", " + comma(int64(rest)) + " not"
		}
		if len(c.also) > 0 {
			f.Cases += " · in place within " + percent(c.apart)
		}
		out = append(out, f)
	}
	return out
}

// latency takes the times of the smallest size, where there are any.
func (f *Figure) latency(r *record.Result) {
	burst, alone := timingOf(r), aloneOf(r)
	if burst.known {
		f.Burst = unit.Seconds(burst.median)
	}
	if alone.known {
		f.Alone = unit.Seconds(alone.median)
	}
	if burst.known || alone.known {
		f.LatencyAt = unit.Bytes(r.Bytes)
	}
}

// tableGroups prints the results that ended ok; the others have their own table.
func tableGroups(curves []curve) []Group {
	var out []Group
	for _, c := range curves {
		common := noter{common: commonNotes([]curve{c}, columns{both: true})}
		g := Group{Name: strings.Join(append([]string{c.name}, common.common...), " · ")}
		for _, r := range c.rows {
			if r.Status == record.OK {
				row := rowOf(r)
				row.Notes = strings.Join(common.without(rowNotes(r)), ", ")
				g.Rows = append(g.Rows, row)
			}
		}
		if len(g.Rows) > 0 {
			out = append(out, g)
		}
	}
	return out
}

func rowOf(r *record.Result) Row {
	row := Row{
		Key: r.Key, Size: unit.Bytes(r.Bytes), Count: comma(r.Count),
		Burst: cellsOf(timingOf(r)), Alone: cellsOf(aloneOf(r)), Spread: none, Stop: none,
		AlgBW: gigas(r.AlgBW), BusBW: gigas(r.BusBW),
		Verified: verifiedText(r.Verified),
	}
	t := aloneOf(r)
	if !t.known {
		return row
	}
	if r.Isolated.Stop != "" {
		row.Stop = strings.ReplaceAll(r.Isolated.Stop, "_", " ")
	}
	if s := r.Isolated.Spread; s != nil && finite(s.Median) {
		row.Spread = brief(s.Median/micro) + ", " + smallPercent(s.Median/t.median)
	}
	return row
}

// cellsOf prints a timing.
func cellsOf(t timing) TimeCells {
	c := TimeCells{Median: none, Interval: none, N: none}
	if !t.known {
		return c
	}
	c.Median, c.N = brief(t.median/micro), comma(int64(t.sum.N))
	if t.bounded {
		c.Interval = "[" + brief(t.lo/micro) + ", " + brief(t.hi/micro) + "]"
	}
	if e := t.sum.NEff; e != nil && finite(*e) {
		c.N += " / " + shortest(math.Round(*e))
	}
	return c
}

func hasIsolated(rec *record.Record) bool {
	for i := range rec.Results {
		if aloneOf(&rec.Results[i]).known {
			return true
		}
	}
	return false
}

// verifiedText says whether the data were checked, and in brackets by how many
// launches.
func verifiedText(v record.Verified) string {
	text := "no"
	switch {
	case v.State == record.VerifiedOK:
		text = "yes"
	case v.State == record.VerifiedWrong && v.Wrong != nil:
		text = comma(*v.Wrong) + " wrong"
	case v.State == record.VerifiedWrong:
		text = "wrong"
	}
	if text != "no" && v.Launches > 0 {
		text += " (" + comma(int64(v.Launches)) + ")"
	}
	return text
}

// rowNotes are the doubts about one result, in keywords; the warnings section
// has the sentences.
func rowNotes(r *record.Result) []string {
	var notes []string
	if r.BytesRequested > 0 && r.Bytes > 0 && r.BytesRequested != r.Bytes {
		notes = append(notes, "asked for "+unit.Bytes(r.BytesRequested))
	}
	if r.Extrapolated {
		notes = append(notes, "extrapolated")
	}
	var codes tally
	for _, w := range r.Warnings {
		codes.add(w.Code)
	}
	return append(notes, codes.order...)
}

// warningLines gathers warnings of one code and shape, those of the record
// first: a hundred cases with the same doubt are one line.
func warningLines(rec *record.Record) []WarningLine {
	type group struct {
		code, hint string
		kind       *kindOf
	}
	var order []group
	var messages alike
	cases := map[group][]*record.Result{}
	add := func(w record.Warning, r *record.Result) {
		// The code and the hint are part of what makes two warnings alike.
		g := group{w.Code, w.Hint, messages.addAs(w.Code+"\x00"+w.Hint, w.Message)}
		if !slices.Contains(order, g) {
			order = append(order, g)
		}
		if r != nil {
			cases[g] = append(cases[g], r)
		}
	}
	for _, w := range rec.Warnings {
		add(w, nil)
	}
	for i := range rec.Results {
		for _, w := range rec.Results[i].Warnings {
			add(w, &rec.Results[i])
		}
	}
	out := make([]WarningLine, len(order))
	for i, g := range order {
		out[i] = WarningLine{g.code, g.kind.text(), g.hint, caseRanges(cases[g])}
	}
	return out
}

// caseRanges lists cases by collective, each with the sizes they span.
func caseRanges(cases []*record.Result) string {
	var parts []string
	for _, c := range curvesOfRows(cases) {
		lo, hi := sizeOf(c.rows[0]), sizeOf(c.rows[len(c.rows)-1])
		part := c.name + " " + unit.Bytes(lo)
		if lo != hi {
			part += " to " + unit.Bytes(hi)
		}
		if n := len(c.rows); n > 1 {
			part += " (" + plural(int64(n), "case") + ")"
		}
		parts = append(parts, part)
	}
	return firstFew(parts, 12)
}

// firstFew lists at most n of the words and says how many more there are.
func firstFew(words []string, n int) string {
	if len(words) <= n {
		return strings.Join(words, ", ")
	}
	return strings.Join(words[:n], ", ") + " and " + comma(int64(len(words)-n)) + " more"
}

// otherCases lists what did not end ok. Nothing vanishes.
func otherCases(rec *record.Record) []OtherCase {
	var out []OtherCase
	for i := range rec.Results {
		r := &rec.Results[i]
		if r.Status == record.OK {
			continue
		}
		o := OtherCase{
			Key: r.Key, Name: orUnnamed(r.Collective), Size: unit.Bytes(sizeOf(r)),
			Status: statusText(r.Status), Reason: reasonOf(r), Time: none,
		}
		if t := timingOf(r); t.known {
			o.Time = fixed(t.median / micro)
		}
		out = append(out, o)
	}
	return out
}

func statusText(s record.Status) string {
	if s == "" {
		return "unknown"
	}
	return strings.ReplaceAll(string(s), "_", " ")
}
