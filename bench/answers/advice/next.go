package advice

import (
	"fmt"
)

// remedies are the actions that raise the confidence, by the code of the reason that limits the confidence.
var remedies = map[string]string{
	"unproved":          "time steps of the job with the default, the answer and a quarter of it, and give --observed",
	"simulated":         "measure on the cluster before you train with it",
	"compute_unknown":   "measure the backward pass on one data-parallel rank and give --backward-ms",
	"rule":              "measure the backward pass on one data-parallel rank and give --backward-ms",
	"compute_estimated": "measure the backward pass on one data-parallel rank and give --backward-ms",
	"params_guessed":    "list the tensors with --params FILE",
	"rescaled":          "sweep this number of ranks",
	"imported":          "sweep with `zbench collectives`, which records the spread",
	"neighbours":        "sweep groups of the ranks that reduce together (--strides)",
	"extrapolated":      "sweep larger sizes (-e)",
	"ends_in_dip":       "sweep larger sizes (-e)",
	"dip":               "sweep again and give both records",
	"scattered":         "sweep again and give both records",
	"few_sizes":         "sweep more sizes (-f 2)",
	"few_samples":       "sweep again and give both records",
	"noisy":             "sweep again on a quiet cluster",
	"one_run":           "sweep again and give both records",
	"runs_disagree":     "sweep again and give all records",
	"unstable":          "sweep again and give both records",
}

// Next says what to do with the answer: copy the printed lines, unless everything is already set, and raise
// the confidence.
func (d *Document) Next() string {
	text := ""
	if a := &d.Answer; len(d.Snippets) > 0 && (!a.Keep || len(a.Changes) > 0) {
		text = fmt.Sprintf("copy the lines for %s", d.Snippets[0].Title)
	}
	why := d.Answer.Confidence.Why()
	if why == nil || remedies[why.Code] == "" {
		return text
	}
	if text == "" {
		return "to be surer, " + remedies[why.Code]
	}
	if why.Code == "simulated" {
		return text + "; " + remedies[why.Code]
	}
	return text + "; to be surer, " + remedies[why.Code]
}
