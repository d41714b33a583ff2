package finding

import "strings"

// State is what a check comes to.
type State string

// The states. Unclear is a fault that is somewhere among candidates; NotChecked is that there
// was nothing to judge. Neither has passed.
const (
	Pass       State = "pass"
	Fail       State = "fail"
	Unclear    State = "unclear"
	NotChecked State = "not_checked"
)

// Healthy and Faulty are pass and fail in the words of rails.json and screen.json.
const (
	Healthy State = "healthy"
	Faulty  State = "faulty"
)

// OfNodes returns the state in those words.
func (s State) OfNodes() State {
	switch s {
	case Pass:
		return Healthy
	case Fail:
		return Faulty
	default:
		return s
	}
}

// StatesOfNodes returns all states in those words.
func StatesOfNodes() []State { return []State{Healthy, Faulty, Unclear, NotChecked} }

// States returns all states.
func States() []State { return []State{Pass, Fail, Unclear, NotChecked} }

// Word returns the state as people read it: PASS, NOT CHECKED.
func (s State) Word() string { return strings.ToUpper(strings.ReplaceAll(string(s), "_", " ")) }

// Severity returns how much a state matters: what is unclear or not checked limits the rest.
func (s State) Severity() Severity {
	switch s {
	case Pass, Healthy:
		return OK
	case Fail, Faulty:
		return Fault
	case Unclear, NotChecked:
	}
	return Warning
}

// Settle decides the state of a check. A fault fails it, then candidates leave it unclear, and
// only what was checked has passed.
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
