package hbm

import (
	"fmt"
	"slices"

	"zbench/bench/memory"
	"zbench/bench/record"
	"zbench/bench/stat"
	"zbench/internal/native"
)

const (
	// batchSeconds is the least a batch between two events takes, so that what an
	// event costs and how fine it counts do not matter.
	batchSeconds = 2e-3
	// deadline is how long a batch may take: far more than any does.
	deadline = 60.0
	// launchSamples of launches alone are behind their median.
	launchSamples = 7
)

// Case is a stream over arrays of one size.
type Case struct {
	Stream Stream
	Type   Type
	Config memory.Config
	Role   string
	// Array is the size of one array in bytes; the last element that fits whole
	// is the last one.
	Array int64
	Zeros bool
}

// NewCase is a case of a role that has its own configuration, on a backend.
func NewCase(backend string, s Stream, t Type, role string, array int64, zeros bool) Case {
	c := Case{Stream: s, Type: t, Config: presetConfig(), Role: role, Array: array, Zeros: zeros}
	switch role {
	case memory.Reference:
		c.Config = referenceConfig(backend)
	case memory.Sweep:
		c.Config.NonTemporal = false // else no cache would show
	}
	return c
}

// elements is the number of them in one array.
func (c Case) elements() int64 { return c.Array / c.Type.Bytes }

// Key names the case.
func (c Case) Key() string {
	nt := 0
	if c.Config.NonTemporal {
		nt = 1
	}
	return fmt.Sprintf("%s/%s/%s/%d/b%d-l%d-nt%d-%s", c.Role, c.Stream.Name, c.Type.Name, c.Array, c.Config.Block, c.Config.Loads, nt, c.Config.Grid)
}

// kernel is the function's name.
func (c Case) kernel() string {
	nt, loads := 0, max(1, c.Config.Loads)
	if c.Config.NonTemporal {
		nt = 1
	}
	return fmt.Sprintf("zb_%s_%s_%d_%d", c.Stream.Name, c.Type.short, loads, nt)
}

// Measure times a case on all devices at once and then verifies what it left
// there. One result a device; an error is a library's that failed.
func (d *Driver) Measure(c Case, rule stat.Rule) ([]memory.Result, error) {
	results := make([]memory.Result, len(d.units))
	steps := make([][]native.Step, len(d.units))
	for i, u := range d.units {
		results[i] = d.blank(u, c)
		step, err := d.step(u, c)
		if err != nil {
			return nil, err
		}
		results[i].Config.Blocks = int64(step.Launch.Grid[0])
		if u.info.Kind == memory.HostMemory {
			results[i].Config = memory.Config{NonTemporal: c.Config.NonTemporal, CPUs: u.info.Units}
		}
		steps[i] = []native.Step{step}
	}
	launches, err := d.launchSeconds(c)
	if err != nil {
		return nil, err
	}
	if err := d.fill(c, steps[0][0].Launch); err != nil {
		return nil, err
	}
	if err := d.timer.Load(steps); err != nil {
		return nil, err
	}
	timings, err := d.time(rule)
	if err != nil {
		return nil, err
	}
	for i, u := range d.units {
		if results[i].Verified, err = d.verify(u, c, steps[i][0]); err != nil {
			return nil, err
		}
		if results[i].Verified.State == record.VerifiedWrong {
			results[i].Status = record.WrongData
			results[i].Reason = wrongText(results[i].Verified)
		}
		results[i].Timing = timings[i]
		if launches != nil && launches[i] > 0 {
			results[i].Timing.Launch = &launches[i]
		}
		results[i].SetRates(u.info.Peak)
	}
	return results, nil
}

// launchSeconds is what a launch takes on each device that moves next to nothing,
// one behind the other: below that no size of a sweep can go, however fast the
// cache. Nil but for a sweep.
func (d *Driver) launchSeconds(c Case) ([]float64, error) {
	if c.Role != memory.Sweep {
		return nil, nil
	}
	c.Array = vector * int64(max(1, c.Config.Block)*max(1, c.Config.Loads)) // a block
	if known, ok := d.launches[c.kernel()]; ok {
		return known, nil
	}
	steps := make([][]native.Step, len(d.units))
	for i, u := range d.units {
		step, err := d.step(u, c)
		if err != nil {
			return nil, err
		}
		steps[i] = []native.Step{step}
	}
	if err := d.timer.Load(steps); err != nil {
		return nil, err
	}
	timings, err := d.time(stat.Fixed(launchSamples))
	if err != nil {
		return nil, err
	}
	seconds := make([]float64, len(timings))
	for i, t := range timings {
		seconds[i] = t.Seconds.Median
	}
	if d.launches == nil {
		d.launches = map[string][]float64{}
	}
	d.launches[c.kernel()] = seconds
	return seconds, nil
}

// wrongText says what was found.
func wrongText(v memory.Verified) string {
	s := fmt.Sprintf("%d of %d elements are wrong", v.Wrong, v.Elements)
	if v.First != nil {
		s += fmt.Sprintf("; the first is %d: expected %s, got %s", v.First.Index, v.First.Expected, v.First.Got)
	}
	return s
}

// Planned are a case's results before it ran.
func (d *Driver) Planned(c Case) []memory.Result {
	var out []memory.Result
	for _, u := range d.units {
		r := d.blank(u, c)
		r.Status, r.Reason, r.Verified.State = record.Interrupted, "the run ended before it", record.NotVerified
		out = append(out, r)
	}
	return out
}

// blank is a result with all that is known before it runs.
func (d *Driver) blank(u *unit, c Case) memory.Result {
	bytes := c.elements() * c.Type.Bytes
	set := bytes * c.Stream.Arrays()
	return memory.Result{
		Key: c.Key(), Device: u.info.Index, Kernel: c.Stream.Name, Dtype: c.Type.Name, Role: c.Role, Config: c.Config,
		Array: c.Array, Moved: set, Counting: Counting, WorkingSet: set,
		CacheResident: u.info.Cache > 0 && c.Array < 4*u.info.Cache,
		Status:        record.OK, Warnings: []record.Warning{},
	}
}

func (d *Driver) step(u *unit, c Case) (native.Step, error) {
	f, err := u.streams.Function(c.kernel())
	if err != nil {
		return native.Step{}, err
	}
	s, l := scalar, launchOf(c.Config, c.Type, c.elements(), u.info.Units)
	if c.Zeros {
		s = 0
	}
	return native.Step{
		Function: f, Launch: l.Launch,
		Args: []any{d.at(u, 2), d.at(u, 0), d.at(u, 1), s, uint64(c.elements()), uint64(l.tiles), uint64(l.run), u.sums}, //nolint:gosec // not negative
	}, nil
}

// time warms up, finds how many launches a batch needs, and takes samples until
// the rule is content, on the mean over devices.
func (d *Driver) time(rule stat.Rule) ([]*memory.Timing, error) {
	rounds, err := d.warm()
	if err != nil {
		return nil, err
	}
	series := make([][]float64, len(d.units))
	var mean []float64
	spent := 0.0
	for {
		decision := rule.Decide(mean, spent)
		if decision.Stop {
			return summaries(series, rounds, decision.Why), nil
		}
		for range decision.Next {
			seconds, err := d.timer.Run(rounds, deadline)
			if err != nil {
				return nil, err
			}
			sum, longest := 0.0, 0.0
			for i, s := range seconds {
				series[i] = append(series[i], s/float64(rounds))
				sum += s / float64(rounds)
				longest = max(longest, s)
			}
			mean = append(mean, sum/float64(len(seconds)))
			spent += longest
		}
	}
}

func summaries(series [][]float64, rounds int, why string) []*memory.Timing {
	out := make([]*memory.Timing, len(series))
	for i, s := range series {
		out[i] = &memory.Timing{Launches: rounds, Seconds: stat.Summarize(s), Stop: why}
	}
	return out
}

// warm works for a while and returns the launches that make a batch on every
// device.
func (d *Driver) warm() (int, error) {
	return stat.Rounds(batchSeconds, d.cfg.Warm, func(rounds int) (float64, error) {
		seconds, err := d.timer.Run(rounds, deadline)
		if err != nil {
			return 0, err
		}
		return slices.Min(seconds), nil
	})
}
