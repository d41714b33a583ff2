package experiments

import (
	"context"

	"zbench/bench/run/plan"
)

// Mistake turns a process into one that decides something by itself.
type Mistake struct {
	Name string
	// Of wraps the process; nil leaves it as it is.
	Of func(ctx context.Context, p *process) plan.Process
	// Alone runs the whole sweep in every process by itself.
	Alone bool
}

// Mistakes are ways for a process to decide by itself. An experiment that did not
// notice them would show nothing.
func Mistakes() []Mistake {
	return []Mistake{
		{Name: "every process runs the sweep by its own samples", Alone: true},
		{Name: "a process ends a batch by its own clock", Of: func(_ context.Context, p *process) plan.Process { return &ownClock{p} }},
		{Name: "a process ends a batch when it is asked to stop", Of: func(ctx context.Context, p *process) plan.Process { return &ownSignal{p, ctx} }},
		{Name: "a process leaves out what it has no memory for", Of: func(_ context.Context, p *process) plan.Process { return &ownMemory{p} }},
		{Name: "a process that cannot verify does not", Of: func(_ context.Context, p *process) plan.Process { return &ownCheck{p} }},
	}
}

// ownClock ends a batch when its clock shows a tenth of a millisecond of launches.
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

// ownMemory launches nothing where its own memory does not do.
type ownMemory struct{ *process }

func (p *ownMemory) Budget() (plan.Room, error) { return plan.Room{Bytes: 1 << 40}, nil }

func (p *ownMemory) Isolated(ctx context.Context, launches int) ([]float64, error) {
	if p.c.Places(0).Arena > p.memory {
		return nil, nil
	}
	return p.process.Isolated(ctx, launches)
}

// ownCheck keeps to itself that it cannot verify.
type ownCheck struct{ *process }

func (p *ownCheck) Unverifiable(plan.Case) string { return "" }

func (p *ownCheck) Verify(ctx context.Context, c plan.Case, launch int) (plan.Verification, error) {
	if p.noKernels {
		return plan.Verification{}, nil
	}
	return p.process.Verify(ctx, c, launch)
}
