package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"zbench/bench/exit"
	"zbench/internal/launch"
	"zbench/internal/rendezvous"
)

// childGrace is how long the other processes may take to end after the first, and the first
// after another one that failed.
const childGrace = 20 * time.Second

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
	lines, err := launch.Command(start)
	if err != nil {
		return usage(err, "zbench collectives --help lists the flags; --launch inproc measures with this process alone")
	}
	f := &children{s: s, ends: make(chan ending, len(lines))}
	for i, line := range lines {
		if err := f.add(Command{Argv: line.Argv, Environ: line.Environ(start.Environ, token), Control: i == 0}); err != nil {
			f.kill()
			return exit.With(exit.Run, fmt.Errorf("%s cannot be started: %w", line.Argv[0], err), "--dry-run prints the command")
		}
	}
	return f.wait(ctx)
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
}

// ending is how a child has ended.
type ending struct {
	child, code int
	how         string
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
		f.ends <- ending{n, code, how}
	}()
	return nil
}

func (f *children) kill() {
	for _, c := range f.all {
		c.Kill()
	}
}

// wait waits for all children. The end of ctx asks the first one to stop, which saves what
// is finished and lets the others leave.
func (f *children) wait(ctx context.Context) error {
	var first *ending
	var failed *ending // another one, while the first still runs
	late := time.NewTimer(0)
	<-late.C
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
				late.Reset(childGrace)
			case e.code != 0 && first == nil && failed == nil:
				failed = &e
				late.Reset(childGrace) // it ends the run, unless it had not registered
			}
		case <-late.C:
			if first != nil {
				f.kill()
				continue
			}
			f.all[0].Ask(failed.text())
		}
	}
	return verdictOf(*first, failed)
}

func (e ending) text() string { return fmt.Sprintf("process %d ended early (%s)", e.child, e.how) }

// verdictOf is the error for the first process's end. It has printed its own.
func verdictOf(first ending, failed *ending) error {
	switch {
	case first.code == exit.Interrupted && failed != nil:
		return exit.With(exit.Run, fmt.Errorf("%s", failed.text()), "its error is above; finished cases are saved")
	case first.code == exit.OK:
		return nil
	case first.code > exit.Want && first.code != exit.Interrupted || first.code < 0:
		return exit.With(exit.Run, fmt.Errorf("the processes of the sweep ended early (%s)", first.how), "finished cases are saved: --resume continues the sweep")
	}
	return quietError{first.code}
}
