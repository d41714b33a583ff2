package trainer

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// MadeUp is a trainer that is in this file alone: a new one takes no more.
var MadeUp = Trainer{
	listed: 99, Name: "madeup", Title: "Made-Up", Aliases: []string{"mu"},
	Knob: "fuse_mib", Unit: MiB, GradDtype: "bfloat16", Stages: []int{0}, InPlace: true, Collectives: []string{allReduce},
	Default: func(_ []Param, r Run) int64 { return (64 << 20) / r.GradBytes() },
	Step:    func(_ int64, r Run) int64 { return (1 << 20) / r.GradBytes() },
	plan: func(in *prepared, setting int64, run Run) Plan {
		plan := Plan{Buckets: both(in.kinds, func(p packing, _ bool) []Bucket { return p.atMost(max(setting, 1)) })}
		plan.Backward = reductions(plan.Buckets, allReduce, run)
		if run.NoOverlap {
			for i := range plan.Backward {
				plan.Backward[i].Launch = 0
			}
		}
		return plan
	},
	Changes:  []Change{{"fewer_tokens", "say less", func(Run) bool { return true }, nil}},
	switches: []runSwitch{overlapSwitch("fuse_overlap")},
	forms: []form{{"Made-Up YAML", "yaml", func(s Spelling) string {
		all := arguments{}
		mib := s.Setting * s.Run.GradBytes() >> 20
		all.add(true, "fuse_mib", fmt.Sprint(mib), func(c *Config) bool { return is(c.Bytes, mib<<20) })
		all.add(!s.Run.NoOverlap, "fuse_overlap", "true", func(c *Config) bool { return isTrue(c.Overlap) })
		var text strings.Builder
		text.WriteString(s.fresh(all, bare))
		for _, a := range all {
			text.WriteString(a.key + ": " + a.value + "\n")
		}
		return text.String() + "# check with: look at its log\n"
	}}},
	reads: []readable{{"Made-Up YAML", "Made-Up's fuse_mib"}},
	keys: []key{
		{"fuse_mib", into(func(c *Config) **int64 { return &c.Bytes }, 1<<20)},
		{"fuse_overlap", flag(func(c *Config) **bool { return &c.Overlap })},
		{"fuse_quietly", nil},
	},
	conclude: func(c *Config, _ []Setting) {
		orElse(&c.Overlap, false)
		if c.on("fuse_quietly") {
			c.Notes = append(c.Notes, "quietly")
		}
	},
}

// Register puts a trainer into the table for a test.
func Register(t *testing.T, x Trainer) {
	t.Helper()
	before := slices.Clone(table)
	t.Cleanup(func() { table = before })
	register(x)
}
