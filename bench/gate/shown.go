package gate

import "zbench/bench/document"

// AddTo adds the outcome to what a document comes to. strict counts what was not checked as failed. A
// nil report adds nothing.
func (r *Report) AddTo(d *document.Document, strict bool) {
	if r == nil {
		return
	}
	d.Findings = append(d.Findings, r.Findings()...)
	for _, c := range r.Checks {
		c.Reason = c.why()
		d.Checks = append(d.Checks, document.Check{Class: "zbench.threshold", Check: c.Check})
	}
	d.Strict = strict
	d.Chips = append(d.Chips, document.Fact{Term: "Thresholds", Text: r.State.Marked()})
}
