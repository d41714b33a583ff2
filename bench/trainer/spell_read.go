package trainer

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Config is the content of a trainer's own settings. A nil field is not set there.
type Config struct {
	// Trainer is the name of the one they are for.
	Trainer string
	// At most one of these is the bucket size: in elements, in bytes of gradients,
	// in bytes of a rank's share, as a number of buckets, or in blocks.
	Elements, Bytes, ShareBytes, Buckets, Blocks *int64
	// GatherBytes is XLA's threshold of all_gather, in bytes.
	GatherBytes *int64
	// What else the buckets depend on.
	Zero, Accum, Instances, EP, PP *int
	TP, CP, ETP                    *int
	// VocabMultiple is that of Trainer.
	VocabMultiple                          *int64
	Overlap, GatherOverlap, Pad, Recompute *bool
	// KeepParams is FSDP2's reshard_after_forward=False, RootUnit that it has one
	// unit for all that is outside of the blocks.
	KeepParams, RootUnit *bool
	// FindUnused is that of Run.
	FindUnused *bool
	// LayerWise and LegacyLayout are those of Run.
	LayerWise, LegacyLayout bool
	// FP8Gather and FP32Accumulation are those of Run.
	FP8Gather, FP32Accumulation bool
	// OwnerReduce is that of Run.
	OwnerReduce           bool
	GradDtype, ParamDtype string
	// TokensPerMicrobatch is sequences times their length, where both are set.
	TokensPerMicrobatch *int64
	// Notes are sentences about what was found.
	Notes []string

	// said is the values of the keys that were found, the last of each: what no field
	// stands for.
	said map[string]string

	// refused is why no bucket size has an effect with these settings.
	refused error
	// auto is DeepSpeed's bucket size by the model's hidden size.
	auto bool
	// bridge is comm_overlap.bucket_size of Megatron-Bridge.
	bridge *int64

	micro, seq                         int64
	bf16, fp16, bf16Reduce, fp32Reduce bool
	legacyLayout                       bool
}

// key is one setting of a file: its name and its effect; nil if only its presence counts.
type key struct {
	name string
	set  func(c *Config, value string) error
}

// on reports whether a key is set and not false.
func (c *Config) on(name string) bool {
	value, said := c.said[name]
	on, err := strconv.ParseBool(strings.ToLower(value))
	return said && !isUnset(value) && (on || err != nil)
}

// ReadSettings converts settings to a trainer's configuration. want is the trainer's
// name; if empty, the settings determine it.
func ReadSettings(list []Setting, want string) (*Config, error) {
	found := make([]pair, len(list))
	for i, s := range list {
		found[i] = pair{key: s.Key, value: s.Value, unset: s.Unset}
	}
	c := &Config{Trainer: want, said: map[string]string{}}
	if c.Trainer == "" {
		if c.Trainer = ownerOf(found); c.Trainer == "" {
			return nil, fmt.Errorf("%w in it: neither %s", ErrConfig, strings.Join(signs(), ", nor "))
		}
	}
	t, err := ByName(c.Trainer)
	if err != nil {
		return nil, err
	}
	c.Trainer = t.Name
	if t.begin != nil {
		t.begin(c, found)
	}
	known, err := c.read(t.keys, found)
	if err != nil {
		return nil, err
	}
	if !known {
		return nil, fmt.Errorf("%w of %s in it", ErrConfig, c.Trainer)
	}
	given := func(p pair) bool { return !isUnset(p.value) }
	if _, err := c.read(t.beside, kept(found, given)); err != nil {
		return nil, err
	}
	if t.conclude != nil {
		t.conclude(c, found)
	}
	if c.refused != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, c.refused)
	}
	return c, nil
}

// read applies the keys and reports whether there was any.
func (c *Config) read(keys []key, found []pair) (known bool, err error) {
	for _, p := range found {
		for _, k := range keys {
			if k.name != p.key {
				continue
			}
			known = true
			if p.unset != "" {
				c.Notes = append(c.Notes, fmt.Sprintf("%s is %s there, which the file does not set: it counts as not given", k.name, p.unset))
			}
			value := strings.TrimSpace(p.value)
			c.said[k.name] = value
			if k.set == nil {
				continue
			}
			if err := k.set(c, value); err != nil {
				return known, fmt.Errorf("%w: %s: %w", ErrConfig, k.name, err)
			}
		}
	}
	return known, nil
}

// kept is the pairs for which a condition holds.
func kept(found []pair, holds func(p pair) bool) (some []pair) {
	for _, p := range found {
		if holds(p) {
			some = append(some, p)
		}
	}
	return some
}

// signs identify the kind of a file.
func signs() (all []string) {
	for _, t := range table {
		for _, r := range t.reads {
			if r.sign != "" {
				all = append(all, r.sign)
			}
		}
	}
	return all
}

// ownerOf is the trainer with the most settings in the file, the first of equals.
func ownerOf(found []pair) string {
	best, most := "", 0
	for _, t := range table {
		n := 0
		for _, p := range found {
			if slices.ContainsFunc(t.keys, func(k key) bool { return k.name == p.key }) {
				n++
			}
		}
		if n > most {
			best, most = t.Name, n
		}
	}
	return best
}

func orElse[T any](to **T, value T) {
	if *to == nil {
		*to = &value
	}
}

// Setting is the bucket size in elements, and whether there is one.
func (c *Config) Setting(params []Param, run Run) (int64, bool) {
	if t, err := ByName(c.Trainer); err == nil && t.size != nil {
		return t.size(c, run)
	}
	switch {
	case c.Elements != nil:
		return *c.Elements, true
	case c.Bytes != nil:
		return roundUp(*c.Bytes, run.grad()) / run.grad(), true
	case c.Buckets != nil:
		return max(1, elements(params) / *c.Buckets), true
	case c.Blocks != nil:
		return *c.Blocks * max(1, blockSize(params)), true
	case c.auto:
		h := hiddenSize(params)
		return h * h, h > 0
	}
	return 0, false
}

// Doubts are sentences about the file for a model of these tensors.
func (c *Config) Doubts(params []Param) []string {
	if t, err := ByName(c.Trainer); err == nil && t.doubts != nil {
		return t.doubts(c, params)
	}
	return nil
}

// Apply sets the file's values in the run.
func (c *Config) Apply(run *Run) {
	number(&run.Zero, c.Zero)
	number(&run.Accum, c.Accum)
	number(&run.Instances, c.Instances)
	number(&run.EP, c.EP)
	number(&run.TP, c.TP)
	number(&run.ETP, c.ETP)
	if c.Overlap != nil {
		run.NoOverlap = !*c.Overlap
	}
	if c.GatherOverlap != nil {
		run.NoGatherOverlap = !*c.GatherOverlap
	}
	if c.Pad != nil {
		run.PadBuckets = *c.Pad
	}
	run.LayerWise, run.LegacyLayout, run.FP8Gather = c.LayerWise, c.LegacyLayout, c.FP8Gather
	run.FP32Accumulation, run.OwnerReduce = c.FP32Accumulation, c.OwnerReduce
	if c.KeepParams != nil {
		run.KeepParams = *c.KeepParams
	}
	if c.FindUnused != nil {
		run.FindUnused = *c.FindUnused
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
