package evidence

import (
	"slices"
	"strings"

	"zbench/bench/answers/fleet/rails"
	"zbench/bench/base/slice"
)

// `decided` is the confidence of decisions by sources other than the times.
const decided = 0.8

// Settle joins the sources and changes the verdict of the times. A question that the other sources answer
// becomes a finding. A finding that the other sources clear, or explain by another component, is dropped.
// Reasons of the other sources are added to the reasons of the times. Contradicting sources turn a finding
// into a question. Without other sources the verdict stays as it is.
func Settle(in Input) {
	s := settling{in, slices.Clone(in.Verdict.Findings), slices.Clone(in.Verdict.Questions)}
	for _, h := range in.weighed() {
		if h.score <= 0 {
			s.clear(h)
		}
	}
	for _, c := range Join(in) {
		others := slices.ContainsFunc(c.Sources, func(s Source) bool { return s != Times })
		switch {
		case !others:
		case c.Named == nil:
			s.ask(c)
		case in.timedWell(c):
			s.questions = append(s.questions, rails.Question{
				What: strings.Join(c.Reasons, "; ") + "; its times are not slow", Candidates: c.Candidates,
				Next: "run again; look at the component by itself",
			})
		default:
			s.name(c)
		}
	}
	in.Verdict.Replace(s.findings, append(s.questions, in.askOfFleet()...))
}

// settling is a verdict that Settle is changing.
type settling struct {
	Input
	findings  []rails.Slow
	questions []rails.Question
}

// clear drops a component from findings and questions. A question without another candidate keeps the
// component.
func (s *settling) clear(h hypothesis) {
	s.findings = slices.DeleteFunc(s.findings, func(f rails.Slow) bool { return f.Component == h.Component })
	for i, q := range s.questions {
		rest := slices.DeleteFunc(slices.Clone(q.Candidates), func(c rails.Component) bool { return c == h.Component })
		if len(rest) > 0 {
			s.questions[i].Candidates = rest
		}
	}
	if !slices.ContainsFunc(h.claims, func(c Claim) bool { return c.Source == Times }) {
		return // the times do not suspect it
	}
	for _, c := range slice.Where(h.claims, func(c Claim) bool { return c.Weight < 0 }) {
		s.Verdict.Cleared = append(s.Verdict.Cleared, rails.Cleared{Component: h.Component, Why: string(c.Source) + ": " + c.Says})
	}
}

// ask replaces the findings and questions about the candidates of c by one question, because the sources
// contradict each other. If the times suspect none of the candidates, there is nothing to explain.
func (s *settling) ask(c Conclusion) {
	q := rails.Question{What: strings.Join(c.Reasons, "; "), Candidates: c.Candidates, Next: "the sources contradict each other: measure again, and look at each candidate by itself"}
	is := func(of rails.Component) bool { return slices.Contains(c.Candidates, of) }
	before := len(s.findings) + len(s.questions)
	s.findings = slices.DeleteFunc(s.findings, func(f rails.Slow) bool {
		if is(f.Component) {
			q.Lost = max(q.Lost, f.Lost)
		}
		return is(f.Component)
	})
	s.questions = slices.DeleteFunc(s.questions, func(o rails.Question) bool {
		same := slices.ContainsFunc(o.Candidates, is)
		if same {
			q.Lost, q.All = max(q.Lost, o.Lost), q.All || o.All
		}
		return same
	})
	if len(s.findings)+len(s.questions) < before {
		s.questions = append(s.questions, q)
	}
}

// name makes a finding of a component. The finding replaces the questions that it answers and the findings
// that it explains.
func (s *settling) name(c Conclusion) {
	f := rails.Slow{Component: *c.Named, Confidence: decided}
	if i := slices.IndexFunc(s.findings, func(f rails.Slow) bool { return f.Component == *c.Named }); i >= 0 {
		f = s.findings[i]
		s.findings = slices.Delete(s.findings, i, i+1)
	}
	for _, r := range c.Reasons {
		said := slices.ContainsFunc(f.Reasons, func(have string) bool { return strings.HasSuffix(r, have) })
		if !said && (len(f.Reasons) == 0 || !strings.HasPrefix(r, string(Times)+":")) {
			f.Reasons = append(f.Reasons, r)
		}
	}
	s.questions = slices.DeleteFunc(s.questions, func(q rails.Question) bool {
		answers := slices.Contains(q.Candidates, *c.Named)
		if answers {
			f.Lost = max(f.Lost, q.Lost)
		}
		return answers
	})
	s.findings = slices.DeleteFunc(s.findings, func(f rails.Slow) bool { return slices.Contains(c.Explained, f.Component) })
	s.findings = append(s.findings, f)
}

// timedWell reports whether neither times nor counters speak for a component, although the times measured
// it or a part of it.
func (in Input) timedWell(c Conclusion) bool {
	if slices.Contains(c.Sources, Times) || slices.Contains(c.Sources, Counters) {
		return false
	}
	return slices.ContainsFunc(in.Verdict.Ranking, func(r rails.Ranked) bool {
		return r.All > 0 && (r.Component == *c.Named || in.rivals(r.Component, *c.Named))
	})
}
