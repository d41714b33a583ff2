// Package probe measures one node by itself: a collective over its GPUs, the memory bandwidth and
// a matrix product of every GPU, its topology, and its libraries. It fills in a nodescreen.Node;
// package bench/answers/fleet/nodescreen compares the nodes.
package probe

import (
	"context"
	"errors"
	"fmt"

	"zbench/bench/answers/fleet/nodescreen"
	"zbench/bench/answers/fleet/rails"
	"zbench/bench/base/slice"
	"zbench/bench/base/stat"
	"zbench/bench/base/unit"
	"zbench/bench/run/plan"
	"zbench/bench/run/record"
	"zbench/bench/run/spec"
	"zbench/bench/work/fabric"
	"zbench/hbm"
	"zbench/internal/native"
	"zbench/rccl"
)

// Config describes how to measure.
type Config struct {
	Native native.Choice
	// Seconds is the time limit of one measurement. If it is 0, a measurement takes Samples
	// samples instead, which suits a simulated clock.
	Seconds float64
	// Bytes is the size of the collective. Message is the size of a message between two GPUs. Array
	// is the size of an array in memory. All three are in bytes.
	Bytes, Message, Array int64
	Seed                  uint64
	// Soaks is true if Measure also looks for wrong data.
	Soaks bool
}

// Samples is the number of samples in a measurement without a time limit.
const Samples = 20

// Simulated returns the configuration for a node of the loopback. Arrays are small, because kernels
// really run on this host. Launches cost nothing, because their cost would hide the memory's time.
// The collective is small too, because its data are checked; its latency hides a slow link, but the
// messages find that link.
func Simulated(m fabric.Machine) Config {
	m.Host.Launch = 0
	return Config{Native: native.Choice{Backend: "loopback", Machine: m.Text()}, Bytes: 1 << 20, Message: rails.DefaultBytes, Array: 64 << 10, Seed: m.Seed}
}

// rule returns the stopping rule of a measurement in one pass.
func (c Config) rule() stat.Rule {
	if c.Seconds <= 0 {
		return stat.Fixed(Samples)
	}
	r := stat.DefaultRule()
	// All of the time is used, because a GPU throttles only after seconds.
	r.Precision, r.MinSamples, r.MaxSamples, r.MaxTime = 0, Samples, 1e6, c.Seconds
	return r
}

// Devices returns the node's GPUs and the libraries of the provider.
func Devices(o native.Choice) ([]nodescreen.GPU, []nodescreen.Fact, error) {
	p, err := native.Open(o)
	if err != nil {
		return nil, nil, err
	}
	defer p.Close()
	n, err := p.Devices()
	if err != nil {
		return nil, nil, err
	}
	facts := slice.Map(p.Libraries, func(l record.Library) nodescreen.Fact { return nodescreen.Fact{Name: l.Name, Value: l.Version} })
	var gpus []nodescreen.GPU
	for i := range n {
		info, err := p.Device(i)
		if err != nil {
			return gpus, facts, err
		}
		gpus = append(gpus, nodescreen.GPU{Index: i, Name: info.Name, PCI: info.PCI, Bytes: info.Memory})
	}
	return gpus, facts, nil
}

// errWrong is wrapped by the error of a measurement that gave a wrong result.
var errWrong = errors.New(string(record.WrongData))

// ended() returns the error of a case whose status is not OK.
func ended(status record.Status, reason string) error {
	if status == record.WrongData {
		return fmt.Errorf("%w: %s", errWrong, reason)
	}
	return fmt.Errorf("%s: %s", status, reason)
}

// failed() returns a failed measurement.
func failed(what string, err error) *nodescreen.Rate {
	return &nodescreen.Rate{What: what, Error: err.Error(), Wrong: errors.Is(err, errWrong)}
}

// Collective runs all_reduce over a number of the node's GPUs in this process, and checks the
// result. `how` names the path, such as "over one NIC"; it is empty for the node's own path.
func Collective(ctx context.Context, c Config, gpus int, how string) *nodescreen.Rate {
	what := fmt.Sprintf("all_reduce %s%s, %d GPUs", unit.Bytes(c.Bytes), how, gpus)
	r, err := c.collective(ctx, gpus)
	if err != nil {
		return failed(what, err)
	}
	r.What = what
	return r
}

func (c Config) collective(ctx context.Context, gpus int) (rate *nodescreen.Rate, err error) {
	w := spec.World{Nodes: 1, GPUsPerNode: gpus, GPUsPerProcess: gpus}
	cases, err := caseOf(w, c.Bytes)
	if err != nil {
		return nil, err
	}
	d, err := c.open(ctx, gpus, cases)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	o := plan.DefaultOptions()
	o.Burst, o.Isolated = c.rule(), c.rule()
	o.Burst.MaxTime, o.Isolated.MaxTime = o.Burst.MaxTime/4, o.Isolated.MaxTime/4 // two timings, each in two passes, share the time limit
	for _, r := range plan.Run(ctx, cases, d, o, func(record.Result) {}) {
		if r.Status != record.OK {
			return nil, ended(r.Status, r.Reason)
		}
		rate = &nodescreen.Rate{Rate: r.BusBW}
		if r.Isolated != nil && r.Isolated.MaxOfRanks != nil {
			rate.Samples = r.Isolated.MaxOfRanks.N
		}
	}
	return rate, ctx.Err()
}

// open opens the node's GPUs with buffers for the given cases, large enough to check all data.
func (c Config) open(ctx context.Context, gpus int, cases []plan.Case) (*rccl.Driver, error) {
	d, err := rccl.Open(rccl.Config{Native: c.Native, Ranks: gpus, Seed: c.Seed, VerifyBudget: 4 * c.Bytes * int64(gpus)})
	if err != nil {
		return nil, err
	}
	if err = d.Allocate(ctx, plan.Room{}.For(cases)); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// caseOf returns the only case: an out-of-place all_reduce of floats.
func caseOf(w spec.World, bytes int64) ([]plan.Case, error) {
	a, err := plan.Axes{MinBytes: bytes, MaxBytes: bytes, Factor: 2, InPlace: []bool{false}, World: w}.Named("float", "sum", "all_reduce")
	if err != nil {
		return nil, err
	}
	return a.Cases(), a.Validate()
}

// Memory measures the copy bandwidth of every GPU's memory and checks the copied data.
func Memory(ctx context.Context, c Config, gpus []nodescreen.GPU) []nodescreen.GPU {
	each(ctx, gpus, "copy "+unit.Bytes(c.Array), c.memory, func(g *nodescreen.GPU) **nodescreen.Rate { return &g.Memory })
	return gpus
}

// each() measures all GPUs at once. If that fails, it measures them one by one, so that one bad GPU
// does not prevent the results of the other GPUs.
func each(ctx context.Context, gpus []nodescreen.GPU, what string, measure func(context.Context, []int) ([]nodescreen.Rate, error), of func(*nodescreen.GPU) **nodescreen.Rate) {
	rates, err := measure(ctx, nil)
	for i := range gpus {
		into := of(&gpus[i])
		if err == nil && i < len(rates) {
			*into = &rates[i]
		} else if alone, why := measure(ctx, []int{gpus[i].Index}); why == nil {
			*into = &alone[0]
		} else {
			*into = failed(what, why)
		}
		(*into).What = what
	}
}

// memory measures the devices, or all if devices is nil, and returns a rate for each.
func (c Config) memory(ctx context.Context, devices []int) (rates []nodescreen.Rate, err error) {
	cfg := hbm.Config{Native: c.Native, Devices: devices, All: devices == nil, Seed: c.Seed, Warm: hbm.DefaultWarm}
	if c.Seconds <= 0 {
		cfg.Batch, cfg.Warm = 1e-12, 0
	}
	d, err := hbm.Open(cfg)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	if err = d.Allocate(c.Array); err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, d.Cancel)
	defer stop()
	copying, _ := hbm.StreamByName("copy")
	float, _ := hbm.TypeByName("float64")
	job := d.Job(hbm.NewCase(d.Backend(), copying, float, record.Preset, c.Array, false), c.halved())
	return taken(ctx, job, float64(copying.Arrays()*(c.Array/float.Bytes)*float.Bytes))
}

// halved() returns a rule with twice the limits, for a job that runs only one pass: a pass takes
// half of a rule's limits.
func (c Config) halved() stat.Rule {
	r := c.rule()
	r.MinSamples, r.MaxSamples, r.MaxTime = 2*r.MinSamples, 2*r.MaxSamples, 2*r.MaxTime
	return r
}

// taken() runs one pass of a job and returns rates: the bytes or operations of a launch, divided by
// its median time.
func taken(ctx context.Context, job plan.Job, does float64) (rates []nodescreen.Rate, err error) {
	parts, _ := job.Take(ctx, 0)
	for _, p := range parts {
		if p.Status != record.OK || p.Kernel == nil {
			return nil, ended(p.Status, p.Reason)
		}
		rate := does / stat.Quantile(p.Kernel.Seconds, 0.5)
		rates = append(rates, nodescreen.Rate{Rate: &rate, Samples: len(p.Kernel.Seconds)})
	}
	return rates, ctx.Err()
}

// Measure fills in everything that this process can measure: GPUs, libraries, memory, products, the
// collective over all GPUs, and their links. It returns an error if the provider cannot be opened;
// later failures are kept in the node.
func Measure(ctx context.Context, c Config, n *nodescreen.Node) error {
	gpus, facts, err := Devices(c.Native)
	if err != nil {
		return err
	}
	n.Facts = append(n.Facts, facts...)
	n.GPUs = Memory(ctx, c, gpus)
	if note := Products(ctx, c, gpus); note != "" {
		n.Notes = append(n.Notes, note)
	}
	if len(gpus) > 1 {
		n.Collective = Collective(ctx, c, len(gpus), "")
		n.Links = Links(ctx, c, len(gpus))
		if c.Soaks {
			n.Soak = Soak(ctx, c, len(gpus), "")
		}
	}
	return ctx.Err()
}
