package trainer

import (
	"fmt"
	"slices"
	"strings"

	"zbench/bench/base/plain"
)

// Megatron-Bridge's settings, read in NVIDIA-NeMo/Megatron-Bridge at 067f987d.
// src/megatron/bridge/training/comm_overlap.py: if a recipe has comm_overlap and the distributed
// optimizer, setup replaces ddp.bucket_size by comm_overlap.bucket_size or its default, and it
// replaces both overlap settings likewise. training/config.py: comm_overlap is None unless the
// recipe sets it. models/gpt_provider.py: the vocabulary is not padded unless should_pad_vocab is
// set.
const (
	bridgeDefault = 128 << 20
	commOverlap   = "comm_overlap."
)

// bridgeName is the name of the front end.
const bridgeName = "bridge"

// bridgeParts are the parts of Bridge's configuration in which the same key has different meanings.
var bridgeParts = []string{"ddp.", commOverlap}

// bridgeConclusions changes the settings in the same way as Bridge's setup of comm_overlap.
func bridgeConclusions(c *Config, found []Setting) {
	isBridge := func(p Setting) bool {
		part, _, nested := strings.Cut(p.Key, ".")
		return nested && (part == "model" || slices.Contains(bridgeParts, part+"."))
	}
	if slices.ContainsFunc(found, isBridge) && !c.on("model.should_pad_vocab") {
		c.VocabMultiple = new(int64(1))
	}
	c.bridgeSync()
	has := func(p Setting) bool { return strings.HasPrefix(p.Key, commOverlap) }
	if !slices.ContainsFunc(found, has) {
		if _, set := c.said["ddp.bucket_size"]; set {
			c.Notes = append(c.Notes, "if the recipe has comm_overlap, its setup replaces ddp.bucket_size by comm_overlap.bucket_size, or by 134217728, and turns both overlaps on")
		}
		return
	}
	orElse(&c.Zero, 1) // Bridge's recipes turn it on, and comm_overlap has no effect without it
	if *c.Zero != 1 {
		return
	}
	if c.bridge == nil {
		c.bridge = new(int64(bridgeDefault))
		c.Notes = append(c.Notes, "comm_overlap sets a bucket size of 134217728 where it names none")
	}
	c.Elements, c.Buckets = c.bridge, nil
	for _, x := range []struct {
		key string
		to  **bool
	}{{"overlap_grad_reduce", &c.Overlap}, {"overlap_param_gather", &c.GatherOverlap}} {
		value, said := c.said[commOverlap+x.key]
		*x.to = new(!said || isUnset(value) || c.on(commOverlap+x.key))
	}
}

// legacyNote takes the place of the argument in forms of front ends that have no key for it: the
// base configuration of Primus (AMD-AGI/Primus at fd1eeabb) and the classes of Bridge lack it.
const legacyNote = "# --no-use-layer-wise-param-layout is an argument of Megatron-LM's own\n"

func bridgeOverrides(s Spelling) string {
	all := megatronArguments(s, bridgeNumbers())
	var b strings.Builder
	bridged := func(key string) string { return bridged(key, s.Run.Zero == 1) }
	b.WriteString(s.fresh(all, bridged) + bridgeTrap(s) + s.countTrap("ddp.num_buckets"))
	if s.Run.Zero == 1 {
		b.WriteString("# a recipe whose comm_overlap is None takes ddp. in place of comm_overlap.; where it is set, it replaces what ddp has\n")
	}
	for _, a := range all {
		if a.key == legacyKey {
			b.WriteString(legacyNote)
			continue
		}
		fmt.Fprintf(&b, "%s=%s\n", bridged(a.key), a.value)
	}
	return strings.TrimSuffix(b.String(), "\n") + "  # elements, not bytes\n" + megatronReadBack
}

// bridged returns the key of a setting in Megatron-Bridge. Most keys are under ddp. With the
// distributed optimizer, comm_overlap overrides three of these settings.
func bridged(key string, sharded bool) string {
	switch key {
	case "expert_model_parallel_size":
		return "model." + key
	case "mixed_precision":
		return key
	case "optimizer":
		return "optimizer." + key
	case "overlap_grad_reduce", "overlap_param_gather", "ddp_bucket_size":
		if sharded {
			return commOverlap + strings.TrimPrefix(key, "ddp_")
		}
	}
	return "ddp." + strings.TrimPrefix(key, "ddp_")
}

// bridgeUnset returns the bucket size that comm_overlap uses if none is set.
func bridgeUnset(params []Param, r Run) int64 {
	if r.Zero != 1 {
		return megatronDefault(params, r)
	}
	return bridgeDefault
}

// bridgeTrap warns about the second place in which Bridge sets a type.
func bridgeTrap(s Spelling) string {
	if len(bridgeNumbers()[[2]string{s.Run.ParamDtype, s.Run.GradDtype}]) == 0 {
		return ""
	}
	return "# set grad_reduce_in_fp32 in the recipe's mixed_precision, too: that one wins\n"
}

// bridgeSync merges the two places in which Bridge has a setting. If the setting is on in one
// place, it is on in both (training/config.py, _validate_and_sync_distributed_optimizer_settings).
// If neither place sets it, the recipe decides.
func (c *Config) bridgeSync() {
	const optimizer, gather = "use_distributed_optimizer", "overlap_param_gather"
	if c.on("ddp."+optimizer) || c.on("optimizer."+optimizer) {
		c.Zero = new(1)
	}
	if c.on("ddp."+gather) || c.on("optimizer."+gather) {
		c.GatherOverlap = new(true)
	}
	if c.FrontEnd != bridgeName {
		return
	}
	var unsaid []string
	for name, said := range map[string]bool{optimizer: c.Zero != nil, "overlap_grad_reduce": c.Overlap != nil, gather: c.GatherOverlap != nil, "bucket_size": c.Elements != nil} {
		if !said {
			unsaid = append(unsaid, name)
		}
	}
	if slices.Sort(unsaid); len(unsaid) > 0 {
		c.Notes = append(c.Notes, "the recipe decides about "+plain.And(unsaid)+", and it is not in the file: computed as on, and as Bridge's default; the configuration that the job prints has all of it")
	}
	orElse(&c.Zero, 1)
	orElse(&c.Overlap, true)
	orElse(&c.GatherOverlap, true)
	c.bf16 = c.bf16 || !c.fp16
}
