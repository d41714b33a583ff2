package probe

import (
	"context"
	"errors"

	"zbench/bench/answers/fleet/nodescreen"
	method "zbench/bench/work/gemm"
	"zbench/hbm/gemm"
	"zbench/internal/native"
)

// Products measures, on every GPU, a matrix product that fills the compute units, and checks
// the results. Without the vendor's library nothing is measured, and the note says so.
func Products(ctx context.Context, c Config, gpus []nodescreen.GPU) (note string) {
	s, err := c.filling(gpus)
	if errors.Is(err, native.ErrUnavailable) {
		return "products of GPUs: " + err.Error()
	}
	each(ctx, gpus, method.BF16+" "+s.String(), func(ctx context.Context, devices []int) ([]nodescreen.Rate, error) {
		if err != nil {
			return nil, err
		}
		return c.product(ctx, s, devices)
	}, func(g *nodescreen.GPU) **nodescreen.Rate { return &g.Product })
	return ""
}

// filling() returns the product to measure: the longest of the products with the highest rates.
func (c Config) filling(gpus []nodescreen.GPU) (s method.Shape, err error) {
	if len(gpus) == 0 {
		return s, nil
	}
	p, err := native.Open(c.Native)
	if err != nil {
		return s, err
	}
	defer p.Close()
	info, err := p.Device(gpus[0].Index)
	if err != nil {
		return s, err
	}
	lt, err := p.FindLT(c.Native)
	if err != nil {
		return s, err
	}
	lt.Close()
	all := method.Peaks(info.Units)
	return all[len(all)-1], nil
}

// product measures the devices, or all if devices is nil, and returns a rate for each, in
// operations per second.
func (c Config) product(ctx context.Context, s method.Shape, devices []int) (rates []nodescreen.Rate, err error) {
	cfg := gemm.Config{Native: c.Native, All: devices == nil, Seed: c.Seed}
	if devices != nil {
		cfg.Device = devices[0]
	}
	d, err := gemm.Open(cfg)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	stop := context.AfterFunc(ctx, d.Cancel)
	defer stop()
	_, jobs, err := d.Plan([]method.Shape{s}, []string{method.BF16}, 1, c.halved())
	if err != nil {
		return nil, err
	}
	return taken(ctx, jobs[0], s.Flop()) // the choice that the heuristics rank first
}
