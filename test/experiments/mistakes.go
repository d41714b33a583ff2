package experiments

import (
	"context"

	"zbench/bench/run/plan"
)

// Mistake makes a process decide something by itself.
type Mistake struct {
	Name string
	// Of wraps a process; nil does not change it.
	Of func(ctx context.Context, p *process) plan.Process
	// Alone runs the whole sweep in every process separately.
	Alone bool
}

// Mistakes returns ways in which a process may decide by itself. If the experiment did not notice
// these mistakes, it would prove nothing.
func Mistakes() []Mistake {
	return []Mistake{
		{Name: "every process runs the sweep by its own samples", Alone: true},
		{Name: "a process ends a batch by its own clock", Of: func(_ context.Context, p *process) plan.Process { return &ownClock{p} }},
		{Name: "a process ends a batch when it is asked to stop", Of: func(ctx context.Context, p *process) plan.Process { return &ownSignal{p, ctx} }},
		{Name: "a process leaves out what it has no memory for", Of: func(_ context.Context, p *process) plan.Process { return &ownMemory{p} }},
		{Name: "a process that cannot verify does not", Of: func(_ context.Context, p *process) plan.Process { return &ownCheck{p} }},
	}
}

// ownClock ends a batch when its own clock shows a tenth of a millisecond of launches.
type ownClock struct{ *process }

func (p *ownClock) Burst(ctx context.Context, b plan.Bursts) ([]float64, error) {
	var out []float64
	for range b.Count {
		one, err := p.process.Burst(ctx, plan.Bursts{Count: 1, Iterations: b.Iterations})
		if err != nil {
			return nil, err
		}
		if out = append(out, one...); p.spent > 1e-4 {
			break
		}
	}
	return out, nil
}

// ownSignal ends a batch when its process is asked to stop.
type ownSignal struct {
	*process
	ctx context.Context
}

func (p *ownSignal) Isolated(ctx context.Context, launches int) ([]float64, error) {
	var out []float64
	for range launches {
		one, err := p.process.Isolated(ctx, 1)
		if err != nil || p.ctx.Err() != nil {
			return nil, err
		}
		out = append(out, one...)
	}
	return out, nil
}

// ownMemory launches nothing if its own memory is too small.
type ownMemory struct{ *process }

func (p *ownMemory) Budget() (plan.Room, error) { return plan.Room{Bytes: 1 << 40}, nil }

func (p *ownMemory) Isolated(ctx context.Context, launches int) ([]float64, error) {
	if p.c.Places(0).Arena > p.memory {
		return nil, nil
	}
	return p.process.Isolated(ctx, launches)
}

// ownCheck does not tell the others that it cannot verify.
type ownCheck struct{ *process }

func (p *ownCheck) Unverifiable(plan.Case) string { return "" }

func (p *ownCheck) Verify(ctx context.Context, c plan.Case, launch int) (plan.Verification, error) {
	if p.noKernels {
		return plan.Verification{}, nil
	}
	return p.process.Verify(ctx, c, launch)
}
