package finding

import (
	"cmp"
	"strings"
)

// State is the result of a check.
type State string

// The states. Unclear means that one of several candidates is faulty. NotChecked means that there
// was nothing to judge. Neither counts as passed.
const (
	Pass       State = "pass"
	Fail       State = "fail"
	Unclear    State = "unclear"
	NotChecked State = "not_checked"
)

// Healthy and Faulty replace pass and fail in rails.json and screen.json.
const (
	Healthy State = "healthy"
	Faulty  State = "faulty"
)

// OfNodes returns the state in the words of rails.json and screen.json.
func (s State) OfNodes() State {
	return cmp.Or(map[State]State{Pass: Healthy, Fail: Faulty}[s], s)
}

// General returns pass for healthy and fail for faulty.
func (s State) General() State {
	return cmp.Or(map[State]State{Healthy: Pass, Faulty: Fail}[s], s)
}

// StatesOfNodes returns all states in the words of rails.json and screen.json.
func StatesOfNodes() []State { return []State{Healthy, Faulty, Unclear, NotChecked} }

// States returns all states.
func States() []State { return []State{Pass, Fail, Unclear, NotChecked} }

// Word returns the state as users see it: PASS, NOT CHECKED.
func (s State) Word() string { return strings.ToUpper(strings.ReplaceAll(string(s), "_", " ")) }

// Marked returns Word with a sign in front: ✓ PASS, ✗ FAIL, ? NOT CHECKED.
func (s State) Marked() string {
	sign := map[State]string{Pass: "✓ ", Fail: "✗ "}[s.General()]
	return cmp.Or(sign, "? ") + s.Word()
}

// Severity returns the severity of a state. Unclear and not checked are warnings, because they
// limit the other results.
func (s State) Severity() Severity {
	return cmp.Or(map[State]Severity{Pass: OK, Fail: Fault}[s.General()], Warning)
}

// Check is one check with its result.
type Check struct {
	// Name is the name of the check, such as a threshold as the user gave it, or a case.
	Name string `json:"name" jsonschema:"minLength=1"`
	// State is the result.
	State State `json:"state"`
	// Reason explains the state, with the figures behind it.
	Reason string `json:"reason"`
	// Findings are the findings of the check; absent if the reason says everything.
	Findings List `json:"findings,omitempty"`
}

// Judgement is the result of a document at the time it was made.
type Judgement struct {
	// Rules is the version of the rules that made the findings.
	Rules int `json:"rules" jsonschema:"minimum=1"`
	// State is fail if there is a fault, unclear if there are only candidates, not_checked if too
	// little was measured, else pass.
	State State `json:"state"`
	// Findings are in reading order: faults first.
	Findings List `json:"findings"`
}

// Settle returns the state of a check: fail if there are faults, unclear if there are only
// candidates, pass if something was checked, else not_checked.
func Settle(faults, candidates, checked bool) State {
	switch {
	case faults:
		return Fail
	case candidates:
		return Unclear
	case checked:
		return Pass
	}
	return NotChecked
}
