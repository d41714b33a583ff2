package main

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"zbench/bench/base/exit"
	"zbench/bench/base/folder"
	"zbench/bench/base/pattern"
	"zbench/bench/engine"
	"zbench/bench/run/spec"
	"zbench/internal/launch"
	"zbench/internal/rendezvous"
)

// Times after which processes that do not end are killed. A frozen process never ends by itself.
const (
	// failedGrace is the time from the end of a failed process until the first process is asked to
	// stop. firstGrace is the time from that request until the first process is killed; meanwhile
	// it saves its results and aborts calls that hang.
	failedGrace = 5 * time.Second
	firstGrace  = 14 * time.Second
	// leftGrace is the time that the remaining processes have after the first one has ended.
	leftGrace = 12 * time.Second
	// hintAfter is the time from an interrupt without effect until the next step is printed.
	hintAfter = 3 * time.Second
)

// startWorld starts the processes of the sweep and waits for them. The first process leads, and its
// exit code becomes the exit code of this process.
func (o *worldRun) startWorld(ctx context.Context, s State, l launching, resumed bool) error {
	u, _, err := o.dryPrepare(s, l, resumed)
	if err != nil {
		return err
	}
	token, err := tokenOf(s, l.role)
	if err != nil {
		return err
	}
	start := o.startOf(s, l, u.Spec)
	if l.method == launch.Local && o.want.Backend == "auto" {
		start.Args = slices.Concat(start.Args, []string{"--backend", u.Spec.Backend}) // a process on this node
	}
	start.Environ = append(start.Environ, launch.ControlVariable+"=stdin")
	if !s.Stdout.IsTTY { // mpirun gives its processes a terminal, wherever its own output goes
		start.Environ = append(start.Environ, "NO_COLOR=1")
	}
	start.Environ = append(start.Environ, oneHeap(s, u.Spec)...)
	lines, err := launch.Command(start)
	if err != nil {
		return usage(err, launchHint(nil))
	}
	f := &children{s: s, ends: make(chan ending, len(lines)), tasks: make(chan endedTask, maxEnded), patience: o.deadlines.longest() + firstGrace}
	begun := s.Now()
	f.saved = func() string { return o.savedSince(s, begun) }
	if l.method != launch.Local {
		f.launcher = lines[0].Argv[0]
	}
	for i, line := range lines {
		if err := f.add(Command{Argv: line.Argv, Environ: line.Environ(start.Environ, token), Control: i == 0, Says: f.heard(l.method), Interrupts: interruptsOf[l.method]}); err != nil {
			return err
		}
	}
	return f.wait(ctx)
}

// heapsVariable sets the number of heaps that the C library makes for the threads of a process.
const heapsVariable = "MALLOC_ARENA_MAX"

// oneHeap makes all threads of a process in a simulation share one heap of the C library, because a
// host may run a thousand such processes.
func oneHeap(s State, want spec.Spec) []string {
	if want.Backend != "loopback" || s.Getenv(heapsVariable) != "" {
		return nil
	}
	return []string{heapsVariable + "=1"}
}

// givenToken returns the user's secret without surrounding spaces, or empty text. The processes
// trim it in the same way.
func givenToken(s State) string { return strings.TrimSpace(s.Getenv(launch.TokenVariable)) }

// tokenOf returns the secret of the run: the user's secret, or a new one if this process starts all
// processes of the world.
func tokenOf(s State, role launch.Role) (string, error) {
	text := givenToken(s)
	shared := role.Start == launch.Local && role.Nodes > 1 // other nodes start their own processes
	if text == "" && !shared {
		return launch.NewToken(s.Random)
	}
	token, err := rendezvous.ParseToken(text)
	if err != nil && shared {
		return "", usage(err, "export "+launch.TokenVariable+"=… from zbench token, the same on all nodes")
	}
	if err != nil {
		return "", usage(err, "unset it: zbench makes one; or export "+launch.TokenVariable+"=$(zbench token)")
	}
	return token.Reveal(), nil
}

// interruptsOf is the number of interrupts after which a launcher ends its processes on all nodes.
var interruptsOf = map[launch.Method]int{launch.Slurm: 3, launch.MPI: 1}

// children are the processes that this process has started: all processes of a node, or srun or
// mpirun, which starts them.
type children struct {
	s    State
	all  []Child
	ends chan ending
	// launcher is srun or mpirun; empty if this process itself starts the processes of its node.
	launcher string
	// tasks receives the ends of tasks, as srun reports them.
	tasks chan endedTask
	// patience is how long the first process may take to stop after it was asked to stop.
	patience time.Duration
	// saved says which results of an interrupted run were saved, and what to do next.
	saved func() string
}

// savedSince says what a run that began at the given time has saved. The results are in the
// requested folder, or in a new folder below the current one. A failed launch has no folder.
func (o *worldRun) savedSince(s State, begun time.Time) string {
	folders := []string{cmp.Or(o.resume, o.out)}
	if folders[0] == "" {
		folders = nil
		command := cmp.Or(o.command, "collectives")
		least, prefix := folder.Dated(command, begun), "zbench-"+command+"-"
		entries, _ := s.FS.ReadDir(".") // on an error nothing is found
		for _, e := range entries {
			if e.IsDir() && e.Name() >= least && strings.HasPrefix(e.Name(), prefix) {
				folders = append(folders, e.Name())
			}
		}
	}
	for _, dir := range folders {
		if j, err := engine.ReadFolder(s.FS, dir); err == nil && len(j.Parts) > 0 {
			return "finished cases are saved; to run the rest: " + j.Header.Record.ResumeCommand(dir)
		}
		if _, err := s.FS.Stat(filepath.Join(dir, soakJournal)); err == nil {
			return soakAgain(dir)
		}
	}
	return "nothing was measured, and nothing is saved. The launcher's own message is above; --dry-run prints the command that was run"
}

// ending describes how a child ended.
type ending struct {
	child, code int
	how         string
	// launcher is the program that started the processes; empty if the child is itself one of them.
	launcher string
}

// endOf waits for a child in the background.
func endOf(child Child) <-chan ending {
	ended := make(chan ending, 1)
	go func() {
		code, how := child.Wait()
		ended <- ending{code: code, how: how}
	}()
	return ended
}

// add starts a child. If that fails, it kills all other children.
func (f *children) add(c Command) error {
	child, err := f.s.Start(c)
	if err != nil {
		f.kill()
		return exit.With(exit.Run, fmt.Errorf("%s cannot be started: %w", c.Argv[0], err), "--dry-run prints the command")
	}
	n := len(f.all)
	f.all = append(f.all, child)
	go func() {
		code, how := child.Wait()
		f.ends <- ending{n, code, how, f.launcher}
	}()
	return nil
}

// heard returns a reader of the launcher's output. It tells the leader which tasks failed according
// to srun. Otherwise the leader would wait for a task that has not registered. heard returns nil if
// the launcher is not srun.
func (f *children) heard(m launch.Method) func(string) {
	if m != launch.Slurm {
		return nil
	}
	return func(line string) {
		for _, task := range endedBySrun(line) {
			select {
			case f.tasks <- task:
			default: // the first reports are enough
			}
		}
	}
}

func (f *children) kill() {
	for _, c := range f.all {
		c.Kill()
	}
}

// killed kills the children and waits for those that have not ended. left is their number. srun
// needs this time to kill its step.
func (f *children) killed(left int) {
	f.kill()
	late := time.NewTimer(leftGrace)
	defer late.Stop()
	for range left {
		select {
		case <-f.ends:
		case <-late.C:
			return
		}
	}
}

// waiting is the state while this process waits for its children.
type waiting struct {
	*children
	late *time.Timer
	// first is the end of the first child. failed is the end of another child that failed while the
	// first was still running.
	first, failed *ending
	// leader is the end of process 0 as its launcher reported it.
	leader endedTask
	// stopping is the reason why the first child was asked to stop; empty if it was not asked. dead
	// is true if the children were killed. killed is true if they were killed before the leader's
	// end was reported.
	stopping     string
	killed, dead bool
}

// wait waits for all children. When ctx ends, it asks the first child to stop, which saves the
// finished results and lets all others end. A child that was asked to stop, or that is the last
// one, has a time limit.
func (f *children) wait(ctx context.Context) error {
	w := &waiting{children: f, late: stopped()}
	asked, hint := ctx.Done(), stopped()
	for left := len(f.all); left > 0; {
		select {
		case <-asked:
			asked = nil
			w.interrupted(context.Cause(ctx).Error())
			hint.Reset(hintAfter)
		case <-hint.C:
			f.s.note(false, "zbench: rank 0 ends what runs, and saves; a second Ctrl-C ends all processes at once; finished cases, if any, stay saved\n")
		case e := <-f.ends:
			left--
			w.ended(e, left)
		case task := <-f.tasks:
			w.told(task)
		case <-w.late.C:
			if w.tooLate() {
				left = 0
			}
		}
	}
	for len(f.tasks) > 0 {
		w.hear(<-f.tasks)
	}
	return w.verdict()
}

// stopped returns a timer that is not running.
func stopped() *time.Timer {
	t := time.NewTimer(0)
	<-t.C
	return t
}

// interrupted asks the first child to stop. That child may have to finish a batch first.
func (w *waiting) interrupted(why string) {
	w.all[0].Ask(why)
	if w.first != nil || w.stopping != "" {
		return
	}
	w.stopping = why
	if w.failed != nil {
		w.late.Reset(firstGrace)
	} else {
		w.late.Reset(w.patience)
	}
}

// ended records the end of a child. left is the number of children that are still running.
func (w *waiting) ended(e ending, left int) {
	switch {
	case e.child == 0:
		w.first = &e
		w.late.Reset(leftGrace)
	case w.first == nil:
		w.all[0].Ask(endedTask{e.child, e.how}.line()) // the failed child may not have registered with the leader
		if e.code != 0 || left == 1 {
			w.fails(e)
		}
	}
}

// fails records that the first child must end, either because another child failed or because all
// others have ended.
func (w *waiting) fails(e ending) {
	if w.failed != nil {
		return
	}
	w.failed = &e
	if w.stopping == "" {
		w.late.Reset(failedGrace) // the first child ends the run by itself
	} else {
		w.late.Reset(failedGrace + firstGrace)
	}
}

// told handles the reported end of a task while other tasks are running. srun waits for all tasks.
// So that a frozen task does not keep it waiting, the remaining tasks get the same time limit as
// frozen processes on this node.
func (w *waiting) told(task endedTask) {
	w.hear(task)
	switch {
	case task.process == 0:
		w.late.Reset(leftGrace)
	case w.leader.how == "":
		w.fails(ending{child: task.process, code: exit.Run, how: task.how})
	}
}

// hear tells the leader about the end of another task, and records the end of the leader itself.
func (w *waiting) hear(task endedTask) {
	if task.process == 0 {
		w.leader = task
		return
	}
	w.all[0].Ask(task.line())
}

// tooLate asks the first child to stop, or kills all children if that was already tried. It returns
// true if children still remain after they were killed.
func (w *waiting) tooLate() (givenUp bool) {
	switch {
	case w.dead:
		w.first = cmp.Or(w.first, &ending{code: -1, how: "it was killed, and is still there", launcher: w.launcher})
		return true
	case w.first != nil || w.leader.how != "" || w.stopping != "":
		w.killed, w.dead = w.leader.how == "", true
		w.kill()
		w.late.Reset(stepGrace + leftGrace)
	default:
		w.stopping = w.failed.text()
		w.all[0].Ask(w.stopping)
		w.late.Reset(firstGrace)
	}
	return false
}

// verdict returns the error of the run.
func (w *waiting) verdict() error {
	first := *w.first
	if code, ok := w.leader.code(); ok {
		first.code = code // srun's own exit code is the largest of all tasks
	}
	if w.stopping != "" && (first.code < 0 || w.killed && w.launcher != "") {
		return exit.With(exit.Run, fmt.Errorf("process 0 did not end after %s, and was killed; culprit: process 0, unless it ends late", w.stopping), w.saved())
	}
	if w.failed != nil && w.stopping != w.failed.text() {
		w.failed = nil // the first child was not stopped because of this failure
	}
	return verdictOf(first, w.failed, w.saved)
}

func (e ending) text() string {
	return fmt.Sprintf("%s ended early (%s)", cmp.Or(e.launcher, fmt.Sprintf("process %d", e.child)), e.how)
}

// verdictOf returns the error that describes the end of the first process, which has printed its
// own error. saved says what was saved.
func verdictOf(first ending, failed *ending, saved func() string) error {
	switch {
	case first.code == exit.Interrupted && failed != nil:
		return exit.With(exit.Run, fmt.Errorf("%s", failed.text()), "its error is above; "+saved())
	case first.code == exit.OK:
		return nil
	case first.code > exit.Want && first.code != exit.Interrupted || first.code < 0:
		return exit.With(exit.Run, fmt.Errorf("%s", first.text()), saved())
	}
	return exit.Quiet(first.code)
}

// endedTask is the end of a process of the world, as its launcher reports it.
type endedTask struct {
	process int
	how     string
}

// maxEnded is the largest number of reports that wait to be read.
const maxEnded = 16

// endedWord begins a line that tells the leader about the end of another process.
const endedWord = "ended "

// srunCode matches the exit code in a report of srun.
var srunCode = pattern.New(`Exited with exit code ([0-9]+)$`)

// code returns the exit code of the task, or false if the task ended in another way.
func (e endedTask) code() (int, bool) {
	m := srunCode.FindStringSubmatch(e.how)
	if m == nil {
		return 0, false
	}
	n, err := strconv.Atoi(m[1])
	return n, err == nil
}

// line returns the line that is written to the leader's standard input.
func (e endedTask) line() string { return fmt.Sprintf("%s%d %s", endedWord, e.process, e.how) }

func readEnded(line string) (endedTask, bool) {
	rest, ok := strings.CutPrefix(line, endedWord)
	number, how, _ := strings.Cut(rest, " ")
	process, err := strconv.Atoi(number)
	return endedTask{process, how}, ok && err == nil
}

// srunEnded matches srun's report about failed tasks, such as "srun: error: node2: tasks 3,5-7:
// Exited with exit code 1".
var srunEnded = pattern.New(`^srun: error: (\S+): tasks? ([0-9,-]+): (.+)$`)

// endedBySrun returns the tasks in a line of srun. For a range it returns only the first task,
// which is enough to identify the failure.
func endedBySrun(line string) (all []endedTask) {
	m := srunEnded.FindStringSubmatch(line)
	if m == nil {
		return nil
	}
	for part := range strings.SplitSeq(m[2], ",") {
		first, _, _ := strings.Cut(part, "-")
		if n, err := strconv.Atoi(first); err == nil {
			all = append(all, endedTask{n, fmt.Sprintf("srun on %s: %s", m[1], m[3])})
		}
	}
	return all
}
