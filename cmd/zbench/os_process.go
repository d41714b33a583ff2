package main

import (
	"bytes"
	"io"
	"os/exec"
	"syscall"
	"time"
)

// osChild is a process of the operating system. It has a process group of its own, so that a signal
// from the terminal only reaches this process, which then asks its children to stop.
type osChild struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser // nil if the child is not controlled
	// interrupts is the number of interrupts after which the child ends its own processes.
	interrupts int
	ended      chan struct{}
}

func startProcess(c Command, stdout, stderr io.Writer) (Child, error) {
	cmd := exec.Command(c.Argv[0], c.Argv[1:]...) //nolint:gosec // zbench, srun or mpirun, without a shell
	cmd.Env, cmd.Stdout, cmd.Stderr = c.Environ, stdout, stderr
	if c.Output != nil {
		cmd.Stdout, cmd.Stderr = c.Output, c.Output
	}
	if c.Says != nil {
		cmd.Stderr = &overheard{to: stderr, says: c.Says}
	}
	cmd.WaitDelay = waitDelay // a process that the child left behind may keep a pipe open
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if c.Input != nil {
		cmd.Stdin = c.Input
	}
	child := &osChild{cmd: cmd, interrupts: c.Interrupts, ended: make(chan struct{})}
	if c.Control {
		var err error
		if child.stdin, err = cmd.StdinPipe(); err != nil {
			return nil, err
		}
	}
	return child, cmd.Start()
}

// waitDelay is how long the output of a child may take to arrive after the child has ended.
const waitDelay = 2 * time.Second

// overheard passes output on, and gives each complete line to another reader, too.
type overheard struct {
	to   io.Writer
	says func(line string)
	part []byte
}

// longestLine is the number of bytes that are kept of a line. The texts that are looked for are
// short.
const longestLine = 4096

func (o *overheard) Write(p []byte) (int, error) {
	n, err := o.to.Write(p)
	for line := range bytes.Lines(p) {
		o.part = append(o.part, line...)
		if o.part[len(o.part)-1] == '\n' {
			o.says(string(bytes.TrimRight(o.part, "\r\n")))
			o.part = o.part[:0]
		} else if len(o.part) > longestLine {
			o.part = o.part[:0]
		}
	}
	return n, err
}

func (c *osChild) Ask(line string) {
	if c.stdin != nil {
		_, _ = io.WriteString(c.stdin, line+"\n") // the child may have ended
	}
}

func (c *osChild) Wait() (code int, how string) {
	defer close(c.ended)
	if err := c.cmd.Wait(); c.cmd.ProcessState == nil {
		return -1, err.Error()
	}
	return c.cmd.ProcessState.ExitCode(), c.cmd.ProcessState.String()
}

// Times for ending a launcher. betweenInterrupts is the time between two interrupts; srun counts
// interrupts within a second. stepGrace is the time until the launcher itself is killed; srun waits
// up to 7 s for its step.
const (
	betweenInterrupts = 200 * time.Millisecond
	stepGrace         = 10 * time.Second
)

func (c *osChild) Interrupt() { c.signal(syscall.SIGINT) }

// Kill interrupts the child as often as needed, and then kills it. When Kill returns, all
// interrupts were sent, so this process may end.
func (c *osChild) Kill() {
	for range c.interrupts {
		c.signal(syscall.SIGINT)
		if c.endsWithin(betweenInterrupts) {
			return
		}
	}
	if c.interrupts == 0 {
		c.signal(syscall.SIGKILL)
		return
	}
	go func() {
		if !c.endsWithin(stepGrace) {
			c.signal(syscall.SIGKILL)
		}
	}()
}

func (c *osChild) signal(s syscall.Signal) {
	select {
	case <-c.ended: // the process number may belong to another process now
	default:
		_ = syscall.Kill(-c.cmd.Process.Pid, s) // the child may have ended
	}
}

// endsWithin waits for a child and reports whether it ended within the limit.
func (c *osChild) endsWithin(limit time.Duration) bool {
	late := time.NewTimer(limit)
	defer late.Stop()
	select {
	case <-c.ended:
		return true
	case <-late.C:
		return false
	}
}

// become replaces this process by a program. The program gets the standard output that ownStdout
// reserved.
func become(stdout interface{ Fd() uintptr }, file string, argv, environ []string) error {
	if fd := int(stdout.Fd()); fd != syscall.Stdout { //nolint:gosec // a file descriptor fits
		if err := syscall.Dup3(fd, syscall.Stdout, 0); err != nil {
			return err
		}
	}
	return syscall.Exec(file, argv, environ) //nolint:gosec // the user named this program
}
