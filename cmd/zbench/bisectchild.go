package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"zbench/bench/answers/bisect"
	"zbench/bench/answers/compare"
	"zbench/bench/base/exit"
	"zbench/bench/base/folder"
	"zbench/bench/base/jsonfile"
	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
	"zbench/bench/run/record"
	"zbench/bench/run/spec"
)

// Limits for a child.
const (
	// firstTimeout is the time limit until a first child has finished. Later the limit is the
	// longest time of a child so far, multiplied by the constant slower, but at least leastTimeout.
	firstTimeout = 10 * time.Minute
	leastTimeout = time.Minute
	slower       = 5
)

// bisecting is a search in progress.
type bisecting struct {
	s       State
	dir     *folder.Folder
	journal *folder.Journal[bisect.Entry]
	// saved are entries of the journal that the search has not reached yet.
	saved    []bisect.Entry
	search   *bisect.Search
	header   bisect.Header
	variants []variant
	quiet    bool
	// timeout is the user's time limit for a child. longest is the longest time of a child so far.
	timeout, longest time.Duration
	timer            timer

	// entries are the results of the children so far.
	entries []bisect.Entry
}

func (b *bisecting) close() {
	_ = b.journal.Close()
	_ = b.dir.Close() // if this fails, the next run replaces the lock
}

// measure runs a child, or gets its result from the journal.
func (b *bisecting) measure(ctx context.Context, round, number int, cases []int) (bisect.Trial, error) {
	entry, saved, err := b.next(round, b.variants[number].Name)
	if err != nil {
		return bisect.Trial{}, err
	}
	if !saved {
		b.s.note(b.quiet, "round %d: %s, %s\n", round+1, b.variants[number].Name, plain.Count(len(cases), "case"))
		if entry, err = b.child(ctx, round, number, cases); err != nil {
			return bisect.Trial{}, err
		}
		if err := b.journal.Append(entry); err != nil {
			return bisect.Trial{}, err
		}
	}
	return b.take(entry), nil
}

// children returns the number of children so far.
func (b *bisecting) children() int { return len(b.header.Scouts) + len(b.entries) }

// take stores an entry and returns it as a trial.
func (b *bisecting) take(entry bisect.Entry) bisect.Trial {
	b.entries = append(b.entries, entry)
	if entry.Reason != "" {
		b.s.note(b.quiet, "%s is left out: %s\n", entry.Variant, entry.Reason)
		return bisect.Trial{Broken: true}
	}
	b.longest = max(b.longest, time.Duration(entry.Seconds*float64(time.Second)))
	t := bisect.Trial{Seconds: make([]float64, len(b.header.Cases)), Cost: entry.Seconds}
	for i, c := range b.header.Cases {
		t.Seconds[i] = entry.Times[c.Key]
	}
	return t
}

// child starts a child, waits for it and reads its record. If the child fails, the entry has the
// reason. An error ends the whole search.
func (b *bisecting) child(ctx context.Context, round, number int, cases []int) (bisect.Entry, error) {
	v := b.variants[number]
	entry := bisect.Entry{Round: round, Variant: v.Name}
	folder := filepath.Join(b.dir.Path, "children", fmt.Sprintf("%03d-%s", b.children()+1, v.Name))
	failed, tail, err := b.start(ctx, v, folder, cases, &entry.Seconds)
	if err != nil {
		return entry, err
	}
	if entry.Reason = failed; failed == "" {
		entry.Reason = b.read(&entry, v, folder, cases)
	}
	if entry.Reason != "" && entry.Times == nil { // the record of a child says more than its output
		entry.Evidence = tail.lines(evidenceLines)
	}
	return entry, nil
}

// start starts a child of a variant and waits for it. failed is the reason why the child failed, or
// empty. tail has the end of its output.
func (b *bisecting) start(ctx context.Context, v variant, folder string, cases []int, seconds *float64) (failed string, tail *tailWriter, err error) {
	request, err := b.request(cases)
	if err != nil {
		return "", &tailWriter{}, err
	}
	began, limit := b.s.Now(), b.deadline()
	code, how, tail, err := ownChild{
		args:    slices.Concat(strings.Fields(spec.Command(b.header.Spec.Benchmark)), []string{"--spec", request}, b.header.Common, v.args, []string{"--out", folder, "--force", "--quiet"}),
		environ: slices.Concat(b.s.Environ(), v.environ), limit: limit, limitedBy: "--child-timeout", kept: evidenceBytes, what: "a child of " + v.Name, timer: b.timer,
	}.run(ctx, b.s)
	*seconds = b.s.Now().Sub(began).Seconds()
	return failure(code, how), tail, err
}

// request writes the request of a child: the request of the search, narrowed to these cases, with
// another seed.
func (b *bisecting) request(cases []int) (string, error) {
	want := b.header.Spec.Clone()
	if want.Sweep != nil {
		b.narrow(want.Sweep, cases)
	} else {
		for _, i := range cases {
			want.Kernels.Only = append(want.Kernels.Only, b.header.Cases[i].Key)
		}
	}
	want.Seed += uint64(b.children()) //nolint:gosec // the number of children is small
	const name = "child.json"
	return b.dir.File(name), b.dir.Write(name, func(w io.Writer) error { return jsonfile.WriteBare(w, name, want) })
}

// narrow limits a sweep to the sizes and collectives of these cases.
func (b *bisecting) narrow(w *spec.Sweep, cases []int) {
	sizes := map[int64]bool{}
	w.Collectives = nil
	for _, i := range cases { // in the order of the request
		c := b.header.Cases[i]
		sizes[c.Bytes] = true
		if !slices.Contains(w.Collectives, c.Collective) {
			w.Collectives = append(w.Collectives, c.Collective)
		}
	}
	w.Sizes = slices.Sorted(maps.Keys(sizes))
}

// deadline returns the time limit of the next child.
func (b *bisecting) deadline() time.Duration {
	switch {
	case b.timeout > 0:
		return b.timeout
	case b.longest == 0:
		return firstTimeout
	}
	return max(leastTimeout, slower*b.longest).Round(time.Second)
}

// loopbackVariables are variables of the library that affect the loopback.
var loopbackVariables = []string{"NCCL_CUMEM_ENABLE", "NCCL_MULTI_RANK_GPU_ENABLE"}

// unmodelled returns the variables of a variant that the loopback does not model, or empty text if
// the child did not use the loopback. Without this check, different settings would seem equal and
// unknown settings would seem to work.
func unmodelled(rec *record.Record, environ []string) string {
	if rec.Source.Backend != "loopback" {
		return ""
	}
	given := record.Environment(environ)
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(given)), func(name string) bool { return slices.Contains(loopbackVariables, name) })
	if len(names) == 0 {
		return ""
	}
	return bisect.Unmodelled + strings.Join(names, ", ")
}

// read gets the times of the cases from a child's record. If there are none, it returns the reason.
func (b *bisecting) read(entry *bisect.Entry, v variant, folder string, cases []int) string {
	rec, err := readAny(b.s, folder)
	if err != nil {
		return "its record cannot be read: " + plain.Text(err.Error())
	}
	entry.Simulated, entry.Times, entry.Groups = rec.Simulated, map[string]float64{}, map[string]string{}
	if why := unmodelled(rec, v.environ); why != "" {
		return why
	}
	readings := compare.Readings(rec, b.header.Timing)
	why := ""
	for _, i := range cases {
		key := b.header.Cases[i].Key
		at := slices.IndexFunc(readings, func(r compare.Reading) bool { return r.Key == key })
		switch {
		case at < 0:
			why = cmp.Or(why, "it did not run")
		case readings[at].Seconds > 0:
			entry.Times[key], entry.Groups[key] = readings[at].Seconds, readings[at].Group
		default:
			why = cmp.Or(why, readings[at].Why)
		}
	}
	if len(entry.Times) == 0 {
		entry.Groups = nil
		return fmt.Sprintf("its record has a time of none of %s; the first, %s: %s", plain.Count(len(cases), "case"), b.header.Cases[cases[0]].Key, why)
	}
	return ""
}

const bisectJournalFile = "bisect.jsonl"

// `next` returns the saved entry of a child, or false if no entry is left. The course of a search
// depends only on its entries, so the next saved entry belongs to the next child.
func (b *bisecting) next(round int, variant string) (bisect.Entry, bool, error) {
	if len(b.saved) == 0 {
		return bisect.Entry{}, false, nil
	}
	e := b.saved[0]
	if e.Round != round || e.Variant != variant {
		return e, false, exit.With(exit.Run, fmt.Errorf("%s: round %d has %s, but the search asks for %s: the journal is of another version of zbench", b.dir.File(bisectJournalFile), e.Round+1, e.Variant, variant), "start a new search in another folder (--out)")
	}
	b.saved = b.saved[1:]
	return e, true, nil
}

// start begins a search in a folder, or continues one with its saved entries.
func (o *bisectOptions) start(s State, dir *folder.Folder, h bisect.Header, saved []bisect.Entry) (*bisecting, error) {
	b := &bisecting{
		s: s, dir: dir, header: h, saved: saved, quiet: o.sweep.quiet, timeout: duration(o.timeout), timer: newTimer,
		search: bisect.New(len(h.Variants), len(h.Cases), h.Options), variants: o.variants,
	}
	if err := b.openJournal(); err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	return b, nil
}

// openJournal writes the existing lines of the journal and opens it for more.
func (b *bisecting) openJournal() (err error) {
	b.journal, err = folder.Begin(b.dir, bisectJournalFile, b.again(), &b.header.Run, b.header, false, b.saved)
	return err
}

// `again` returns the command that continues the search.
func (b *bisecting) again() string { return plain.Typed("zbench", "bisect", "--resume", b.dir.Path) }

// resumeFreely are the flags that are allowed together with --resume.
var resumeFreely = []string{"resume", "format", "quiet", "verbose", "fail-on", "allow-unchecked", "require-checked", "max-rounds", "child-timeout"}

// onlyResumes refuses flags whose values are fixed when a search begins.
func (o *bisectOptions) onlyResumes(cmd *cobra.Command) error {
	var other []string
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if !slices.Contains(resumeFreely, f.Name) {
			other = append(other, "--"+f.Name)
		}
	})
	switch {
	case len(other) > 0:
		return usagef("only --"+strings.Join(resumeFreely[1:], ", --")+" may be given with it", "--resume continues a search with its own options: %s cannot change", strings.Join(other, ", "))
	case len(o.sweep.want.Sweep.Collectives) > 0:
		return usagef("leave the collectives out", "--resume continues a search with its own options")
	case o.sweep.resume == "":
		return usagef("give the folder of the search to continue", "--resume is empty")
	}
	return nil
}

// resumed reads the search in a folder.
func (o *bisectOptions) resumed(s State) (*bisecting, error) {
	dir, err := folder.Open(s.host(o.sweep.quiet), o.sweep.resume)
	if err != nil {
		return nil, err
	}
	text, err := s.FS.ReadFile(dir.File(bisectJournalFile))
	var h bisect.Header
	var saved []bisect.Entry
	if err == nil {
		h, saved, err = bisect.ReadJournal(text)
	}
	if err != nil {
		return nil, errors.Join(folder.Damaged(err, dir.File(bisectJournalFile), "give the folder of an earlier `zbench bisect`"), dir.Close())
	}
	if o.MaxRounds != bisect.Defaults().MaxRounds {
		h.Options.MaxRounds = o.MaxRounds
	}
	given := slice.Map(h.Variants, func(v bisect.Given) string { return v.Name + "=" + v.Settings })
	if o.variants, err = parseVariants(s, given, h.Spec.Benchmark); err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	return o.start(s, dir, h, saved)
}
