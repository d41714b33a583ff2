package peers

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"zbench/bench/base/pattern"
	"zbench/bench/base/slice"
)

// Kinds of columns that only occur in CSV files.
const (
	kCollective kind = 100 + iota
	kPlace
	kRanks
	kPerRank
	kNodes
	kPerNode
	kCycle
)

// csvNames maps the names of these columns to their kinds. The map names does this for other
// columns.
var csvNames = map[string]kind{
	"collective": kCollective, "operation": kCollective,
	"ranks": kRanks, "nranks": kRanks, "gpus": kRanks, "ngpus": kRanks, "gpusperrank": kPerRank,
	"nodes": kNodes, "nnodes": kNodes, "rankspernode": kPerNode, "numcycle": kCycle,
	"datatype": kType, "dtype": kType, "n": kOther,
}

// csvTable is a table in CSV. Either a script rewrote a table of nccl-tests, or rccl-tests -Z csv
// wrote this table with one row per placement.
type csvTable struct {
	layout
	// place is the column that says whether the row is in place (1); -1 if there is none.
	place int
	// spare is the column before which rccl-tests writes a value that its header does not name; -1
	// if there is none.
	spare int
	// cycles is true if a column numbers the repeats.
	cycles bool
	// tests has one test per collective and world in the table.
	tests map[string]*test
}

// csvWord matches a part of a column name. csvName matches a whole column name.
var (
	csvWord = pattern.New(`[a-z#µ]+`)
	csvName = pattern.New(`^[\w#µ()/ .%-]{0,40}$`)
)

// csvColumn reads a column name. side is -1 if the name has no side; unit is the time unit, 0 if
// the name has none.
func csvColumn(name string) (k kind, side int, unit float64) {
	side = -1
	rest, place := []string{}, false
	for _, w := range csvWord.FindAllStringSubmatch(strings.ToLower(name), -1) {
		switch w := strings.TrimPrefix(w[0], "#"); w {
		case "oop", "out", "outofplace":
			side = 0
		case "ip", "in", "inplace":
			side = max(side, 1)
			place = w != "ip"
		case "of", "place", "b", "gb", "gbs", "gbps", "num":
		case "bytes", "us", "ms", "ns", "s", "µs":
			if unit = timeUnits[w]; w == "bytes" && len(rest) == 0 {
				rest = append(rest, w)
			}
		default:
			rest = append(rest, w)
		}
	}
	word := strings.Join(rest, "")
	if k, ok := csvNames[word]; ok {
		return k, side, 0
	}
	switch {
	case word == "" && place:
		return kPlace, -1, 0
	case names[word] == kTime:
		return kTime, side, unit
	}
	return names[word], side, 0
}

// IsCSV reports whether the first line that is not a comment consists of names separated by commas.
// At least two of them must be names for a size, a time or a bandwidth.
func IsCSV(text []byte) bool {
	for line := range strings.Lines(strings.TrimLeft(string(text), "\ufeff \t\r\n")) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		names := 0
		for _, name := range fields(line) {
			if !csvName.MatchString(name) {
				return false
			}
			if k, _, _ := csvColumn(name); k == kSize || k == kTime || k == kAlg || k == kBus {
				names++
			}
		}
		return names > 1 && strings.Count(line, ",") > 1
	}
	return false
}

// parseCSV reads a CSV's line of column names. It returns nil for any other line.
func parseCSV(text string) *csvTable {
	lower := strings.ToLower(text)
	if !strings.Contains(lower, "busbw") || !strings.Contains(lower, "algbw") || strings.Count(text, ",") < 3 {
		return nil
	}
	t := &csvTable{layout: layout{csv: true, noPlace: true}, place: -1, spare: -1, tests: map[string]*test{}}
	seen, last := map[column]int{}, -1
	for i, f := range fields(text) {
		if !csvName.MatchString(f) {
			return nil // a sentence, not names
		}
		k, side, unit := csvColumn(f)
		if k == kTime && side < 0 {
			last++ // without placements in the names, the second time column begins the second side
		}
		switch k {
		case kTime, kAlg, kBus, kWrong:
			if side >= 0 {
				t.noPlace = false
			} else {
				side = max(last, 0)
			}
		default:
			side = -1
		}
		if t.unit = max(t.unit, unit); k == kPlace {
			t.place, t.noPlace = i, false
		}
		if k == kCollective {
			t.spare = i + 1
		}
		t.cycles = t.cycles || k == kCycle
		seen[column{kind: k, side: side}]++
		t.cols = append(t.cols, column{kind: k, side: side})
	}
	if seen[column{kind: kSize, side: -1}] != 1 || len(t.cols) > maxColumns || !t.setSides(seen) {
		return nil
	}
	return t
}

// setSides finds the placements in a CSV. It returns false if a placement lacks a column.
func (t *csvTable) setSides(seen map[column]int) bool {
	there := [2]bool{}
	for side := range there {
		n := [3]int{seen[column{kind: kTime, side: side}], seen[column{kind: kAlg, side: side}], seen[column{kind: kBus, side: side}]}
		if n != [3]int{} && n != [3]int{1, 1, 1} {
			return false
		}
		if there[side] = n[0] == 1; there[side] {
			t.sides++
		}
	}
	t.inPlace = [2]bool{!there[0], true}
	t.noPlace = t.noPlace && t.sides == 1
	return t.sides > 0 && seen[column{kind: kTime, side: 2}] == 0
}

// fields returns the values between commas, without quotes and without a launcher's prefix.
func fields(text string) []string {
	out := strings.Split(text, ",")
	if words := strings.Fields(out[0]); len(words) > 0 {
		out[0] = words[len(words)-1]
	}
	for i, f := range out {
		out[i] = strings.TrimSpace(f)
		if n := len(out[i]); n > 1 && out[i][0] == '"' && out[i][n-1] == '"' {
			out[i] = out[i][1 : n-1]
		}
	}
	return out
}

// csvHeader recognises a CSV's line of column names.
func csvHeader(_ *scan, _ *test, l line) []string {
	if strings.Count(l.Text, ",") < 3 || parseCSV(l.Text) == nil {
		return nil
	}
	return matched
}

func (s *scan) startCSV(_ *test, l line, _ []string) { s.csv = parseCSV(l.Text) }

// csvValues returns the values of a CSV row. It returns nil for a sentence, which has few numbers.
// A cut row begins with a number and has no spaces, unlike a sentence.
func csvValues(s *scan, _ *test, l line) []string {
	if s.csv == nil {
		return nil
	}
	values := fields(l.Text)
	if len(values) < len(s.csv.cols) && digits(values[0]) && !strings.ContainsAny(strings.TrimSpace(l.Text), " \t") {
		return values
	}
	if len(values) < 4 {
		return nil
	}
	if c := s.csv; c.spare >= 0 && c.cycles && len(values) == len(c.cols)+1 {
		values = append(values[:c.spare:c.spare], values[c.spare+1:]...)
	}
	if slice.Count(values, numeric) < 3 {
		return nil
	}
	return values
}

func (s *scan) csvRow(_ *test, l line, values []string) {
	t := s.csv
	s.rows++
	if len(values) != len(t.cols) {
		into := s.csvTest(t, csvRow{})
		into.take(row{}, fmt.Sprintf("the row has %d values, the header %d names", len(values), len(t.cols)), line{no: l.no})
		return
	}
	r, reason := t.read(values)
	into := s.csvTest(t, r)
	out := row{}
	if reason == "" {
		out, reason = r.row(l.no)
	}
	// A last line without a newline may be cut, unless it ends like all other rows.
	last := values[len(values)-1]
	l.cut = l.cut && !strings.HasSuffix(l.Text, `"`) && last != "0" && last != "N/A"
	into.take(out, reason, l)
}

// csvRow is a row of a CSV with its collective and world.
type csvRow struct {
	cells
	collective   string
	ranks, nodes int
}

// places are the values of a placement column that are not numbers.
var places = []string{"true", "false"}

// read assigns the values of a row to the columns.
func (t *csvTable) read(values []string) (r csvRow, reason string) {
	per, perNode := 1, false
	r.n = t.sides
	for i, col := range t.cols {
		v := values[i]
		number, err := strconv.Atoi(v)
		if named := col.kind == kRanks || col.kind == kPerRank || col.kind == kNodes || col.kind == kPlace && !slices.Contains(places, strings.ToLower(v)); named && v != "" && (err != nil || number < 0) {
			return r, misfit
		}
		switch col.kind {
		case kCollective:
			r.collective = v
		case kRanks:
			r.ranks = number
		case kPerRank:
			per = max(number, 1)
		case kNodes:
			r.nodes = number
		case kPerNode:
			perNode = true
		case kPlace, kCycle:
		default:
			if v != "" && !col.kind.fits(v) {
				return r, misfit
			}
			r.setSide(col.kind, v, max(0, min(col.side, t.sides-1)))
		}
	}
	for i := range t.sides {
		r.sides[i].inPlace = t.inPlace[i]
	}
	if t.place >= 0 {
		r.sides[0].inPlace = values[t.place] == "1" || strings.EqualFold(values[t.place], "true")
	}
	if r.ranks *= per; perNode {
		// rccl-tests computes the nodes from the ranks per node. It has printed 16 nodes for 16
		// ranks on two nodes of 8.
		r.nodes = 0
	}
	return r, ""
}

// claim is a number of ranks and nodes that does not come from the device list.
type claim struct {
	ranks, nodes int
	from         string
}

// fileWorldRE matches the ranks and nodes in a file name, in the form of srun's -n and -N:
// job-n-00256-N-0064.csv.
var fileWorldRE = pattern.New(`(?:^|[^0-9])(\d{1,7})-N-(\d{1,6})(?:[^0-9]|$)`)

// fileWorld returns the world in a file name, or the zero value if the name has none.
func fileWorld(file string) claim {
	m := fileWorldRE.FindStringSubmatch(file)
	if m == nil {
		return claim{}
	}
	ranks, _ := strconv.Atoi(m[1])
	nodes, _ := strconv.Atoi(m[2])
	return claim{ranks, nodes, "the file's name (" + m[1] + "-N-" + m[2] + ": ranks, nodes)"}
}

// csvTest returns the test for the collective and world of a row, and adds it if it is new.
func (s *scan) csvTest(c *csvTable, r csvRow) *test {
	key := fmt.Sprintf("%q %d %d", r.collective, r.ranks, r.nodes)
	if t := c.tests[key]; t != nil {
		return t
	}
	t := &test{
		phase: table, layout: &c.layout, name: program(r.collective), cycles: c.cycles,
		claim: claim{r.ranks, r.nodes, "a column"}, under: s.under,
	}
	c.tests[key] = t
	s.tests = append(s.tests, t)
	return t
}
