package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"zbench/bench/plan"
	"zbench/bench/record"
)

// facts are the flags that say what is measured, not how: --force may change
// them when a sweep goes on. The others decide which cases there are, and stay.
var facts = []string{"nodes", "gpus-per-node", "ngpus", "fabric", "fault", "seed", "backend"}

// free are the flags that a sweep that goes on may have anew.
var free = slices.Concat([]string{"resume", "force", "quiet", "format", "fixed-sizes"}, adviceNames())

// runResume goes on with the sweep that o.resume holds. cmd tells which flags
// were given beside it.
func runResume(ctx context.Context, s State, cmd *cobra.Command, given collectivesOptions) error {
	if given.resume == "" { // a script's empty variable is no reason to begin another
		return usagef("give the folder of the sweep to go on with", "--resume is empty")
	}
	path := filepath.Join(given.resume, journalFile)
	text, err := s.FS.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return usagef("a folder that zbench collectives made has one", "%s does not exist: there is nothing to go on with", path)
	}
	if err != nil {
		return unreadable(s, path, err, "begin the sweep anew in another folder (--out)")
	}
	old, err := readJournal(path, text)
	if err != nil {
		return err
	}
	o, err := oldOptions(cmd, given, old)
	if err != nil {
		return err
	}
	dir := &folder{fs: s.FS, path: given.resume}
	u, unfit := prepare(s, o)
	if old.Left() == 0 && !given.force {
		if unfit == nil {
			more, err := u.wants(s, o, old, plan.Room{Bytes: math.MaxInt64})
			if err != nil {
				return err
			}
			if more != nil {
				return u.sweep(ctx, s, o, dir, old, old.Header.Record.Created)
			}
		}
		s.note(given.quiet, "The sweep in %s is complete; it is drawn again.\n", given.resume)
		return finish(s, o, dir, s.Now(), &swept{old, old.Record()})
	}
	if unfit != nil {
		return unfit
	}
	return u.sweep(ctx, s, o, dir, old, old.Header.Record.Created)
}

// oldOptions are the options that a journal's sweep was begun with. What was
// given anew and differs is an error that names it, but facts with --force.
func oldOptions(cmd *cobra.Command, given collectivesOptions, old *record.Journal) (collectivesOptions, error) {
	var o collectivesOptions
	kept := &cobra.Command{}
	addCollectivesFlags(kept, &o)
	h := old.Header
	line := slices.Concat(reproduceArgs(&h.Record)[2:], []string{
		"--fabric", h.Fabric, "--seed", fmt.Sprint(h.Record.Sweep.Seed),
		"--verify-budget", fmt.Sprint(h.VerifyBudget), fmt.Sprintf("--keep-samples=%t", h.KeepSamples),
	})
	if err := kept.ParseFlags(line); err != nil {
		return o, &codeError{exitRun, fmt.Errorf("the header of %s: %w", journalFile, err), "begin the sweep anew"}
	}
	o.names = kept.Flags().Args()
	var clash []string
	if len(given.names) > 0 && !slices.Equal(given.names, o.names) {
		clash = append(clash, fmt.Sprintf("collectives %s, now %s", strings.Join(o.names, " "), strings.Join(given.names, " ")))
	}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		k := kept.Flags().Lookup(f.Name)
		switch {
		case slices.Contains(free, f.Name) || isLibraryFlag(f.Name) || same(f.Value, k.Value):
		case given.force && slices.Contains(facts, f.Name):
			take(k.Value, f.Value)
		default:
			clash = append(clash, fmt.Sprintf("--%s %s, now %s", f.Name, cmp.Or(k.Value.String(), "none"), f.Value))
		}
	})
	o.resume, o.force, o.quiet, o.format = given.resume, given.force, given.quiet, given.format
	o.libraries, o.advice, o.fixedSizes = given.libraries, given.advice, given.fixedSizes
	if len(clash) > 0 {
		return o, usagef("leave them out: the sweep goes on with its own options; or begin another one with --out",
			"the sweep in %s was begun with %s", given.resume, strings.Join(clash, "; "))
	}
	return o, nil
}

// same tells whether two values of one flag mean the same.
func same(a, b pflag.Value) bool {
	x, ok := a.(*flagValue)
	if !ok {
		return a.String() == b.String()
	}
	var p, q sweepOptions
	return x.row.set(&p, a.String()) == nil && x.row.set(&q, b.String()) == nil && reflect.DeepEqual(p, q)
}

// take gives a flag the value of another; both were parsed before.
func take(to, from pflag.Value) {
	if list, ok := from.(pflag.SliceValue); ok {
		_ = to.(pflag.SliceValue).Replace(list.GetSlice())
		return
	}
	_ = to.Set(from.String())
}

// goOn joins a journal's header with that of the sweep that is to go on with it.
// Where they differ the cases before and after cannot be compared: then it is
// refused, or with force finished cases are kept and a warning says so.
func goOn(old *record.Journal, now record.Header, force bool) (*record.Journal, error) {
	changes := differences(old.Header, now)
	if len(changes) == 0 {
		return &record.Journal{Header: old.Header, Parts: old.Parts, Further: old.Further}, nil
	}
	list := strings.Join(changes, "; ")
	if !force {
		return nil, &codeError{
			exitUsage, fmt.Errorf("the sweep was begun on something else: %s", list),
			"begin another one with --out, or --force to go on: finished cases stay as they are",
		}
	}
	kept := old.FinishedParts()
	planned := map[string]int{}
	for i, r := range now.Record.Results {
		planned[r.Key] = i
	}
	for _, r := range old.Planned() {
		if !slices.ContainsFunc(kept, func(p record.Part) bool { return p.Key == r.Key }) {
			continue
		}
		if i, again := planned[r.Key]; again {
			now.Record.Results[i].Status, now.Record.Results[i].Reason = r.Status, r.Reason // skipped now, it has a result
		} else {
			now.Record.Results = append(now.Record.Results, r)
		}
	}
	now.Record.Warnings = append(slices.Clone(old.Header.Record.Warnings), record.Warning{
		Code: "resumed", Message: fmt.Sprintf("the sweep went on after a change; %d passes are from before it: %s", len(kept), list),
		Hint: "do not compare its cases with each other",
	})
	return &record.Journal{Header: now, Parts: kept}, nil
}

// differences names what a sweep was begun with and what there is now.
func differences(old, now record.Header) []string {
	var list []string
	differ := func(what string, a, b any) {
		if !reflect.DeepEqual(a, b) {
			list = append(list, fmt.Sprintf("%s: was %v, is %v", what, a, b))
		}
	}
	a, b := old.Record, now.Record
	differ("zbench", a.Tool.Version, b.Tool.Version)
	differ("backend", a.Source.Backend, b.Source.Backend)
	differ("ranks", a.World.Ranks, b.World.Ranks)
	differ("nodes", a.World.Nodes, b.World.Nodes)
	differ("GPUs per node", a.World.GPUsPerNode, b.World.GPUsPerNode)
	differ("GPUs per process", a.World.GPUsPerProcess, b.World.GPUsPerProcess)
	differ("ranks per GPU", a.World.RanksPerGPU, b.World.RanksPerGPU)
	differ("GPU", a.World.GPU, b.World.GPU)
	differ("fabric", old.Fabric, now.Fabric)
	differ("faults", strings.Join(a.Sweep.Faults, ", "), strings.Join(b.Sweep.Faults, ", "))
	differ("seed", a.Sweep.Seed, b.Sweep.Seed)
	differ("libraries", libraries(a), libraries(b))
	if len(list) == 0 {
		differ("the fabric's constants (SHA-256 of the machine file)", old.Machine, now.Machine)
	}
	return list
}

func libraries(rec record.Record) string {
	var list []string
	for _, l := range rec.Source.Libraries {
		list = append(list, strings.TrimSpace(l.Name+" "+l.Version))
	}
	return strings.Join(list, ", ")
}

// follow skips what the journal's header says is skipped: a case that would fit
// today has no place in its journal.
func follow(cases []plan.Case, h record.Header) {
	skip := map[string]string{}
	for _, r := range h.Record.Results {
		if r.Status == record.Skipped {
			skip[r.Key] = r.Reason
		}
	}
	for i := range cases {
		if reason, ok := skip[cases[i].Key]; ok {
			cases[i].Skip = reason
		}
	}
}
