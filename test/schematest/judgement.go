package schematest

import "testing"

// judgement uses all fields of a judgement. Documents make their judgements from their contents, so
// a test cannot fill them directly.
const judgement = `{"rules": 1, "state": "unclear", "findings": [{
	"code": "c", "severity": "fault", "subject": {"kind": "rank", "name": "rank 3", "nodes": ["n"]}, "candidates": [{"kind": "node", "name": "n"}],
	"text": "t", "hint": "h", "share": 0.5, "evidence": ["e"]
}]}`

// badJudgements are changes of judgement that must be refused.
var badJudgements = map[string]string{
	"/judgement/rules": `0`, "/judgement/state": `"fine"`, "/judgement/findings/0/severity": `"bad"`,
	"/judgement/findings/0/subject/kind": `"rack"`, "/judgement/findings/0/share": `1.5`,
	"/judgement/findings/0/candidates/0/kind": `"rack"`,
}

// judged replaces the judgement of a document by the constant judgement, and returns the changes
// that must be refused. bad is empty if the document has no judgement. In a journal, the record in
// the first line has the judgement.
func judged(t testing.TB, text string) (doc any, bad map[string]string) {
	t.Helper()
	doc = document(t, text)
	for _, in := range []string{"", "/record"} {
		holder, _ := doc.(map[string]any)
		if in != "" {
			holder, _ = holder[in[1:]].(map[string]any)
		}
		if holder["judgement"] == nil {
			continue
		}
		holder["judgement"] = document(t, judgement)
		bad = map[string]string{}
		for where, values := range badJudgements {
			bad[in+where] = values
		}
	}
	return doc, bad
}
