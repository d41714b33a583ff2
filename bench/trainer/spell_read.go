package trainer

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Config is what a trainer's own settings say. A nil field is not set there.
type Config struct {
	// Trainer is the name of the one they are for.
	Trainer string
	// At most one of these is the bucket size: in elements, in bytes of gradients,
	// in bytes of a rank's share, as a number of buckets, or in blocks.
	Elements, Bytes, ShareBytes, Buckets, Blocks *int64
	// GatherBytes is XLA's threshold of all_gather, in bytes.
	GatherBytes *int64
	// What else the buckets depend on.
	Zero, Accum, Instances, EP, PP         *int
	Overlap, GatherOverlap, Pad, Recompute *bool
	// KeepParams is FSDP2's reshard_after_forward=False, RootUnit that it has one
	// unit for all that is outside of the blocks.
	KeepParams, RootUnit *bool
	// LayerWise and LegacyLayout are those of Run.
	LayerWise, LegacyLayout bool
	GradDtype, ParamDtype   string
	// TokensPerMicrobatch is sequences times their length, where both are set.
	TokensPerMicrobatch *int64
	// Notes are sentences about what was found.
	Notes []string

	micro, seq, cp, tp                 int64
	bf16, fp16, bf16Reduce, fp32Reduce bool
	// ends tells that modules outside of the blocks have units of their own.
	ends bool
	// optimizer is Megatron's, as the file has it.
	optimizer    string
	legacyLayout bool
	// bridgeReduce is Bridge's grad_reduce_in_fp32, scheduler XLA's latency hiding.
	bridgeReduce *bool
	scheduler    bool
}

// key is one setting of a file: what it is called, whose it is, what it does.
// owner is empty for what several have.
type key struct {
	name, owner string
	set         func(c *Config, value string) error
}

// keys is the table of what ReadConfig understands. The first owner in the order
// of the table that has a bucket size or is named alone decides.
var keys = slices.Concat(megatronSettings, deepSpeedSettings, otherSettings)

// ReadSettings makes a trainer's configuration of its settings. want is the
// trainer's name, or empty where the settings shall tell.
func ReadSettings(list []Setting, want string) (*Config, error) {
	found := make([]pair, len(list))
	for i, s := range list {
		found[i] = pair{key: s.Key, value: s.Value, unset: s.Unset}
	}
	c := &Config{Trainer: want}
	if c.Trainer == "" {
		if c.Trainer = ownerOf(found); c.Trainer == "" {
			return nil, fmt.Errorf("%w in it: neither Megatron's arguments (--ddp-bucket-size, --use-distributed-optimizer), nor Primus YAML, nor DeepSpeed's zero_optimization", ErrConfig)
		}
	}
	if slices.ContainsFunc(found, primus) {
		orElse(&c.Zero, 1)
		c.bf16 = true
	}
	known := false
	for _, p := range found {
		for _, k := range keys {
			if k.name != p.key || k.owner != c.Trainer {
				continue
			}
			known = true
			if p.unset != "" {
				c.Notes = append(c.Notes, fmt.Sprintf("%s is %s there, which the file does not set: it counts as not given", k.name, p.unset))
			}
			if err := k.set(c, strings.TrimSpace(p.value)); err != nil {
				return nil, fmt.Errorf("%w: %s: %w", ErrConfig, k.name, err)
			}
		}
	}
	if !known {
		return nil, fmt.Errorf("%w of %s in it", ErrConfig, c.Trainer)
	}
	if c.Trainer == "megatron" {
		if err := c.readOptimizer(found); err != nil {
			return nil, err
		}
	}
	c.conclude()
	c.layerWise(slices.ContainsFunc(found, primus))
	return c, nil
}

// ownerOf is the trainer with the most settings in the file, the first of equals.
func ownerOf(found []pair) string {
	best, most := "", 0
	for _, name := range Names() {
		n := 0
		for _, p := range found {
			if slices.ContainsFunc(keys, func(k key) bool { return k.name == p.key && k.owner == name }) {
				n++
			}
		}
		if n > most {
			best, most = name, n
		}
	}
	return best
}

// conclude draws what several settings say together.
func (c *Config) conclude() {
	if c.micro > 0 && c.seq > 0 {
		n := c.micro * c.seq / max(1, c.cp)
		c.TokensPerMicrobatch = &n
	}
	switch c.Trainer {
	case "megatron":
		c.megatron()
	case "deepspeed":
		c.deepSpeed()
	case "xla":
		c.xla()
	case "fsdp2":
		root := !c.ends
		c.RootUnit = &root
	}
}

// megatron fills in what the arguments leave to their defaults.
func (c *Config) megatron() {
	orElse(&c.Overlap, false)
	orElse(&c.GatherOverlap, false)
	if *c.GatherOverlap {
		orElse(&c.Zero, 1) // Megatron refuses it without the distributed optimizer
	}
	orElse(&c.Zero, 0)
	if reduce := c.bridgeReduce; reduce != nil {
		c.bf16, c.fp32Reduce, c.bf16Reduce = !c.fp16, *reduce, !*reduce // its recipes train in bfloat16
	}
	switch {
	case c.fp16 && c.fp32Reduce:
		c.ParamDtype, c.GradDtype = "half", "float"
	case c.fp16:
		c.ParamDtype, c.GradDtype = "half", "half"
	case c.bf16 && c.bf16Reduce:
		c.ParamDtype, c.GradDtype = "bfloat16", "bfloat16"
	case c.bf16: // it accumulates and reduces in fp32 unless told otherwise
		c.ParamDtype, c.GradDtype = "bfloat16", "float"
	}
	if c.tp > 1 {
		c.Notes = append(c.Notes, fmt.Sprintf("with tensor parallelism of %d the list of parameters must be one rank's (a preset is the whole model), and --dp the ranks that hold the same part", c.tp))
	}
	if c.PP != nil && *c.PP > 1 {
		c.Notes = append(c.Notes, "with pipeline stages the bucket size counts on the first stage alone: the list of parameters must be that stage's")
	}
}

// deepSpeed fills in what the file leaves to its defaults.
func (c *Config) deepSpeed() {
	orElse(&c.Zero, 0)
	orElse(&c.Overlap, *c.Zero == 3)
	for _, half := range []struct {
		on    bool
		dtype string
	}{{c.bf16, "bfloat16"}, {c.fp16, "half"}} {
		if half.on {
			c.ParamDtype = half.dtype
			if c.GradDtype == "" {
				c.GradDtype = half.dtype
			}
		}
	}
}

func orElse[T any](to **T, value T) {
	if *to == nil {
		*to = &value
	}
}

// Setting is the bucket size in elements, and whether there is one.
func (c *Config) Setting(params []Param, run Run) (int64, bool) {
	switch {
	case c.Elements != nil:
		return *c.Elements, true
	case c.ShareBytes != nil && (c.Bytes == nil || run.Zero > 0):
		return *c.ShareBytes * int64(run.DP) / run.grad(), true
	case c.Bytes != nil && (c.Trainer != "xla" || run.Zero == 0): // XLA has one for each call
		return *c.Bytes / run.grad(), true
	case c.Buckets != nil:
		return max(1, elements(params) / *c.Buckets), true
	case c.Blocks != nil:
		return *c.Blocks * max(1, blockSize(params)), true
	}
	return 0, false
}

// Apply sets in the run what the file says.
func (c *Config) Apply(run *Run) {
	number(&run.Zero, c.Zero)
	number(&run.Accum, c.Accum)
	number(&run.Instances, c.Instances)
	number(&run.EP, c.EP)
	if c.Overlap != nil {
		run.NoOverlap = !*c.Overlap
	}
	if c.GatherOverlap != nil {
		run.NoGatherOverlap = !*c.GatherOverlap
	}
	if c.Pad != nil {
		run.PadBuckets = *c.Pad
	}
	run.LayerWise, run.LegacyLayout = c.LayerWise, c.LegacyLayout
	if c.KeepParams != nil {
		run.KeepParams = *c.KeepParams
	}
	if c.RootUnit != nil {
		run.RootUnit = *c.RootUnit
	}
	if c.GatherBytes != nil {
		run.GatherBytes = *c.GatherBytes
	}
	if c.GradDtype != "" {
		run.GradDtype = c.GradDtype
	}
	if c.ParamDtype != "" {
		run.ParamDtype = c.ParamDtype
	}
}

func number(to *int, from *int) {
	if from != nil {
		*to = *from
	}
}

// into makes a setter of a field that holds a size.
func into(field func(c *Config) **int64, scale int64) func(*Config, string) error {
	return func(c *Config, value string) error {
		if isUnset(value) {
			return nil
		}
		n, err := scaled(value, scale)
		if err == nil {
			*field(c) = &n
		}
		return err
	}
}

func small(field func(c *Config) **int) func(*Config, string) error {
	return func(c *Config, value string) error {
		if isUnset(value) {
			return nil
		}
		n, err := strconv.Atoi(value)
		if err != nil || n < 0 || n > 1<<20 {
			return fmt.Errorf("%q is not a number", value)
		}
		*field(c) = &n
		return nil
	}
}

func flag(field func(c *Config) **bool) func(*Config, string) error {
	return func(c *Config, value string) error {
		if isUnset(value) {
			return nil
		}
		on, err := strconv.ParseBool(strings.ToLower(value))
		if err != nil {
			on = true // --flag followed by something else
		}
		*field(c) = &on
		return nil
	}
}
