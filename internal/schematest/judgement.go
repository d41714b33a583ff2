package schematest

import "testing"

// judgement is one that uses all of its fields. Documents make their own from what they hold, so a test
// cannot fill it.
const judgement = `{"rules": 1, "state": "unclear", "findings": [{
	"code": "c", "severity": "fault", "subject": {"kind": "rank", "name": "rank 3", "nodes": ["n"]}, "candidates": [{"kind": "node", "name": "n"}],
	"text": "t", "hint": "h", "share": 0.5, "evidence": ["e"]
}]}`

// badJudgements are changes of it that must be refused.
var badJudgements = map[string]string{
	"/judgement/rules": `0`, "/judgement/state": `"fine"`, "/judgement/findings/0/severity": `"bad"`,
	"/judgement/findings/0/subject/kind": `"rack"`, "/judgement/findings/0/share": `1.5`,
	"/judgement/findings/0/candidates/0/kind": `"rack"`,
}

// judged is a document with that judgement in place of its own; judges tells whether it had one.
func judged(t testing.TB, text string) (doc any, judges bool) {
	t.Helper()
	doc = document(t, text)
	if top, is := doc.(map[string]any); is && top["judgement"] != nil {
		top["judgement"] = document(t, judgement)
		return doc, true
	}
	return doc, false
}
