package readers

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"zbench/bench/run/record"
)

// checkAccounts requires that samples, rows and skips add up.
func checkAccounts(t *testing.T, rec *record.Record, log string) {
	imp, samples, keys := rec.Source.Imports[0], 0, map[string]bool{}
	for _, r := range rec.Results {
		samples += r.Burst.MeanOfRanks.N
		if keys[r.Key] {
			t.Fatalf("key %s twice", r.Key)
		}
		keys[r.Key] = true
	}
	if imp.Rows > samples || samples > 2*imp.Rows {
		t.Fatalf("%d rows cannot give %d samples", imp.Rows, samples)
	}
	skipped := 0
	for _, k := range imp.Skipped {
		skipped += k.Count
		if k.Count < 1 || k.Reason == "" || len(k.Lines) == 0 || len(k.Lines) > min(k.Count, 10) {
			t.Fatalf("skip %+v is not consistent", k)
		}
	}
	// A line that carries several processes' labels can end as many lines.
	if most := imp.Lines + strings.Count(log, "<std"); imp.Rows+skipped > most {
		t.Fatalf("%d rows and %d skipped of %d lines", imp.Rows, skipped, most)
	}
}

var escapes = regexp.MustCompile(`\x1b(\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(\x07|\x1b\\))`)

var printedNumber = regexp.MustCompile(`\d+(\.\d+)?([eE][+-]?\d+)?`)

// checkNumbers requires that sizes and times are positive, finite and printed. A
// time may be its size over a printed bandwidth instead, with a warning, and lies
// in the interval that the record gives for its rounding.
func checkNumbers(t *testing.T, rec *record.Record, log string) {
	said, numbers := map[float64]bool{}, map[float64]bool{}
	// What a terminal would not show does not interrupt a number.
	seen := strings.ReplaceAll(escapes.ReplaceAllString(log, ""), "\x00", "")
	for _, s := range printedNumber.FindAllString(seen, -1) {
		for _, power := range []int{-9, -6, -3, 0} {
			if v, err := strconv.ParseFloat(s+"e"+strconv.Itoa(power), 64); err == nil {
				said[v] = true
			} else if at := strings.IndexAny(s, "eE"); at >= 0 {
				e, _ := strconv.Atoi(s[at+1:])
				v, _ := strconv.ParseFloat(s[:at]+"e"+strconv.Itoa(e+power), 64)
				said[v] = true
			}
		}
		if v, err := strconv.ParseFloat(s, 64); err == nil {
			numbers[v] = true
		}
	}
	for _, r := range rec.Results {
		if r.Bytes <= 0 || !strings.Contains(seen, strconv.FormatInt(r.Bytes, 10)) {
			t.Fatalf("%s: %d bytes are not in the log", r.Key, r.Bytes)
		}
		sum, derived := r.Burst.MeanOfRanks, slices.ContainsFunc(r.Warnings, func(w record.Warning) bool { return w.Code == "time_from_algbw" })
		for _, v := range []float64{sum.Min, sum.Max} {
			if !(v > 0) || math.IsInf(v, 0) || !said[v] && !(derived && overPrinted(r, v, numbers)) {
				t.Fatalf("%s: %g s is not in the log", r.Key, v)
			}
		}
		if i := r.Burst.Rounding; i == nil || !(i.Lo <= sum.Median && sum.Median <= i.Hi) {
			t.Fatalf("%s: %g s is not in its rounding interval %+v", r.Key, sum.Median, i)
		}
		for _, bw := range []*float64{r.AlgBW, r.BusBW} {
			if bw == nil || !(*bw >= 0) || math.IsInf(*bw, 0) {
				t.Fatalf("%s: bandwidth is missing or not a number", r.Key)
			}
		}
	}
}

// overPrinted reports whether a time is the size over a printed bandwidth, which
// in old logs has the bus factor in it.
func overPrinted(r record.Result, v float64, numbers map[float64]bool) bool {
	for gb := range numbers {
		for _, scale := range []float64{1, float64(r.Ranks-1) / float64(max(r.Ranks, 1))} {
			if math.Abs(float64(r.Bytes)*scale/1e9/gb-v) <= 1e-12*v {
				return true
			}
		}
	}
	return false
}
