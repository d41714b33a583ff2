package soak

import (
	"cmp"
	"fmt"
	"slices"

	"zbench/bench/base/slice"
	"zbench/bench/base/stat"
	"zbench/bench/base/unit"
	"zbench/bench/run/plan"
)

// level is the confidence of the bound. An arm is named if a difference as large as its own arises by
// accident with a probability below `chance`, over all tests together.
const (
	level  = 0.95
	chance = 0.01
)

// UpTo returns the upper 95 % bound of the rate of wrong attempts, given the number of wrong attempts among
// n. It is the exact binomial bound. For 0 wrong attempts it is 3/n, which is slightly larger.
func UpTo(wrong, n int) float64 {
	switch {
	case n == 0:
		return 1
	case wrong == 0:
		return min(3/float64(n), 1)
	}
	return stat.BinomialUpper(wrong, n, level)
}

// Setting is one level of a factor that differs between attempts.
type Setting struct {
	// Factor is the name of the factor.
	Factor string `json:"factor"`
	// Level is the arm's level of the factor.
	Level string `json:"level"`
}

// Arm is a setting with its attempts.
type Arm struct {
	Setting
	// Attempts is the number of attempts made.
	Attempts int `json:"attempts"`
	// Wrong is the number of attempts with wrong data.
	Wrong int `json:"wrong"`
	// UpTo is the upper 95 % bound of the rate of wrong attempts.
	UpTo float64 `json:"up_to" jsonschema:"maximum=1"`
	// P is the p-value of Fisher's exact test, two-sided, against the attempts without this level, times the
	// number of tests; at most 1, and 1 if there is nothing to compare.
	P float64 `json:"p" jsonschema:"maximum=1"`
	// Named is true if the arm is wrong more often than the other arms, beyond chance.
	Named bool `json:"named"`
}

// theCollective is the factor whose level is a collective's name.
const theCollective = "collective"

// levels returns a case's own level of each factor.
func levels(c plan.Case) []Setting {
	communicators := fmt.Sprintf("%d of %s", max(c.Parallel, 1), unit.Count(int64(c.Ranks), "rank"))
	return []Setting{{theCollective, c.Collective.Name}, {"size", unit.Bytes(c.Requested)}, {"communicators", communicators}}
}

// Tally counts attempts.
type Tally struct {
	Attempts, Wrong, First, Fired int
	arms                          []Arm
	parts                         []sent
	at                            map[Setting]int
}

// `sent` is a located part of wrong data with its attempt and collective. `first` is true if the attempt's
// first message was wrong.
type sent struct {
	plan.WrongPart
	attempt    int
	collective string
	first      bool
}

// Add counts an attempt.
func (t *Tally) Add(a Attempt) {
	wrong, first := 0, 0
	if a.Any() {
		wrong = 1
	}
	if a.First() {
		first = 1
	}
	t.Wrong, t.First, t.Fired = t.Wrong+wrong, t.First+first, t.Fired+a.Fired
	collective := ""
	for _, l := range a.Arms {
		i, known := t.at[l]
		if !known {
			if t.at == nil {
				t.at = map[Setting]int{}
			}
			i = len(t.arms)
			t.at[l], t.arms = i, append(t.arms, Arm{Setting: l})
		}
		t.arms[i].Attempts++
		t.arms[i].Wrong += wrong
		if l.Factor == theCollective {
			collective = l.Level
		}
	}
	for _, p := range a.Parts {
		t.parts = append(t.parts, sent{p, t.Attempts, collective, a.First()})
	}
	t.Attempts++
}

// Arms returns all arms: by factor in the order of the tests, and within a factor by the share of wrong
// attempts. A factor with two levels needs only one test.
func (t *Tally) Arms() []Arm {
	factors, of := slice.Group(t.arms, func(a Arm) string { return a.Factor })
	tests := slice.Sum(factors, func(f string) int {
		switch n := len(of[f]); {
		case f == combination:
			return 0
		case n > 2:
			return n
		default:
			return n - 1
		}
	})
	all := []Arm{}
	for _, f := range factors {
		arms := of[f]
		for i := range arms {
			a := &arms[i]
			n, wrong := t.Attempts-a.Attempts, t.Wrong-a.Wrong
			a.P, a.UpTo = 1, UpTo(a.Wrong, a.Attempts)
			if n > 0 && f != combination {
				a.P = min(1, float64(tests)*stat.Fisher(a.Wrong, a.Attempts, wrong, n))
			}
			a.Named = a.P <= chance && a.Wrong*n > wrong*a.Attempts
		}
		slices.SortStableFunc(arms, func(a, b Arm) int { return cmp.Compare(b.Wrong*a.Attempts, a.Wrong*b.Attempts) })
		all = append(all, arms...)
	}
	return all
}

// Sender is a sender of wrong data.
type Sender struct {
	// Ranks are the candidates, by their numbers in the world: one rank if the sender is certain, none if
	// no single rank explains the data.
	Ranks []int `json:"ranks"`
	// Names are the GPU, node, rail and NIC of each candidate.
	Names []string `json:"names"`
	// Nodes are the names of the candidates' nodes, each once.
	Nodes []string `json:"nodes"`
	// Attempts is the number of attempts in which the sender sent wrong data.
	Attempts int `json:"attempts"`
	// First is the number of attempts in which the sender's first message was wrong.
	First int `json:"first"`
	// Receivers are the ranks that received wrong data.
	Receivers []int `json:"receivers"`
	// Patterns are the kinds of wrong content.
	Patterns []plan.Pattern `json:"patterns"`
	// Collectives are the collectives in which the sender was seen.
	Collectives []string `json:"collectives"`
	// Elements is the total number of wrong elements.
	Elements int64 `json:"elements"`
	// Example is one occurrence: receiver, collective, range of elements.
	Example string `json:"example"`
}

// Senders returns the senders of wrong data, the most frequent first. If one candidate of a reduction is a
// certain sender elsewhere, the reduction counts for that candidate.
func (t *Tally) Senders() []Sender {
	var certain []int
	parts, known := slices.Clone(t.parts), map[int][]int{}
	for _, p := range parts {
		if len(p.From) == 1 {
			certain = append(certain, p.From[0])
		}
		if len(p.From) > 0 {
			known[p.attempt] = p.From
		}
	}
	for i, p := range parts {
		if len(p.From)+len(p.Ranges) == 0 && known[p.attempt] != nil { // this receiver was not examined
			parts[i].From = known[p.attempt]
		}
	}
	keys, of := slice.Group(parts, func(p sent) string {
		for _, rank := range p.From {
			if slices.Contains(certain, rank) {
				return fmt.Sprint([]int{rank})
			}
		}
		return fmt.Sprint(p.From)
	})
	all := []Sender{}
	for _, key := range keys {
		all = append(all, senderOf(of[key]))
	}
	slices.SortStableFunc(all, func(a, b Sender) int { return cmp.Compare(b.Attempts, a.Attempts) })
	return all
}

// senderOf joins the parts of one sender. The part with the fewest candidates names the sender.
func senderOf(parts []sent) Sender {
	s := Sender{Names: []string{}, Nodes: []string{}}
	best := slices.MinFunc(parts, func(a, b sent) int { return cmp.Compare(len(a.From), len(b.From)) })
	s.Ranks = slices.Clone(best.From)
	var attempts, first []int
	for _, p := range parts {
		attempts, s.Elements = append(attempts, p.attempt), s.Elements+p.Elements
		if p.first {
			first = append(first, p.attempt)
		}
		s.Receivers, s.Patterns, s.Collectives = append(s.Receivers, p.Rank), append(s.Patterns, p.Pattern), append(s.Collectives, p.collective)
	}
	s.Attempts, s.First = len(slice.Distinct(attempts)), len(slice.Distinct(first))
	s.Receivers, s.Collectives = slice.Distinct(s.Receivers), slice.Distinct(s.Collectives)
	slices.Sort(s.Receivers)
	if s.Patterns = slice.Distinct(s.Patterns); len(s.Patterns) > 1 { // receivers that were not examined have no pattern
		s.Patterns = slice.Where(s.Patterns, func(p plan.Pattern) bool { return p != plan.OtherData })
	}
	for _, p := range parts {
		if len(p.Ranges) > 0 {
			s.Example = fmt.Sprintf("elements %d to %d of rank %d in %s, attempt %d", p.Ranges[0][0], p.Ranges[0][1], p.Rank, p.collective, p.attempt+1)
			break
		}
	}
	return s
}

// describe returns a pattern in words.
func describe(p plan.Pattern) string {
	return map[plan.Pattern]string{
		plan.Zeros: "zeros", plan.Stale: "what the sender's buffer held before", plan.NotWritten: "what the receiver's buffer held before",
		plan.Shifted: "data from elsewhere in the message", plan.OneBit: "elements with one wrong bit", plan.Doubled: "a contribution that counts twice",
		plan.OtherData: "other data",
	}[p]
}
