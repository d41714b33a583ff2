package compare

import (
	"io"
	"math"

	"zbench/bench/answers/gate"
	"zbench/bench/base/finding"
	"zbench/bench/base/jsonfile"
	"zbench/bench/base/stat"
	"zbench/bench/show/document"
)

// Schema is the version of the format of compare.json. Rules is the version of the rules for its findings.
const (
	Schema = "zbench.compare/1"
	Rules  = 1
)

// Verdict is the result of a comparison.
type Verdict string

// The verdicts. Unclear means that the runs do not decide. NotChecked means that there was nothing to
// compare.
const (
	Slower     Verdict = "slower"
	Faster     Verdict = "faster"
	Same       Verdict = "same"
	Unclear            = Verdict(finding.Unclear)
	NotChecked         = Verdict(finding.NotChecked)
)

// Verdicts returns all verdicts.
func Verdicts() []Verdict { return []Verdict{Slower, Faster, Same, Unclear, NotChecked} }

// Document is a comparison in the form of compare.json.
type Document struct {
	// Version of the format.
	Schema string `json:"schema"`
	// Verdict is the worst of all cases and of the common shift; slower if any case is slower or broken.
	Verdict Verdict `json:"verdict"`
	// Simulated is true if both sides come from a model or an emulation.
	Simulated bool `json:"simulated"`
	// Benchmark of both sides.
	Benchmark string `json:"benchmark"`
	// Alpha is the probability that any verdict of slower or faster is false, over all tests.
	Alpha float64 `json:"alpha" jsonschema:"exclusiveMinimum=0,exclusiveMaximum=1"`
	// Smallest relative change of a time that counts.
	MinEffect float64 `json:"min_effect"`
	// Relative standard deviation of a run's median between runs, if it was given; null if
	// it was estimated.
	BetweenRunCV *float64 `json:"between_run_cv"`
	// Runs of BASE, the reference side.
	Base []Member `json:"base"`
	// Runs of NEW, the judged side.
	New []Member `json:"new"`
	// Other differences between the sides, or between the runs of one side.
	Changes []Change `json:"changes"`
	// Number of cases by verdict.
	Counts Counts `json:"counts"`
	// NeedsRuns is the number of runs per side that should decide the unclear cases; absent if no case is
	// unclear.
	NeedsRuns int `json:"needs_runs,omitempty" jsonschema:"minimum=1"`
	// Shift that all cases have in common; null if there are too few runs or cases for it.
	Common *Common `json:"common"`
	// Overall is the ratio of both sides over all cases; null if no case has a time in every run.
	Overall *Overall `json:"overall"`
	// Shapes describe how the change depends on size, one for each curve of at least four sizes.
	Shapes []Shape `json:"shapes,omitempty"`
	// Notes qualify the verdicts: edited records, changes of a library's algorithms between the two
	// versions.
	Notes []string `json:"notes"`
	// Gated is the outcome of --fail-on; absent without this flag.
	Gated *gate.Report `json:"gate,omitempty"`
	// One entry per case that either side has.
	Cases []Case `json:"cases"`
	// Judgement has the result of the comparison as findings.
	Judgement finding.Judgement `json:"judgement"`

	// failOn and strict are the arguments of Gate.
	failOn *FailOn
	strict bool
	// `names` are the names of the sides in charts. `overlaid` are the curves of both sides if no case is
	// compared.
	names    [2]string
	overlaid []document.Chart
}

// Member is one run of a side.
type Member struct {
	// Folder or file of the run, as it was given.
	Name string `json:"name"`
	// Number of cases with a time.
	Cases int `json:"cases"`
	// Number of cases without a time.
	Without int `json:"without"`
}

// Change is a property in which the sides, or the runs of one side, differ.
type Change struct {
	// Property that differs.
	What string `json:"what"`
	// Values in the runs of BASE.
	Base []string `json:"base"`
	// Values in the runs of NEW.
	New []string `json:"new"`
	// Within is true if the runs of one side differ: then the side mixes different things.
	Within bool `json:"within"`
}

// Counts holds the number of cases per verdict.
type Counts struct {
	// Cases that take longer in NEW.
	Slower int `json:"slower"`
	// Cases that take less time in NEW.
	Faster int `json:"faster"`
	// Cases whose change is within the minimum effect.
	Same int `json:"same"`
	// Cases for which the runs do not decide.
	Unclear int `json:"unclear"`
	// Cases that could not be compared.
	NotChecked int `json:"not_checked"`
	// Cases, among those not checked, that failed or had wrong data only in NEW.
	Broken int `json:"broken"`
}

func (n *Counts) add(c *Case) {
	switch c.Verdict {
	case Slower:
		n.Slower++
	case Faster:
		n.Faster++
	case Same:
		n.Same++
	case Unclear:
		n.Unclear++
	case NotChecked:
		n.NotChecked++
	}
	if c.Broken {
		n.Broken++
	}
}

// Case is one case of both sides.
type Case struct {
	// Key of the case in the records.
	Key string `json:"key" jsonschema:"minLength=1"`
	// Group is the collective or kernel with all of its properties except the size.
	Group string `json:"group"`
	// Size in bytes; 0 if the case has none.
	Bytes int64 `json:"bytes"`
	// Timing is the compared kind of time; absent if the sides have no kind in common.
	Timing string `json:"timing,omitempty"`
	// Values of BASE.
	Base Values `json:"base"`
	// Values of NEW.
	New Values `json:"new"`
	// Change is the time of NEW divided by the time of BASE, less 1; null if a side has no time.
	Change *float64 `json:"change"`
	// Test behind the verdict; null if the case was not tested.
	Test *Test `json:"test"`
	// Allowance is the relative change that runs of the same thing may have at this size. With probability
	// alpha any case exceeds its allowance by chance. Absent if the case was tested.
	Allowance *float64 `json:"allowance,omitempty"`
	// SlowerUntested is true if the case was not tested and is slower by more than its allowance and the
	// minimum effect together.
	SlowerUntested bool `json:"slower_untested,omitempty"`
	// RankP is the p-value of the Mann–Whitney U test, which is advisory; absent below 10 runs per side.
	RankP *float64 `json:"rank_p,omitempty"`
	// Verdict of the case.
	Verdict Verdict `json:"verdict"`
	// Reason for a verdict of unclear or not checked.
	Reason string `json:"reason,omitempty"`
	// Broken is true if the case failed or had wrong data only in NEW.
	Broken bool `json:"broken,omitempty"`
	// NeedsRuns is the number of runs per side that should decide an unclear case; absent for other
	// cases.
	NeedsRuns int `json:"needs_runs,omitempty" jsonschema:"minimum=1"`

	// factor divided by seconds is the bandwidth; 0 if there is none.
	factor float64
	// `observed` has the times of all runs; nil if the case cannot be compared.
	observed *observed
}

// Values are one side of a case.
type Values struct {
	// Number of runs that have a time of the case.
	Runs int `json:"runs"`
	// Geometric mean of the runs' medians, in seconds; null if no run has a time.
	Seconds *float64 `json:"seconds" jsonschema:"exclusiveMinimum=0"`
	// Bandwidth at that time, in bytes per second: bus bandwidth of a collective, rate of a kernel;
	// null if there is none.
	Rate *float64 `json:"rate"`
}

// set fills in the values from log medians.
func (v *Values) set(logs []float64, factor float64) {
	v.Runs = len(logs)
	if len(logs) == 0 {
		return
	}
	v.Seconds = new(math.Exp(stat.Mean(logs)))
	if factor > 0 {
		v.Rate = new(factor / *v.Seconds)
	}
}

// Test is a test of the hypothesis that nothing changed. Lo and Hi are relative changes like Case.Change.
type Test struct {
	// Lower end of the 95 % interval of the change, a ratio less 1.
	Lo float64 `json:"lo"`
	// Upper end of the 95 % interval of the change, a ratio less 1.
	Hi float64 `json:"hi"`
	// Relative standard deviation of a run's median between runs.
	RunCV float64 `json:"run_cv"`
	// Degrees of freedom of that deviation; null if it was given.
	DF *float64 `json:"df"`
	// Two-sided probability of such a change by chance.
	P float64 `json:"p" jsonschema:"maximum=1"`
	// That probability adjusted by Holm's procedure over all tests; significant if at most alpha.
	AdjustedP float64 `json:"adjusted_p" jsonschema:"maximum=1"`
}

func testOf(t *tested) *Test {
	out := &Test{Lo: math.Expm1(t.lo), Hi: math.Expm1(t.hi), RunCV: math.Sqrt(t.noise.variance), P: t.p, AdjustedP: t.adjusted}
	if !math.IsInf(t.noise.df, 1) {
		out.DF = &t.noise.df
	}
	return out
}

// Common is the shift that all cases have in common.
type Common struct {
	// Change is a median over cases: the time of NEW divided by the time of BASE, less 1.
	Change float64 `json:"change"`
	// Test is the test of the hypothesis that there is no shift.
	Test Test `json:"test"`
	// Verdict of the shift.
	Verdict Verdict `json:"verdict"`
}

// WriteJSON writes compare.json.
func (d *Document) WriteJSON(w io.Writer) error {
	c := *d
	c.Judgement = finding.Judgement{Rules: Rules, State: d.Verdict.State(), Findings: d.Findings()}
	c.Changes, c.Cases, c.Notes = jsonfile.Filled(d.Changes), jsonfile.Filled(d.Cases), jsonfile.Filled(d.Notes)
	return jsonfile.Write(w, "comparison", c)
}
