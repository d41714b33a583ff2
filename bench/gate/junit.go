package gate

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"zbench/bench/finding"
	"zbench/bench/plain"
)

// Suite is a list of outcomes under a name, for a test server.
type Suite struct {
	Name      string
	Simulated bool
	Outcomes  []Outcome
}

// Outcome is one check of a suite: a threshold or a case.
type Outcome struct {
	// Class groups outcomes; Name is theirs.
	Class, Name string
	State       finding.State
	// Text says why.
	Text string
}

// Suite is the report as outcomes.
func (r *Report) Suite(name string) Suite {
	s := Suite{Name: name, Simulated: r.Simulated}
	for _, c := range r.Checks {
		text := c.Reason
		if c.Source != "" {
			text += "; threshold of " + c.Source
		}
		s.Outcomes = append(s.Outcomes, Outcome{"zbench.threshold", c.Name, c.State, text})
	}
	return s
}

// The elements of JUnit's XML, as test servers read it (Jenkins' junit-10.xsd).
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

// WriteJUnit writes suites as JUnit's XML. Not checked is skipped, or a failure if
// requireChecked is set: a test server takes what is skipped for good.
func WriteJUnit(w io.Writer, requireChecked bool, suites ...Suite) error {
	var all xmlSuites
	for _, s := range suites {
		one := xmlSuite{Name: s.Name, Tests: len(s.Outcomes), Properties: []xmlProperty{{"simulated", fmt.Sprint(s.Simulated)}}}
		for _, o := range s.Outcomes {
			text := plain.Text(o.Text)
			if s.Simulated {
				text = "SIMULATED: " + text
			}
			c := xmlCase{Class: plain.Text(o.Class), Name: plain.Text(o.Name)}
			switch {
			case o.State == finding.Fail || o.State == finding.NotChecked && requireChecked:
				one.Failures++
				c.Failure = &xmlMessage{o.State.Word() + ": " + text, string(o.State)}
			case o.State == finding.NotChecked:
				one.Skipped++
				c.Skipped = &xmlMessage{Message: o.State.Word() + ": " + text}
			default:
				c.Output = text
			}
			one.Cases = append(one.Cases, c)
		}
		all.Tests, all.Failures, all.Skipped = all.Tests+one.Tests, all.Failures+one.Failures, all.Skipped+one.Skipped
		all.Suites = append(all.Suites, one)
	}
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
