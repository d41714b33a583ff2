package bisect

import (
	"cmp"
	"io"
	"maps"
	"slices"

	"zbench/bench/answers/compare"
	"zbench/bench/answers/gate"
	"zbench/bench/base/finding"
	"zbench/bench/base/jsonfile"
	"zbench/bench/base/unit"
)

// Schema is the version of the format of bisect.json. Rules is the version of the rules that make its
// findings.
const (
	Schema = "zbench.bisect/1"
	Rules  = 1
)

// The verdicts of a case or of a whole search. Slower: there is a first slow variant. Ranked:
// unordered variants differ. Unclear: the readings do not decide. NotChecked: there are no
// readings.
const (
	Slower     = compare.Slower
	Ranked     = compare.Verdict("ranked")
	Same       = compare.Same
	Unclear    = compare.Unclear
	NotChecked = compare.NotChecked
)

// Verdicts returns all verdicts.
func Verdicts() []compare.Verdict {
	return []compare.Verdict{Slower, Ranked, Same, Unclear, NotChecked}
}

// Document is a search in the form of bisect.json.
type Document struct {
	// Version of the format.
	Schema string `json:"schema"`
	// Verdict is slower if a first slow variant is named, ranked if variants without an order differ, same
	// if no case is slow, unclear if any case is undecided.
	Verdict compare.Verdict `json:"verdict"`
	// Simulated is true if the times come from a model or an emulation.
	Simulated bool `json:"simulated"`
	// Ordered is true if the variants are in order and the search looked for the first slow variant.
	Ordered bool `json:"ordered"`
	// Complete is false if the search was interrupted or its rounds were used up.
	Complete bool `json:"complete"`
	// Alpha bounds the probability that any named slowdown or rank is wrong.
	Alpha float64 `json:"alpha" jsonschema:"exclusiveMinimum=0,exclusiveMaximum=1"`
	// Miss bounds the probability that a case that is not named is slow, if slow and healthy were equally
	// likely before the search.
	Miss float64 `json:"miss" jsonschema:"exclusiveMinimum=0,exclusiveMaximum=1"`
	// Smallest relative change of a time that counts.
	MinEffect float64 `json:"min_effect"`
	// Seed of the order of the variants in each round.
	Seed uint64 `json:"seed"`
	// Timing is the kind of time that was compared.
	Timing string `json:"timing"`
	// Number of rounds.
	Rounds int `json:"rounds"`
	// Number of children, failed children included.
	Children int `json:"children"`
	// Time of all children, starts included, in seconds.
	Seconds float64 `json:"seconds"`
	// Number of GPUs that each child used.
	GPUs int `json:"gpus"`
	// Variants in the order in which they were given.
	Variants []Variant `json:"variants"`
	// First slow variant; null if none is named.
	First *Named `json:"first"`
	// Gated is the outcome of --fail-on; absent without this flag.
	Gated *gate.Report `json:"gate,omitempty"`
	// One entry per case.
	Cases []Measured `json:"cases"`
	// Drift has the level of the machine in each child that measured, in the order in which
	// they ran.
	Drift []Level `json:"drift"`
	// Judgement has the result of the search as findings.
	Judgement finding.Judgement `json:"judgement"`

	// failOn and strict are the arguments of Require.
	failOn *compare.FailOn
	strict bool
}

// Variant is one build or environment.
type Variant struct {
	// Name that was given.
	Name string `json:"name" jsonschema:"minLength=1"`
	// Variables and flags of the variant's children, as given.
	Settings string `json:"settings"`
	// Number of children that measured the variant.
	Children int `json:"children"`
	// LeftOut is true if the variant could not be measured.
	LeftOut bool `json:"left_out"`
	// Reason why the variant was left out.
	Reason string `json:"reason,omitempty"`
	// Evidence holds the last lines that the failed child printed.
	Evidence []string `json:"evidence,omitempty"`
}

// Named is the first slow variant.
type Named struct {
	// Name of the variant.
	Variant string `json:"variant"`
	// Last working variant before the first slow variant.
	After string `json:"after"`
	// Variants between these two variants, which could not be measured. The change may be in one of them.
	Between []string `json:"between"`
	// Number of cases that are slower from this variant on.
	Cases int `json:"cases"`
}

// Measured is a case with its verdict and readings.
type Measured struct {
	// Key of the case in the records of the children.
	Key string `json:"key" jsonschema:"minLength=1"`
	// Group is the collective with all of its properties except the size.
	Group string `json:"group"`
	// Size in bytes.
	Bytes int64 `json:"bytes"`
	// Verdict of the case.
	Verdict compare.Verdict `json:"verdict"`
	// First slow variant; absent if none is named.
	First string `json:"first,omitempty"`
	// Probability that the named variant is the first slow variant or, if no variant is named, that no
	// variant is slow; null for unordered variants and for a case that was not checked.
	Probability *float64 `json:"probability" jsonschema:"maximum=1"`
	// Change of the time from the first working variant to the first slow variant, as a ratio less 1; null
	// if unknown. If no variant is named, the last working variant takes the place of the slow variant.
	Change *float64 `json:"change"`
	// Variants in the order in which they were given.
	Variants []Reading `json:"variants"`
}

// Reading summarises the measurements of one variant in one case.
type Reading struct {
	// Name of the variant.
	Name string `json:"name"`
	// Number of children that measured the case.
	Children int `json:"children"`
	// Median of the children's times, in seconds; null if there is none.
	Seconds *float64 `json:"seconds" jsonschema:"exclusiveMinimum=0"`
	// Change of the time from the first working variant to this one, as a ratio less 1, with drift removed;
	// null if unknown.
	Change *float64 `json:"change"`
	// Lower end of the 95 % interval of the change.
	Lo *float64 `json:"lo"`
	// Upper end of the 95 % interval of the change.
	Hi *float64 `json:"hi"`
	// Rank is 1 more than the number of faster variants; absent if the variants are in order.
	Rank int `json:"rank,omitempty" jsonschema:"minimum=1"`
}

// Document returns the result of a search over the variants and cases of a header. entries are the results
// of the search's children, in order. The document is complete unless the rounds are used up.
func (s *Search) Document(h Header, entries []Entry) *Document {
	d := &Document{
		Schema: Schema, Ordered: !s.Unordered, Complete: !s.Exhausted(), Alpha: s.Alpha, Miss: s.Miss, MinEffect: s.MinEffect, Seed: s.Seed,
		Timing: h.Timing, GPUs: h.GPUs, Rounds: s.rounds, Children: len(h.Scouts) + len(entries),
	}
	for _, seconds := range h.Scouts {
		d.Seconds += seconds
	}
	for i, v := range h.Variants {
		d.Variants = append(d.Variants, Variant{Name: v.Name, Settings: v.Settings, LeftOut: s.out[i]})
	}
	for _, t := range s.trials {
		d.Variants[t.Variant].Children++
	}
	groups := map[string]string{}
	for _, e := range entries {
		d.Seconds, d.Simulated = d.Seconds+e.Seconds, d.Simulated || e.Simulated
		maps.Copy(groups, e.Groups)
		if e.Reason != "" {
			v := &d.Variants[slices.IndexFunc(h.Variants, func(v Given) bool { return v.Name == e.Variant })]
			v.Reason, v.Evidence = e.Reason, e.Evidence
		}
	}
	outcomes := s.Outcomes()
	for i, c := range h.Cases {
		m := outcomes[i].measured(d.Variants, s.working())
		m.Key, m.Group, m.Bytes = c.Key, cmp.Or(groups[c.Key], c.Collective), c.Bytes
		d.Cases = append(d.Cases, m)
	}
	d.Drift = s.levels(d.Variants)
	if first := First(outcomes); first >= 0 {
		d.First = s.named(first, d.Variants, outcomes)
	}
	d.conclude()
	return d
}

// `named` describes the first slow variant.
func (s *Search) named(first int, variants []Variant, outcomes []Outcome) *Named {
	n := &Named{Variant: variants[first].Name, Between: []string{}}
	for v := first - 1; v >= 0; v-- {
		if !s.out[v] {
			n.After = variants[v].Name
			break
		}
		n.Between = append([]string{variants[v].Name}, n.Between...)
	}
	for _, o := range outcomes {
		if o.Verdict == Slower && o.First == first {
			n.Cases++
		}
	}
	return n
}

// `measured` returns the entry of a case without its name.
func (o *Outcome) measured(variants []Variant, working []int) Measured {
	m := Measured{Verdict: o.Verdict, Variants: o.Effects}
	for v := range m.Variants {
		m.Variants[v].Name = variants[v].Name
	}
	if o.Likeliest < 0 || len(working) == 0 {
		return m
	}
	m.Probability = known(o.Probability)
	at := working[len(working)-1]
	if o.First >= 0 {
		m.First, at = variants[o.First].Name, o.First
	}
	m.Change = m.Variants[at].Change
	return m
}

// `known` returns nil for a value that is not a number.
func known(x float64) *float64 {
	if !unit.Finite(x) {
		return nil
	}
	return &x
}

// conclude sets the verdict of the whole search.
func (d *Document) conclude() {
	seen := d.counts()
	d.Verdict = NotChecked
	for _, v := range []compare.Verdict{Same, Ranked, Unclear, Slower} {
		if seen[v] > 0 {
			d.Verdict = v
		}
	}
}

// counts returns the number of cases per verdict.
func (d *Document) counts() map[compare.Verdict]int {
	seen := map[compare.Verdict]int{}
	for i := range d.Cases {
		seen[d.Cases[i].Verdict]++
	}
	return seen
}

// WriteJSON writes bisect.json.
func (d *Document) WriteJSON(w io.Writer) error {
	c := *d
	c.Judgement = finding.Judgement{Rules: Rules, State: d.Verdict.State(), Findings: d.Findings()}
	c.Variants, c.Cases, c.Drift = jsonfile.Filled(d.Variants), jsonfile.Filled(d.Cases), jsonfile.Filled(d.Drift)
	return jsonfile.Write(w, "bisection", c)
}
