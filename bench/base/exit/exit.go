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

// table has all codes. If several apply, a command ends with the first.
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

// Table returns all codes in the order in which they apply.
func Table() []Row { return slices.Clone(table) }

func order(code int) int { return slices.IndexFunc(table, func(r Row) bool { return r.Code == code }) }

// worse returns the code that comes first in the table. A code that the table lacks, from another
// program, comes before all others.
func worse(a, b int) int {
	if order(b) < order(a) {
		return b
	}
	return a
}

// Of returns the exit code of a document by its state and its findings. If only gates judge, the
// state is empty and the code is OK.
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

// ofFinding returns the code of a finding that is not a slow component. An interrupted run without
// a fault was stopped on request; with a fault it lost a process.
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

// Error is an error with its exit code and the next step. Without Err its message was already
// printed.
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

// Unwrap returns the error without its code.
func (e *Error) Unwrap() error { return e.Err }

// With gives an error an exit code and a next step.
func With(code int, err error, hint string) error { return &Error{Code: code, Err: err, Hint: hint} }

// Quiet returns an error with a code whose reason was already printed; nil for OK.
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
	case errors.Is(err, context.Canceled): // before there was anything to save
		return Interrupted
	}
	return Run
}

// Worst returns the error whose code comes first in the table; nil if there is none. If its message
// was already printed, the first message of the others is used with its code.
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

// UsageError wraps a mistake of the user.
func UsageError(err error, hint string) error { return With(Usage, err, hint) }

// Usagef returns a UsageError with a message.
func Usagef(hint, format string, args ...any) error {
	return UsageError(fmt.Errorf(format, args...), hint)
}
