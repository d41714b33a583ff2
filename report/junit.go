package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"zbench/bench/base/finding"
	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
	"zbench/bench/show/document"
)

// Elements of JUnit's XML, as test servers read it (junit-10.xsd of Jenkins).
type (
	xmlSuites struct {
		XMLName  xml.Name   `xml:"testsuites"`
		Tests    int        `xml:"tests,attr"`
		Failures int        `xml:"failures,attr"`
		Skipped  int        `xml:"skipped,attr"`
		Suites   []xmlSuite `xml:"testsuite"`
	}
	xmlSuite struct {
		Name       string        `xml:"name,attr"`
		Tests      int           `xml:"tests,attr"`
		Failures   int           `xml:"failures,attr"`
		Errors     int           `xml:"errors,attr"`
		Skipped    int           `xml:"skipped,attr"`
		Properties []xmlProperty `xml:"properties>property"`
		Cases      []xmlCase     `xml:"testcase"`
		Output     string        `xml:"system-out,omitempty"`
	}
	xmlProperty struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
	xmlCase struct {
		Class   string      `xml:"classname,attr"`
		Name    string      `xml:"name,attr"`
		Failure *xmlMessage `xml:"failure,omitempty"`
		Skipped *xmlMessage `xml:"skipped,omitempty"`
		Output  string      `xml:"system-out,omitempty"`
	}
	xmlMessage struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr,omitempty"`
	}
)

// WriteJUnit writes the document's checks as JUnit XML, one test case per check, and its findings
// as the output of the suite. If the document has no checks, the findings are the test cases.
// Checks that are unclear or were not made count as skipped. In a strict document they count as
// failures, because a test server treats skipped cases as good.
func WriteJUnit(w io.Writer, d *document.Document) error {
	suite := xmlSuite{Name: "zbench " + d.Command, Properties: []xmlProperty{{"simulated", fmt.Sprint(d.Simulated)}}}
	for _, c := range d.Checks {
		suite.add(d, c, c.State.Word())
	}
	if len(d.Checks) == 0 {
		suite.addFindings(d)
	}
	lines := slice.Map(d.Findings, func(f finding.Finding) string { return plain.Line(strings.TrimSpace(f.Text + " " + f.Hint)) })
	suite.Output = strings.Join(lines, "\n")
	all := xmlSuites{Tests: suite.Tests, Failures: suite.Failures, Skipped: suite.Skipped, Suites: []xmlSuite{suite}}
	var b strings.Builder
	b.WriteString(xml.Header)
	e := xml.NewEncoder(&b)
	e.Indent("", "  ")
	if err := e.Encode(all); err != nil {
		return fmt.Errorf("write JUnit XML: %w", err)
	}
	b.WriteByte('\n')
	_, err := io.WriteString(w, b.String())
	return err
}

// add adds a check as a test case. If the check has not passed, its message begins with word.
func (s *xmlSuite) add(d *document.Document, c document.Check, word string) {
	text := plain.Text(c.Reason)
	if d.Simulated {
		text = "SIMULATED: " + text
	}
	one := xmlCase{Class: plain.Text(c.Class), Name: plain.Text(c.Name)}
	switch {
	case c.State == finding.Pass:
		one.Output = text
	case c.State == finding.Fail || d.Strict:
		s.Failures++
		one.Failure = &xmlMessage{word + ": " + text, string(c.State)}
	default:
		s.Skipped++
		one.Skipped = &xmlMessage{Message: word + ": " + text}
	}
	s.Tests++
	s.Cases = append(s.Cases, one)
}

// addFindings adds the findings as test cases. A fault is a failure, a warning is skipped, an OK
// has passed. Notes and the label of simulated times are left out.
func (s *xmlSuite) addFindings(d *document.Document) {
	for _, f := range d.Findings {
		if f.Severity == finding.Note || f.Code == finding.CodeSimulated {
			continue
		}
		name := f.Code
		if f.Subject != nil {
			name = f.Subject.Name
		}
		word, text := f.Word()
		s.add(d, document.Check{Class: d.Command + "." + f.Code, Check: finding.Check{Name: name, State: f.State(), Reason: text}}, word)
	}
}
