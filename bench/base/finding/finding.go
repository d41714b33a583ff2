// Package finding is the common form of every detector's results. A detector keeps its own typed
// result, such as the statistics of a rail, and has one function that makes findings of it.
// Terminal, page, Markdown, JUnit and JSON show findings; none of them judges.
package finding

import (
	"fmt"
	"slices"
	"strings"
)

// Severity is how much a finding matters. In JSON it is a word.
type Severity int

// The severities, the least first. A note is a figure or a label; OK means that a search found
// nothing; a warning limits the meaning of the figures; a fault is a defect.
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
	// Kind of the thing; absent if only its name is known.
	Kind Kind `json:"kind,omitempty"`
	// Name for people, such as "rank 29 (node 3, GPU 5)".
	Name string `json:"name"`
	// Nodes are the names of its nodes; absent if unknown.
	Nodes []string `json:"nodes,omitempty"`
}

// Finding is one statement about the judged data.
type Finding struct {
	// Code names the kind of finding. It is stable across versions.
	Code string `json:"code"`
	// Severity is fault, warning, ok or note.
	Severity Severity `json:"severity"`
	// Subject of the finding; absent if it covers everything that was judged.
	Subject *Subject `json:"subject,omitempty"`
	// Candidates are the possible subjects of a fault; absent if the subject is certain.
	Candidates []Subject `json:"candidates,omitempty"`
	// Text states the finding in one or two sentences of plain text.
	Text string `json:"text"`
	// Hint is the next step; absent if there is none.
	Hint string `json:"hint,omitempty"`
	// Share is the loss, from 0 to 1: of bandwidth, of time, of elements or of cases, as Text says;
	// absent if there is none.
	Share float64 `json:"share,omitempty" jsonschema:"maximum=1"`
	// Evidence are the supporting sentences; absent if Text has all.
	Evidence []string `json:"evidence,omitempty"`
}

// Codes that every detector has: a fault among candidates, not judged, times of a model, and the
// codes with their own exit code.
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

// Word returns the first word of a finding in the user's output, and the rest of its text: the
// words in capitals that begin the text, as in "UNCLEAR: rank 3 or 5"; else UNCLEAR, NOT CHECKED or
// SIMULATED by the code, or FAULT, LIMIT or OK by the severity. For a note it is empty.
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

// capitals cuts off the leading words in capitals, each followed by a colon, as in "SIMULATED:
// SLOWER: of 18 cases". Text in brackets or behind a dot need not be in capitals.
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

// State returns the state of a check with only this finding.
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
// checked to pass.
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
