package judge

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"zbench/bench/base/finding"
	"zbench/bench/base/unit"
	"zbench/bench/run/curve"
	"zbench/bench/run/record"
	"zbench/bench/run/spec"
)

// CodeBelowReference is the code of the warning that a figure is below a published figure. A reference from outside
// of this run proves no fault: only --fail-on turns it into an exit code.
const CodeBelowReference = "below_reference"

// BelowReference is the name of this condition in --fail-on. BelowLimit is the smallest reported loss, as a share
// of the reference.
const (
	BelowReference = "below-reference"
	BelowLimit     = lostMeasured
)

// `beside` is a figure with its reference, in bytes per second. `where` is empty or follows the name.
type beside struct {
	name, where, of string
	rate, want      float64
}

// `lost` returns the missing share of the reference; it is negative for a faster figure.
func (b beside) lost() float64 { return 1 - b.rate/b.want }

func (b beside) text() string {
	return fmt.Sprintf("%s%s reaches %s of %s (%s of %s)", b.name, b.where, unit.Part(1-b.lost()), b.of, unit.Rate(b.rate), unit.Rate(b.want))
}

// `besides` returns the largest size of each collective with its reference, if that size lost at least the share
// `limit`.
func (j judged) besides(limit float64) (out []beside) {
	names, rows := wholes(j.Record)
	for _, name := range names {
		r, share, ok := j.lostBy(rows[name], limit)
		if !ok {
			continue
		}
		if bw, known := curve.BusBW(r); known {
			out = append(out, beside{name, " at " + unit.Bytes(r.Bytes), j.want.name(), bw, bw / (1 - share)})
		}
	}
	return out
}

// `besides` returns the best bandwidth with the figure that others published of the device.
func (j judgedKernels) besides() []beside {
	best, ofMemory := j.bestKernel()
	if best == nil || !ofMemory {
		return nil
	}
	rate, tool := j.published(best)
	if rate <= 0 {
		return nil
	}
	return []beside{{j.name(best), "", "what " + tool + " published", *best.Metrics.Rate, rate}}
}

func (j judgedKernels) belowReference() finding.List {
	var out finding.List
	for _, b := range j.besides() {
		if lost := b.lost(); lost >= lostMeasured {
			out = append(out, finding.Finding{Code: CodeBelowReference, Severity: finding.Warning, Share: lost, Text: "BELOW REFERENCE: " + b.text() + "."})
		}
	}
	return out
}

// AgainstReference checks that no figure of a record is below its reference by the share `least` or more. The
// reference is the fabric's model or a published figure. name is the condition as given; cases is the number of
// figures with a reference.
func AgainstReference(rec *record.Record, name string, least float64) (check finding.Check, cases int) {
	var all []beside
	if of := rec.Benchmark(); of == "" || of == spec.Collectives {
		all = judged{rec, expect(rec)}.besides(math.Inf(-1))
	} else {
		all = judgedKernels{rec}.besides()
	}
	check = finding.Check{Name: name, State: finding.NotChecked, Reason: "no figure has a reference"}
	if len(all) > 0 {
		worst := slices.MaxFunc(all, func(a, b beside) int { return cmp.Compare(a.lost(), b.lost()) })
		check.State, check.Reason = finding.Settle(worst.lost() >= least, false, true), worst.text()
	}
	return check, len(all)
}
