// Package finding is how every detector of zbench tells what it found. A detector keeps its own
// typed result, such as the statistics of a rail, and has one function that makes findings of it.
// Terminal, page, Markdown, JUnit and JSON show findings; none of them judges.
package finding

import (
	"fmt"
	"slices"
	"strings"
)

// Severity is how much a finding matters. In JSON it is a word.
type Severity int

// The severities, the least first. A note is a figure or a label; OK is that something was
// looked for and not found; a warning limits what the figures say; a fault is what is wrong.
const (
	Note Severity = iota
	OK
	Warning
	Fault
)

// severities are the words, in the order of the constants.
var severities = []string{"note", "ok", "warning", "fault"}

// Severities returns the words for all severities, the least first.
func Severities() []string { return slices.Clone(severities) }

// String returns the word.
func (s Severity) String() string {
	if s < 0 || int(s) >= len(severities) {
		return fmt.Sprintf("severity %d", int(s))
	}
	return severities[s]
}

// MarshalText returns the word for JSON.
func (s Severity) MarshalText() ([]byte, error) {
	if s < 0 || int(s) >= len(severities) {
		return nil, fmt.Errorf("no severity has the number %d", int(s))
	}
	return []byte(severities[s]), nil
}

// UnmarshalText reads the word.
func (s *Severity) UnmarshalText(text []byte) error {
	at := slices.Index(severities, string(text))
	if at < 0 {
		return fmt.Errorf("severity is %q, not one of %q", text, severities)
	}
	*s = Severity(at)
	return nil
}

// Kind is the kind of thing that a finding is about.
type Kind string

// The kinds of subjects.
const (
	Rank Kind = "rank"
	GPU  Kind = "gpu"
	Link Kind = "xgmi_link"
	NIC  Kind = "nic"
	Rail Kind = "rail"
	Leaf Kind = "leaf"
	Path Kind = "path"
	Node Kind = "node"
	Size Kind = "size"
	File Kind = "file"
)

// Kinds returns all kinds of subjects.
func Kinds() []Kind { return []Kind{Rank, GPU, Link, NIC, Rail, Leaf, Path, Node, Size, File} }

// Subject is what a finding is about.
type Subject struct {
	// Kind of the thing; absent where only its name is known.
	Kind Kind `json:"kind,omitempty"`
	// Name for people, such as "rank 29 (node 3, GPU 5)".
	Name string `json:"name"`
	// Nodes are the names of the nodes that it belongs to; absent where they are not known.
	Nodes []string `json:"nodes,omitempty"`
}

// Finding is one statement about what was judged.
type Finding struct {
	// Code names the kind of finding. It is stable across versions.
	Code string `json:"code"`
	// Severity is fault, warning, ok or note.
	Severity Severity `json:"severity"`
	// Subject is what it is about; absent where that is everything that was judged.
	Subject *Subject `json:"subject,omitempty"`
	// Candidates are the subjects among which the fault is; absent where it is certain.
	Candidates []Subject `json:"candidates,omitempty"`
	// Text says it, in one or two sentences of plain text.
	Text string `json:"text"`
	// Hint says what to do next; absent where there is nothing to do.
	Hint string `json:"hint,omitempty"`
	// Share is what is lost, from 0 to 1: of bandwidth, of time, of elements or of cases, as
	// Text says; absent where nothing is lost.
	Share float64 `json:"share,omitempty" jsonschema:"maximum=1"`
	// Evidence are the sentences behind it; absent where Text has all.
	Evidence []string `json:"evidence,omitempty"`
}

// Codes that every detector has: a fault among candidates, what was not judged, times of a model; and
// those that have an exit code of their own.
const (
	CodeUnclear    = "unclear"
	CodeNotChecked = "not_checked"
	CodeSimulated  = "simulated"

	CodeWrongData   = "wrong_data"
	CodeHang        = "hang"
	CodeAsyncError  = "async_error"
	CodeFailed      = "failed"
	CodeInterrupted = "interrupted"
)

// NotHardware says what simulated times are.
const NotHardware = "a model, not hardware, decided these times"

// Word is what a finding begins with where people read it, and its text without that: the words in
// capitals with which the text begins, as in "UNCLEAR: rank 3 or 5"; else UNCLEAR, NOT CHECKED or
// SIMULATED by the code, or FAULT, LIMIT or OK by the severity. Of a note it is empty.
func (f Finding) Word() (word, text string) {
	if word, text = capitals(f.Text); word != "" {
		return word, text
	}
	switch {
	case f.Code == CodeUnclear || len(f.Candidates) > 0:
		word = Unclear.Word()
	case f.Code == CodeNotChecked || f.Code == CodeSimulated:
		word = State(f.Code).Word()
	case f.Severity == Fault:
		word = "FAULT"
	case f.Severity == Warning:
		word = "LIMIT"
	case f.Severity == OK:
		word = "OK"
	}
	return word, f.Text
}

// capitals cuts off the words in capitals with which a text begins, each behind its colon, as in
// "SIMULATED: SLOWER: of 18 cases". What stands in brackets or behind a dot need not be in capitals.
func capitals(text string) (word, rest string) {
	head, rest, labelled := strings.Cut(text, ": ")
	bare, _, _ := strings.Cut(head, " (")
	bare, _, _ = strings.Cut(bare, " · ")
	if !labelled || len(bare) < 2 || strings.ToUpper(bare) != bare {
		return "", text
	}
	if more, last := capitals(rest); more != "" {
		return head + ": " + more, last
	}
	return head, rest
}

// State is what a check with this finding alone comes to.
func (f Finding) State() State {
	switch {
	case f.Code == CodeUnclear || len(f.Candidates) > 0:
		return Unclear
	case f.Severity == Fault:
		return Fail
	case f.Severity == Warning:
		return NotChecked
	}
	return Pass
}

// List is findings in the order of reading.
type List []Finding

// Only returns the findings with one of these codes.
func (l List) Only(codes ...string) List {
	return slices.DeleteFunc(slices.Clone(l), func(f Finding) bool { return !slices.Contains(codes, f.Code) })
}

// Faults returns what is wrong.
func (l List) Faults() List {
	return slices.DeleteFunc(slices.Clone(l), func(f Finding) bool { return f.Severity != Fault })
}

// State returns what a check with these findings comes to. checked is false where there was too
// little to pass.
func (l List) State(checked bool) State {
	faults, candidates := false, false
	for _, f := range l.Faults() {
		faults = faults || len(f.Candidates) == 0
		candidates = candidates || len(f.Candidates) > 0
	}
	return Settle(faults, candidates, checked)
}

// Worst returns the highest severity; Note of an empty list.
func (l List) Worst() Severity {
	worst := Note
	for _, f := range l {
		worst = max(worst, f.Severity)
	}
	return worst
}
