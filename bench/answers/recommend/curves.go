package recommend

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
	"zbench/bench/base/stat"
	"zbench/bench/hardware/collective"
	"zbench/bench/run/record"
)

// Timings that a curve can be drawn from, the best first.
const (
	Isolated  = "median of isolated.max_of_ranks"
	BurstMax  = "median of burst.max_of_ranks"
	BurstMean = "median of burst.mean_of_ranks"
)

// Curve is one collective of one group of ranks over message sizes.
type Curve struct {
	Collective string `json:"collective"`
	Dtype      string `json:"dtype"`
	Ranks      int    `json:"ranks"`
	Nodes      int    `json:"nodes"`
	// Groups is the number of communicators of Ranks ranks that ran at once. Stride is the distance between
	// the ranks of each communicator; 0 if the ranks are neighbours.
	Groups  int  `json:"groups"`
	Stride  int  `json:"stride,omitempty"`
	InPlace bool `json:"in_place"`
	// Setup is the result's Setup (record.Result). Setup distinguishes curves that are otherwise equal.
	Setup string `json:"setup,omitempty"`
	// Simulated is true if the times come from a model, not from hardware. Extrapolated is true if parts of
	// that model have no measurements. Imported is true if another tool made the record.
	Simulated    bool `json:"simulated"`
	Extrapolated bool `json:"extrapolated"`
	Imported     bool `json:"imported"`
	// Neighbours is true if the ranks are consecutive ranks of a larger world.
	Neighbours bool `json:"neighbours"`
	// Timing names the timing used for all points.
	Timing string `json:"timing"`
	// Runs is the number of records behind the curve.
	Runs   int     `json:"runs"`
	Points []Point `json:"points"`
	// Dropped lists the sizes left out, with reasons. Warnings are doubts about the sizes that were kept.
	Dropped  []Drop           `json:"dropped"`
	Warnings []record.Warning `json:"doubts"`
}

// Point is one size of a curve.
type Point struct {
	// Bytes is the total size S. Seconds is the median time of a launch.
	Bytes   int64   `json:"bytes"`
	Seconds float64 `json:"seconds"`
	// Lo and Hi are the 95 % interval of the median; null if unknown.
	Lo *float64 `json:"lo"`
	Hi *float64 `json:"hi"`
	// CV is the standard deviation divided by the mean; null if unknown.
	CV *float64 `json:"cv"`
	// N is the number of samples. A mean of unknown spread counts as one sample.
	N int `json:"n"`
	// Disagree is the largest difference between the medians of several runs, as a ratio; 0 for one run.
	// Fastest and Slowest name the sources of the medians that differ most.
	Disagree float64 `json:"disagree"`
	Fastest  string  `json:"fastest,omitempty"`
	Slowest  string  `json:"slowest,omitempty"`
	// Samples are the measured times in seconds, if given.
	Samples []float64 `json:"-"`
}

// Drop is a size that was left out.
type Drop struct {
	Bytes  int64  `json:"bytes"`
	Reason string `json:"reason"`
}

// Source is one record with its samples, if available. Samples are seconds per launch, by the result's key
// and then by the name of the series (record.Series…).
type Source struct {
	// Name is the file or folder of the record; empty if it has none.
	Name    string
	Record  *record.Record
	Samples map[string]map[string][]float64
	// Fault is the reason why these times may not decide a setting; nil if there is none.
	Fault *Fault
	// Unclear is the text of the finding that makes the record UNCLEAR; empty if there is none.
	Unclear string
	// Again says how to measure more on the record's ranks.
	Again Again
}

// With adds flags to the commands that measure on the source's ranks, such as the paths of the libraries. A
// record does not keep such flags as the user typed them.
func (s *Source) With(flags [][]string) {
	s.Again.Flags = append(s.Again.Flags, flags...)
	if s.Fault != nil && s.Fault.Command != "" && len(flags) > 0 {
		s.Fault.Command += " " + plain.Shell(slices.Concat(flags...)...)
	}
}

// Fault is a hardware fault that a record shows.
type Fault struct {
	// Text says what is wrong. Remedy says what to do about it. Text and Remedy have no full stop at their
	// ends.
	Text, Remedy string
	// Command is a command that finds the faulty component; empty if there is none.
	Command string
}

// How returns the remedy, followed by its command.
func (f *Fault) How() string {
	if f.Command == "" {
		return f.Remedy
	}
	return f.Remedy + ": `" + f.Command + "`"
}

// Model returns the cost model of the curve, which must have points.
func (c *Curve) Model() *CostModel {
	sizes, seconds := make([]int64, len(c.Points)), make([]float64, len(c.Points))
	for i, p := range c.Points {
		sizes[i], seconds[i] = p.Bytes, p.Seconds
	}
	return NewCostModel(sizes, seconds)
}

// samples returns the points with their bandwidths.
func (c *Curve) samples() []sample {
	return slice.Map(c.Points, func(p Point) sample {
		return sample{s: float64(p.Bytes), t: p.Seconds, b: float64(p.Bytes) / p.Seconds}
	})
}

// Rescale returns the curve of a ring of n ranks. The same share per rank takes the same time per step: sizes
// grow with the number of ranks, times with the number of steps, n−1. It does not model trees, rails or other
// switches.
func (c Curve) Rescale(n int) Curve {
	size := float64(n) / float64(c.Ranks)
	time := float64(n-1) / float64(c.Ranks-1)
	points := make([]Point, len(c.Points))
	for i, p := range c.Points {
		points[i] = Point{Bytes: int64(float64(p.Bytes)*size + 0.5), Seconds: p.Seconds * time, Lo: product(p.Lo, time), Hi: product(p.Hi, time), CV: p.CV, N: p.N}
		for _, x := range p.Samples {
			points[i].Samples = append(points[i].Samples, x*time)
		}
	}
	c.Ranks, c.Points = n, points
	return c
}

// `measured` is one result with its source.
type measured struct {
	record.Result
	source  int
	name    string
	samples map[string][]float64
}

// Curves makes the curves of the sources. Results that differ only in size form one curve. Sources that
// measured the same case are repeats of it. The order of sources and results does not matter. A size that
// is one rank's share, not the total size, is an error.
func Curves(sources []Source) ([]Curve, error) {
	byKey := map[record.CurveKey][]measured{}
	for i, s := range sources {
		if slices.ContainsFunc(sources[:i], func(o Source) bool { return reflect.DeepEqual(o.Record.Results, s.Record.Results) }) {
			continue // a source given twice is not a repeat
		}
		stalled := map[*record.Result]bool{} // rows that belong to no curve
		for _, stall := range s.Record.Stalls() {
			for _, r := range stall.Rows {
				stalled[r] = true
			}
		}
		for j, r := range s.Record.Results {
			if r.Status != record.OK || stalled[&s.Record.Results[j]] {
				continue
			}
			if err := totalSize(r); err != nil {
				return nil, err
			}
			k := r.CurveKey()
			byKey[k] = append(byKey[k], measured{r, i, s.Name, s.Samples[r.Key]})
		}
	}
	curves := []Curve{}
	for _, k := range slices.SortedFunc(maps.Keys(byKey), record.CurveKey.Compare) {
		if c := curveOf(k, byKey[k], sources); len(c.Points) > 0 {
			curves = append(curves, c)
		}
	}
	return curves, nil
}

// totalSize returns an error if the size of a sharded collective is one rank's share. If it were read as
// the total size, every message would look n times as expensive.
func totalSize(r record.Result) error {
	c, err := collective.ByName(r.Collective)
	if err != nil || r.Ranks < 2 || !c.SendShare && !c.RecvShare {
		return nil //nolint:nilerror // no trainer calls an unknown collective
	}
	d, err := collective.DtypeByName(r.Dtype)
	if err != nil || r.Count <= 0 {
		return nil //nolint:nilerror // without width or count there is nothing to compare
	}
	if r.Bytes == r.Count*int64(d.Size) {
		return fmt.Errorf("%s of %d ranks: a size of %d bytes is one rank's share of %d elements, not the total: "+
			"multiply the sizes by the ranks",
			r.Collective, r.Ranks, r.Bytes, r.Count)
	}
	return nil
}

// curveOf makes one curve of the results.
func curveOf(k record.CurveKey, results []measured, sources []Source) Curve {
	c := Curve{
		Collective: k.Collective, Dtype: k.Dtype, Ranks: k.Ranks, Nodes: k.Nodes, Groups: k.Groups, Stride: k.Stride, InPlace: k.InPlace, Setup: k.Setup,
		Timing: timingOf(results), Dropped: []Drop{}, Warnings: []record.Warning{},
	}
	runs := map[int]bool{}
	bySize := map[int64][]measured{}
	for _, r := range results {
		runs[r.source] = true
		rec := sources[r.source].Record
		c.Simulated = c.Simulated || rec.Simulated
		c.Imported = c.Imported || rec.Source.Kind == record.Imported
		c.Extrapolated = c.Extrapolated || r.Extrapolated
		c.Neighbours = c.Neighbours || r.Ranks > 0 && r.Ranks < rec.World.Ranks
		if s := summary(r.Result, c.Timing); s != nil && s.Median > 0 && r.Bytes > 0 {
			bySize[r.Bytes] = append(bySize[r.Bytes], r)
		}
	}
	c.Runs = len(runs)
	for size, same := range bySize {
		c.Points = append(c.Points, point(size, same, c.Timing))
	}
	slices.SortFunc(c.Points, func(a, b Point) int { return cmp.Compare(a.Bytes, b.Bytes) })
	c.drop()
	return c
}

// timingOf returns the best timing that all the results have.
func timingOf(results []measured) string {
	for _, t := range []string{Isolated, BurstMax} {
		if !slices.ContainsFunc(results, func(r measured) bool { return summary(r.Result, t) == nil }) {
			return t
		}
	}
	return BurstMean
}

// summary returns the named timing of a result; nil if it has none.
func summary(r record.Result, name string) *stat.Summary {
	switch {
	case name == Isolated && r.Isolated != nil:
		return r.Isolated.MaxOfRanks
	case name == BurstMax && r.Burst != nil:
		return r.Burst.MaxOfRanks
	case name == BurstMean && r.Burst != nil:
		return r.Burst.MeanOfRanks
	}
	return nil
}

// series names the samples behind each timing.
var series = map[string]string{
	Isolated: record.SeriesIsolatedMax, BurstMax: record.SeriesBurstMax, BurstMean: record.SeriesBurstMean,
}

// point merges the results of one size. The time of the point is the median of the results' medians.
func point(size int64, same []measured, timing string) Point {
	slices.SortFunc(same, func(a, b measured) int {
		return cmp.Compare(summary(a.Result, timing).Median, summary(b.Result, timing).Median)
	})
	p := Point{Bytes: size}
	var medians []float64
	for _, r := range same {
		s := summary(r.Result, timing)
		medians = append(medians, s.Median)
		p.N += s.N
		p.Samples = append(p.Samples, r.samples[series[timing]]...)
		p.CV = larger(p.CV, s.CV)
		if s.Lo != nil && s.Hi != nil && (p.Lo == nil || *s.Lo < *p.Lo) {
			p.Lo = s.Lo
		}
		if s.Lo != nil && s.Hi != nil && (p.Hi == nil || *s.Hi > *p.Hi) {
			p.Hi = s.Hi
		}
	}
	p.Seconds = stat.Quantile(medians, 0.5)
	if len(medians) > 1 {
		p.Disagree = (medians[len(medians)-1] - medians[0]) / p.Seconds
		p.Fastest, p.Slowest = same[0].name, same[len(same)-1].name
	}
	return p
}

func larger(a, b *float64) *float64 {
	if a == nil || b != nil && *b > *a {
		return b
	}
	return a
}

// SourceOf joins a record with the samples in its journal.
func SourceOf(rec *record.Record, parts []record.Part) Source {
	s := Source{Record: rec, Samples: map[string]map[string][]float64{}}
	for _, p := range parts {
		at := s.Samples[p.Key]
		if at == nil {
			at = map[string][]float64{}
			s.Samples[p.Key] = at
		}
		if b := p.Burst; b != nil {
			at[record.SeriesBurstMean] = append(at[record.SeriesBurstMean], b.Mean...)
			at[record.SeriesBurstMax] = append(at[record.SeriesBurstMax], b.Max...)
		}
		if b := p.Isolated; b != nil {
			at[record.SeriesIsolatedMax] = append(at[record.SeriesIsolatedMax], b.Max...)
		}
	}
	return s
}

// Scaled returns the source with the times of each result multiplied by a factor. A factor of 0 leaves a
// result unchanged. The new source has no samples. It shares with the old source all data that no curve
// depends on.
func (s Source) Scaled(factor func(*record.Result) float64) Source {
	rec := *s.Record
	rec.Results = make([]record.Result, len(s.Record.Results))
	for i := range s.Record.Results {
		r := s.Record.Results[i]
		if by := factor(&r); by > 0 {
			r.Burst, r.Isolated = scaled(r.Burst, by), scaled(r.Isolated, by)
		}
		rec.Results[i] = r
	}
	return Source{Name: s.Name, Record: &rec}
}

// `scaled` scales the timings that a curve can be drawn from.
func scaled(t *record.Timing, by float64) *record.Timing {
	if t == nil {
		return nil
	}
	out := *t
	out.MeanOfRanks, out.MaxOfRanks = times(t.MeanOfRanks, by), times(t.MaxOfRanks, by)
	return &out
}

func times(s *stat.Summary, by float64) *stat.Summary {
	if s == nil {
		return nil
	}
	out := *s
	out.Median *= by
	out.Mean *= by
	out.Lo, out.Hi = product(s.Lo, by), product(s.Hi, by)
	return &out
}

func product(v *float64, by float64) *float64 {
	if v == nil {
		return nil
	}
	return new(*v * by)
}
