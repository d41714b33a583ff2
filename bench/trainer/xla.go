package trainer

// XLA's rules: xla/service/collective_combiner_utils.h (calls are combined while
// the sum of their outputs stays within the threshold, one beyond it stays
// alone) and xla/service/collective_utils.h (30 MiB + 7 bytes).
// The output of an all-reduce is the whole buffer, that of a reduce-scatter one
// rank's share. xla/service/gpu/gpu_compiler.cc combines at most 256 calls.
const (
	xlaDefault = 30<<20 + 7
	xlaMost    = 256
	// xlaScheduler lets calls overlap with computation; off by default
	// (xla/debug_options_flags.cc).
	xlaScheduler = "xla_gpu_enable_latency_hiding_scheduler"
)

// xlaThreshold is the default, bytes of output, in elements.
func xlaThreshold(_ []Param, run Run) int64 {
	if run.Zero == 0 {
		return xlaDefault / run.grad()
	}
	return xlaDefault * int64(run.DP) / run.grad()
}

func xlaPlan(in *prepared, setting int64, run Run) Plan {
	gathered := setting
	if setting == 0 {
		// One default for each call: a gather's output is all of it.
		setting, gathered = xlaThreshold(in.params, run), xlaDefault/run.param()
	}
	if run.GatherBytes > 0 {
		gathered = run.GatherBytes / run.param()
	}
	combined := func(most int64) []Bucket {
		return both(in.kinds, func(p packing, _ bool) []Bucket {
			p.most = xlaMost
			return p.atMost(most, true)
		})
	}
	plan := Plan{Buckets: combined(setting)}
	if run.Zero == 0 {
		plan.Backward = reductions(plan.Buckets, allReduce, run)
	} else {
		plan.Backward = reductions(plan.Buckets, reduceScatter, run)
		plan.Forward = chain(combined(gathered), run)
	}
	return plan
}

// GatherApart tells that gathers are combined up to another size than the setting
// says.
func (r Run) GatherApart(setting int64) bool {
	return r.Zero > 0 && r.GatherBytes > 0 && r.GatherBytes/r.param() != setting
}

// xla fills in what the flags leave to their defaults. Who sets the thresholds of
// shards and none of all_reduce shards.
func (c *Config) xla() {
	if !c.scheduler {
		c.Notes = append(c.Notes, "it does not switch "+xlaScheduler+" on: your setting is computed as if it did, and without it less overlaps")
	}
	if c.ShareBytes == nil && c.GatherBytes == nil {
		return
	}
	if c.Bytes == nil {
		orElse(&c.Zero, 1)
	}
	for _, x := range []struct {
		call string
		to   **int64
	}{{"reduce_scatter", &c.ShareBytes}, {"all_gather", &c.GatherBytes}} {
		if *x.to == nil {
			orElse(x.to, xlaDefault)
			c.Notes = append(c.Notes, "it sets no threshold of "+x.call+": XLA's default of 30 MiB counts")
		}
	}
}
