package engine

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"zbench/bench/answers/advice"
	"zbench/bench/answers/recommend"
	"zbench/bench/base/exit"
	"zbench/bench/base/slice"
	"zbench/bench/base/stat"
	"zbench/bench/hardware/collective"
	"zbench/bench/hardware/policy"
	"zbench/bench/run/plan"
	"zbench/bench/run/record"
	"zbench/bench/run/spec"
	"zbench/bench/work/fabric"
)

// loopback is the simulating backend.
const loopback = "loopback"

// help is the hint with the flags of a request.
func (u *Setup) help() string {
	return "`zbench " + spec.Command(u.Spec.Benchmark) + " --help-all` lists the flags"
}

// Setup is a checked request: a sweep ready to run.
type Setup struct {
	// Spec is the request with its defaults resolved.
	Spec spec.Spec
	// Machine is the simulated machine of the loopback; nil on real hardware.
	Machine *fabric.Machine
	// Options set the number of launches of each case.
	Options plan.Effort
	// Cache is the size of the last-level cache in bytes, over which buffers rotate; 0 disables
	// rotation.
	Cache int64

	axes plan.Axes
	// room is the memory of a rank and the cache that all processes rotate over.
	room     plan.Room
	fabric   *record.Fabric
	question *advice.Question
	// extrapolated reports whether the driver's model of a case has parts without
	// measurements.
	extrapolated func(plan.Case) bool
}

// Prepare checks a whole request before anything is opened or written.
func (e *Engine) Prepare(want spec.Spec) (*Setup, error) { return prepare(want, false, e.Launched) }

// Prepare checks a request for this process alone. A resumed sweep keeps its cases.
func Prepare(want spec.Spec, resumed bool) (*Setup, error) { return prepare(want, resumed, false) }

// PrepareLaunch checks a request for a world of several processes, each of which drives its share
// of a real backend's GPUs.
func PrepareLaunch(want spec.Spec) (*Setup, error) { return prepare(want, false, true) }

func prepare(want spec.Spec, resumed, launched bool) (*Setup, error) {
	want = want.Clone()
	if want.Kernels != nil { // CheckKernels and the kernels' drivers check the request
		return &Setup{Spec: want}, nil
	}
	want.Schema, want.Benchmark = spec.Schema, spec.Collectives
	if want.World.RanksPerGPU == 1 {
		want.World.RanksPerGPU = 0
	}
	u := &Setup{Spec: want}
	var err error
	if u.question, err = advice.Prepare(want.Advice); err != nil {
		return nil, err // fail before hours of measuring, not after them
	}
	f, err := fabric.ByName(want.Fabric)
	if err != nil {
		return nil, exit.UsageError(err, "`zbench list fabrics` describes them")
	}
	u.Spec.Fabric = f.Name
	for i, text := range want.Faults {
		u.Spec.Faults[i] = fabric.SpellFault(text)
	}
	if err := u.fit(f, resumed, launched); err != nil {
		return nil, err
	}
	if want.Sweep.Cache == spec.Cold {
		u.Cache = f.Node.CacheBytes
	}
	if err := u.plan(); err != nil {
		return nil, exit.UsageError(err, u.help())
	}
	if err := u.checkExperts(); err != nil {
		return nil, err
	}
	return u, u.answerable()
}

// fit resolves the world for the backend and adds the groups that experts need.
func (u *Setup) fit(f *fabric.Fabric, resumed, launched bool) (err error) {
	s := &u.Spec
	switch {
	case s.Backend != loopback:
		if err := u.onHardware(launched); err != nil {
			return err
		}
	case s.World.RanksPerGPU > 1:
		return exit.Usagef("omit it", "--ranks-per-gpu needs real GPUs")
	default:
		s.World.GPUsPerNode = cmp.Or(s.World.GPUsPerNode, f.Node.GPUs)
	}
	if !resumed {
		u.addStrides()
	}
	if s.Backend == loopback {
		o := fabric.Conditions{Seed: s.Seed, Faults: s.Faults, Groups: s.Sweep.Groups, Strides: s.Sweep.Strides, Scales: s.Sweep.Scales}
		if u.Machine, err = f.Resolve(s.World, o); err != nil {
			return exit.UsageError(err, u.help())
		}
		u.fabric = f.Describe(u.Machine)
	}
	return nil
}

// onHardware resolves the world for a real backend: one rank per GPU of a process, as with
// rccl-tests' -g. This process drives all GPUs, unless a world of several processes is launched.
func (u *Setup) onHardware(launched bool) error {
	s := &u.Spec
	w := &s.World
	switch {
	case len(s.Faults) > 0:
		return exit.Usagef("give --backend loopback", "--fault needs the loopback: it plants a simulated fault")
	case launched && w.GPUsPerNode < 1:
		return exit.Usagef("give --gpus-per-node", "the number of GPUs on each node is not known")
	case launched && (w.Nodes < 1 || w.GPUsPerProcess < 1 || w.GPUsPerNode%w.GPUsPerProcess != 0):
		return exit.Usagef("give a -g that divides --gpus-per-node", "--nodes %d and --gpus-per-node %d do not make processes of %d GPUs (-g)", w.Nodes, w.GPUsPerNode, w.GPUsPerProcess)
	case launched:
		return nil
	case w.Nodes != 1 || w.GPUsPerProcess < 1 || (w.GPUsPerNode != 0 && w.GPUsPerNode != w.GPUsPerProcess):
		return exit.Usagef("give -g the number of this machine's GPUs, or simulate with --backend loopback",
			"--backend %s drives the GPUs of this process only: --nodes must be 1 and -g the number of GPUs", s.Backend)
	}
	w.GPUsPerNode = w.GPUsPerProcess
	return nil
}

// plan sets the axes and the options of the sweep.
func (u *Setup) plan() error {
	s, w := u.Spec.Sweep, u.Spec.World
	u.axes = plan.Axes{
		MinBytes: s.MinBytes, MaxBytes: s.MaxBytes, Factor: s.Factor, Step: s.StepBytes, Sizes: s.Sizes, Calls: s.Calls, Roots: s.Roots, InPlace: s.InPlace,
		Policies: policy.All(s.Register, s.CTAPolicy),
		World:    w, Groups: s.Groups, Strides: s.Strides, Scales: s.Scales,
	}
	if err := u.name(); err != nil {
		return err
	}
	if err := u.axes.Validate(); err != nil {
		return err
	}
	u.Options = plan.DefaultOptions()
	o := &u.Options
	o.Iterations, o.Warmup, o.Checks = s.Iterations*max(s.Aggregate, 1), s.Warmup, s.Checks
	o.Burst.Precision, o.Burst.MaxTime = s.Precision, s.MaxTime
	o.Isolated.Precision, o.Isolated.MaxTime = s.Precision, s.MaxTime
	o.EveryRank = u.keepsSamples()
	if err := o.Validate(); err != nil {
		return err
	}
	if n := o.Iterations * max(s.GraphLaunches, 1); n > plan.MaxLaunches {
		return fmt.Errorf("a burst of %d launches (-n times -m times -G) is more than %d", n, plan.MaxLaunches)
	}
	return nil
}

// Method name looks up the request's names and replaces them by the canonical names.
func (u *Setup) name() (err error) {
	s := u.Spec.Sweep
	if u.axes.Skew, err = collective.ReadSkew(s.Skew); err != nil {
		return err
	}
	s.Skew = string(u.axes.Skew)
	if s.StepBytes > 0 {
		s.Factor = 1
	}
	if len(s.Collectives) == 0 {
		s.Collectives = collective.Default()
	}
	if u.axes, err = u.axes.Named(s.Dtype, s.Op, s.Collectives...); err != nil {
		return err
	}
	s.Dtype = strings.Join(slice.Map(u.axes.Dtypes, func(d collective.Dtype) string { return d.Name }), ",")
	s.Op = strings.Join(slice.Map(u.axes.Ops, func(o collective.Op) string { return o.Name }), ",")
	s.Collectives = slice.Map(u.axes.Collectives, func(c collective.Collective) string { return c.Name })
	return nil
}

// keepsSamples reports whether the sweep writes its samples next to the record.
func (u *Setup) keepsSamples() bool {
	return u.Spec.Sweep != nil && (u.Spec.Sweep.KeepSamples || u.Spec.World.Size() <= spec.SamplesRanks)
}

// Cases returns the request's cases before the driver decides which fit into memory.
func (u *Setup) Cases() []plan.Case { return u.axes.Cases() }

// cases lists the sweep's cases and marks the cases that do not fit or are extrapolated.
func (u *Setup) cases(d plan.Process) ([]plan.Case, error) {
	var err error
	if u.room, err = d.Budget(); err != nil {
		return nil, err
	}
	cases := u.axes.Cases()
	if r, ok := d.(plan.Registering); ok {
		for i := range cases {
			cases[i].Skip = cmp.Or(cases[i].Skip, r.Unserved(cases[i]))
		}
	}
	plan.Fit(cases, u.room)
	for i := range cases {
		u.mark(&cases[i])
	}
	return cases, nil
}

// mark stores in a case whether its model has parts without measurements, and the range of its time.
// Before a driver is open both are unknown, and nothing is marked.
func (u *Setup) mark(c *plan.Case) {
	c.Extrapolated = u.extrapolated != nil && u.extrapolated(*c)
	if c.Policy != (policy.Policy{}) {
		c.Extrapolated = u.Machine != nil
		return
	}
	if c.Extrapolated && u.Machine != nil && c.Skip == "" {
		c.Bracket = u.Machine.Bracket(fabric.Group{Ranks: c.Ranks, Stride: c.Split.Stride}, c.Collective.Name, c.Layout.Bytes)
	}
}

// addStrides adds the strides that tensor and expert parallelism need. Tensor-parallel ranks are
// neighbours, so ranks that reduce a gradient together have a stride (Megatron-Core, parallel_state.py,
// initialize_model_parallel: the order is tp-cp-ep-dp-pp; read 2026-11-21). No stride is added for
// groups of one pipeline stage, because they are smaller than the groups of any stride.
func (u *Setup) addStrides() {
	w, s := u.Spec.World, u.Spec.Sweep
	for _, apart := range u.question.Strides(w.Size()) {
		if apart > 1 && apart < w.Size() && w.Divides(apart) && !slices.Contains(s.Strides, apart) {
			s.Strides = append(slices.Clone(s.Strides), apart)
		}
	}
}

// checkExperts refuses a sweep without the curve of the experts' groups, before anything is
// measured.
func (u *Setup) checkExperts() error {
	ep := u.question.Experts()
	if ep == 0 || u.question.Rescale() {
		return nil
	}
	dp, ranks := u.question.DataRanks(u.Spec.World.Size()), u.question.ExpertRanks(u.Spec.World.Size())
	if dp%ep != 0 || ranks == 1 { // other code refuses the first condition; under the second each expert is on one rank
		return nil
	}
	if slices.ContainsFunc(u.axes.Cases(), func(c plan.Case) bool { return c.Ranks == ranks }) {
		return nil
	}
	hint := "choose numbers of nodes and GPUs that --ep divides"
	if replica := u.Spec.World.Size() / dp; replica > 1 {
		hint = fmt.Sprintf("if the %d ranks that share a copy of the model are consecutive, as with tensor parallelism, add --strides %d,%d", replica, replica, replica*ep)
	}
	return exit.Usagef(hint, "with --ep %d the experts' gradients are reduced in groups of %d ranks; this sweep has no such group", ep, ranks)
}

// answerable refuses a sweep whose curves cannot give a bucket size, before anything is measured. The
// curves are known, and placeholder times replace the measurements. Without a trainer's model nothing is
// refused, because the curves may be used later. Memory limits, and cases that cannot run, are reported
// after the sweep.
func (u *Setup) answerable() error {
	if !u.question.HasModel() {
		return nil
	}
	rec := &record.Record{World: record.World{World: u.Spec.World, Ranks: u.Spec.World.Size()}}
	for _, c := range u.axes.Cases() {
		if c.Skip == "" {
			rec.Results = append(rec.Results, placeholder(c))
		}
	}
	d, err := u.question.AskBriefly([]recommend.Source{{Record: rec}})
	if err != nil || d.Answer.Refusal == nil || slices.Contains([]string{"memory", "no_curve"}, d.Answer.Refusal.Code) {
		return err
	}
	return d.Refused()
}

// placeholder returns a case with an assumed time of 100 µs + S / 100 GB/s.
func placeholder(c plan.Case) record.Result {
	r := c.Planned()
	r.Status, r.Reason = record.OK, ""
	r.Isolated = &record.Timing{Iterations: 1, MaxOfRanks: stat.Summarize([]float64{1e-4 + float64(c.Layout.Bytes)/100e9})}
	return r
}
