package peers

import (
	"errors"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/hardware/collective"
	"zbench/bench/run/record"
	"zbench/test/project"
)

// printedRow is what a line says: a size, and for each placement a time and two
// bandwidths.
type printedRow struct {
	size   int64
	places [][3]float64
}

var rowNumber = regexp.MustCompile(`^(\d+(\.\d+)?(e[+-]\d+)?|N/A)$`)

// plainRows reads the rows of a text the simple way, as an awk script would: a whole
// number at or near the beginning of the line is the size, and each run of four
// numbers from the end on is a time, algbw, busbw and the errors. It is the check
// of Parse and shares nothing with it.
func plainRows(text string) []printedRow {
	var rows []printedRow
	for line := range strings.Lines(text) {
		var f []string
		line = strings.ReplaceAll(line, "[1,0]<stdout>:", "")
		for _, w := range strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" ,\t\r\n\"|", r) }) {
			if rowNumber.MatchString(w) || w == "-1" || len(f) > 0 {
				f = append(f, w)
			}
		}
		for from := range min(8, len(f)) {
			row := printedRow{}
			row.size, _ = strconv.ParseInt(f[from], 10, 64)
			for at := len(f) - 4; at > from && len(row.places) < 2; at -= 4 {
				var v [3]float64
				ok := rowNumber.MatchString(f[at+3])
				for i := range v {
					var err error
					v[i], err = strconv.ParseFloat(f[at+i], 64)
					ok = ok && err == nil
				}
				if !ok {
					break
				}
				row.places = append([][3]float64{v}, row.places...)
			}
			if row.size > 0 && len(row.places) > 0 {
				rows = append(rows, row)
			}
		}
	}
	return rows
}

// printedAs reports whether a line prints the size, the time and both bandwidths of
// a result whose every sample is the same.
func printedAs(rows []printedRow, r record.Result, seconds float64) bool {
	near := func(printed, value, unit float64) bool {
		return math.Abs(printed-value/unit) <= 0.0051+0.011*printed
	}
	for _, row := range rows {
		if row.size != r.Bytes {
			continue
		}
		for _, p := range row.places {
			if math.Abs(p[0]*1e-6-seconds) > 1e-12*seconds {
				continue
			}
			alg := float64(r.Bytes) / seconds / 1e9
			if near(p[1], alg, 1) && near(p[2], alg**r.BusBW / *r.AlgBW, 1) {
				return true
			}
		}
	}
	return false
}

// mutation changes a log as people and tools do.
type mutation struct {
	name string
	do   func(r *rand.Rand, log string) string
}

// eachLine applies a change to the lines that match.
func eachLine(log, match string, change func(string) string) string {
	re, out := regexp.MustCompile(match), ""
	for l := range strings.Lines(log) {
		if re.MatchString(l) {
			l = change(l)
		}
		out += l
	}
	return out
}

const (
	aRow    = `^ *\d+ +\d+ +float`
	aHeader = `^#.*(busbw|out-of-place|\(GB/s\))`
	aFooter = `^# (Out of bounds|Avg bus)`
	aDevice = `^#  +Rank`
	aName   = `Collective test|_perf`
)

func before(prefix string) func(string) string { return func(l string) string { return prefix + l } }

func gone(string) string { return "" }

var mutations = []mutation{
	{"crlf", func(_ *rand.Rand, log string) string { return strings.ReplaceAll(log, "\n", "\r\n") }},
	{"prefix on all lines", func(r *rand.Rand, log string) string {
		return eachLine(log, "", before(prefixes[r.IntN(len(prefixes))]))
	}},
	{"prefix on headers", func(r *rand.Rand, log string) string {
		return eachLine(log, aHeader, before(prefixes[r.IntN(len(prefixes))]))
	}},
	{"prefix on comments", func(r *rand.Rand, log string) string {
		return eachLine(log, "^#", before(prefixes[r.IntN(len(prefixes))]))
	}},
	{"no footers", func(_ *rand.Rand, log string) string { return eachLine(log, aFooter, gone) }},
	{"no names", func(_ *rand.Rand, log string) string { return eachLine(log, aName, gone) }},
	{"no devices", func(_ *rand.Rand, log string) string { return eachLine(log, aDevice, gone) }},
	{"no headers", func(_ *rand.Rand, log string) string { return eachLine(log, aHeader, gone) }},
	{"no comments", func(_ *rand.Rand, log string) string { return eachLine(log, "^#", gone) }},
	{"blank lines", func(_ *rand.Rand, log string) string {
		return eachLine(log, "", func(l string) string { return l + "\n" })
	}},
	{"a fence", func(_ *rand.Rand, log string) string { return "## Results\n\n```console\n" + log + "```\n" }},
	{"indented", func(_ *rand.Rand, log string) string { return eachLine(log, "", before("    ")) }},
	{"quoted", func(_ *rand.Rand, log string) string { return eachLine(log, "", before("> ")) }},
	{"single spaces", func(_ *rand.Rand, log string) string { return regexp.MustCompile(` +`).ReplaceAllString(log, " ") }},
	{"tabs", func(_ *rand.Rand, log string) string {
		return eachLine(log, aRow, func(l string) string { return regexp.MustCompile(` +`).ReplaceAllString(l, "\t") })
	}},
	{"rows upside down", func(_ *rand.Rand, log string) string {
		if strings.Count(log, "Using devices") > 1 {
			return log // no row may get into another table
		}
		var rows []string
		eachLine(log, aRow, func(l string) string { rows = append(rows, l); return l })
		return eachLine(log, aRow, func(string) string {
			last := rows[len(rows)-1]
			rows = rows[:len(rows)-1]
			return last
		})
	}},
	{"rows missing", func(r *rand.Rand, log string) string {
		return eachLine(log, aRow, func(l string) string { return l[:len(l)*r.IntN(2)] })
	}},
	{"one placement", func(_ *rand.Rand, log string) string {
		return eachLine(log, aRow, func(l string) string {
			f := regexp.MustCompile(`\S+`).FindAllStringIndex(l, -1)
			if len(f) < 12 {
				return l
			}
			return l[:f[len(f)-5][1]] + "\n"
		})
	}},
	{"a header of one placement", func(_ *rand.Rand, log string) string {
		return eachLine(log, `busbw.*busbw`, func(l string) string {
			first, _, _ := strings.Cut(l, "busbw")
			return first + "busbw #wrong\n"
		})
	}},
	{"headers again", func(_ *rand.Rand, log string) string {
		head := ""
		eachLine(log, aHeader, func(l string) string { head += l; return l })
		return eachLine(log, `^ +(33554432|67108864) `, func(l string) string { return head + l })
	}},
	{"a column of ranks", func(_ *rand.Rand, log string) string {
		log = eachLine(log, `busbw`, func(l string) string { return strings.Replace(l, " count", " nranks   count", 1) })
		return eachLine(log, aRow, func(l string) string {
			f := regexp.MustCompile(`^ *\d+`).FindStringIndex(l)
			return l[:f[1]] + "       8" + l[f[1]:]
		})
	}},
	{"cut", func(r *rand.Rand, log string) string { return log[:r.IntN(len(log)+1)] }},
	{"a row cut", func(r *rand.Rand, log string) string {
		return eachLine(log, aRow, func(l string) string {
			if r.IntN(4) > 0 {
				return l
			}
			return strings.TrimRight(l[:r.IntN(len(l)+1)], "\n") + "\n"
		})
	}},
	{"commas", func(_ *rand.Rand, log string) string {
		return "size,count,type,redop,root,time,algbw,busbw,#wrong,time,algbw,busbw,#wrong\n" + eachLine(eachLine(log, "^#", gone), aRow, func(l string) string {
			return strings.Join(strings.Fields(l), ",") + "\n"
		})
	}},
	{"settings", func(_ *rand.Rand, log string) string {
		return "### NCCL_ALGO=Ring\n" + log + "### NCCL_ALGO=Tree\n"
	}},
}

var prefixes = []string{
	"[1,0]<stdout>:", "[1,0]<stdout>: ", " 0: ", "0: ", "node3: ", "node3 ", "(node3) ", "[pod/launcher/mpi] ", "> ", "| ", "$ ",
	"2026-03-04T05:06:07Z ", "2026-03-04 05:06:07,123 INFO ", "stdout F ", "launcher-0  | ",
}

// changeable are those of these logs that are small enough to be changed many times, by name.
func changeable(t *testing.T, files []string) map[string]string {
	logs := map[string]string{}
	for _, f := range files {
		data, err := os.ReadFile(f)
		require.NoError(t, err)
		if len(data) < 64<<10 {
			logs[filepath.Base(f)] = string(data)
		}
	}
	return logs
}

// publishedLogs are the logs of others, and those that were once read wrongly.
func publishedLogs(t *testing.T) (files []string) {
	for _, kind := range []string{"logs/*.log", "cases/*.log", "cases/*.txt", "cases/*.md"} {
		more, err := filepath.Glob(filepath.Join(project.Published(t, filepath.Dir(kind)), filepath.Base(kind)))
		require.NoError(t, err)
		files = append(files, more...)
	}
	require.NotEmpty(t, files)
	return files
}

// Whatever is done to a log, every row that is read is a row of the text, under the
// name of the table it comes from, with its ranks or none; no two rows are merged
// that are not repeats in the unchanged log; and what is refused has a reason.
func TestChangedLogs(t *testing.T) { changeLogs(t, ownLogs(t)) }

func TestDataChangedLogs(t *testing.T) { changeLogs(t, publishedLogs(t)) }

func changeLogs(t *testing.T, files []string) {
	r := rand.New(rand.NewPCG(33, 3))
	logs := changeable(t, files)
	kept, changed := 0, 0
	for _, file := range slices.Sorted(maps.Keys(logs)) {
		log := logs[file]
		o := Hints{File: "x.log"}
		if strings.HasPrefix(file, "bare") || strings.HasPrefix(file, "error") || strings.HasPrefix(file, "nccl-tests-2021") || strings.HasPrefix(file, "commented") {
			o.File = file
		}
		base, err := Parse(strings.NewReader(log), o)
		if err != nil || !standard(base, log) || file == "several.log" || file == "list_cut.log" {
			continue // the same times in several tables; a list of devices that is false
		}
		is := map[string]record.Result{}
		for _, res := range base.Results {
			is[rowKey(res)] = res
		}
		for _, m := range mutations {
			text, name := m.do(r, log), m.name
			if r.IntN(2) == 0 {
				second := mutations[r.IntN(len(mutations))]
				text, name = second.do(r, text), name+", "+second.name
			}
			changed++
			rec, err := Parse(strings.NewReader(text), Hints{File: o.File})
			if err != nil {
				require.True(t, errors.Is(err, ErrNoTable) || errors.Is(err, ErrFormat) || errors.Is(err, ErrNoRows) || errors.Is(err, ErrCollective), "%s, %s: %v", file, name, err)
				require.Greater(t, len(err.Error()), 40)
				continue
			}
			kept++
			requireRows(t, file+", "+name, text, rec, is)
		}
	}
	require.Greater(t, kept, changed*6/10, "of %d changed logs", changed)
}

// lose takes characters of a row away, or the rest of it with the line end.
func lose(r *rand.Rand, row string) string {
	at := r.IntN(len(row))
	switch r.IntN(3) {
	case 0:
		return row[:at] + row[min(at+1+r.IntN(3), len(row)):]
	case 1:
		return row[:at] // the next line follows
	}
	return row[:at] + "\n"
}

// A row that lost characters is read as it was printed or left out, however few digits its bandwidths
// have: every time, size and count that is read is one of the whole log's.
func TestLostCharacters(t *testing.T) { loseCharacters(t, ownLogs(t)) }

func TestDataLostCharacters(t *testing.T) { loseCharacters(t, publishedLogs(t)) }

func loseCharacters(t *testing.T, files []string) {
	r := rand.New(rand.NewPCG(38, 1))
	row := regexp.MustCompile(`^ *\d+ +\d+ +[a-z]+`)
	logs := changeable(t, files)
	read, lost, whole := 0, 0, 0
	for _, file := range slices.Sorted(maps.Keys(logs)) {
		log := logs[file]
		base, err := Parse(strings.NewReader(log), Hints{File: file})
		if err != nil || !standard(base, log) {
			continue
		}
		whole += 60 * len(base.Results)
		for range 60 {
			text := ""
			for l := range strings.Lines(log) {
				if row.MatchString(l) && r.IntN(6) == 0 {
					l = lose(r, strings.TrimSuffix(l, "\n")) + "\n"[:r.IntN(2)]
				}
				text += l
			}
			rec, err := Parse(strings.NewReader(text), Hints{File: file})
			if err != nil {
				continue
			}
			for _, k := range rec.Source.Imports[0].Skipped {
				lost += k.Count
			}
			for _, got := range rec.Results {
				read++
				require.Equal(t, 1, got.Burst.MeanOfRanks.N)
				require.True(t, slices.ContainsFunc(base.Results, func(want record.Result) bool {
					// The slack on algbw is 1 %, so a lost last decimal may pass.
					near := math.Abs(got.Burst.MeanOfRanks.Median/want.Burst.MeanOfRanks.Median-1) < 0.011
					want.Status, want.Reason = got.Status, got.Reason // a row may run into the footer
					if _, err := collective.DtypeByName(got.Dtype); err != nil {
						want.Dtype = got.Dtype // a type that zbench does not know is kept as printed
					}
					want.Burst, want.AlgBW, want.BusBW, want.Warnings, want.Verified, want.Key, want.Setup = got.Burst, got.AlgBW, got.BusBW, got.Warnings, got.Verified, got.Key, got.Setup
					return near && reflect.DeepEqual(want, got)
				}), "%s: %s with %g s is no row of\n%s", file, got.Key, got.Burst.MeanOfRanks.Median, text)
			}
		}
	}
	require.Greater(t, read, whole*7/10, "of %d results", whole)
	require.Greater(t, lost, whole*3/100, "of %d results", whole)
}

// standard reports whether a log is one that the plain reader can read, too: every
// row is read, and every result is a single row in microseconds.
func standard(rec *record.Record, log string) bool {
	rows := plainRows(log)
	for _, skip := range rec.Source.Imports[0].Skipped {
		if skip.Reason != sizeZero {
			return false
		}
	}
	for _, r := range rec.Results {
		if r.Burst.MeanOfRanks.N > 1 || r.BusBW == nil || *r.AlgBW == 0 || !printedAs(rows, r, r.Burst.MeanOfRanks.Median) {
			return false
		}
	}
	return len(rows) > 0
}

func rowKey(r record.Result) string {
	return strconv.FormatInt(r.Bytes, 10) + " " + strconv.FormatFloat(r.Burst.MeanOfRanks.Median, 'g', 12, 64)
}

func requireRows(t *testing.T, what, text string, rec *record.Record, is map[string]record.Result) {
	t.Helper()
	rows := plainRows(text)
	for _, got := range rec.Results {
		seconds := got.Burst.MeanOfRanks.Median
		require.Equal(t, 1, got.Burst.MeanOfRanks.N, "%s: %s is merged", what, got.Key)
		require.True(t, printedAs(rows, got, seconds), "%s: %s with %g s is no row of\n%s", what, got.Key, seconds, text)
		want, ok := is[rowKey(got)]
		require.True(t, ok, "%s: %s with %g s", what, got.Key, seconds)
		require.Equal(t, want.Collective, got.Collective, "%s: %s\n%s", what, got.Key, text)
		require.Contains(t, []int{0, want.Ranks}, got.Ranks, "%s: %s\n%s", what, got.Key, text)
	}
	for _, skip := range rec.Source.Imports[0].Skipped {
		require.NotEmpty(t, skip.Reason)
	}
}
