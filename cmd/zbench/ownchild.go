package main

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"zbench/bench/base/exit"
	"zbench/bench/base/plain"
	"zbench/bench/run/spec"
	"zbench/internal/launch"
)

// ownChild is a command of zbench that another command runs to its end: a variant of a search, a
// world of a soak, a row of a suite.
type ownChild struct {
	// args is the command line without the program. environ is the environment.
	args, environ []string
	// limit is how long the child may run. limitedBy is the flag that sets the limit.
	limit     time.Duration
	limitedBy string
	// kept is how many bytes of the end of its output are kept.
	kept int
	// what describes the child in an error.
	what string
	// signalled says that a child that must end also gets a signal, because not every command reads
	// its standard input.
	signalled bool
	timer     timer
}

// run starts the child and waits for its end. code is −1 after a signal or after the limit, and how
// says how the child ended. An error means that it did not start, or that ctx ended.
func (c ownChild) run(ctx context.Context, s State) (code int, how string, tail *tailWriter, err error) {
	tail = &tailWriter{limit: c.kept}
	own, pass := s.Environ(), []string{s.Getenv(launch.PassVariable)}
	for _, v := range c.environ {
		if name, _, _ := strings.Cut(v, "="); !slices.Contains(own, v) {
			pass = append(pass, name)
		}
	}
	child, err := s.Start(Command{
		Argv: slices.Concat(s.Program, c.args), Environ: slices.Concat(c.environ, []string{launch.ControlVariable + "=stdin", launch.PassVariable + "=" + strings.Join(pass, ","), "NO_COLOR=1"}),
		Control: true, Output: tail, Interrupts: 2, // the second interrupt also ends the processes that the child started
	})
	if err != nil {
		return 0, "", tail, exit.With(exit.Run, fmt.Errorf("%s cannot be started: %w", c.what, err), "check the limits of processes and of memory")
	}
	if c.signalled {
		child = interruptedChild{child}
	}
	code, how, err = c.timer.wait(ctx, child, c.limit)
	if code < 0 && how == "" {
		how = fmt.Sprintf("not done after %s", c.limit)
		if c.limitedBy != "" {
			how += " (" + c.limitedBy + ")"
		}
	}
	return code, how, tail, err
}

// interruptedChild is a child that gets a signal when it is asked to stop.
type interruptedChild struct{ Child }

func (c interruptedChild) Ask(line string) {
	c.Child.Ask(line)
	c.Interrupt()
}

// timer returns a channel that fires after a time. Tests replace it.
type timer func(time.Duration) (fires <-chan time.Time, stop func() bool)

func newTimer(d time.Duration) (<-chan time.Time, func() bool) {
	t := time.NewTimer(d)
	return t.C, t.Stop
}

// wait waits for the end of a child. When the limit is reached or ctx ends, it ends the child.
// After the limit, code is −1 and how is empty.
func (t timer) wait(ctx context.Context, child Child, limit time.Duration) (code int, how string, err error) {
	ended := endOf(child)
	late, stop := t(limit)
	defer stop()
	select {
	case e := <-ended:
		return e.code, e.how, nil
	case <-late:
		t.end(child, ended, fmt.Sprintf("its time limit of %s is over", limit))
		return -1, "", nil
	case <-ctx.Done():
		t.end(child, ended, context.Cause(ctx).Error())
		return 0, "", context.Cause(ctx)
	}
}

// end asks a child to stop. If it does not stop, end kills it and all processes in its process
// group. Processes that the child started in other groups end when their standard input is closed.
func (t timer) end(child Child, ended <-chan ending, why string) {
	child.Ask(why)
	patience, stop := t(firstGrace)
	defer stop()
	select {
	case <-ended:
	case <-patience:
		child.Kill()
		<-ended
	}
}

// failure returns why a child has no times, from its exit code and how it ended. It is empty if the
// child has times.
func failure(code int, how string) string {
	switch code {
	case exit.OK, exit.Regression, exit.Want: // the comparison is about its faults
		return ""
	case exit.WrongData:
		return "its results were wrong (exit code 4)"
	case exit.Unavailable:
		return "its libraries or devices could not be used (exit code 5)"
	case -1:
		return "its child run ended early: " + how
	}
	return fmt.Sprintf("its child run failed (exit code %d)", code)
}

// The last evidenceLines of a failed child's output are kept. They are searched for in its last
// evidenceBytes.
const (
	evidenceLines = 5
	evidenceBytes = 16 << 10
)

// tailWriter keeps the last bytes that are written to it.
type tailWriter struct {
	limit int
	text  []byte
}

func (t *tailWriter) Write(p []byte) (int, error) {
	t.text = append(t.text, p...)
	if over := len(t.text) - t.limit; over > 0 {
		t.text = slices.Clone(t.text[over:])
	}
	return len(p), nil
}

// lines returns the last n lines that are not empty.
func (t *tailWriter) lines(n int) []string {
	var out []string
	for line := range bytes.Lines(t.text) {
		if text := strings.TrimSpace(plain.Text(string(line))); text != "" {
			out = append(out, text)
		}
	}
	return out[max(0, len(out)-n):]
}

// flagWords returns a flag as words of a command line, one for each value.
func flagWords(f *pflag.Flag) (words []string) {
	values := []string{f.Value.String()}
	switch list := f.Value.(type) {
	case pflag.SliceValue:
		values = list.GetSlice()
	case *flagValue[spec.Spec]:
		values = list.texts
	}
	for _, v := range values {
		words = append(words, "--"+f.Name+"="+v)
	}
	return words
}

// commonArgs returns the flags that every child gets although they are not part of the request.
func commonArgs(cmd *cobra.Command) []string {
	var out []string
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if isLibraryFlag(f.Name) || slices.Contains(launchFlags, f.Name) || slices.Contains(deadlineFlags, f.Name) {
			out = append(out, flagWords(f)...)
		}
	})
	return out
}
