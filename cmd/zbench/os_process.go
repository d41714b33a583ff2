package main

import (
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// outputDelay is how long the output of a process is read after its end.
const outputDelay = 5 * time.Second

// osChild is a process of the operating system. It has a process group of its own: a
// signal from the terminal reaches this process alone, which asks its children.
type osChild struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser // nil without control
}

func startProcess(c Command, stdout, stderr io.Writer) (Child, error) {
	cmd := exec.Command(c.Argv[0], c.Argv[1:]...) //nolint:gosec // zbench, srun or mpirun, without a shell
	cmd.Env, cmd.Stdout, cmd.Stderr = c.Environ, stdout, stderr
	if c.Output != nil {
		// Whatever the process leaves behind may hold the pipe open.
		cmd.Stdout, cmd.Stderr, cmd.WaitDelay = c.Output, c.Output, outputDelay
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	child := &osChild{cmd: cmd}
	if c.Control {
		var err error
		if child.stdin, err = cmd.StdinPipe(); err != nil {
			return nil, err
		}
	}
	return child, cmd.Start()
}

func (c *osChild) Ask(line string) {
	if c.stdin != nil {
		_, _ = io.WriteString(c.stdin, line+"\n") // it may have ended
	}
}

func (c *osChild) Wait() (code int, how string) {
	if err := c.cmd.Wait(); c.cmd.ProcessState == nil {
		return -1, err.Error()
	}
	return c.cmd.ProcessState.ExitCode(), c.cmd.ProcessState.String()
}

func (c *osChild) Kill() { _ = syscall.Kill(-c.cmd.Process.Pid, syscall.SIGKILL) } // it may have ended

// become replaces this process by a program, which gets the standard output that
// ownStdout keeps.
func become(stdout *os.File, file string, argv, environ []string) error {
	if fd := int(stdout.Fd()); fd != syscall.Stdout { //nolint:gosec // a file descriptor fits
		if err := syscall.Dup3(fd, syscall.Stdout, 0); err != nil {
			return err
		}
	}
	return syscall.Exec(file, argv, environ) //nolint:gosec // the program that the user names
}
