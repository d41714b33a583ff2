// The cost of a message: [Curves] makes the curves of records, [Curve.Model] says the
// seconds of a message of any size.

package recommend

import (
	"slices"

	"zbench/bench/plain"
	"zbench/bench/record"
)

// Timings a curve can be drawn through, the best first.
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
	// Groups is the number of communicators of Ranks that ran at once, Stride how
	// far apart the ranks of each are; 0 where they are neighbours.
	Groups  int  `json:"groups"`
	Stride  int  `json:"stride,omitempty"`
	InPlace bool `json:"in_place"`
	// Setup is record.Result's: in what the curve differs from others that are else
	// alike.
	Setup string `json:"setup,omitempty"`
	// Simulated tells that a model, not hardware, decided the times, Extrapolated
	// that parts of the model have no measurements, Imported that another tool measured.
	Simulated    bool `json:"simulated"`
	Extrapolated bool `json:"extrapolated"`
	Imported     bool `json:"imported"`
	// Neighbours tells that the ranks are a part of a larger world's, which follow
	// each other there.
	Neighbours bool `json:"neighbours"`
	// Timing names the time that is used, for all points alike.
	Timing string `json:"timing"`
	// Runs is the number of records behind the curve.
	Runs   int     `json:"runs"`
	Points []Point `json:"points"`
	// Dropped is what was left out and why, Doubts what to know about the rest.
	Dropped  []Drop           `json:"dropped"`
	Warnings []record.Warning `json:"doubts"`
}

// Point is one size of a curve.
type Point struct {
	// Bytes is the total size S, Seconds the median time of a launch.
	Bytes   int64   `json:"bytes"`
	Seconds float64 `json:"seconds"`
	// Lo and Hi bound the median with 95 %; null where they are not known.
	Lo *float64 `json:"lo"`
	Hi *float64 `json:"hi"`
	// CV is the standard deviation over the mean; null where it is not known.
	CV *float64 `json:"cv"`
	// N is the number of samples; 1 is a mean of unknown spread.
	N int `json:"n"`
	// Disagree is the largest difference between the medians of several runs, as a
	// ratio; 0 for one. Fastest and Slowest name the sources of those medians.
	Disagree float64 `json:"disagree"`
	Fastest  string  `json:"fastest,omitempty"`
	Slowest  string  `json:"slowest,omitempty"`
	// Samples are the measured times in seconds, where they were given.
	Samples []float64 `json:"-"`
}

// Drop is a size that was left out.
type Drop struct {
	Bytes  int64  `json:"bytes"`
	Reason string `json:"reason"`
}

// Source is one record and, where they are at hand, its samples: seconds per
// launch by the key of the result and the name of the series (record.Series…).
type Source struct {
	// Name is the file or folder that the record is from, where it has one.
	Name    string
	Record  *record.Record
	Samples map[string]map[string][]float64
	// Fault is why no setting may be chosen from these times; nil is nothing.
	Fault *Fault
	// Again is how more is measured on the record's ranks.
	Again Again
}

// With adds flags to the commands that measure on the source's ranks: the libraries, which a
// record does not have as they were given.
func (s *Source) With(flags [][]string) {
	s.Again.Flags = append(s.Again.Flags, flags...)
	if s.Fault != nil && s.Fault.Command != "" && len(flags) > 0 {
		s.Fault.Command += " " + plain.Shell(slices.Concat(flags...)...)
	}
}

// Fault is a fault of the hardware that a record shows.
type Fault struct {
	// Text says what is wrong, Remedy what to do about it; neither ends with a full stop.
	Text, Remedy string
	// Command looks for the component; empty is none.
	Command string
}

// How is the remedy with its command.
func (f *Fault) How() string {
	if f.Command == "" {
		return f.Remedy
	}
	return f.Remedy + ": `" + f.Command + "`"
}

// Model is the time of a message of any size. The curve must have points.
func (c *Curve) Model() *CostModel {
	sizes, seconds := make([]int64, len(c.Points)), make([]float64, len(c.Points))
	for i, p := range c.Points {
		sizes[i], seconds[i] = p.Bytes, p.Seconds
	}
	return NewCostModel(sizes, seconds)
}

// Rescale is what the curve of a ring of n ranks would be: the same share per
// rank takes the same time per step, so sizes grow with the ranks and times with
// the steps, n−1. It says nothing about trees, rails or other switches.
func (c Curve) Rescale(n int) Curve {
	size := float64(n) / float64(c.Ranks)
	time := float64(n-1) / float64(c.Ranks-1)
	points := make([]Point, len(c.Points))
	for i, p := range c.Points {
		points[i] = Point{Bytes: int64(float64(p.Bytes)*size + 0.5), Seconds: p.Seconds * time, CV: p.CV, N: p.N}
		if p.Lo != nil && p.Hi != nil {
			lo, hi := *p.Lo*time, *p.Hi*time
			points[i].Lo, points[i].Hi = &lo, &hi
		}
		for _, x := range p.Samples {
			points[i].Samples = append(points[i].Samples, x*time)
		}
	}
	c.Ranks, c.Points = n, points
	return c
}
