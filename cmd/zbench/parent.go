package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"zbench/bench/exit"
	"zbench/bench/spec"
	"zbench/internal/launch"
	"zbench/internal/rendezvous"
)

// Times until processes that do not end are ended: one that is frozen never does.
const (
	// failedGrace is from the end of a process that failed until the first one is asked to
	// stop, firstGrace from then to its end: it saves, and aborts what hangs.
	failedGrace = 5 * time.Second
	firstGrace  = 14 * time.Second
	// leftGrace is for the others after the end of the first.
	leftGrace = 12 * time.Second
)

// startWorld starts the processes of the sweep and waits for them. The first of them leads:
// its exit code is this process's.
func (o *collectivesOptions) startWorld(ctx context.Context, s State, l launching, resumed bool) error {
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
		start.Args = slices.Concat(start.Args, []string{"--backend", u.Spec.Backend}) // the one of this node
	}
	start.Environ = append(start.Environ, launch.ControlVariable+"=stdin")
	if !s.Stdout.IsTTY { // mpirun gives its processes a terminal, wherever its own output goes
		start.Environ = append(start.Environ, "NO_COLOR=1")
	}
	start.Environ = append(start.Environ, oneHeap(s, u.Spec)...)
	lines, err := launch.Command(start)
	if err != nil {
		return usage(err, "zbench collectives --help lists the flags; --launch inproc measures with this process alone")
	}
	f := &children{s: s, ends: make(chan ending, len(lines)), tasks: make(chan endedTask, maxEnded)}
	if l.method != launch.Local {
		f.launcher = lines[0].Argv[0]
	}
	for i, line := range lines {
		if err := f.add(Command{Argv: line.Argv, Environ: line.Environ(start.Environ, token), Control: i == 0, Says: f.heard(l.method), Step: l.method == launch.Slurm}); err != nil {
			f.kill()
			return exit.With(exit.Run, fmt.Errorf("%s cannot be started: %w", line.Argv[0], err), "--dry-run prints the command")
		}
	}
	return f.wait(ctx)
}

// heapsVariable is how many heaps C's library makes for the threads of a process.
const heapsVariable = "MALLOC_ARENA_MAX"

// oneHeap lets the threads of each process of a simulation share one heap of C's from the
// start: there may be a thousand processes on this host.
func oneHeap(s State, want spec.Spec) []string {
	if want.Backend != "loopback" || s.Getenv(heapsVariable) != "" {
		return nil
	}
	return []string{heapsVariable + "=1"}
}

// givenToken is the user's secret, empty if there is none. The processes trim it, too.
func givenToken(s State) string { return strings.TrimSpace(s.Getenv(launch.TokenVariable)) }

// tokenOf is the secret of the run: the user's, or a new one where no other process starts
// a part of the world.
func tokenOf(s State, role launch.Role) (string, error) {
	text := givenToken(s)
	shared := role.Start == launch.Local && role.Nodes > 1 // other nodes start their own part of the world
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

// children are the processes that this one has started: all of a node, or the srun or mpirun
// that starts them.
type children struct {
	s    State
	all  []Child
	ends chan ending
	// launcher is srun or mpirun; empty for the processes of this node.
	launcher string
	// tasks are the ends of tasks that the child has told of.
	tasks chan endedTask
}

// ending is how a child has ended.
type ending struct {
	child, code int
	how         string
	// launcher is the program that has started the processes; empty if the child is one.
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

func (f *children) add(c Command) error {
	child, err := f.s.Start(c)
	if err != nil {
		return err
	}
	n := len(f.all)
	f.all = append(f.all, child)
	go func() {
		code, how := child.Wait()
		f.ends <- ending{n, code, how, f.launcher}
	}()
	return nil
}

// hear passes the end of a task on to the leader, and keeps the leader's own.
func (f *children) hear(task endedTask, leader *endedTask) {
	if task.process == 0 {
		*leader = task
		return
	}
	f.all[0].Ask(task.line())
}

// told hears of the end of a task while others run. srun waits for all tasks, so one that is
// frozen is waited for as a process of this node would be.
func (f *children) told(task endedTask, leader *endedTask, failed **ending, late *time.Timer) {
	f.hear(task, leader)
	switch {
	case task.process == 0:
		late.Reset(leftGrace)
	case leader.how == "" && *failed == nil:
		*failed = &ending{child: task.process, code: exit.Run, how: task.how}
		late.Reset(failedGrace)
	}
}

// heard tells the leader of tasks that srun reports as failed: one that has not registered
// would be waited for. Nil where the children are the tasks.
func (f *children) heard(m launch.Method) func(string) {
	if m != launch.Slurm {
		return nil
	}
	return func(line string) {
		for _, task := range endedBySrun(line) {
			select {
			case f.tasks <- task:
			default: // the first are enough
			}
		}
	}
}

func (f *children) kill() {
	for _, c := range f.all {
		c.Kill()
	}
}

// killed kills the children and waits for those that are left: srun kills its step first.
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

// wait waits for all children. The end of ctx asks the first one to stop, which saves what
// is finished and lets the others leave.
func (f *children) wait(ctx context.Context) error {
	var first *ending
	var failed *ending // another one, while the first still runs
	late := time.NewTimer(0)
	<-late.C
	var leader endedTask
	stopping := false // the first has been asked to stop, because another one failed
	killed := false   // before the leader's end was told
	asked := ctx.Done()
	for left := len(f.all); left > 0; {
		select {
		case <-asked:
			asked = nil
			f.all[0].Ask(context.Cause(ctx).Error())
		case e := <-f.ends:
			left--
			switch {
			case e.child == 0:
				first = &e
				late.Reset(leftGrace)
			case first == nil:
				f.all[0].Ask(endedTask{e.child, e.how}.line()) // it may not have registered
				if e.code != 0 && failed == nil {
					failed = &e
					late.Reset(failedGrace) // it ends the run
				}
			}
		case task := <-f.tasks:
			f.told(task, &leader, &failed, late)
		case <-late.C:
			if first != nil || leader.how != "" || stopping {
				killed = leader.how == ""
				f.kill()
				continue
			}
			stopping = true
			f.all[0].Ask(failed.text())
			late.Reset(firstGrace)
		}
	}
	for len(f.tasks) > 0 {
		f.hear(<-f.tasks, &leader)
	}
	if code, ok := leader.code(); ok {
		first.code = code // srun's is the greatest of all tasks
	}
	if stopping && (first.code < 0 || killed && f.launcher != "") {
		return exit.With(exit.Run, fmt.Errorf("process 0 did not end after %s, and was killed; culprit: process 0, unless it ends late", failed.text()), "finished cases are saved: --resume continues the sweep")
	}
	if !stopping {
		failed = nil // the first was not asked to stop because of it
	}
	return verdictOf(*first, failed)
}

func (e ending) text() string {
	return fmt.Sprintf("%s ended early (%s)", cmp.Or(e.launcher, fmt.Sprintf("process %d", e.child)), e.how)
}

// verdictOf is the error for the first process's end. It has printed its own.
func verdictOf(first ending, failed *ending) error {
	switch {
	case first.code == exit.Interrupted && failed != nil:
		return exit.With(exit.Run, fmt.Errorf("%s", failed.text()), "its error is above; finished cases are saved")
	case first.code == exit.OK:
		return nil
	case first.code > exit.Want && first.code != exit.Interrupted || first.code < 0:
		return exit.With(exit.Run, fmt.Errorf("%s", first.text()), "finished cases are saved: --resume continues the sweep")
	}
	return quietError{first.code}
}
