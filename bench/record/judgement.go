package record

import "zbench/bench/finding"

// Judgement is what a record comes to, as it was judged when the record was made.
type Judgement struct {
	// Rules is the version of the rules that made the findings.
	Rules int `json:"rules" jsonschema:"minimum=1"`
	// State is fail with a fault, unclear where only candidates of it are known, not_checked
	// where too little was measured, else pass.
	State finding.State `json:"state"`
	// Findings in the order of reading: what is wrong first.
	Findings finding.List `json:"findings"`
}
