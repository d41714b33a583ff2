// Package exit has zbench's exit codes: a table with their order, the code of a document, and an
// error that carries a code and the next step for the user.
package exit

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"zbench/bench/base/finding"
)

// The exit codes.
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

// Row is an exit code with its meaning.
type Row struct {
	Code    int
	Meaning string
}

// table has all codes. If several codes apply, the command exits with the code that comes first
// here.
var table = []Row{
	{Interrupted, "interrupted; finished cases are saved"},
	{WrongData, "wrong data"},
	{Run, "failed, or hung"},
	{Usage, "usage error; nothing was run"},
	{Unavailable, "no usable device or library"},
	{Regression, "a fault that the run proves by itself, or a missed gate"},
	{Want, "not judged: UNCLEAR, NOT CHECKED, or too little input for an answer"},
	{OK, "success"},
}

// Table returns all exit codes, the most important first.
func Table() []Row { return slices.Clone(table) }

func order(code int) int { return slices.IndexFunc(table, func(r Row) bool { return r.Code == code }) }

// worse returns the code that comes first in the table. A code of another program, which the table
// lacks, comes before all others.
func worse(a, b int) int {
	if order(b) < order(a) {
		return b
	}
	return a
}

// Of returns the exit code of a document from its state and its findings. The state is empty if
// only gates judge the document; the code is then OK.
func Of(state finding.State, findings finding.List) int {
	if state == "" {
		return OK
	}
	code := worse(ofState(state), ofState(findings.State(true)))
	for _, f := range findings {
		code = worse(code, ofFinding(f))
	}
	return code
}

func ofState(s finding.State) int {
	switch s.General() {
	case finding.Fail:
		return Regression
	case finding.Unclear, finding.NotChecked:
		return Want
	default:
		return OK
	}
}

// ofFinding returns the code of a finding that is not a slow component. An interruption without a
// fault was requested by the user; an interruption with a fault lost a process.
func ofFinding(f finding.Finding) int {
	switch {
	case f.Code == finding.CodeWrongData:
		return WrongData
	case f.Code == finding.CodeInterrupted && f.Severity != finding.Fault:
		return Interrupted
	case slices.Contains([]string{finding.CodeHang, finding.CodeAsyncError, finding.CodeFailed, finding.CodeInterrupted}, f.Code):
		return Run
	}
	return OK
}

// ErrUnavailable is wrapped by errors about a device or a library that this machine lacks.
var ErrUnavailable = errors.New("not available on this machine")

// Error is an error with its exit code and the user's next step. If Err is nil, the message was
// already printed.
type Error struct {
	Code int
	Err  error
	Hint string
}

func (e *Error) Error() string {
	if e.Err == nil {
		return ""
	}
	return e.Err.Error()
}

// Unwrap returns the wrapped error.
func (e *Error) Unwrap() error { return e.Err }

// With attaches an exit code and a next step to an error.
func With(code int, err error, hint string) error { return &Error{Code: code, Err: err, Hint: hint} }

// Quiet returns an error with a code and no message, because the reason was already printed. It
// returns nil for OK.
func Quiet(code int) error {
	if code == OK {
		return nil
	}
	return &Error{Code: code}
}

// CodeOf returns the exit code of an error.
func CodeOf(err error) int {
	e, coded := errors.AsType[*Error](err)
	switch {
	case err == nil:
		return OK
	case coded:
		return e.Code
	case errors.Is(err, ErrUnavailable):
		return Unavailable
	case errors.Is(err, context.Canceled): // interrupted before there was anything to save
		return Interrupted
	}
	return Run
}

// Worst returns the error whose code comes first in the table, or nil if there is no error. If the
// message of that error was already printed, Worst combines its code with the next error's message.
func Worst(errs ...error) error {
	errs = slices.DeleteFunc(slices.Clone(errs), func(err error) bool { return err == nil })
	if len(errs) == 0 {
		return nil
	}
	slices.SortStableFunc(errs, func(a, b error) int { return order(CodeOf(a)) - order(CodeOf(b)) })
	code := CodeOf(errs[0])
	for _, err := range errs {
		e, coded := errors.AsType[*Error](err)
		switch {
		case err.Error() == "":
		case coded:
			return With(code, err, e.Hint)
		default:
			return With(code, err, "")
		}
	}
	return errs[0]
}

// UsageError wraps a user's mistake.
func UsageError(err error, hint string) error { return With(Usage, err, hint) }

// Usagef formats a UsageError.
func Usagef(hint, format string, args ...any) error {
	return UsageError(fmt.Errorf(format, args...), hint)
}
