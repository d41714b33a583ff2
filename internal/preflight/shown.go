package preflight

import (
	"errors"
	"fmt"
	"strings"

	"zbench/bench/base/exit"
	"zbench/bench/base/finding"
	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
	"zbench/bench/base/unit"
	"zbench/bench/run/record"
	"zbench/bench/show/document"
)

// stateWords are the words that begin a finding whose state is not OK.
var stateWords = map[record.PreflightState]string{
	record.CheckWarning: "WARNING: ", record.CheckError: "ERROR: ", record.CheckNotChecked: "not checked: ",
}

// severities maps the states to severities.
var severities = map[record.PreflightState]finding.Severity{
	record.CheckOK: finding.OK, record.CheckWarning: finding.Warning, record.CheckError: finding.Fault, record.CheckNotChecked: finding.Note,
}

// Count returns the number of checks that are in a state.
func (r Report) Count(s record.PreflightState) int {
	return slice.Count(r.Checks, func(c record.Preflight) bool { return c.State == s })
}

// Healthy reports whether no check failed or warned.
func (r Report) Healthy() bool {
	return r.Count(record.CheckError)+r.Count(record.CheckWarning) == 0
}

// Line summarises the checks in one line.
func (r Report) Line() string {
	where := plain.Count(r.Ranks, "rank")
	if r.Hosts > 1 {
		where += fmt.Sprintf(" on %d hosts", r.Hosts)
	}
	parts := []string{fmt.Sprintf("%d of %d checks passed", r.Count(record.CheckOK), len(r.Checks))}
	for _, x := range []struct {
		state record.PreflightState
		noun  string
	}{{record.CheckError, "error"}, {record.CheckWarning, "warning"}} {
		if n := r.Count(x.state); n > 0 {
			parts = append(parts, plain.Count(n, x.noun))
		}
	}
	if n := r.Count(record.CheckNotChecked); n > 0 {
		parts = append(parts, fmt.Sprintf("%d not checked", n))
	}
	return "Preflight of " + where + ": " + strings.Join(parts, ", ")
}

// maxHint is the largest number of hosts that a refusal's message names.
const maxHint = 3

// Refused returns the error of a run that must not start because a check has failed; nil if no
// check has failed.
func (r Report) Refused() error {
	failed := slice.Where(r.Checks, func(c record.Preflight) bool { return c.State == record.CheckError })
	if len(failed) == 0 {
		return nil
	}
	names := slice.Map(failed, func(c record.Preflight) string { return c.Name })
	return exit.With(exit.Run, errors.New("preflight failed: "+unit.FirstFew(names, maxHint)), "fix the checks that the table above marks as ERROR; nothing was measured")
}

// Shown returns the report for display: one line if nothing is wrong, otherwise the failed checks.
// If `all` is true, it shows every check.
func (r Report) Shown(all bool) *document.Document {
	d := &document.Document{Command: "preflight", Title: r.Line()}
	var items document.Items
	for _, c := range r.Checks {
		if all || severities[c.State] >= finding.Warning {
			items = append(items, r.items(c, all)...)
		}
	}
	if len(items) > 0 {
		d.Add("checks", "", items).Show(document.Everywhere)
	}
	return d
}

// items returns the findings of a check, one per group of ranks. The last finding has the
// reason why the check matters.
func (r Report) items(c record.Preflight, all bool) document.Items {
	var out document.Items
	why := ""
	for _, f := range c.Findings {
		wrong := severities[f.State] >= finding.Warning
		if !wrong && !all && len(out) > 0 {
			continue
		}
		x := document.Item{Severity: severities[f.State], Text: stateWords[f.State] + f.Found, Hint: f.Next}
		if where := r.Where(f); where != "" {
			x.Text = stateWords[f.State] + where + ": " + f.Found
		}
		if len(out) == 0 {
			x.Name = c.Name
		}
		if wrong {
			why = f.Why
		}
		out = append(out, x)
	}
	if why != "" {
		out[len(out)-1].More = []string{"why: " + why}
	}
	return out
}

// shownHosts is the largest number of hosts that are named; further hosts are only counted.
// shownRanks is the longest list of ranks that is displayed, in characters.
const (
	shownHosts = 3
	shownRanks = 24
)

// Where returns the ranks and hosts of a finding, such as "ranks 8-15 on node-b". It is empty
// if the finding covers all ranks of several hosts.
func (r Report) Where(f record.PreflightFound) string {
	n, err := record.RanksIn(f.Ranks)
	if err != nil || n == r.Ranks {
		return ""
	}
	ranks := "ranks " + f.Ranks
	switch {
	case n == 1:
		ranks = "rank " + f.Ranks
	case len(f.Ranks) > shownRanks:
		ranks = plain.Count(n, "rank")
	}
	switch {
	case r.Hosts == 1 || len(f.Hosts) == 0:
		return ranks
	case len(f.Hosts) > shownHosts:
		return fmt.Sprintf("%s on %d hosts (%s, …)", ranks, len(f.Hosts), strings.Join(f.Hosts[:shownHosts], ", "))
	}
	return ranks + " on " + strings.Join(f.Hosts, ", ")
}
