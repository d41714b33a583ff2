// Package trainer is the table of training frameworks and of models: how each framework cuts
// gradients into buckets, which collectives it calls, and when. [Trainer.Plan] returns this. Each
// trainer registers a [Trainer] with its rule, the forms of its settings, and its calls. All
// trainers share packing.go (cutting buckets), messages.go (calls), snippets.go (writing settings),
// and settings.go and config.go (reading settings).
//
// Everywhere in this package a setting is in elements, whatever unit the trainer's knob has.
package trainer

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"zbench/bench/base/pattern"
	"zbench/bench/base/slice"
	"zbench/bench/base/spell"
)

// Units of a trainer's knob.
const (
	Elements = "elements"
	MiB      = "MiB"
	Bytes    = "bytes"
	Blocks   = "blocks"
)

// Trainer is one row of the table.
type Trainer struct {
	// listed is the position in listings.
	listed int
	// Name is the value of --framework, and Title is the name for people.
	Name, Title string
	// Aliases are other names, lower case.
	Aliases []string
	// Knob is the name of the setting, and Unit is its unit.
	Knob, Unit string
	// Flag is the setting as users pass it; empty if it is the same as Knob.
	Flag string
	// Stages are the stages of sharding (Run.Zero) that the trainer has, the usual one first.
	Stages []int
	// GradDtype is the element type of reduced gradients if a bfloat16 model is trained with the
	// defaults.
	GradDtype string
	// InPlace is true if the result of the reduction replaces its input.
	InPlace bool
	// Collectives are the collectives in its plans (names of bench/hardware/collective), over all
	// runs without FP32Accumulation.
	Collectives []string
	// LayerWise is true if the trainer has a layer-wise optimizer; see Run.
	LayerWise bool
	// Default returns the setting, in elements, that the trainer uses if the user sets none.
	Default func(params []Param, run Run) int64
	// Step returns the smallest change of the knob near a setting, in elements, at least 1; nil
	// means 1.
	Step func(setting int64, run Run) int64
	// Memory returns the additional memory that a setting needs, in bytes; nil means none.
	Memory func(plan Plan, setting int64, run Run) int64
	// MemoryIs describes this memory, if users should know what it is; else empty.
	MemoryIs string
	// VocabMultiple is the multiple to which the trainer pads the rows of the embedding on each
	// tensor-parallel rank; 0 means 1.
	VocabMultiple int64
	// Tensors converts a list of tensors, which may have Hugging Face's names, to the trainer's
	// tensors, in which some are fused; nil changes nothing.
	Tensors func(params []Param) []Param
	// Settings lists all possible settings, ascending, for a trainer that has only a few; nil if
	// every multiple of Step is possible.
	Settings func(params []Param, run Run) []int64
	// Unset returns the run as it is if the user sets no bucket size; nil means that the run does
	// not change.
	Unset func(run Run) Run
	// plan makes the plan. A setting of 0 means that the user sets none.
	plan func(in *prepared, setting int64, run Run) Plan
	// Changes are other improvements that its users can make.
	Changes []Change
	// switches are the settings besides the bucket size that the advised run turns on.
	switches []runSwitch
	// forms are the ways to write the setting. The first one is the trainer's own.
	forms []form
	// frontEnds are tools with a form of their own that users can request by name.
	frontEnds []frontEnd
	// reads lists the kinds of files that can be read.
	reads []readable
	// keys are the settings in these files. The list `beside` has settings that other tools also
	// have, so that they do not identify the tool of a file.
	keys, beside []key
	// The list `others` has settings of training methods that are not simulated.
	others []other
	// chosenBy returns the settings by which files of front ends choose this trainer.
	chosenBy func() []choice
	// begin fills in settings before the keys are read. conclude fills in unset settings
	// afterwards. If one of them is nil, this step is skipped.
	begin, conclude func(c *Config, found []Setting)
	// doubts returns warnings about a configuration, given the tensors of the model; nil means that
	// there are none.
	doubts func(c *Config, params []Param) []string
	// size returns the bucket size of a configuration in elements; nil means that it is in one of
	// the usual fields.
	size func(c *Config, run Run) (elements int64, set bool)
}

// Param is one parameter tensor.
type Param struct {
	// Name is the name in the model.
	Name string `json:"name"`
	// Elements is the number of elements of its gradient.
	Elements int64 `json:"elements"`
	// Frozen is the number of elements of a tensor that is not trained. Elements is then 0, because
	// it has no gradient. The tensor is still gathered if parameters are sharded.
	Frozen int64 `json:"frozen,omitempty"`
	// Shape has the sides of the tensor, rows before columns; nil if only the number of elements is
	// known.
	Shape []int64 `json:"shape,omitempty"`
	// Expert is true if only the DP/EP ranks that hold the same expert reduce the gradient, not all
	// DP ranks.
	Expert bool `json:"expert,omitempty"`
	// Block is the number of the transformer block, from 1; 0 if the tensor is in no block.
	Block int `json:"block,omitempty"`
	// Alone is true if Megatron's distributed optimizer gives the tensor a bucket of its own,
	// because another pipeline stage shares this embedding.
	Alone bool `json:"alone,omitempty"`
	// Work is the number of elements that compute for each token: all elements of a dense matrix, 0
	// for an embedding table, k/E of Elements for experts of which k of E are chosen. If it is nil,
	// [Work] guesses. A tensor with work but without elements is computation without a gradient of
	// its own: an output layer that shares the embedding's table.
	Work *float64 `json:"work,omitempty"`
	// Ready is the time at which its gradient is ready, in seconds from the beginning of a backward
	// pass without communication; absent if not measured.
	Ready float64 `json:"ready_seconds,omitempty"`
}

// numberedBlock and numberedExpert match the numbers of the block and of the expert in a tensor's
// name.
var (
	numberedBlock  = pattern.New(`^(?:model\.)?layers\.\d+\.`)
	numberedExpert = pattern.New(`(?:experts\.)?(?:local_experts|experts)\.\d+\.`)
)

// Role returns the part of the name that is the same in every block and expert: "self_attn.q_proj".
func (p Param) Role() string {
	return numberedExpert.ReplaceAllString(numberedBlock.ReplaceAllString(strings.TrimSuffix(p.Name, ".weight"), ""), "experts.")
}

// Held returns the number of elements of the parameter, whether trained or not.
func (p Param) Held() int64 { return p.Elements + p.Frozen }

// Equal reports whether two tensors are equal in every field.
func (p Param) Equal(other Param) bool {
	return p.Name == other.Name && p.Elements == other.Elements && p.Frozen == other.Frozen && slices.Equal(p.Shape, other.Shape) && p.Expert == other.Expert && p.Alone == other.Alone &&
		p.Block == other.Block && p.Ready == other.Ready && (p.Work == other.Work || p.Work != nil && other.Work != nil && *p.Work == *other.Work)
}

// Run describes a training run, as far as it affects the gradients.
type Run struct {
	// DP is the number of ranks that reduce a gradient together, over all instances.
	DP int `json:"dp"`
	// EP is the number of expert-parallel groups among these ranks; 1 or absent means none.
	EP int `json:"ep,omitempty"`
	// TP is the number of tensor-parallel ranks, each of which holds a part of every matrix. Ranks
	// that reduce a gradient together are TP apart. 1 or absent means none.
	TP int `json:"tp,omitempty"`
	// ETP is the number of tensor-parallel ranks for the matrices of routed experts; absent means
	// TP.
	ETP int `json:"etp,omitempty"`
	// GradDtype is the element type of reduced gradients on the wire, a name of
	// bench/hardware/collective.
	GradDtype string `json:"grad_dtype"`
	// ParamDtype is the element type of gathered parameters, a name of bench/hardware/collective.
	ParamDtype string `json:"param_dtype"`
	// Zero is the stage of sharding: 0 none, 1 optimizer states, 2 gradients, 3
	// parameters. Megatron's distributed optimizer is 1, FSDP2 is always 3.
	Zero int `json:"zero"`
	// Accum is the number of microbatches in a step; absent means 1.
	Accum int `json:"accum,omitempty"`
	// NoOverlap is true if the trainer's switch for overlap is off.
	NoOverlap bool `json:"no_overlap,omitempty"`
	// NoGatherOverlap is true if Megatron's --overlap-param-gather is off.
	NoGatherOverlap bool `json:"no_gather_overlap,omitempty"`
	// PadBuckets is Megatron's --ddp-pad-buckets-for-high-nccl-busbw.
	PadBuckets bool `json:"pad_buckets,omitempty"`
	// Instances is Megatron's --num-distributed-optimizer-instances, or the replicas of FSDP2's
	// hybrid sharding; absent means 1.
	Instances int `json:"instances,omitempty"`
	// LayerWise is true if Megatron's sharded optimizer is the layer-wise optimizer, as with Muon.
	// Each matrix is then whole in one rank's share.
	LayerWise bool `json:"layer_wise,omitempty"`
	// LegacyLayout is Megatron's --no-use-layer-wise-param-layout. Gradients are then reduced by
	// all_reduce, in the buckets of an optimizer that does not shard, and parameters are gathered.
	LegacyLayout bool `json:"legacy_layout,omitempty"`
	// FP8Gather is Megatron's --fp8-param-gather. The matrices of the blocks are then stored and
	// gathered in one byte per element, in a separate buffer.
	FP8Gather bool `json:"fp8_gather,omitempty"`
	// FP32Accumulation is Megatron's --ddp-reduce-scatter-with-fp32-accumulation. Gradients are
	// then exchanged by all_to_all and summed locally.
	FP32Accumulation bool `json:"fp32_accumulation,omitempty"`
	// OwnerReduce is true if DeepSpeed's use_multi_rank_bucket_allreduce is off. A bucket is then
	// reduced to each rank that owns a part of it.
	OwnerReduce bool `json:"owner_reduce,omitempty"`
	// GatherBytes is XLA's separate threshold for all_gather, in bytes; absent if the setting
	// applies to all_gather, too.
	GatherBytes int64 `json:"gather_bytes,omitempty"`
	// KeepParams is true if FSDP2 does not free parameters between forward and backward
	// (reshard_after_forward=False).
	KeepParams bool `json:"keep_params,omitempty"`
	// FindUnused is true if DDP's find_unused_parameters is on and the graph is not static. Buckets
	// are then cut in forward order, and every step sends which parameters were used.
	FindUnused bool `json:"find_unused,omitempty"`
	// Caps are the caps of DDP's first buckets, in bytes, separated by spaces, if
	// bucket_cap_mb_list sets them. The setting is the cap of all later buckets.
	Caps string `json:"caps,omitempty"`
	// RootUnit is true if all of FSDP2's tensors outside the blocks form one unit, made by
	// fully_shard(model). Otherwise there is one unit before the blocks and one after them.
	RootUnit bool `json:"root_unit,omitempty"`
}

// Bucket is a set of gradients that one collective reduces.
type Bucket struct {
	// Elements is the number of elements that are sent, including Padding.
	Elements int64 `json:"elements"`
	Padding  int64 `json:"padding,omitempty"`
	// Params is the number of tensors. First and Last are the smallest and the largest of their
	// indices. The gradient of First is ready last.
	Params int `json:"params"`
	First  int `json:"first"`
	Last   int `json:"last"`
	// Expert is true if the bucket is reduced over DP/EP ranks.
	Expert bool `json:"expert,omitempty"`
	// Quantized is the number of elements that are gathered in one byte each.
	Quantized int64 `json:"quantized,omitempty"`
	// Whole is true if no tensor of the bucket is divided between ranks.
	Whole bool `json:"whole,omitempty"`
}

// Never is the Wait of a message for which no computation waits.
const Never = -1

// Message is one call of a collective. Launch and Wait are boundaries between parameters: boundary
// p is before parameter p, 0 ≤ p ≤ the number of parameters. Forward passes the boundaries in
// ascending order, backward in descending order.
type Message struct {
	Collective string `json:"collective"`
	// Bytes is the total size S of the collective.
	Bytes int64 `json:"bytes"`
	// Ranks is the number of ranks in the calling group.
	Ranks int `json:"ranks"`
	// Launch is the boundary at which computation launches the call. Wait is the boundary at which
	// computation waits for its end, or Never.
	Launch int `json:"launch"`
	Wait   int `json:"wait"`
	// Stream numbers the trainer's streams. Calls of one stream run one after the other, even in
	// different groups. Calls of one group also run one after the other. All other calls overlap.
	Stream int `json:"stream,omitempty"`
	// Follows is true if the call uses the result of the previous call in the pass.
	Follows bool `json:"follows,omitempty"`
}

// Plan is what the trainer does with one setting. The messages of a pass are in the order of their
// calls and share one network.
type Plan struct {
	Buckets  []Bucket  `json:"buckets"`
	Backward []Message `json:"backward"`
	Forward  []Message `json:"forward"`
	// After are the calls after the computation, which nothing can hide.
	After []Message `json:"after"`
	// EachBackward is true if every backward pass of a step communicates, not only the last one.
	// EachForward is true if every forward pass communicates, not only the first one.
	EachBackward bool `json:"each_backward"`
	EachForward  bool `json:"each_forward"`
}

// ByName finds a trainer by its name or an alias, in any spelling. With the name of a front end,
// the trainer has the front end's default. The error about an unknown name is a [spell.Unknown].
func ByName(name string) (Trainer, error) {
	if i := spell.Index(table, name, func(t Trainer) (string, []string) { return t.Name, t.Aliases }); i >= 0 {
		t := table[i]
		if f := t.frontEnd(name); f != nil && f.unset != nil {
			t.Default = f.unset
		}
		return t, nil
	}
	if want, known := spell.Match(slices.Sorted(maps.Keys(unsimulated)), name); known {
		return Trainer{}, fmt.Errorf("framework %s: %s", want, unsimulated[want])
	}
	unknown := &spell.Unknown{Kind: "framework", Given: name, Valid: Frameworks()}
	for _, t := range table {
		unknown.Aliases = append(unknown.Aliases, t.Aliases...)
	}
	return Trainer{}, unknown
}

// Alias returns the name or alias of the trainer that was given, in the table's spelling. It
// decides which form of the setting comes first.
func (t Trainer) Alias(given string) string {
	name, _ := spell.Match(append([]string{t.Name}, t.Aliases...), given)
	return name
}

// Frameworks lists the trainers, each followed by its front ends.
func Frameworks() []string {
	var all []string
	for _, t := range table {
		all = append(all, t.Name)
		for _, f := range t.frontEnds {
			all = append(all, f.names[0])
		}
	}
	return all
}

// Names lists the trainers in the order of the table.
func Names() []string {
	return slice.Map(table, func(t Trainer) string { return t.Name })
}

// Plan cuts the parameters, which are in forward order, into buckets and returns the collectives. A
// setting of 0 means that the user sets none. The run must have passed Check.
func (t Trainer) Plan(params []Param, setting int64, run Run) Plan {
	return t.Planner(params).Plan(setting, run)
}

// grouped clears the expert marks of tensors if there are no expert-parallel groups. All ranks then
// reduce experts in the same buckets as other tensors.
func grouped(params []Param, run Run) []Param {
	if run.EP > 1 || run.expertTP() != run.tp() || !slices.ContainsFunc(params, func(p Param) bool { return p.Expert }) {
		return params
	}
	same := slices.Clone(params)
	for i := range same {
		same[i].Expert = false
	}
	return same
}

// Bytes returns the additional memory that a setting needs, in bytes.
func (t Trainer) Bytes(plan Plan, setting int64, run Run) int64 {
	if t.Memory == nil {
		return 0
	}
	return t.Memory(plan, setting, run)
}

// table has the trainers in the order of listings. Each trainer is defined and registered by its
// own file.
var table []Trainer

// register adds a trainer to the table and fills in the usual functions.
func register(t Trainer) {
	if t.Step == nil {
		t.Step = func(int64, Run) int64 { return 1 }
	}
	if t.Tensors == nil {
		t.Tensors = func(params []Param) []Param { return params }
	}
	if t.Settings == nil {
		t.Settings = func([]Param, Run) []int64 { return nil }
	}
	if t.chosenBy == nil {
		t.chosenBy = func() []choice { return nil }
	} else {
		t.chosenBy = sync.OnceValue(t.chosenBy) // looked up for each setting of a file
	}
	if t.Unset == nil {
		t.Unset = func(run Run) Run { return run }
	}
	for _, f := range t.frontEnds {
		t.Aliases = append(t.Aliases, f.names...)
	}
	at, _ := slices.BinarySearchFunc(table, t.listed, func(x Trainer, n int) int { return cmp.Compare(x.listed, n) })
	table = slices.Insert(table, at, t)
}

// unsimulated lists known frameworks that are not supported, because their calls differ from the
// calls of all trainers here. The text has the reason and, if there is one, the alternative.
var unsimulated = map[string]string{
	"maxtext":        "it scans over the layers and lets XLA shard by itself (FSDP), so that calls are combined within one turn of a loop, which is not simulated; for a program that neither scans nor shards parameters ask for xla",
	"horovod":        "it fuses what became ready in a cycle, which no list of tensors tells",
	"nemo_automodel": "each of its models has a plan of its own for FSDP2, which is not read; for a block a unit ask for fsdp2",
	"diffusion":      "Primus' diffusion models have units of their own, which are not read; give one rank's list with --params and a framework",
	"hummingbirdxt":  "it is not read; give one rank's list with --params and a framework",
	"megatron-fsdp":  "its buckets are its own, which ddp_bucket_size does not cut; ask for megatron without --use-megatron-fsdp",
}

// unsimulatedBy returns the framework if only one unsupported framework has the setting, else empty
// text.
func unsimulatedBy(p Setting) string {
	switch p.Key {
	case primusFramework:
		if unsimulated[p.Value] != "" {
			return p.Value
		}
	case "ici_fsdp_parallelism", "dcn_fsdp_parallelism", "ici_tensor_parallelism", "dcn_data_parallelism":
		return "maxtext"
	}
	return ""
}

// Collectives returns the calls of all trainers, each once.
func Collectives() []string {
	var all []string
	for _, t := range table {
		for _, name := range t.Collectives {
			if !slices.Contains(all, name) {
				all = append(all, name)
			}
		}
	}
	return all
}

// Reads names the files that ReadConfig understands, for people.
func Reads() []string {
	return slice.Map(readables(), func(r readable) string { return r.title })
}

// readables returns the files of all trainers.
func readables() (all []readable) {
	for _, t := range table {
		all = append(all, t.reads...)
	}
	return all
}

func largest(p Plan) int64 {
	return slice.Most(p.Buckets, func(b Bucket) int64 { return b.Elements })
}
