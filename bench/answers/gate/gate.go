// Package gate judges a record by thresholds: the conditions for accepting a cluster, or for
// passing a CI job.
//
//  1. [Parse] reads a threshold, such as "all_reduce bytes>=128MiB busbw>=300GB/s"; a
//     [Profile] is a named list of thresholds, each with its source.
//  2. [Evaluate] judges a record by each threshold: pass, fail, or not checked. An
//     unchecked threshold has not passed.
//  3. [Report] is the outcome, as in gates.json; [Report.AddTo] adds it to a document,
//     and [Report.Err] carries the exit code. An unchecked threshold fails the command,
//     too, unless the user allows it.
package gate

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"zbench/bench/base/exit"
	"zbench/bench/base/finding"
	"zbench/bench/base/jsonfile"
	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
	"zbench/bench/show/document"
)

// Schema is the version of gates.json.
const Schema = "zbench.gates/1"

// States returns the states that a threshold can have.
func States() []finding.State {
	return []finding.State{finding.Pass, finding.Fail, finding.NotChecked}
}

// CodeThreshold is the code of a check's finding.
const CodeThreshold = "threshold"

// Check is one threshold with its result.
type Check struct {
	finding.Check
	// Source of the threshold's figure; absent for a threshold of the user.
	Source string `json:"source,omitempty"`
	// Number of cases behind the result.
	Cases int `json:"cases"`
}

// Report is the outcome of all checks.
type Report struct {
	// Version of the format.
	Schema string `json:"schema"`
	// State is fail if any check failed, not_checked if any check was not checked, else pass.
	State finding.State `json:"state"`
	// Simulated is true if the judged times come from a model or an emulation.
	Simulated bool `json:"simulated"`
	// Profile is the name of the acceptance profile; absent without a profile.
	Profile string `json:"profile,omitempty"`
	// Checks in the order in which they were given.
	Checks []Check `json:"checks"`

	// Next describes how to check the unchecked thresholds; if it is empty, errors point to the reasons.
	Next string `json:"-"`
}

// NewReport returns the report on checks. Without any check its state is not checked.
func NewReport(simulated bool, profile string, checks []Check) *Report {
	is := func(s finding.State) func(Check) bool { return func(c Check) bool { return c.State == s } }
	checked := len(checks) > 0 && !slices.ContainsFunc(checks, is(finding.NotChecked))
	return &Report{
		Schema: Schema, State: finding.Settle(slices.ContainsFunc(checks, is(finding.Fail)), false, checked),
		Simulated: simulated, Profile: profile, Checks: checks,
	}
}

// Err returns the error that ends the command. Its exit code is exit.Regression if a check failed. Otherwise it is
// exit.Want if a check was not checked and allowUnchecked is not set. In all other cases, and for a nil report, the
// error is nil.
func (r *Report) Err(allowUnchecked bool) error {
	switch {
	case r == nil || r.State == finding.Pass || r.State == finding.NotChecked && allowUnchecked:
		return nil
	case r.State == finding.Fail:
		text := r.named(finding.Fail, "missed")
		if unchecked := r.named(finding.NotChecked, "not checked"); unchecked != "" {
			text += "; " + unchecked
		}
		return exit.With(exit.Regression, errors.New(text), "the lines of the verdict that begin with "+finding.Fail.Marked()+" have the figures")
	}
	next := cmp.Or(r.Next, "the lines of the verdict that begin with "+finding.NotChecked.Marked()+" have the reasons")
	return exit.With(exit.Want, errors.New(cmp.Or(r.named(finding.NotChecked, "not checked"), "nothing was checked")), next+"; --allow-unchecked lets it pass")
}

// namedMost is the number of thresholds that an error names.
const namedMost = 4

// `named` counts the thresholds in a state and names the first ones; empty if there is none.
func (r *Report) named(s finding.State, what string) string {
	of := slice.Where(r.Checks, func(c Check) bool { return c.State == s })
	names := slice.Map(of[:min(len(of), namedMost)], func(c Check) string { return c.Name })
	switch more := len(of) - len(names); {
	case len(of) == 0:
		return ""
	case more > 0:
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return fmt.Sprintf("%s %s: %s", plain.Count(len(of), "threshold"), what, strings.Join(names, "; "))
}

// Findings returns one finding per check; none for a nil report.
func (r *Report) Findings() finding.List {
	if r == nil {
		return nil
	}
	label := ""
	if r.Simulated {
		label = " (SIMULATED times)"
	}
	return slice.Map(r.Checks, func(c Check) finding.Finding {
		text := fmt.Sprintf("%s%s: %s: %s", c.State.Marked(), label, c.Name, c.why())
		return finding.Finding{Code: CodeThreshold, Text: text, Severity: c.State.Severity()}
	})
}

// `why` returns the reason with the threshold's source.
func (c *Check) why() string {
	if c.Source == "" {
		return c.Reason
	}
	return c.Reason + "; threshold of " + c.Source
}

// WriteJSON writes gates.json.
func (r *Report) WriteJSON(w io.Writer) error {
	c := *r
	c.Checks = jsonfile.Filled(r.Checks)
	return jsonfile.Write(w, "gates", c)
}

// AddTo adds the outcome to a document. Unless allowUnchecked is set, a test server counts unchecked thresholds as
// failed. A nil report adds nothing.
func (r *Report) AddTo(d *document.Document, allowUnchecked bool) {
	if r == nil {
		return
	}
	d.Findings = append(d.Findings, r.Findings()...)
	for _, c := range r.Checks {
		c.Reason = c.why()
		d.Checks = append(d.Checks, document.Check{Class: "zbench.threshold", Check: c.Check})
	}
	d.Strict = !allowUnchecked
	d.Chips = append(d.Chips, document.Fact{Term: "Thresholds", Text: r.State.Marked()})
}
