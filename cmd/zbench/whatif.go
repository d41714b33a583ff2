package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"zbench/bench/base/unit"
)

// change is one change that --what-if makes to a run of a trainer.
type change struct {
	text string
	// faults are the faults that remain after the change.
	faults []string
	// bucket is the size of DistributedDataParallel's buckets in bytes; 0 means the trainer's own
	// size.
	bucket int64
}

// torchSummary is the summary that a run of a trainer writes. Step is the mean time of a step, in
// seconds: the median would hide events that slow a step only now and then.
type torchSummary struct {
	Step float64 `json:"mean"`
}

// matters is the smallest share of the step that a change must save to be called the cause. Smaller
// changes also happen with another seed of the noise.
const matters = 0.03

// allChanges selects the default changes: each fault removed by itself, the noise removed, and
// larger buckets.
const allChanges = "all"

// lateness are the faults that "no skew" removes.
var lateness = []string{"late_gpu", "late_node"}

// changesOf parses the values of --what-if.
func changesOf(texts, faults []string) (all []change, err error) {
	if at := slices.Index(texts, allChanges); at >= 0 {
		for _, f := range faults { // compare the whole text, so that another fault of the same kind remains
			all = append(all, change{text: "no " + f, faults: without(faults, func(o string) bool { return o == f })})
		}
		texts = slices.Replace(slices.Clone(texts), at, at+1, "no noise", "bucket 100M", "bucket 400M")
	}
	for _, text := range texts {
		if text == allChanges {
			continue
		}
		one, err := changeOf(text, faults)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

func changeOf(text string, faults []string) (change, error) {
	c := change{text: text, faults: faults}
	bad := func(format string, args ...any) (change, error) {
		return c, usagef("'no skew', 'no noise', 'no faults', 'no FAULT', 'rail 3 healthy', 'node 5 healthy', 'bucket 200M' and 'all' are understood", "--what-if '"+text+"': "+format, args...)
	}
	words := strings.Fields(text)
	var gone func(fault string) bool
	switch {
	case len(words) == 2 && words[0] == "bucket":
		n, err := unit.ParseBytes(words[1])
		if err != nil || n <= 0 {
			return bad("%q is no size of a bucket", words[1])
		}
		c.bucket = n
		return c, nil
	case text == "no noise":
		c.faults = quiet(faults)
		return c, nil
	case text == "no faults":
		gone = func(string) bool { return true }
	case text == "no skew":
		gone = func(f string) bool { return slices.Contains(lateness, kind(f)) }
	case len(words) == 2 && words[0] == "no":
		gone = func(f string) bool { return f == words[1] || kind(f) == words[1] }
	case len(words) == 3 && words[2] == "healthy" && (words[0] == "rail" || words[0] == "node"):
		gone = func(f string) bool {
			_, keys, _ := strings.Cut(f, ":")
			return slices.Contains(strings.Split(keys, ","), words[0]+"="+words[1])
		}
	default:
		return bad("no such change")
	}
	if c.faults = without(faults, gone); len(c.faults) == len(faults) {
		return bad("none of the faults of this run is one (%s)", strings.Join(append([]string{"--fault"}, faults...), " "))
	}
	return c, nil
}

func kind(fault string) string { name, _, _ := strings.Cut(fault, ":"); return name }

func without(faults []string, gone func(string) bool) []string {
	return slices.DeleteFunc(slices.Clone(faults), gone)
}

// quiet returns the faults without noise, so that launches do not vary.
func quiet(faults []string) []string {
	return append(without(faults, func(f string) bool { return kind(f) == "noise" }), "noise:sigma=0")
}

// `why` prints the time of a step after each change, and names the change that best explains the
// long step.
func why(s State, base torchSummary, changes []change, runs []torchSummary) {
	s.note(false, "SIMULATED, with one thing changed (a step takes %s on average):\n", unit.Seconds(base.Step))
	best := -1
	for i, r := range runs {
		s.note(false, "  %-40s %10s  %+6.1f %%\n", changes[i].text, unit.Seconds(r.Step), 100*(r.Step/base.Step-1))
		if r.Step < base.Step*(1-matters) && (best < 0 || r.Step < runs[best].Step) {
			best = i
		}
	}
	if best < 0 {
		s.note(false, "None of these makes the step %g %% shorter.\n", 100*matters)
		return
	}
	s.note(false, "The largest cause: with '%s' the step is %.1f %% shorter.\n", changes[best].text, 100*(1-runs[best].Step/base.Step))
}

// readSummary reads the summary of a run.
func readSummary(s State, file string) (sum torchSummary, err error) {
	text, err := s.FS.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &sum)
	}
	if err == nil && !(sum.Step > 0) {
		err = fmt.Errorf("no optimizer made a step")
	}
	return sum, err
}
