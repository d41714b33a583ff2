package rccl

import (
	"errors"
	"fmt"
	"slices"

	"zbench/bench/base/slice"
	"zbench/bench/run/plan"
	"zbench/internal/native"
)

// work has each rank's launches of computation, with the resources that they use.
type work struct {
	steps   []native.Step
	modules []*native.Module
	buffers []native.Buffer
	lts     []*native.LT
	plans   []*native.LTPlan
}

// workTile is the number of elements in a block's tile of the triad: its threads times their loads
// of 16 bytes.
const (
	workThreads, workLoads = 256, 4
	workTile               = workThreads * workLoads * 4
)

// workOf returns the launches of a kind of computation, one for each rank in the communicators; nil if
// there is no such kind. They are made once, with a stream for computation on each rank.
func (d *Driver) workOf(do plan.StepDo) ([]native.Step, error) {
	if !do.Works() {
		return nil, nil
	}
	if d.works[do] == nil {
		w, err := &work{}, d.openCompute()
		add := d.addTriad
		if do == plan.StepGemm {
			add = d.addGemm
		}
		for i := 0; i < len(d.ranks) && err == nil; i++ {
			err = add(w, i)
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("computation of %s: %w", do, err), w.free(d.provider))
		}
		if d.works == nil {
			d.works = map[plan.StepDo]*work{}
		}
		d.works[do] = w
	}
	return d.works[do].steps[:d.local], nil
}

// openCompute makes the ranks' streams for computation.
func (d *Driver) openCompute() error {
	for i := len(d.compute); i < len(d.ranks); i++ {
		stream, err := d.provider.NewStream(d.ranks[i].rank.Device)
		if err != nil {
			return err
		}
		d.compute = append(d.compute, stream)
	}
	return nil
}

// module loads a kernel source for a rank and returns one of its functions.
func (d *Driver) module(w *work, rank int, file, name string) (native.Function, error) {
	m, err := d.provider.LoadModule(d.ranks[rank].rank.Device, file, nil)
	if err != nil {
		return native.Function{}, err
	}
	w.modules = append(w.modules, m)
	return m.Function(name)
}

// data allocates memory of a rank and fills it with random elements, so that computation on them
// costs as much as a trainer's. kernel fills the memory; it takes the memory, its number of
// elements, and the arguments in `more`. On the loopback nothing is filled.
func (d *Driver) data(w *work, rank int, bytes, element int64, file, kernel string, more ...any) (native.Buffer, error) {
	b, err := d.provider.Alloc(d.ranks[rank].rank.Device, bytes)
	if err != nil {
		return b, err
	}
	w.buffers = append(w.buffers, b)
	if d.provider.Simulated {
		return b, nil
	}
	fill, err := d.module(w, rank, file, kernel)
	if err != nil {
		return b, err
	}
	args := append([]any{b, uint64(bytes / element)}, more...) //nolint:gosec // not negative
	return b, d.provider.Launch(d.compute[rank], fill, native.Launch{Grid: [3]uint32{2048, 1, 1}, Block: [3]uint32{native.KernelBlock, 1, 1}}, args...)
}

// addTriad adds a triad over three arrays that are larger than every cache.
func (d *Driver) addTriad(w *work, rank int) error {
	array := plan.StepTriad.Bytes(d.cache) / 3
	n := uint64(array / 4) //nolint:gosec // not negative
	b, err := d.data(w, rank, 3*array, 4, "data.hip", "zb_data_fill_f32", int32(0), d.cfg.Seed, int32(0))
	if err != nil {
		return err
	}
	f, err := d.module(w, rank, "stream.hip", fmt.Sprintf("zb_triad_f32_%d_1", workLoads))
	if err != nil {
		return err
	}
	at := func(k int64) native.Address { return native.Address{Buffer: b, Offset: k * array} }
	w.steps = append(w.steps, native.Step{
		Function: f, Launch: native.Launch{Grid: [3]uint32{uint32(n / workTile), 1, 1}, Block: [3]uint32{workThreads, 1, 1}}, //nolint:gosec // 65,536 by a GiB
		Args: []any{at(2), at(0), at(1), 0.5, n, n / workTile, uint64(1), at(0)},
	})
	return nil
}

// addGemm adds a product of square matrices, by the choice that the vendor's heuristics rank first.
func (d *Driver) addGemm(w *work, rank int) error {
	device := d.ranks[rank].rank.Device
	lt, err := d.provider.FindLT(d.cfg.Native)
	if err != nil {
		return err
	}
	w.lts = append(w.lts, lt)
	if err := lt.Start(device); err != nil {
		return err
	}
	p, err := lt.Plan(native.LTShape{M: plan.GemmSide, N: plan.GemmSide, K: plan.GemmSide, Batch: 1, TurnB: true, Workspace: plan.GemmSpace, Most: 1})
	if err != nil {
		return err
	}
	w.plans = append(w.plans, p)
	if p.Found == 0 {
		return fmt.Errorf("%s offers none for squares of %d", lt.Library.Name, plan.GemmSide)
	}
	const matrix = 2 * plan.GemmSide * plan.GemmSide
	b, err := d.data(w, rank, 3*matrix, 2, "norm_steps.hip", "zb_step_fill_bf16", uint32(0), d.cfg.Seed)
	if err != nil {
		return err
	}
	space, err := d.provider.Alloc(device, plan.GemmSpace)
	if err != nil {
		return err
	}
	w.buffers = append(w.buffers, space)
	at := func(k int64) native.Address { return native.Address{Buffer: b, Offset: k * matrix} }
	w.steps = append(w.steps, native.LTLaunch{Plan: p, Stream: d.compute[rank], C: at(2), A: at(0), B: at(1), Workspace: space}.Step())
	return nil
}

// free frees the resources of the work. Its steps must not be launched afterwards.
func (w *work) free(p *native.Provider) error {
	for _, x := range w.plans {
		x.Close()
	}
	for _, x := range w.lts {
		x.Close()
	}
	return errors.Join(slices.Concat(slice.Map(w.modules, (*native.Module).Close), slice.Map(w.buffers, p.Free))...)
}
