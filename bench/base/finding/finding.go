// Package finding is the common form of all detectors' results. A detector keeps a typed result of
// its own, such as the statistics of a rail, and has one function that turns it into findings.
// Terminal, page, Markdown, JUnit and JSON show findings; none of them judges.
package finding

import (
	"fmt"
	"slices"
	"strings"
)

// Severity says how much a finding matters. JSON writes it as a word.
type Severity int

// The severities, in increasing order. A note is a figure or a label; OK means that a search found
// nothing; a warning limits the meaning of the figures; a fault is a defect.
const (
	Note Severity = iota
	OK
	Warning
	Fault
)

// severities are the words of the constants, in the same order.
var severities = []string{"note", "ok", "warning", "fault"}

// Severities returns the words of all severities, in increasing order.
func Severities() []string { return slices.Clone(severities) }

// String returns the severity as a word.
func (s Severity) String() string {
	if s < 0 || int(s) >= len(severities) {
		return fmt.Sprintf("severity %d", int(s))
	}
	return severities[s]
}

// MarshalText returns the severity as a word for JSON.
func (s Severity) MarshalText() ([]byte, error) {
	if s < 0 || int(s) >= len(severities) {
		return nil, fmt.Errorf("no severity has the number %d", int(s))
	}
	return []byte(severities[s]), nil
}

// UnmarshalText reads the word of a severity.
func (s *Severity) UnmarshalText(text []byte) error {
	at := slices.Index(severities, string(text))
	if at < 0 {
		return fmt.Errorf("severity is %q, not one of %q", text, severities)
	}
	*s = Severity(at)
	return nil
}

// Kind is the kind of a finding's subject.
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

// Subject is the thing that a finding describes.
type Subject struct {
	// Kind is the kind of the thing; absent if only its name is known.
	Kind Kind `json:"kind,omitempty"`
	// Name is the name for people, such as "rank 29 (node 3, GPU 5)".
	Name string `json:"name"`
	// Nodes are the names of the nodes of the thing; absent if unknown.
	Nodes []string `json:"nodes,omitempty"`
}

// Finding is one statement about the judged data.
type Finding struct {
	// Code names the kind of finding. It is stable across versions.
	Code string `json:"code"`
	// Severity is fault, warning, ok or note.
	Severity Severity `json:"severity"`
	// Subject is the thing that the finding is about; absent if the finding covers everything that
	// was judged.
	Subject *Subject `json:"subject,omitempty"`
	// Candidates are the possible subjects of a fault; absent if the subject is certain.
	Candidates []Subject `json:"candidates,omitempty"`
	// Text states the finding in one or two sentences of plain text.
	Text string `json:"text"`
	// Hint is the next step; absent if there is none.
	Hint string `json:"hint,omitempty"`
	// Share is the lost share of bandwidth, time, elements or cases, from 0 to 1; Text says which.
	// Absent if there is none.
	Share float64 `json:"share,omitempty" jsonschema:"maximum=1"`
	// Evidence are the supporting sentences; absent if Text says everything.
	Evidence []string `json:"evidence,omitempty"`
}

// Codes that any detector may use: a fault among candidates, nothing judged, times of a model, and
// the codes that have an exit code of their own.
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

// NotHardware explains simulated times.
const NotHardware = "a model, not hardware, decided these times"

// Word returns the label that begins a finding in the user's output, and the rest of the text. If
// the text begins with words in capitals, as in "UNCLEAR: rank 3 or 5", these words are the label.
// Otherwise the label follows from the code (UNCLEAR, NOT CHECKED, SIMULATED), or else from the
// severity (FAULT, LIMIT, OK). A note has an empty label.
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

// capitals cuts off the leading labels in capitals, each followed by a colon, as in "SIMULATED:
// SLOWER: of 18 cases". Within a label, text in brackets or after " · " need not be in capitals.
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

// State returns the state of a check that has only this finding.
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

// List holds findings in reading order.
type List []Finding

// Only returns the findings with one of these codes.
func (l List) Only(codes ...string) List {
	return slices.DeleteFunc(slices.Clone(l), func(f Finding) bool { return !slices.Contains(codes, f.Code) })
}

// Faults returns the faults.
func (l List) Faults() List {
	return slices.DeleteFunc(slices.Clone(l), func(f Finding) bool { return f.Severity != Fault })
}

// State returns the state of a check with these findings. checked is false if too little was
// checked for a pass.
func (l List) State(checked bool) State {
	faults, candidates := false, false
	for _, f := range l.Faults() {
		faults = faults || len(f.Candidates) == 0
		candidates = candidates || len(f.Candidates) > 0
	}
	return Settle(faults, candidates, checked)
}

// Worst returns the highest severity, or Note for an empty list.
func (l List) Worst() Severity {
	worst := Note
	for _, f := range l {
		worst = max(worst, f.Severity)
	}
	return worst
}
