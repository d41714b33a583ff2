package trainer

import (
	"fmt"
	"strings"

	"zbench/bench/base/slice"
)

// XLA's rules. xla/service/collective_combiner_utils.h: calls are combined while the sum of their
// outputs is within the threshold; a call above the threshold is not combined.
// xla/service/collective_utils.h: the default is 30 MiB + 7 bytes. The output of an all-reduce is
// the whole buffer. The output of a reduce-scatter is one rank's share.
// xla/service/gpu/gpu_compiler.cc combines at most 256 calls.
const (
	xlaDefault = 30<<20 + 7
	xlaMost    = 256
	// xlaScheduler is the flag that makes calls overlap with computation. It is off by default
	// (xla/debug_options_flags.cc).
	xlaScheduler = "xla_gpu_enable_latency_hiding_scheduler"
)

func init() {
	register(Trainer{
		listed: 5, Name: "xla", Title: "XLA (JAX)", Aliases: []string{"jax"},
		Knob: xlaFlagName(allReduce), Flag: "--" + xlaFlagName(allReduce), Unit: Bytes, GradDtype: "bfloat16", Stages: []int{0, 1},
		Collectives: []string{allReduce, reduceScatter, allGather},
		Default:     xlaThreshold, plan: xlaPlan,
		// A threshold on shares counts DP elements per element of a share.
		Step: func(_ int64, r Run) int64 {
			if r.Zero == 0 {
				return 1
			}
			return int64(r.DP)
		},
		// A combined call has a buffer of its own.
		Memory:   func(p Plan, _ int64, r Run) int64 { return largest(p) * r.GradBytes() },
		MemoryIs: "the buffer of the largest combined call",
		switches: []runSwitch{{
			"--" + xlaFlagName(allGather),
			func(run, advised Run) bool { return run.GatherBytes != advised.GatherBytes && run.Zero > 0 },
			func(run *Run, advised Run) { run.GatherBytes = advised.GatherBytes },
		}},
		Unset: xlaUnset,
		forms: xlaForms,
		reads: []readable{{"XLA_FLAGS", ""}},
		keys: []key{
			{xlaFlagName(allReduce), into(func(c *Config) **int64 { return &c.Bytes }, 1)},
			{xlaFlagName(reduceScatter), into(func(c *Config) **int64 { return &c.ShareBytes }, 1)},
			{xlaFlagName(allGather), into(func(c *Config) **int64 { return &c.GatherBytes }, 1)},
			{xlaScheduler, nil},
		},
		conclude: xlaConclusions, size: xlaSize,
	})
}

// xlaFlagName returns the name of the flag with the threshold of a collective.
func xlaFlagName(call string) string { return "xla_gpu_" + call + "_combine_threshold_bytes" }

// xlaUnset returns the run with XLA's defaults, which are separate for each collective.
func xlaUnset(run Run) Run {
	if run.Zero > 0 && run.GatherBytes == 0 {
		run.GatherBytes = xlaDefault
	}
	return run
}

// xlaSize returns the threshold of the collective that reduces gradients.
func xlaSize(c *Config, run Run) (int64, bool) {
	switch {
	case c.ShareBytes != nil && (c.Bytes == nil || run.Zero > 0):
		return *c.ShareBytes * int64(run.DP) / run.GradBytes(), true
	case c.Bytes != nil && run.Zero == 0:
		return *c.Bytes / run.GradBytes(), true
	}
	return 0, false
}

// xlaThreshold returns the default threshold. XLA counts bytes of output; the result is in
// elements.
func xlaThreshold(_ []Param, run Run) int64 {
	if run.Zero == 0 {
		return xlaDefault / run.GradBytes()
	}
	return xlaDefault * int64(run.DP) / run.GradBytes()
}

func xlaPlan(in *prepared, setting int64, run Run) Plan {
	gathered := setting
	if setting == 0 {
		// Each collective has a default of its own. A gather's output is the whole buffer.
		setting, gathered = xlaThreshold(in.params, run), xlaDefault/run.param()
	}
	if run.GatherBytes > 0 {
		gathered = run.GatherBytes / run.param()
	}
	combined := func(most int64) []Bucket {
		return both(in.kinds, func(p packing, _ bool) []Bucket {
			p.most = xlaMost
			return p.atMostAround(most)
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

var xlaForms = []form{
	{"XLA_FLAGS", "sh", func(s Spelling) string {
		all := xlaArguments(s)
		flags := slice.Map(all, func(a argument) string { return "--" + a.key + "=" + a.value })
		return s.fresh(all, func(key string) string { return "--" + key }) +
			"# thresholds count bytes of a call's output: for reduce_scatter one rank's share\n" +
			"export XLA_FLAGS=\"${XLA_FLAGS:-} " + strings.Join(flags, " \\\n  ") + "\"\n" +
			"# check with: add --xla_dump_to=DIR and look at the shapes of the calls in the module after optimizations\n"
	}},
}

// xlaArguments returns XLA's flags for the thresholds of a run's collectives.
func xlaArguments(s Spelling) arguments {
	var all arguments
	all.add(true, xlaScheduler, "true", func(c *Config) bool { return c.on(xlaScheduler) })
	r := s.Run
	if r.Zero == 0 {
		bytes := s.Setting * r.GradBytes()
		all.add(true, xlaFlagName(allReduce), fmt.Sprint(bytes), func(c *Config) bool { return is(c.Bytes, bytes) })
		return all
	}
	share, gathered := roundUp(s.Setting*r.GradBytes(), int64(r.DP))/int64(r.DP), s.Setting*r.param()
	if r.GatherBytes > 0 {
		gathered = r.GatherBytes
	}
	all.add(true, xlaFlagName(reduceScatter), fmt.Sprint(share), func(c *Config) bool { return is(c.ShareBytes, share) })
	all.add(true, xlaFlagName(allGather), fmt.Sprint(gathered), func(c *Config) bool { return is(c.GatherBytes, gathered) })
	return all
}

// xlaConclusions fills in the defaults of flags that are not set. If a file sets a threshold for
// reduce_scatter or all_gather but none for all_reduce, the run is sharded.
func xlaConclusions(c *Config, _ []Setting) {
	if !c.on(xlaScheduler) {
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
	}{{reduceScatter, &c.ShareBytes}, {allGather, &c.GatherBytes}} {
		if *x.to == nil {
			orElse(x.to, xlaDefault)
			c.Notes = append(c.Notes, "it sets no threshold of "+x.call+": XLA's default of 30 MiB counts")
		}
	}
}
