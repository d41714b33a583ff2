package report

import (
	"strings"

	"zbench/bench/record"
	"zbench/bench/unit"
)

// Figure is a curve in two numbers: its best bus bandwidth and its latency.
type Figure struct {
	Name string
	// Best is the highest bus bandwidth, at the size BestAt; Latency the time
	// at LatencyAt, the smallest size that ended ok. Empty when there is none.
	Best, BestAt, Latency, LatencyAt string
	Cases                            string
	Extrapolated                     bool
}

// Group is one curve as a block of the results table.
type Group struct {
	Name string
	Rows []Row
}

// Row is one result, printed.
type Row struct {
	Key, Size, Bytes, Count string
	// Median, Interval and Isolated are in µs.
	Median, Interval, Isolated string
	// AlgBW and BusBW are in GB/s.
	AlgBW, BusBW, N, Verified, Notes string
}

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
			if t := timingOf(r); t.known && f.Latency == "" {
				f.Latency, f.LatencyAt = unit.Seconds(t.median), unit.Bytes(r.Bytes)
			}
		}
		f.Cases = plural(int64(ended), "case") + " ok"
		if rest := len(c.rows) - ended; rest > 0 {
			f.Cases += ", " + comma(int64(rest)) + " not"
		}
		out = append(out, f)
	}
	return out
}

// tableGroups prints the results that ended ok; the others have their own table.
func tableGroups(curves []curve) []Group {
	var out []Group
	for _, c := range curves {
		g := Group{Name: c.name}
		for _, r := range c.rows {
			if r.Status == record.OK {
				g.Rows = append(g.Rows, rowOf(r))
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
		Key: r.Key, Size: unit.Bytes(r.Bytes), Bytes: comma(r.Bytes), Count: comma(r.Count),
		Median: none, Interval: none, Isolated: none, N: none,
		AlgBW: scaledBy(r.AlgBW, giga), BusBW: scaledBy(r.BusBW, giga),
		Verified: verifiedText(r.Verified), Notes: strings.Join(rowNotes(r), ", "),
	}
	if t := timingOf(r); t.known {
		row.Median, row.N = fixed(t.median/micro), comma(int64(t.n))
		if t.bounded {
			row.Interval = "[" + fixed(t.lo/micro) + ", " + fixed(t.hi/micro) + "]"
		}
	}
	if r.Isolated != nil && r.Isolated.MaxOfRanks != nil {
		row.Isolated = fixed(r.Isolated.MaxOfRanks.Median / micro)
	}
	return row
}

func hasIsolated(rec *record.Record) bool {
	for i := range rec.Results {
		if t := rec.Results[i].Isolated; t != nil && t.MaxOfRanks != nil {
			return true
		}
	}
	return false
}

// verifiedText says whether the data were checked, in a word.
func verifiedText(v record.Verified) string {
	switch v.State {
	case record.VerifiedOK:
		return "yes"
	case record.VerifiedWrong:
		if v.Wrong != nil {
			return comma(*v.Wrong) + " wrong"
		}
		return "wrong"
	default:
		return "no"
	}
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

// warningLines gathers equal warnings, those of the record first.
func warningLines(rec *record.Record) []WarningLine {
	var order []record.Warning
	cases := map[record.Warning]*tally{}
	add := func(w record.Warning, where string) {
		if cases[w] == nil {
			cases[w] = &tally{}
			order = append(order, w)
		}
		if where != "" {
			cases[w].add(where)
		}
	}
	for _, w := range rec.Warnings {
		add(w, "")
	}
	for i := range rec.Results {
		r := &rec.Results[i]
		for _, w := range r.Warnings {
			add(w, r.Collective+" "+unit.Bytes(sizeOf(r)))
		}
	}
	out := make([]WarningLine, len(order))
	for i, w := range order {
		out[i] = WarningLine{w.Code, w.Message, w.Hint, firstFew(cases[w].order, 6)}
	}
	return out
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
