package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"zbench/bench/bisect"
	"zbench/bench/exit"
	"zbench/bench/folder"
	"zbench/bench/plain"
)

const bisectJournalFile = "bisect.jsonl"

// next is the saved entry of a child; false where none is left. The search is decided by
// its entries, so the next one is that of this child.
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

// start begins or continues a search in a folder.
func (o *bisectOptions) start(s State, dir *folder.Folder, h bisect.Header, saved []bisect.Entry) (*bisecting, error) {
	b := &bisecting{
		s: s, dir: dir, header: h, saved: saved, quiet: o.sweep.quiet, timeout: o.childTimeout(), timer: newTimer,
		search: bisect.New(len(h.Variants), len(h.Cases), h.Options), groups: map[string]string{}, broken: map[int]*bisect.BrokenError{},
	}
	var given []string
	for _, v := range h.Variants {
		given = append(given, v.Name+"="+v.Settings)
	}
	for _, seconds := range h.Scouts {
		b.children, b.seconds = b.children+1, b.seconds+seconds
	}
	var err error
	if b.variants, err = parseVariants(s, given, h.Spec.Benchmark); err == nil {
		err = b.openJournal()
	}
	if err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	return b, nil
}

// childTimeout is what --child-timeout gives; 0 leaves it to the children's times.
func (o *bisectOptions) childTimeout() time.Duration {
	return time.Duration(o.timeout * float64(time.Second))
}

// openJournal writes the lines that there are and opens the journal for more.
func (b *bisecting) openJournal() (err error) {
	h := &b.header
	if h.Run == "" { // a new one, or begun by an earlier version
		if h.Run, err = b.dir.NewRun(*h, false); err != nil {
			return err
		}
	}
	text, err := bisect.JournalText(*h, b.saved)
	if err == nil {
		b.journal, err = folder.NewJournal[bisect.Entry](b.dir, bisectJournalFile, h.Run, b.again(), text)
	}
	return err
}

// again is the command that continues the search.
func (b *bisecting) again() string { return plain.Typed("zbench", "bisect", "--resume", b.dir.Path) }

// resumeFreely are the flags that may be given with --resume.
var resumeFreely = []string{"resume", "format", "quiet", "verbose", "fail-on", "require-checked", "max-rounds", "child-timeout"}

// onlyResumes refuses flags that the search has already.
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

// resumed reads a search from its folder.
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
	return o.start(s, dir, h, saved)
}

// document describes the search as it stands.
func (b *bisecting) document(complete bool) *bisect.Document {
	variants := make([]bisect.Variant, len(b.variants))
	for i, v := range b.variants {
		variants[i] = bisect.Variant{Name: v.name, Settings: v.text}
		if broken := b.broken[i]; broken != nil {
			variants[i].Reason, variants[i].Evidence = broken.Reason, broken.Evidence
		}
	}
	cases := make([]bisect.Case, len(b.header.Cases))
	for i, c := range b.header.Cases {
		cases[i] = bisect.Case{Key: c.Key, Group: b.groups[c.Key], Bytes: c.Bytes}
		if cases[i].Group == "" {
			cases[i].Group = c.Collective
		}
	}
	d := b.search.Document(variants, cases)
	d.Simulated, d.Timing, d.GPUs, d.Seconds, d.Children = b.simulated, b.header.Timing, b.header.GPUs, b.seconds, b.children
	d.Complete = complete && !b.search.Exhausted()
	return d
}
