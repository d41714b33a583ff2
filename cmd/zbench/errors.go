package main

import (
	"context"
	"errors"

	"zbench/bench/exit"
)

const exitCodes = `Exit codes:
  0    success
  1    run error
  2    usage error
  3    regression, or a missed threshold
  4    wrong data
  5    no usable device or library
  6    not enough input for a bucket size (recommend), no collective (trace)
  130  interrupted; finished cases are saved
`

// quietError is an error whose message was already printed.
type quietError struct{ code int }

func (quietError) Error() string { return "" }

// codeOf returns the exit code of an error.
func codeOf(err error) int {
	var q quietError
	var e *exit.Error
	switch {
	case err == nil:
		return exit.OK
	case errors.As(err, &q):
		return q.code
	case errors.As(err, &e):
		return e.Code
	case errors.Is(err, exit.ErrUnavailable):
		return exit.Unavailable
	case errors.Is(err, context.Canceled): // before there was anything to save
		return exit.Interrupted
	}
	return exit.Run
}

// usage marks an error as a usage error.
func usage(err error, hint string) error { return exit.UsageError(err, hint) }

func usagef(hint, format string, args ...any) error { return exit.Usagef(hint, format, args...) }
