// Command zbench measures the fabric and the memory of an AMD training cluster, and turns the
// measurement into the trainer's buffer configuration. `zbench --help` is its manual.
package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/spf13/cobra"

	"zbench/bench/base/exit"
	"zbench/bench/base/spell"
	"zbench/internal/launch"
)

// Main runs one command and returns the exit code. The first signal cancels the context, so that
// finished results are saved; the second ends the process.
func Main(ctx context.Context, s State) int {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	done := make(chan struct{})
	defer close(done)
	var started subprocesses
	s.Start = started.track(s.Start)
	defer started.kill() // processes that remain after an early return
	go watch(s, &started, cancel, done)
	// If nobody reads the progress of a sweep any longer, it ends as after a signal. If nobody
	// reads the answer of a command, it continues to its end.
	s.Stderr = s.Stderr.escaping(func() { cancel(&interruption{"the reader of standard error closed it"}) })
	s.Stdout = s.Stdout.escaping(func() {})
	if launch.LendsTerminal(s.Getenv) && s.Getenv(launch.ControlVariable) == "" {
		s.Stdout.IsTTY, s.Stdout.Width = false, 0
	}
	root := newRoot(s)
	args, _ := helpArgs(s.Args)
	root.SetArgs(args)
	root.SetIn(s.Stdin)
	root.SetOut(s.Stdout)
	root.SetErr(s.Stderr)
	err := root.ExecuteContext(ctx)
	if started.killing.Load() { // after a second signal, errors that follow from it are not reported
		return exit.Interrupted
	}
	complain(s, err)
	return exit.CodeOf(err)
}

// interruption is the reason why a command ends early: a signal, or a closed pipe.
type interruption struct{ why string }

func (i *interruption) Error() string { return i.why }

// Unwrap makes the interruption count as a cancellation.
func (i *interruption) Unwrap() error { return context.Canceled }

// subprocesses are the running processes that this process has started.
type subprocesses struct {
	running sync.Map // keys are *subprocess
	// killing is true after a second signal has killed the processes.
	killing atomic.Bool
}

// subprocess is a process that this process has started.
type subprocess struct {
	Child
	of *subprocesses
}

func (c *subprocess) Wait() (code int, how string) {
	defer c.of.running.Delete(c)
	return c.Child.Wait()
}

// track returns a function that starts a process with start and records it until it ends.
func (p *subprocesses) track(start func(Command) (Child, error)) func(Command) (Child, error) {
	return func(c Command) (Child, error) {
		started, err := start(c)
		if err != nil {
			return nil, err
		}
		one := &subprocess{started, p}
		p.running.Store(one, nil)
		return one, nil
	}
}

func (p *subprocesses) kill() {
	for child := range p.running.Range {
		child.(*subprocess).Kill() //nolint:forcetypeassert // track stores no other type
	}
}

// watch turns the first signal into a cancellation. The second signal ends this process and all
// processes that it has started: a frozen one would otherwise remain.
func watch(s State, started *subprocesses, cancel context.CancelCauseFunc, done <-chan struct{}) {
	select {
	case name := <-s.Signals:
		cancel(&interruption{name})
	case <-done:
		return
	}
	select {
	case <-s.Signals:
		started.killing.Store(true)
		started.kill()
		s.Exit(exit.Interrupted)
	case <-done:
	}
}

// interruptible makes a command end at the first signal, whether it reads a pipe, computes, or
// waits for a library. It is for commands without unsaved results, whose files are written
// completely or not at all.
func interruptible(run func(*cobra.Command, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		ended := make(chan error, 1)
		go func() { ended <- run(cmd, args) }()
		select {
		case err := <-ended:
			return err
		case <-cmd.Context().Done():
			return exit.With(exit.Interrupted, fmt.Errorf("%s was interrupted: %w", cmd.CommandPath(), context.Cause(cmd.Context())), "repeat the command")
		}
	}
}

// complain prints an error and the user's next step to standard error.
func complain(s State, err error) {
	if err == nil || err.Error() == "" {
		return
	}
	fmt.Fprintf(s.Stderr, "zbench: %s\n", err)
	if hint := hintOf(err); hint != "" {
		fmt.Fprintf(s.Stderr, "  → %s\n", hint)
	}
}

// hintOf returns the user's next step: similar names, and the hint of the error.
func hintOf(err error) string {
	hint := ""
	if e, ok := errors.AsType[*exit.Error](err); ok {
		hint = e.Hint
	}
	if unknown, ok := errors.AsType[*spell.Unknown](err); ok {
		hint = spell.Hint(unknown.Near(), hint)
	}
	return hint
}
