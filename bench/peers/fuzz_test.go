package peers

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"zbench/bench/record"
)

// FuzzParse holds the importer to "no silent number": whatever the input, every
// stored time is a number that the input prints, and every row is accounted for.
func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("testdata/*.log")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(data), filepath.Base(name), 0)
	}
	f.Fuzz(func(t *testing.T, log, file string, ranks int) {
		rec, err := Parse(strings.NewReader(log), Options{File: file, Ranks: ranks % 64})
		if err != nil {
			for _, known := range []error{ErrNoTable, ErrFormat, ErrNoRows, ErrCollective, ErrTooLarge} {
				if errors.Is(err, known) {
					return
				}
			}
			t.Fatalf("error of no known kind: %v", err)
		}
		checkAccounts(t, rec)
		checkNumbers(t, rec, log)
		if _, err := json.Marshal(rec); err != nil {
			t.Fatalf("the record has no JSON form: %v", err)
		}
	})
}

// checkAccounts requires that samples, rows and skips add up.
func checkAccounts(t *testing.T, rec *record.Record) {
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
		if k.Count < 1 || k.Reason == "" || len(k.Lines) == 0 || len(k.Lines) > min(k.Count, maxSkipLines) {
			t.Fatalf("skip %+v is not consistent", k)
		}
	}
	if imp.Rows+skipped > imp.Lines {
		t.Fatalf("%d rows and %d skipped of %d lines", imp.Rows, skipped, imp.Lines)
	}
}

var printedNumber = regexp.MustCompile(`\d+(\.\d+)?([eE][+-]?\d+)?`)

// checkNumbers requires that sizes and times are positive, finite and printed.
func checkNumbers(t *testing.T, rec *record.Record, log string) {
	said := map[float64]bool{}
	// What a terminal would not show does not interrupt a number.
	shown := strings.ReplaceAll(ansi.ReplaceAllString(log, ""), "\x00", "")
	for _, s := range printedNumber.FindAllString(shown, -1) {
		for _, unit := range []float64{1e-9, 1e-6, 1e-3, 1} {
			said[scaled(s, unit)] = true
		}
	}
	for _, r := range rec.Results {
		if r.Bytes <= 0 || !strings.Contains(shown, strconv.FormatInt(r.Bytes, 10)) {
			t.Fatalf("%s: %d bytes are not in the log", r.Key, r.Bytes)
		}
		sum := r.Burst.MeanOfRanks
		for _, v := range []float64{sum.Min, sum.Max} {
			if !(v > 0) || math.IsInf(v, 0) || !said[v] {
				t.Fatalf("%s: %g s is not in the log", r.Key, v)
			}
		}
		for _, bw := range []*float64{r.AlgBW, r.BusBW} {
			if bw == nil || !(*bw >= 0) || math.IsInf(*bw, 0) {
				t.Fatalf("%s: bandwidth is missing or not a number", r.Key)
			}
		}
	}
}
