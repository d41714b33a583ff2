package preflight

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"zbench/bench/exit"
	"zbench/bench/plain"
	"zbench/bench/record"
	"zbench/bench/table"
)

// stateWords are the states as people read them.
var stateWords = map[record.PreflightState]string{
	record.CheckOK: "ok", record.CheckWarning: "WARNING", record.CheckError: "ERROR", record.CheckNotChecked: "not checked",
}

// Count is how many checks have a state.
func (r Report) Count(s record.PreflightState) int {
	n := 0
	for _, c := range r.Checks {
		if c.State == s {
			n++
		}
	}
	return n
}

// Healthy tells that nothing is wrong, as far as was checked.
func (r Report) Healthy() bool {
	return r.Count(record.CheckError)+r.Count(record.CheckWarning) == 0
}

// Line sums the checks up.
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

// maxHint is the most hosts of a refusal that stand in its message.
const maxHint = 3

// Refused is the error of a run that must not start: a check has failed. It is nil if none
// has.
func (r Report) Refused() error {
	var failed []string
	for _, c := range r.Checks {
		if c.State == record.CheckError {
			failed = append(failed, c.Name)
		}
	}
	if len(failed) == 0 {
		return nil
	}
	text := strings.Join(first(failed, maxHint), ", ")
	if n := len(failed) - maxHint; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return exit.With(exit.Run, errors.New("preflight failed: "+text), "mend what the table above marks as ERROR; nothing was measured")
}

// Text writes the report for a terminal of that many columns: one line if nothing is
// wrong, else the checks that failed. With all it is every check.
func (r Report) Text(w io.Writer, width int, all bool) error {
	if r.Healthy() && !all {
		_, err := fmt.Fprintln(w, strings.Join(plain.Fold(r.Line(), width, "", "  "), "\n"))
		return err
	}
	return table.Text(w, width, r.table(width, all))
}

// table is a row for each check, or for each that failed.
func (r Report) table(width int, all bool) table.Table {
	t := table.Of([]string{"CHECK", "STATE", "WHAT WAS FOUND"})
	t.Title = r.Line()
	names, states := len("CHECK"), len("STATE")
	var shown []record.Preflight
	for _, c := range r.Checks {
		if all || c.State == record.CheckError || c.State == record.CheckWarning {
			shown = append(shown, c)
			names, states = max(names, len(c.Name)), max(states, len(stateWords[c.State]))
		}
	}
	const gaps, least = 4, 30
	room := max(width-names-states-gaps, least)
	for _, c := range shown {
		name, state := c.Name, stateWords[c.State]
		for _, line := range r.lines(c, room, all) {
			t.Add(name, state, line)
			name, state = "", ""
		}
	}
	return t
}

// lines are what a check found, folded: a finding each for the ranks that differ, why it
// matters, and what to do.
func (r Report) lines(c record.Preflight, room int, all bool) []string {
	var out []string
	why := ""
	for _, f := range c.Findings {
		wrong := f.State == record.CheckError || f.State == record.CheckWarning
		if !wrong && !all && len(out) > 0 {
			continue
		}
		text := f.Found
		if where := r.Where(f); where != "" {
			text = where + ": " + text
		}
		out = append(out, plain.Fold(plain.OneSpace(text), room, "", "  ")...)
		if f.Next != "" {
			out = append(out, plain.Fold(plain.OneSpace(f.Next), room, "-> ", "   ")...)
		}
		if wrong {
			why = f.Why
		}
	}
	if why != "" {
		out = append(out, plain.Fold(plain.OneSpace(why), room, "why: ", "     ")...)
	}
	return out
}
