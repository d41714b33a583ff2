package trainer

import (
	"cmp"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"sync"

	"zbench/bench/base/slice"
	"zbench/bench/base/unit"
	"zbench/bench/hardware/collective"
)

// Config holds the settings in a trainer's own file. A nil field was not set there.
type Config struct {
	// Trainer is the name of the trainer to which the settings belong.
	Trainer string
	// FrontEnd is the program that starts the trainer, if its name or its file shows this.
	FrontEnd string
	// At most one of these fields is set. It is the bucket size in elements, in bytes of gradients,
	// in bytes of a rank's share, as a number of buckets, or in blocks.
	Elements, Bytes, ShareBytes, Buckets, Blocks *int64
	// GatherBytes is XLA's threshold for all_gather, in bytes.
	GatherBytes *int64
	// Other settings that affect the buckets.
	Zero, Accum, Instances, EP, PP *int
	TP, CP, ETP                    *int
	// FirstStage is the number of blocks in the first pipeline stage; nil if it is an equal share.
	FirstStage *int
	// VocabMultiple overrides Trainer.VocabMultiple.
	VocabMultiple                          *int64
	Overlap, GatherOverlap, Pad, Recompute *bool
	// KeepParams is true for reshard_after_forward=False of FSDP2. RootUnit is true if all tensors
	// outside the blocks form one unit.
	KeepParams, RootUnit *bool
	// FindUnused sets Run.FindUnused.
	FindUnused *bool
	// Caps sets Run.Caps.
	Caps string
	// LayerWise and LegacyLayout set the fields of Run with these names.
	LayerWise, LegacyLayout bool
	// FP8Gather and FP32Accumulation set the fields of Run with these names.
	FP8Gather, FP32Accumulation bool
	// OwnerReduce sets Run.OwnerReduce.
	OwnerReduce           bool
	GradDtype, ParamDtype string
	// LoadedType is true if gradients have the element type of the loaded parameters, which the
	// settings do not state.
	LoadedType bool
	// World is the number of ranks that the file starts; 0 if unknown.
	World int
	// TokensPerMicrobatch is the number of sequences times their length, if both are set.
	TokensPerMicrobatch *int64
	// Notes are sentences about the settings.
	Notes []string

	// The map said has the last value of each key, including keys without a field here.
	said map[string]string

	// asRead is a copy of the settings before defaults were filled in.
	asRead *Config

	// refused is the reason why the bucket size has no effect with these settings.
	refused error
	// auto is true if DeepSpeed computes its bucket size from the model's hidden size.
	auto bool
	// bridge is the value of comm_overlap.bucket_size in Megatron-Bridge.
	bridge *int64

	perNode, nodes int
	// micro is the number of sequences in a microbatch on one rank. global is the number of
	// sequences in a step on all ranks. seq is the length of a sequence in tokens.
	micro, global, seq                 int64
	bf16, fp16, bf16Reduce, fp32Reduce bool
	legacyLayout                       bool
	// uneven is the reason why the layout of the pipeline stages cannot be read; empty if it can.
	uneven string
	// lastStage is the number of blocks in the last pipeline stage; nil if it is an equal share.
	lastStage *int
	// shards is the number of ranks that shard together; 0 if not stated.
	shards int
}

// key is a setting in a file. names are its names in all files, separated by spaces. set applies
// its value; nil means that only the presence of the setting counts.
type key struct {
	names string
	set   func(c *Config, value string) error
}

// Type `other` is a setting of a training method that zbench does not simulate, with its names as
// in key and the reason why zbench gives no bucket size for this method.
type other struct{ names, why string }

// among reports whether a name is one of the names that spaces separate.
func among(names, name string) bool {
	for n := range strings.FieldsSeq(names) {
		if n == name {
			return true
		}
	}
	return false
}

// refusal returns an error if settings of such training methods are on.
func refusal(others []other, found []Setting) error {
	var all []string
	for _, x := range others {
		for _, p := range found {
			if among(x.names, p.Key) && p.Unset == "" && !isUnset(p.Value) && !slices.Contains([]string{"false", "0", "1", "-1"}, strings.ToLower(p.Value)) {
				all = append(all, p.Key+" is not simulated: "+x.why)
				break
			}
		}
	}
	if len(all) == 0 {
		return nil
	}
	return errors.New(strings.Join(all, "; "))
}

// switches reports whether a key is a switch, which needs no value on a command line: its setter
// accepts true, unlike setters of numbers. The keys that take any text are listed here.
func (k key) switches() bool {
	texts := []string{"optimizer", "recompute_granularity", "mixed_precision"}
	return k.set != nil && !slices.ContainsFunc(texts, func(name string) bool { return among(k.names, name) }) && k.set(&Config{said: map[string]string{}}, "true") == nil
}

// launchKeys are settings of launchers, which are the same for all trainers.
var launchKeys = sync.OnceValue(func() []key {
	return []key{
		{"nproc_per_node", ranks(func(c *Config) *int { return &c.perNode })},
		{"nnodes", ranks(func(c *Config) *int { return &c.nodes })},
		{"num_processes world_size", ranks(func(c *Config) *int { return &c.World })},
		{programKey, nil},
	}
})

// batchKeys are settings of the batch and of the trained part of the model, which all trainers
// share.
var batchKeys = sync.OnceValue(func() []key {
	return []key{
		{"global_batch_size train.global_batch_size train_batch_size", batch(func(c *Config) *int64 { return &c.global })},
		{"train_micro_batch_size_per_gpu train.micro_batch_size", batch(func(c *Config) *int64 { return &c.micro })},
		{perDevice, batch(func(c *Config) *int64 { return &c.micro })},
		{"gradient_accumulation_steps", small(func(c *Config) **int { return &c.Accum })},
		{strings.Join(partial, " "), nil},
	}
})

// perDevice is the key for the size of a microbatch in Hugging Face's Trainer. tuning is
// LLaMA-Factory's key for the trained part of the model.
const (
	perDevice = "per_device_train_batch_size"
	tuning    = "finetuning_type"
)

// partial are the keys for the trained part of the model: those of LLaMA-Factory, NeMo, Axolotl, TRL
// and two versions of ms-swift.
var partial = []string{tuning, "peft", "adapter", "use_peft", "train_type", "tuner_type"}

// adapters names the method by which only a small part of the model is trained. It is empty if all
// of the model is trained.
func (c *Config) adapters() string {
	for _, key := range partial {
		switch value := c.said[key]; {
		case !c.on(key) || value == "full":
		case strings.EqualFold(value, "true"):
			return key
		default:
			return value
		}
	}
	return ""
}

// ranks sets a number of ranks. It ignores texts that are not such a number.
func ranks(field func(c *Config) *int) func(*Config, string) error {
	return func(c *Config, value string) error {
		if n, err := strconv.Atoi(value); err == nil && n > 0 && n < 1<<24 {
			*field(c) = n
		}
		return nil
	}
}

// batch sets a number of sequences. It ignores auto and other texts.
func batch(field func(c *Config) *int64) func(*Config, string) error {
	return func(c *Config, value string) error {
		if n, err := whole(value); err == nil {
			*field(c) = n
		}
		return nil
	}
}

// Method `on` reports whether a key is set to a value other than false.
func (c *Config) on(name string) bool {
	value, said := c.said[name]
	on, err := strconv.ParseBool(strings.ToLower(value))
	return said && !isUnset(value) && (on || err != nil)
}

// ReadSettings converts settings to the configuration of a trainer. want is the trainer's name; if
// it is empty, the settings determine the trainer.
func ReadSettings(found []Setting, want string) (*Config, error) {
	c := &Config{Trainer: want, said: map[string]string{}}
	if c.Trainer == "" {
		if c.Trainer = ownerOf(found); c.Trainer == "" {
			if why := refusal(handedOver, found); why != nil {
				return nil, fmt.Errorf("%w: %w", ErrConfig, why)
			}
			return nil, fmt.Errorf("%w in it that tell whose it is: neither %s. Say it with --framework: %s", ErrConfig, strings.Join(signs(), ", nor "), strings.Join(Frameworks(), ", "))
		}
	}
	t, err := ByName(c.Trainer)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	c.Trainer = t.Name
	if c.FrontEnd = chosenFrontEnd(found); t.IsFrontEnd(want) {
		c.FrontEnd = want
	}
	if t.begin != nil {
		t.begin(c, found)
	}
	known, err := c.read(t.keys, found)
	if err != nil {
		return nil, err
	}
	given := slices.DeleteFunc(slices.Clone(found), func(p Setting) bool { return isUnset(p.Value) })
	common, err := c.read(slices.Concat(t.beside, launchKeys(), batchKeys()), given)
	if err != nil {
		return nil, err
	}
	if owner := ownerOf(found); !known && owner != t.Name && (owner != "" || !common) && refusal(handedOver, found) == nil {
		return nil, fmt.Errorf("%w of %s in it", ErrConfig, c.Trainer)
	}
	c.World = cmp.Or(c.World, c.perNode*c.nodes)
	asRead := *c
	c.asRead = &asRead
	if t.conclude != nil {
		t.conclude(c, found)
	}
	if how := c.adapters(); how != "" {
		c.Notes = append(c.Notes, how+" trains a part of the model: only its gradients are reduced, and the list of parameters must be theirs (--params)")
	}
	if c.refused = cmp.Or(refusal(slices.Concat(t.others, handedOver), found), c.refused); c.refused != nil {
		return nil, fmt.Errorf("%w on which a bucket size has an effect: %w", ErrConfig, c.refused)
	}
	return c, nil
}

// read applies the keys to the settings, and reports whether one of the settings was known.
func (c *Config) read(keys []key, found []Setting) (known bool, err error) {
	for _, p := range found {
		for _, k := range keys {
			if !among(k.names, p.Key) {
				continue
			}
			known = true
			value := strings.TrimSpace(p.Value)
			if p.Unset != "" && (value != "true" || !k.switches()) {
				value = ""
				c.Notes = append(c.Notes, fmt.Sprintf("%s is %s there, which the file does not set: it counts as not given", p.Key, p.Unset))
			}
			c.said[p.Key] = value
			if k.set == nil {
				continue
			}
			if err := k.set(c, value); err != nil {
				return known, fmt.Errorf("%w: %s: %w", ErrConfig, p.Key, err)
			}
		}
	}
	return known, nil
}

// AsRead returns the settings before defaults were filled in.
func (c *Config) AsRead() *Config { return cmp.Or(c.asRead, c) }

// SaysAccumulation reports whether the settings determine the number of microbatches in a step.
func (c *Config) SaysAccumulation() bool { return c.Accum != nil || c.global > 0 && c.micro > 0 }

// SaysTypes reports whether the settings determine an element type.
func (c *Config) SaysTypes() bool { return c.GradDtype != "" || c.bf16 || c.fp16 }

// Optimizer returns the name of the optimizer in the settings, or empty text.
func (c *Config) Optimizer() string { return c.said["optimizer"] }

// tokens computes the tokens of a microbatch on one rank, if the number and the length of its
// sequences are set.
func (c *Config) tokens() {
	if c.micro == 0 || c.seq == 0 {
		return
	}
	c.TokensPerMicrobatch = new(c.micro * c.seq)
	if c.CP != nil {
		*c.TokensPerMicrobatch /= int64(max(1, *c.CP))
	}
}

// Microbatches returns the number of microbatches in a step with dp data-parallel ranks, which
// include context-parallel ranks; 0 if unknown. The result is the number of sequences in a step
// divided by the number of sequences in one microbatch on all ranks, as in Megatron
// (core/num_microbatches_calculator.py) and DeepSpeed (runtime/config.py,
// _set_batch_related_parameters). If the number is an assumption, the note says so.
func (c *Config) Microbatches(dp int) (n int, note string) {
	if c.Accum != nil {
		return *c.Accum, ""
	}
	if c.global == 0 || c.micro == 0 {
		return 0, "it does not say how many microbatches a step has: 1 is assumed (--accum)"
	}
	cp := 1
	if c.CP != nil {
		cp = max(1, *c.CP)
	}
	replicas := int64(max(1, dp/cp))
	if c.global%(c.micro*replicas) != 0 {
		return 0, fmt.Sprintf("a step of %d sequences does not divide by %d per microbatch on %d data-parallel ranks: 1 microbatch per step is assumed (--accum)", c.global, c.micro, replicas)
	}
	return int(min(c.global/(c.micro*replicas), 1<<20)), ""
}

// signs returns the texts by which kinds of files are recognised.
func signs() []string {
	return slices.DeleteFunc(slice.Map(readables(), func(r readable) string { return r.sign }), func(s string) bool { return s == "" })
}

// ownerOf returns the trainer of a file. A program that is not simulated owns its file, whatever
// else is in it. A front end's file may choose the trainer. In all other cases, the settings that
// only one trainer has are counted for each trainer. ownerOf returns the trainer with the most such
// settings, and among equal trainers the first.
func ownerOf(found []Setting) string {
	for _, p := range found {
		if p.Key == programKey {
			return p.Value
		}
		for _, t := range table {
			if slices.ContainsFunc(t.chosenBy(), func(x choice) bool { return x.by == p }) {
				return t.Name
			}
		}
	}
	best, most := "", 0
	for _, t := range table {
		if n := slice.Count(found, t.owns); n > most {
			best, most = t.Name, n
		}
	}
	return best
}

// choice is a setting that chooses the trainer in a front end's file. frontEnd is the front end's
// name if it has its own form.
type choice struct {
	by       Setting
	frontEnd string
}

// chosen returns one choice for each value of a key.
func chosen(frontEnd, key string, values ...string) []choice {
	return slice.Map(values, func(value string) choice { return choice{Setting{Key: key, Value: value}, frontEnd} })
}

// chosenFrontEnd returns the front end of the file, or empty text if the file does not show it.
func chosenFrontEnd(found []Setting) string {
	for _, t := range table {
		for _, x := range t.chosenBy() {
			if x.frontEnd != "" && slices.Contains(found, x.by) {
				return x.frontEnd
			}
		}
	}
	return ""
}

// hasKey and hasOther report whether a list has an entry of this name.
func hasKey(list []key, name string) bool {
	return slices.ContainsFunc(list, func(k key) bool { return among(k.names, name) })
}

func hasOther(list []other, name string) bool {
	return slices.ContainsFunc(list, func(x other) bool { return among(x.names, name) })
}

// sharedKey reports whether all trainers share a key.
func sharedKey(name string) bool { return hasKey(batchKeys(), name) || hasOther(handedOver, name) }

// Method `own` reports whether a setting belongs to the trainer, without settings that other tools
// also have.
func (t Trainer) own(p Setting) bool { return hasKey(t.keys, p.Key) || hasOther(t.others, p.Key) }

// Method `has` reports whether a setting belongs to the trainer, even if other tools also have it.
func (t Trainer) has(p Setting) bool { return t.own(p) || hasKey(t.beside, p.Key) }

// owns reports whether a setting belongs to this trainer and to no other.
func (t Trainer) owns(p Setting) bool {
	return t.own(p) && !slices.Contains(common, p.Key) &&
		!slices.ContainsFunc(table, func(other Trainer) bool { return other.Name != t.Name && other.has(p) })
}

// common are settings that other tools use, too, although the table does not list them.
var common = []string{"bf16", "fp16", "micro_batch_size", "model_parallel_size"}

func orElse[T any](to **T, value T) {
	if *to == nil {
		*to = &value
	}
}

// Setting returns the bucket size in elements, and false if the file sets none.
func (c *Config) Setting(params []Param, run Run) (int64, bool) {
	if t, err := ByName(c.Trainer); err == nil && t.size != nil {
		return t.size(c, run)
	}
	switch {
	case c.Elements != nil:
		return *c.Elements, true
	case c.Bytes != nil:
		return roundUp(*c.Bytes, run.GradBytes()) / run.GradBytes(), true
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

// Spelled converts a setting from the trainer's unit to elements: 25 for DDP means 25 MiB of
// gradients. It returns 0 for "default", which is the trainer's behaviour without a setting.
func (t Trainer) Spelled(text string, params []Param, run Run) (int64, error) {
	if text == "default" {
		return 0, nil
	}
	if isUnset(text) {
		return 0, fmt.Errorf("setting %q: write default for a trainer that is left as it is", text)
	}
	if n, err := unit.ParseCount(text); err == nil && t.Unit == Elements {
		text = strconv.FormatInt(n, 10)
	}
	for _, k := range t.keys {
		name, _, _ := strings.Cut(k.names, " ")
		c, err := ReadSettings([]Setting{{Key: name, Value: text}}, t.Name)
		if err != nil {
			return 0, fmt.Errorf("setting %q: %w", text, err)
		}
		if n, set := c.Setting(params, run); set && n > 0 {
			return n, nil
		}
	}
	return 0, fmt.Errorf("setting %q: %s sets no such %s", text, t.Title, t.Knob)
}

// Doubts returns warnings about the file, given the tensors of the model.
func (c *Config) Doubts(params []Param) []string {
	if t, err := ByName(c.Trainer); err == nil && t.doubts != nil {
		return t.doubts(c, params)
	}
	return nil
}

// Apply copies the values that the file sets into the run.
func (c *Config) Apply(run *Run) {
	for _, x := range []struct{ to, from *int }{
		{&run.Zero, c.Zero}, {&run.Accum, c.Accum}, {&run.Instances, c.Instances}, {&run.EP, c.EP}, {&run.TP, c.TP}, {&run.ETP, c.ETP},
	} {
		set(x.to, x.from)
	}
	for _, x := range []struct{ to, from *bool }{{&run.PadBuckets, c.Pad}, {&run.KeepParams, c.KeepParams}, {&run.FindUnused, c.FindUnused}, {&run.RootUnit, c.RootUnit}} {
		set(x.to, x.from)
	}
	set(&run.GatherBytes, c.GatherBytes)
	run.NoOverlap = c.Overlap != nil && !*c.Overlap || c.Overlap == nil && run.NoOverlap
	run.NoGatherOverlap = c.GatherOverlap != nil && !*c.GatherOverlap || c.GatherOverlap == nil && run.NoGatherOverlap
	run.LayerWise, run.LegacyLayout, run.FP8Gather = c.LayerWise, c.LegacyLayout, c.FP8Gather
	run.FP32Accumulation, run.OwnerReduce, run.Caps = c.FP32Accumulation, c.OwnerReduce, c.Caps
	run.GradDtype, run.ParamDtype = cmp.Or(c.GradDtype, run.GradDtype), cmp.Or(c.ParamDtype, run.ParamDtype)
}

// set copies a value, unless the pointer to it is nil.
func set[T any](to, from *T) {
	if from != nil {
		*to = *from
	}
}

// setter returns a function that reads a value into a field, unless the value stands for the
// default.
func setter[T any](field func(c *Config) *T, read func(value string) (T, error)) func(*Config, string) error {
	return func(c *Config, value string) error {
		if isUnset(value) {
			return nil
		}
		v, err := read(value)
		if err == nil {
			*field(c) = v
		}
		return err
	}
}

// plainForm returns a setter for a whole number.
func plainForm(field func(c *Config) *int64) func(*Config, string) error { return setter(field, whole) }

// Function `into` returns a setter for a size. The unit of the size is scale bytes.
func into(field func(c *Config) **int64, scale int64) func(*Config, string) error {
	return setter(field, func(value string) (*int64, error) {
		n, err := scaled(value, scale)
		return &n, err
	})
}

// small returns a setter for a small number, such as a number of ranks.
func small(field func(c *Config) **int) func(*Config, string) error {
	return setter(field, func(value string) (*int, error) {
		n, err := strconv.Atoi(value)
		if err != nil || n < 0 || n > 1<<20 {
			return nil, fmt.Errorf("%q is not a number", value)
		}
		return &n, nil
	})
}

// flag returns a setter for a switch.
func flag(field func(c *Config) **bool) func(*Config, string) error {
	return setter(field, func(value string) (*bool, error) {
		on, err := strconv.ParseBool(strings.ToLower(value))
		return new(on || err != nil), nil // the value is not a Boolean if another argument follows --flag
	})
}

// dtype returns a setter for the name of an element type.
func dtype(field func(c *Config) *string) func(*Config, string) error {
	return setter(field, func(value string) (string, error) {
		d, err := collective.DtypeByName(value)
		return d.Name, err
	})
}

// isOn returns a setter for a switch that is on unless its value is false or unset.
func isOn(field func(c *Config) *bool) func(*Config, string) error {
	return func(c *Config, value string) error {
		*field(c) = !strings.EqualFold(value, "false") && !isUnset(value)
		return nil
	}
}

// whole reads a positive whole number as configurations write it: 40000000, 40_000_000, 5e8,
// 128*1024*1024.
func whole(value string) (int64, error) {
	product := new(big.Rat).SetInt64(1)
	for part := range strings.SplitSeq(strings.ReplaceAll(value, "_", ""), "*") {
		part = strings.TrimSpace(part)
		f, ok := new(big.Rat), len(part) > 0 && len(part) <= 24 && strings.Trim(part, "0123456789.eE+") == ""
		if _, exponent, has := strings.Cut(strings.ToLower(part), "e"); has && len(exponent) > 3 {
			ok = false
		}
		if ok {
			_, ok = f.SetString(part)
		}
		if !ok {
			return 0, fmt.Errorf("%q is not a number", value)
		}
		product.Mul(product, f)
	}
	if !product.IsInt() || product.Sign() <= 0 || !product.Num().IsInt64() || product.Num().Int64() > 1<<53 {
		return 0, fmt.Errorf("%q is not a positive whole number", value)
	}
	return product.Num().Int64(), nil
}

// scaled reads a number that counts units of scale bytes and may have decimals.
func scaled(value string, scale int64) (int64, error) {
	if scale == 1 {
		return whole(value)
	}
	r, ok := new(big.Rat), len(value) > 0 && len(value) <= 64 && strings.Trim(value, "0123456789.") == ""
	if ok {
		_, ok = r.SetString(value)
	}
	if !ok {
		return 0, fmt.Errorf("%q is not a number", value)
	}
	r.Mul(r, new(big.Rat).SetInt64(scale))
	n := new(big.Int).Quo(r.Num(), r.Denom()) // DDP cuts off fractions of a byte
	if n.Sign() <= 0 || !n.IsInt64() || n.Int64() > 1<<53 {
		return 0, fmt.Errorf("%q is not a positive size", value)
	}
	return n.Int64(), nil
}

// isUnset reports whether a value means "use the default".
func isUnset(value string) bool {
	return slices.Contains([]string{"", "null", "none", "auto", "~"}, strings.ToLower(value))
}
