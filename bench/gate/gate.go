// Package gate judges a record by thresholds: what must hold for a cluster to be
// accepted, or for a job of continuous integration to pass.
//
//  1. [Parse] reads a threshold, such as "all_reduce bytes>=128MiB busbw>=300GB/s"; a
//     [Profile] is a named list of them, each with its source.
//  2. [Evaluate] judges a record by each: pass, fail, or not checked. What was not
//     checked has not passed.
//  3. [Report] is the outcome, as gates.json has it; [Report.AddTo] shows it with what it is
//     of, and [Report.Err] carries the exit code.
package gate

import (
	"fmt"
	"io"
	"slices"

	"zbench/bench/document"
	"zbench/bench/exit"
	"zbench/bench/finding"
	"zbench/bench/jsonfile"
	"zbench/bench/plain"
	"zbench/bench/slice"
)

// Schema names the version of the format of gates.json.
const Schema = "zbench.gates/1"

// States are the states that a threshold can have.
func States() []finding.State {
	return []finding.State{finding.Pass, finding.Fail, finding.NotChecked}
}

// CodeThreshold is the code of the finding that a check makes.
const CodeThreshold = "threshold"

// Check is one threshold and what it came to.
type Check struct {
	finding.Check
	// Source of the threshold's figure; absent for one that the user gave.
	Source string `json:"source,omitempty"`
	// Cases that it was judged by.
	Cases int `json:"cases"`
}

// Report is the outcome of all checks.
type Report struct {
	// Version of the format.
	Schema string `json:"schema"`
	// State is fail if any check failed, not_checked if any was not checked, else pass.
	State finding.State `json:"state"`
	// Simulated is true if the times that were judged are of a model or an emulation.
	Simulated bool `json:"simulated"`
	// Profile is the name of the acceptance profile; absent if none was given.
	Profile string `json:"profile,omitempty"`
	// Checks in the order in which they were given.
	Checks []Check `json:"checks"`
}

// NewReport settles the state of checks. No check at all has not passed.
func NewReport(simulated bool, profile string, checks []Check) *Report {
	is := func(s finding.State) func(Check) bool { return func(c Check) bool { return c.State == s } }
	checked := len(checks) > 0 && !slices.ContainsFunc(checks, is(finding.NotChecked))
	return &Report{
		Schema: Schema, State: finding.Settle(slices.ContainsFunc(checks, is(finding.Fail)), false, checked),
		Simulated: simulated, Profile: profile, Checks: checks,
	}
}

// Err is the error with the exit code of a missed threshold: if a check failed, or if one
// was not checked and requireChecked asks for all. It is nil otherwise, and for nil.
func (r *Report) Err(requireChecked bool) error {
	if r == nil || r.State == finding.Pass || r.State == finding.NotChecked && !requireChecked {
		return nil
	}
	missed := slice.Where(r.Checks, func(c Check) bool { return c.State == r.State })
	what := "missed"
	hint := "the lines of the verdict that begin with " + finding.Fail.Marked() + " have the figures"
	if r.State == finding.NotChecked {
		what, hint = "not checked", "run the cases that the threshold names, or omit --require-checked"
	}
	if len(missed) == 0 {
		return exit.With(exit.Regression, fmt.Errorf("nothing was checked"), hint)
	}
	return exit.With(exit.Regression, fmt.Errorf("%s %s: %s", plain.Count(len(missed), "threshold"), what, missed[0].Name), hint)
}

// Findings are the outcome for people, one for each check; none of nil.
func (r *Report) Findings() finding.List {
	if r == nil {
		return nil
	}
	label := ""
	if r.Simulated {
		label = " (SIMULATED times)"
	}
	var out finding.List
	for _, c := range r.Checks {
		text := fmt.Sprintf("%s%s: %s: %s", c.State.Marked(), label, c.Name, c.why())
		out = append(out, finding.Finding{Code: CodeThreshold, Text: text, Severity: c.State.Severity()})
	}
	return out
}

// why is the reason with the source of the threshold.
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

// AddTo adds the outcome to what a document comes to. strict counts what was not checked as failed. A
// nil report adds nothing.
func (r *Report) AddTo(d *document.Document, strict bool) {
	if r == nil {
		return
	}
	d.Findings = append(d.Findings, r.Findings()...)
	for _, c := range r.Checks {
		c.Reason = c.why()
		d.Checks = append(d.Checks, document.Check{Class: "zbench.threshold", Check: c.Check})
	}
	d.Strict = strict
	d.Chips = append(d.Chips, document.Fact{Term: "Thresholds", Text: r.State.Marked()})
}
