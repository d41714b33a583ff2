// Package exit has zbench's exit codes and the error that carries one, together
// with the next step for the user.
package exit

import (
	"errors"
	"fmt"
)

// The exit codes. `zbench --help` lists them.
const (
	OK          = 0
	Run         = 1
	Usage       = 2
	Regression  = 3
	WrongData   = 4
	Unavailable = 5
	Want        = 6
	Interrupted = 130
)

// ErrUnavailable is wrapped by errors that mean a device or a library that this
// machine does not have.
var ErrUnavailable = errors.New("not available on this machine")

// Error is an error with its exit code and what to do next.
type Error struct {
	Code int
	Err  error
	Hint string
}

func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the error without its code.
func (e *Error) Unwrap() error { return e.Err }

// With gives an error its exit code and its next step.
func With(code int, err error, hint string) error { return &Error{Code: code, Err: err, Hint: hint} }

// UsageError wraps what the user got wrong.
func UsageError(err error, hint string) error { return With(Usage, err, hint) }

// Usagef is UsageError of a message.
func Usagef(hint, format string, args ...any) error {
	return UsageError(fmt.Errorf(format, args...), hint)
}
