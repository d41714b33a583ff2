package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"zbench/bench/base/exit"
	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
	"zbench/internal/launch"
)

// trainersGrace is the time that the remaining real ranks have, after one of them failed, to report
// what they are waiting for.
const trainersGrace = 5 * time.Second

// trainers is a run of a trainer, with one process per real rank.
type trainers struct {
	program string
	args    []string
	// set are the variables for all processes. real are the real ranks.
	set  []launch.Var
	real []int
	// ranks is the size of the simulated world. onNode is the number of ranks per node.
	ranks, onNode int
	// arena is the file that the processes share. Files whose names begin with this name are
	// removed at the end.
	arena string
	// summed is true if the summary of the steps is needed.
	summed bool
	// output gets the output of the program; nil means the streams of this process.
	output io.Writer
}

// environment returns the variables for the process of a real rank. This process drives the GPUs of
// all ranks that behave like its own.
func (t *trainers) environment(s State, i int) []string {
	next := t.ranks
	if i+1 < len(t.real) {
		next = t.real[i+1]
	}
	line := launch.Line{Set: slices.Concat(t.set, []launch.Var{
		launch.Number("RANK", t.real[i]),
		launch.Number("LOCAL_RANK", t.real[i]%t.onNode),
		launch.Number("ZBENCH_LOOPBACK_FIRST", t.real[i]),
		launch.Number("ZBENCH_LOOPBACK_COUNT", next-t.real[i]),
	})}
	return line.Environ(s.Environ(), "")
}

// run runs the processes until all have ended. If one fails, it stops the others.
func (t *trainers) run(ctx context.Context, s State) (sum torchSummary, err error) {
	defer func() {
		for _, file := range t.left() {
			_ = s.FS.Remove(file) // a file that no process has made cannot be removed
		}
	}()
	f := &children{s: s, ends: make(chan ending, len(t.real))}
	var failed error
	for i := range t.real {
		if err := f.add(Command{Argv: append([]string{t.program}, t.args...), Environ: t.environment(s, i), Output: t.output}); err != nil {
			failed = exit.With(exit.Run, err, "check that it is a program for this machine")
			break
		}
	}
	var late <-chan time.Time
	asked := ctx.Done()
	var how []string
	code, killed := exit.Run, false
	for left := len(f.all); left > 0; {
		select {
		case <-asked:
			// Rank 0 writes the summary. The other ranks must continue meanwhile, or rank 0 would
			// wait for them.
			asked, late = nil, time.NewTimer(trainersGrace).C
			f.all[0].Interrupt()
		case e := <-f.ends:
			left--
			if asked == nil && e.child == 0 && !killed {
				killed = true
				f.kill()
			}
			if killed && late != nil && ctx.Err() == nil {
				how = append(how, fmt.Sprintf("rank %d was stopped (%s)", t.real[e.child], t.said(s, e.child)))
			}
			if e.code == 0 || killed {
				continue
			}
			// A rank that waits for another rank may end before that rank does.
			how = append(how, fmt.Sprintf("rank %d ended with %s", t.real[e.child], e.how))
			if late == nil {
				late = time.NewTimer(trainersGrace).C
				if e.code == exit.Want {
					code = exit.Want // the program did nothing on the cluster
				}
			}
		case <-late:
			killed = true
			f.kill()
		}
	}
	if failed == nil && len(how) > 0 {
		failed = exit.With(code, errors.New(strings.Join(how, "; ")), "its own message is above; the other ranks were stopped")
	}
	switch {
	case ctx.Err() != nil:
		return sum, exit.Quiet(exit.Interrupted)
	case failed != nil || !t.summed:
		return sum, failed
	}
	sum, err = readSummary(s, t.arena+".result")
	if err != nil {
		return sum, exit.With(exit.Run, fmt.Errorf("the program left no time of a step: %w", err), "--what-if needs a trainer whose optimizer makes steps")
	}
	return sum, nil
}

// said returns the last call that a rank has reported.
func (t *trainers) said(s State, i int) string {
	text, _ := s.FS.ReadFile(t.saying(t.real[i]))
	return cmp.Or(plain.Line(string(text)), "no call yet")
}

// saying returns the file in which a rank reports its calls.
func (t *trainers) saying(rank int) string { return fmt.Sprintf("%s.rank%d", t.arena, rank) }

// `left` returns the files that the processes share.
func (t *trainers) left() []string {
	return append(slice.Map(t.real, t.saying), t.arena+".store", t.arena+".result", t.arena)
}

// realRanks parses a list of ranks, which must be ascending and begin with 0.
func realRanks(given string, ranks int) (list []int, err error) {
	for text := range strings.SplitSeq(given, ",") {
		r, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil || r < 0 || r >= ranks || len(list) > 0 && r <= list[len(list)-1] || len(list) == 0 && r != 0 {
			return nil, usagef("give ranks upwards from 0, such as --real 0,8", "--real %s: %q is not a rank of %d behind the one before", given, text, ranks)
		}
		list = append(list, r)
	}
	return list, nil
}
