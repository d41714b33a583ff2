package trainer

// PyTorch DDP's rules: torch/csrc/distributed/c10d/reducer.cpp
// compute_bucket_assignment_by_size (a bucket is full at its cap or more) and
// reducer.hpp (1 MiB and 25 MiB), torch/nn/parallel/distributed.py (the first cap
// is 1 MiB only where the user gives none). After the first iteration buckets
// follow the order in which gradients become ready.
const (
	ddpFirst   = 1 << 20
	ddpDefault = 25 << 20
)

func ddpPlan(in *prepared, setting int64, run Run) Plan {
	first := setting
	if setting == 0 {
		first, setting = ddpFirst/run.grad(), ddpDefault/run.grad()
	}
	plan := Plan{Buckets: both(in.kinds, func(p packing, _ bool) []Bucket { return p.atLeast(first, setting) })}
	plan.Backward = reductions(plan.Buckets, allReduce, run)
	return plan
}
