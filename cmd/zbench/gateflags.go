package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"zbench/bench/answers/gate"
	"zbench/bench/answers/judge"
	"zbench/bench/run/record"
	"zbench/bench/run/spec"
	"zbench/hbm"
)

// gateFlagSet has the conditions that a record must meet.
type gateFlagSet struct {
	thresholds     []string
	accept, failOn string
	allowUnchecked bool

	// The parsed values of the flags.
	parsed  []*gate.Threshold
	profile *gate.Profile
	below   float64
}

// gatesFile is the file with the results of the gates, in the folder of a record.
const gatesFile = "gates.json"

func addGateFlags(f *pflag.FlagSet, o *gateFlagSet) {
	f.StringArrayVar(&o.thresholds, "threshold", nil, "exit with 3 if this does not hold, and with 6 if no case tells, such as 'all_reduce bytes>=128MiB busbw>=300GB/s'; may be repeated")
	f.StringVar(&o.accept, "accept", "", "the same with the thresholds of this profile (zbench list profiles)")
	f.StringVar(&o.failOn, "fail-on", "", "exit with 3 if a figure is below the fabric's model or what others published, by at least so much: below-reference, below-reference:15%")
	addUnchecked(f, &o.allowUnchecked, "a threshold that could not be checked")
}

// addUnchecked adds the flag that lets a gate pass although some conditions were not checked.
// --require-checked has no effect: it is the default, but scripts use the flag.
func addUnchecked(f *pflag.FlagSet, to *bool, what string) {
	f.BoolVar(to, "allow-unchecked", false, "let "+what+" pass, instead of exiting with 6")
	f.Bool("require-checked", false, "nothing: gates close by default")
	f.Lookup("require-checked").Hidden = true
}

// gateFlags are the names of these flags. They may change when a run is resumed.
var gateFlags = []string{"threshold", "accept", "fail-on", "allow-unchecked", "require-checked"}

// figureNames returns the names of kernels that a threshold or a figure of a suite may have.
func figureNames() []string {
	return slices.Concat(hbm.StreamNames(), kernelNames(), []string{spec.Gemm})
}

// read parses the flags before anything is run.
func (o *gateFlagSet) read() (err error) {
	for _, text := range o.thresholds {
		t, err := gate.Parse(text, figureNames()...)
		if err != nil {
			return usage(fmt.Errorf("--threshold: %w", err), "the form is "+gate.Grammar)
		}
		o.parsed = append(o.parsed, t)
	}
	if o.accept != "" {
		if o.profile, err = gate.ProfileByName(o.accept); err != nil {
			return usage(err, "`zbench list profiles` describes them")
		}
	}
	if o.failOn != "" {
		if o.below, err = gate.ParseFailOn(o.failOn, judge.BelowReference, judge.BelowLimit); err != nil {
			return usage(fmt.Errorf("--fail-on: %w", err), "`zbench compare --fail-on slower:5%` is about another run")
		}
	}
	return nil
}

// given returns true if a gate was requested.
func (o *gateFlagSet) given() bool { return len(o.parsed) > 0 || o.profile != nil || o.failOn != "" }

// judge applies the gates to the record. It returns nil if none was requested.
func (o *gateFlagSet) judge(rec *record.Record) *gate.Report {
	if !o.given() {
		return nil
	}
	checks, name := gate.Evaluate(rec, o.parsed), ""
	if o.profile != nil {
		checks, name = append(checks, o.profile.Evaluate(rec)...), o.profile.Name
	}
	if o.failOn != "" {
		check, cases := judge.AgainstReference(rec, o.failOn, o.below)
		checks = append(checks, gate.Check{Check: check, Cases: cases})
	}
	return gate.NewReport(rec.Simulated, name, checks)
}

// profileRows returns the acceptance profiles as rows of a listing.
func profileRows() ([][]string, error) {
	var rows [][]string
	for _, p := range gate.Profiles() {
		for i, t := range p.Thresholds {
			name, title := p.Name, p.Title
			if i > 0 {
				name, title = "", ""
			}
			rows = append(rows, []string{name, title, t.Require, t.Source})
		}
	}
	return rows, nil
}

// percentValue is a flag for a share between least and most, given as 2% or 0.02.
type percentValue struct {
	to          *float64
	least, most float64
}

// Set parses the share.
func (p *percentValue) Set(text string) error {
	digits, cent := strings.CutSuffix(strings.TrimSpace(text), "%")
	v, err := strconv.ParseFloat(digits, 64)
	if cent {
		v /= 100
	}
	if err != nil || !(v > p.least && v < p.most) {
		return fmt.Errorf("%q is not a share above %g%% and below %g%%, such as 2%%", text, 100*p.least, 100*p.most)
	}
	*p.to = v
	return nil
}

func (p *percentValue) String() string {
	if p.to == nil || *p.to == 0 {
		return ""
	}
	return strconv.FormatFloat(100**p.to, 'g', -1, 64) + "%"
}

// Type returns the name of the value in the help text.
func (p *percentValue) Type() string { return "share" }
