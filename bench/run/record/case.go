package record

import (
	"slices"
	"strings"

	"zbench/bench/base/slice"
)

// Status is the way in which a case ended. Every planned case has one.
type Status string

// The ways a case can end.
const (
	OK          Status = "ok"
	Skipped     Status = "skipped"
	Failed      Status = "failed"
	Interrupted Status = "interrupted"
	WrongData   Status = "wrong_data"
)

// Text is the status in words.
func (s Status) Text() string { return strings.ReplaceAll(string(s), "_", " ") }

// Case is what every case has: a collective at one size, or a kernel at one shape on one device.
type Case struct {
	// Key identifies the case within the record and across records. The key of a collective
	// contains the requested size. The key of a kernel contains the device.
	Key string `json:"key" jsonschema:"minLength=1"`
	// Status of the case.
	Status Status `json:"status"`
	// Reason if the status is not ok.
	Reason string `json:"reason,omitempty" jsonschema:"minLength=1"`
	// Result of the verification.
	Verified Verified `json:"verified"`
	// Warnings about this case.
	Warnings []Warning `json:"warnings"`
}

// Warned reports whether the case has a warning of a code.
func (c *Case) Warned(code string) bool {
	return slices.ContainsFunc(c.Warnings, func(w Warning) bool { return w.Code == code })
}

// LeftWrong reports whether the case has wrong elements, or exceeded a check's bar.
func (c *Case) LeftWrong() bool {
	return c.Status == WrongData || c.Verified.State == VerifiedWrong || c.Verified.wrong()
}

// Cases returns the common part of all cases of any benchmark, for reading or changing in place.
func (rec *Record) Cases() []*Case {
	return slices.Concat(
		slice.Map(rec.Each(), func(r *Result) *Case { return &r.Case }),
		slice.Map(rec.KernelRows(), func(k *Kernel) *Case { return &k.Case }),
	)
}
