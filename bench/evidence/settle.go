package evidence

import (
	"slices"
	"strings"

	"zbench/bench/rails"
)

// decided is the confidence of what sources beside the times have decided.
const decided = 0.8

// Settle joins the sources and changes the verdict of the times by what the others decide:
// a question that they answer becomes a finding, a finding that they explain by another
// component or clear is dropped, and their reasons stand beside the times'. Without other
// sources the verdict stays as it is.
func Settle(in Input) {
	v := in.Verdict
	findings, questions := slices.Clone(v.Findings), slices.Clone(v.Questions)
	for _, h := range in.weighed() {
		if h.score <= 0 {
			findings = slices.DeleteFunc(findings, func(f rails.Finding) bool { return f.Component == h.Component })
			v.Cleared = append(v.Cleared, cleared(h)...)
		}
	}
	for _, c := range Join(in) {
		if c.Named == nil || !slices.ContainsFunc(c.Sources, func(s Source) bool { return s != Times }) {
			continue
		}
		f := rails.Finding{Component: *c.Named, Confidence: decided}
		if i := slices.IndexFunc(findings, func(f rails.Finding) bool { return f.Component == *c.Named }); i >= 0 {
			f = findings[i]
			findings = slices.Delete(findings, i, i+1)
		}
		for _, r := range c.Reasons {
			said := slices.ContainsFunc(f.Reasons, func(have string) bool { return strings.HasSuffix(r, have) })
			if !said && (len(f.Reasons) == 0 || !strings.HasPrefix(r, string(Times)+":")) {
				f.Reasons = append(f.Reasons, r)
			}
		}
		questions = slices.DeleteFunc(questions, func(q rails.Question) bool {
			answers := slices.Contains(q.Candidates, *c.Named)
			if answers {
				f.Lost = max(f.Lost, q.Lost)
			}
			return answers
		})
		findings = slices.DeleteFunc(findings, func(f rails.Finding) bool { return slices.Contains(c.Explained, f.Component) })
		findings = append(findings, f)
	}
	v.Replace(findings, questions)
}

// cleared says why a component that the times suspect is not named.
func cleared(h hypothesis) []rails.Cleared {
	var out []rails.Cleared
	for _, c := range h.claims {
		if c.Weight < 0 && slices.ContainsFunc(h.claims, func(c Claim) bool { return c.Source == Times }) {
			out = append(out, rails.Cleared{Component: h.Component, Why: string(c.Source) + ": " + c.Says})
		}
	}
	return out
}
