package gate

import "zbench/bench/document"

// AddTo adds the outcome to what a document comes to; nil adds nothing.
func (r *Report) AddTo(d *document.Document) {
	if r == nil {
		return
	}
	d.Findings = append(d.Findings, r.Findings()...)
	d.Chips = append(d.Chips, document.Fact{Term: "Thresholds", Text: r.State.Word()})
}
