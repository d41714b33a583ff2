package main

import (
	"errors"
	"os/exec"
	"strconv"
)

// exitOf is the exit code of a program that ran, or what went wrong.
func exitOf(err error) string {
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		return strconv.Itoa(e.ExitCode())
	}
	return err.Error()
}
