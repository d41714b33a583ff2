package main

import (
	"context"
	"errors"
	"fmt"

	"zbench/internal/native"
)

// Exit codes; docs and --help list them.
const (
	exitOK          = 0
	exitRun         = 1
	exitUsage       = 2
	exitRegression  = 3
	exitWrongData   = 4
	exitUnavailable = 5
	exitWant        = 6
	exitInterrupted = 130
)

const exitCodes = `Exit codes:
  0    all right
  1    error while running
  2    wrong usage
  3    regression, or a threshold failed
  4    wrong data
  5    no usable device or library
  6    not enough input for an answer (recommend)
  130  interrupted; what was finished is saved
`

// codeError is an error with its exit code and what to do next.
type codeError struct {
	code int
	err  error
	hint string
}

func (e *codeError) Error() string { return e.err.Error() }
func (e *codeError) Unwrap() error { return e.err }

// usage wraps what the user got wrong.
func usage(err error, hint string) error { return &codeError{exitUsage, err, hint} }

func usagef(hint, format string, args ...any) error { return usage(fmt.Errorf(format, args...), hint) }

// quiet is an error whose message was already printed.
type quietError struct{ code int }

func (quietError) Error() string { return "" }

// codeOf returns the exit code an error asks for.
func codeOf(err error) int {
	var q quietError
	var e *codeError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &q):
		return q.code
	case errors.As(err, &e):
		return e.code
	case errors.Is(err, native.ErrUnavailable):
		return exitUnavailable
	case errors.Is(err, context.Canceled): // before there was anything to save
		return exitInterrupted
	}
	return exitRun
}
