package experiments

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"zbench/bench/answers/bisect"
	"zbench/bench/base/jsonfile"
	"zbench/bench/base/stat"
	"zbench/bench/run/record"
	"zbench/bench/run/spec"
)

// Flips counts how readers react to files in which one bit was changed, and to journals that
// contain a line of another run.
type Flips struct {
	// Flips is the number of changed bits. Each change starts from the original files.
	Flips int
	// Refused counts changed files that were not read. Named counts files that were read with a
	// warning that they had changed. Equal counts files that gave the same figures.
	Refused, Named, Equal int
	// Lines is the number of lines of other runs, with correct checksums, that replaced a line or
	// were added. LinesRefused counts those that were not read.
	Lines, LinesRefused int
	// Silent describes changes that gave other figures without a warning.
	Silent []string
}

// runFiles are the files of one run by name.
type runFiles map[string][]byte

// The files, in the order in which bits are drawn.
const (
	journalFile = "journal.jsonl"
	resultsFile = "results.json"
	indexFile   = "samples.json"
	valuesFile  = "samples.f32"
	searchFile  = "bisect.jsonl"
)

var fileNames = []string{journalFile, resultsFile, indexFile, valuesFile, searchFile}

// RunFlips changes bits, one at a time, and puts lines of other runs into journals. If bare is
// true, files have no run ids and no checksums, like those of earlier versions of zbench. The
// experiment then shows what readers cannot notice.
func RunFlips(seed uint64, flips, lines int, bare bool) (Flips, error) {
	rng := rand.New(rand.NewPCG(seed, 20261123))
	own, err := newRunFiles(rng, bare)
	if err != nil {
		return Flips{}, err
	}
	want, said, err := own.figures()
	if err != nil || said {
		return Flips{}, fmt.Errorf("files as they were written: said %t: %w", said, err)
	}
	f := Flips{Flips: flips, Lines: lines}
	for range flips {
		name := fileNames[rng.IntN(len(fileNames))]
		bit := rng.IntN(8 * len(own[name]))
		f.count(want, own.flipped(name, bit), fmt.Sprintf("seed %d: bit %d of byte %d of %s", seed, bit%8, bit/8, name))
	}
	for range lines {
		other, err := newRunFiles(rng, bare)
		if err != nil {
			return Flips{}, err
		}
		name := []string{journalFile, searchFile}[rng.IntN(2)]
		damaged, what := own.mixed(other, name, rng)
		refused := f.Refused
		f.count(want, damaged, fmt.Sprintf("seed %d: %s of %s", seed, what, name))
		f.LinesRefused += f.Refused - refused
		f.Refused = refused
	}
	return f, nil
}

func (f *Flips) count(want string, files runFiles, what string) {
	got, said, err := files.figures()
	switch {
	case err != nil:
		f.Refused++
	case said:
		f.Named++
	case got == want:
		f.Equal++
	default:
		f.Silent = append(f.Silent, what)
	}
}

// flipped returns a copy of the files with one bit changed.
func (r runFiles) flipped(name string, bit int) runFiles {
	bad := slices.Clone(r[name])
	bad[bit/8] ^= 1 << (bit % 8)
	return r.with(name, bad)
}

func (r runFiles) with(name string, text []byte) runFiles {
	out := runFiles{}
	for _, n := range fileNames {
		out[n] = r[n]
	}
	out[name] = text
	return out
}

// mixed returns a copy with a line of another run's journal. The line replaces the line at the same
// place, or is appended if that pass was not yet done.
func (r runFiles) mixed(other runFiles, name string, rng *rand.Rand) (runFiles, string) {
	lines, theirs := bytes.SplitAfter(r[name], []byte("\n")), bytes.SplitAfter(other[name], []byte("\n"))
	at := 1 + rng.IntN(len(lines)-2) // the last one is empty
	lines = slices.Clone(lines)
	lines[at] = theirs[at]
	if rng.IntN(2) == 0 {
		lines = lines[:at+1]
		return r.with(name, bytes.Join(lines, nil)), fmt.Sprintf("line %d of another run, added at the end", at+1)
	}
	return r.with(name, bytes.Join(lines, nil)), fmt.Sprintf("line %d of another run", at+1)
}

// newRunFiles returns the files of a finished sweep of two cases and of a search, with times drawn
// from rng.
func newRunFiles(rng *rand.Rand, bare bool) (runFiles, error) {
	id := make([]byte, jsonfile.RunDigits/2)
	for i := range id {
		id[i] = byte(rng.UintN(256))
	}
	run := hex.EncodeToString(id)
	if bare {
		run = ""
	}
	j := &record.Journal{Header: flippedHeader(run)}
	for pass := range record.Passes {
		for _, c := range j.Planned() {
			j.Parts = append(j.Parts, flippedPart(rng, c, pass))
		}
	}
	text, err := j.Text()
	var results, index, values bytes.Buffer
	rec := j.Record()
	err = errors.Join(err, rec.WriteJSON(&results), record.WriteSamples(&values, &index, rec, j.Parts))
	search := bisect.Header{
		Schema: bisect.JournalSchema, Run: run, Options: bisect.Defaults(), Spec: *rec.Spec, Common: []string{}, Timing: "burst", GPUs: 2,
		Variants: []bisect.Given{{Name: "a"}, {Name: "b"}}, Cases: []bisect.Planned{{Key: rec.Results[0].Key, Bytes: 1024}},
	}
	var entries []bisect.Entry
	for i := range 4 {
		entries = append(entries, bisect.Entry{Round: i / 2, Variant: search.Variants[i%2].Name, Seconds: 1, Times: map[string]float64{rec.Results[0].Key: rng.Float64()}})
	}
	saved, failed := jsonfile.Lines(search.Run, search, entries)
	files := runFiles{journalFile: text, resultsFile: results.Bytes(), indexFile: index.Bytes(), valuesFile: values.Bytes(), searchFile: saved}
	if bare {
		err = errors.Join(err, unseal(files, resultsFile), unseal(files, indexFile))
	}
	return files, errors.Join(err, failed)
}

// unseal removes what earlier versions did not write.
func unseal(files runFiles, name string) error {
	var document map[string]any
	if err := json.Unmarshal(files[name], &document); err != nil {
		return err
	}
	delete(document, "sha256")
	delete(document, "values_sha256")
	text, err := json.MarshalIndent(document, "", "  ")
	files[name] = text
	return err
}

func flippedHeader(run string) record.Header {
	rec := record.Record{
		Schema: record.Schema, Tool: record.Tool{Name: "zbench", Version: "1"}, Created: time.Date(2026, 11, 23, 9, 8, 7, 0, time.UTC), Run: run,
		Source:   record.Source{Kind: record.Measured, Backend: "rocm", Clock: "monotonic"},
		World:    record.World{World: spec.World{Nodes: 1, GPUsPerNode: 2, GPUsPerProcess: 2}, Ranks: 2},
		Warnings: []record.Warning{},
		Spec: &spec.Spec{
			Schema: spec.Schema, Benchmark: spec.Collectives, Backend: "rocm", World: spec.World{Nodes: 1, GPUsPerNode: 2, GPUsPerProcess: 2},
			Sweep: &spec.Sweep{Collectives: []string{"all_reduce"}, MinBytes: 1024, MaxBytes: 4096, Factor: 4, Dtype: "float", Op: "sum", InPlace: []bool{false}, Iterations: 20, Cache: "cold"},
		},
	}
	for _, size := range []int64{1024, 4096} {
		rec.Results = append(rec.Results, record.Result{
			Case: record.Case{Key: record.Key("all_reduce", "float", "sum", size, 2, 1, false), Status: record.Interrupted, Reason: "not run", Verified: record.Verified{State: record.NotVerified, Reason: "not run"}}, Collective: "all_reduce", Dtype: "float", Op: "sum", BytesRequested: size, Bytes: size,
			Count: size / 4, Ranks: 2, Nodes: 1, GPUsPerProcess: 2,
		})
	}
	return record.Header{Schema: record.JournalSchema, Record: rec}
}

func flippedPart(rng *rand.Rand, c record.Result, pass int) record.Part {
	p := record.Part{
		Key: c.Key, Pass: pass, Status: record.OK, Verified: &record.Verified{State: record.VerifiedOK, Wrong: new(int64), Launches: 1},
		Burst:    &record.BurstSamples{Iterations: 20, Stop: stat.StopPrecision},
		Isolated: &record.IsolatedSamples{Stop: stat.StopPrecision, EventFloor: 1e-6},
	}
	for range 12 {
		s := 1e-5 * (1 + 0.05*rng.NormFloat64())
		p.Burst.Mean, p.Burst.Max = append(p.Burst.Mean, s), append(p.Burst.Max, 1.1*s)
		p.Isolated.Max, p.Isolated.Spread = append(p.Isolated.Max, 2*s), append(p.Isolated.Spread, s/8)
		for rank := range c.Ranks {
			p.Isolated.Ranks = binary.LittleEndian.AppendUint32(p.Isolated.Ranks, math.Float32bits(float32(2*s)+float32(rank)*1e-7))
		}
	}
	return p
}

// figures returns everything that readers get from the files, except texts. said is true if they
// were warned. A file that is refused gives an error.
func (r runFiles) figures() (text string, said bool, err error) {
	j, err := record.ReadJournal(r[journalFile])
	if err != nil {
		return "", false, err
	}
	rec, err := record.Decode(bytes.NewReader(r[resultsFile]))
	if err != nil {
		return "", false, err
	}
	h, entries, err := bisect.ReadJournal(r[searchFile])
	if err != nil {
		return "", false, err
	}
	samples, err := r.samples()
	said = len(rec.Edits()) > 0 || record.CheckSamples(rec, r[indexFile], r[valuesFile]) != nil || j.Truncated > 0
	if len(entries) < 4 {
		said = true // the child whose line was not written completely is measured again
	}
	for _, w := range []*record.Record{rec, j.Record()} {
		w.Warnings = nil
		var b bytes.Buffer
		err = errors.Join(err, w.WriteJSON(&b))
		text += b.String()
	}
	all, failed := json.Marshal([]any{h, entries, samples, j.Parts})
	return text + string(all), said, errors.Join(err, failed)
}

// samples returns the values of each series, as a user would read them.
func (r runFiles) samples() (map[string][]uint32, error) {
	var x record.SamplesIndex
	if err := json.Unmarshal(r[indexFile], &x); err != nil {
		return nil, err
	}
	out := map[string][]uint32{}
	for _, s := range x.Series {
		if s.Offset < 0 || s.Count < 0 || 4*(s.Offset+s.Count) > len(r[valuesFile]) {
			return nil, fmt.Errorf("the series %s of %s ends behind the file", s.Series, s.Key)
		}
		name := fmt.Sprint(s.Key, s.Pass, s.Series, s.Width)
		for i := range s.Count {
			out[name] = append(out[name], binary.LittleEndian.Uint32(r[valuesFile][4*(s.Offset+i):]))
		}
	}
	return out, nil
}
