package main

import (
	"errors"
	"os/exec"
	"strconv"
)

// exitOf is the exit code of a program that ran, or what went wrong.
func exitOf(err error) string {
	var e *exec.ExitError
	if errors.As(err, &e) {
		return strconv.Itoa(e.ExitCode())
	}
	return err.Error()
}
