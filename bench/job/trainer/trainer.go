// Package trainer is the table of training frameworks and of models: how each framework cuts the
// gradients into buckets, which collectives it calls, and when. [Trainer.Plan] returns this. Each
// trainer registers a [Trainer]: its rule, the forms of its settings, and its calls. They share
// packing.go (cutting buckets), messages.go (calls), snippets.go (writing settings), and
// settings.go and config.go (reading them).
//
// A setting is in elements everywhere in this package, whatever unit the trainer's own knob has.
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
	// listed is its position in listings.
	listed int
	// Name is the value of --framework, Title the name for people.
	Name, Title string
	// Aliases are other names, lower case.
	Aliases []string
	// Knob is the setting's name and Unit its unit.
	Knob, Unit string
	// Flag is the setting as users pass it if that differs from its name; empty for Knob.
	Flag string
	// Stages are its stages of sharding (Run.Zero), the usual one first.
	Stages []int
	// GradDtype is the element type of reduced gradients when bfloat16 models are trained with the
	// defaults.
	GradDtype string
	// InPlace is true if the reduction's result replaces its input.
	InPlace bool
	// Collectives are the calls of its plans, over all runs except those of FP32Accumulation: names
	// of bench/hardware/collective.
	Collectives []string
	// LayerWise is true if it has a layer-wise optimizer, see Run.
	LayerWise bool
	// Default returns the trainer's own setting in elements if the user sets none.
	Default func(params []Param, run Run) int64
	// Step returns the increment of the knob near a setting in elements, at least 1; nil means 1.
	Step func(setting int64, run Run) int64
	// Memory returns the additional memory for a setting, in bytes; nil means none.
	Memory func(plan Plan, setting int64, run Run) int64
	// MemoryIs describes that memory if a person should know; empty otherwise.
	MemoryIs string
	// VocabMultiple is the multiple to which it pads the rows of the embedding, on each
	// tensor-parallel rank; 0 means 1.
	VocabMultiple int64
	// Tensors converts a list of tensors, possibly with Hugging Face's names, to the trainer's own:
	// fused ones are one tensor; nil changes nothing.
	Tensors func(params []Param) []Param
	// Settings lists all different settings, ascending, for a trainer that has few; nil if any
	// multiple of Step can be set.
	Settings func(params []Param, run Run) []int64
	// Unset returns the run without a bucket size, the trainer's default behaviour; nil means the
	// same run.
	Unset func(run Run) Run
	// plan makes the plan; a setting of 0 is the trainer's behaviour without one.
	plan func(in *prepared, setting int64, run Run) Plan
	// Changes are other possible changes for its users.
	Changes []Change
	// switches are the settings besides the bucket size that the advised run switches on.
	switches []runSwitch
	// forms are the forms of a setting. The first is the trainer's own.
	forms []form
	// frontEnds are the tools with their own form that users request by name.
	frontEnds []frontEnd
	// reads lists the kinds of readable files.
	reads []readable
	// keys are the settings in them; beside are settings that other tools also have, so that they
	// do not identify the tool of a file.
	keys, beside []key
	// others are settings for training methods that are not simulated.
	others []other
	// chosenBy are settings of front ends' files that choose this trainer.
	chosenBy func() []choice
	// begin and conclude fill in unset values, before and after the keys are read; nil
	// does nothing.
	begin, conclude func(c *Config, found []Setting)
	// doubts returns warnings about a configuration for a model of these tensors; nil has none.
	doubts func(c *Config, params []Param) []string
	// size returns the bucket size of a configuration in elements; nil means the field that is set.
	size func(c *Config, run Run) (elements int64, set bool)
}

// Param is one parameter tensor.
type Param struct {
	// Name in the model.
	Name string `json:"name"`
	// Number of elements.
	Elements int64 `json:"elements"`
	// Frozen is the number of elements of an untrained tensor: then Elements, the number of its
	// gradient's, is 0. Its parameters are gathered if all are.
	Frozen int64 `json:"frozen,omitempty"`
	// Shape is the sides of the tensor, rows before columns; nil if only the number of elements is
	// known.
	Shape []int64 `json:"shape,omitempty"`
	// Expert is true if the gradient is reduced over the DP/EP ranks with the same expert, not over
	// all DP.
	Expert bool `json:"expert,omitempty"`
	// Block numbers the transformer block from 1; 0 is outside any.
	Block int `json:"block,omitempty"`
	// Alone is true if Megatron's distributed optimizer gives it its own bucket: an embedding
	// shared by another pipeline stage.
	Alone bool `json:"alone,omitempty"`
	// Work is the number of elements that compute for each token: those of a dense matrix, 0 for an
	// embedding table, k/E of Elements for experts of which k of E are chosen. nil is guessed, see
	// [Work]. A tensor of no elements with work stands for computation without its own gradient:
	// the output layer that shares the embedding's table.
	Work *float64 `json:"work,omitempty"`
	// Ready is when its gradient is ready, in seconds from the beginning of a backward pass without
	// communication; absent if not measured.
	Ready float64 `json:"ready_seconds,omitempty"`
}

// numberedBlock and numberedExpert match the numbers in a tensor's name.
var (
	numberedBlock  = pattern.New(`^(?:model\.)?layers\.\d+\.`)
	numberedExpert = pattern.New(`(?:experts\.)?(?:local_experts|experts)\.\d+\.`)
)

// Role returns the weight's common name in every block and expert: "self_attn.q_proj".
func (p Param) Role() string {
	return numberedExpert.ReplaceAllString(numberedBlock.ReplaceAllString(strings.TrimSuffix(p.Name, ".weight"), ""), "experts.")
}

// Held returns the number of elements of the parameter, trained or not.
func (p Param) Held() int64 { return p.Elements + p.Frozen }

// Equal reports whether all known facts of two tensors are equal.
func (p Param) Equal(other Param) bool {
	return p.Name == other.Name && p.Elements == other.Elements && p.Frozen == other.Frozen && slices.Equal(p.Shape, other.Shape) && p.Expert == other.Expert && p.Alone == other.Alone &&
		p.Block == other.Block && p.Ready == other.Ready && (p.Work == other.Work || p.Work != nil && other.Work != nil && *p.Work == *other.Work)
}

// Run describes the training of a model as far as its gradients are concerned.
type Run struct {
	// DP is the number of ranks that reduce a gradient together, over all instances.
	DP int `json:"dp"`
	// EP is the number of expert-parallel groups among them; 1 or absent is none.
	EP int `json:"ep,omitempty"`
	// TP is the number of tensor-parallel ranks, which hold parts of a matrix. It is the distance
	// of ranks that reduce a gradient together; 1 or absent is none.
	TP int `json:"tp,omitempty"`
	// ETP is the same for a routed expert's matrices; absent means TP.
	ETP int `json:"etp,omitempty"`
	// GradDtype is the element type of reduced gradients on the wire, a name of bench/hardware/collective.
	GradDtype string `json:"grad_dtype"`
	// ParamDtype is the element type of gathered parameters, a name of bench/hardware/collective.
	ParamDtype string `json:"param_dtype"`
	// Zero is the stage of sharding: 0 none, 1 optimizer states, 2 gradients, 3
	// parameters. Megatron's distributed optimizer is 1, FSDP2 is always 3.
	Zero int `json:"zero"`
	// Accum is the number of microbatches in a step; absent is 1.
	Accum int `json:"accum,omitempty"`
	// NoOverlap is true if the trainer's switch for overlap is off.
	NoOverlap bool `json:"no_overlap,omitempty"`
	// NoGatherOverlap is true if Megatron's --overlap-param-gather is off.
	NoGatherOverlap bool `json:"no_gather_overlap,omitempty"`
	// PadBuckets is Megatron's --ddp-pad-buckets-for-high-nccl-busbw.
	PadBuckets bool `json:"pad_buckets,omitempty"`
	// Instances is Megatron's --num-distributed-optimizer-instances, or the replicas of FSDP2's hybrid sharding; absent is 1.
	Instances int `json:"instances,omitempty"`
	// LayerWise is true if Megatron's sharded optimizer is the layer-wise one, as with Muon: each
	// matrix lies whole in one rank's share.
	LayerWise bool `json:"layer_wise,omitempty"`
	// LegacyLayout is --no-use-layer-wise-param-layout: gradients are reduced by
	// all_reduce in the buckets of an optimizer that does not shard, and parameters are
	// gathered.
	LegacyLayout bool `json:"legacy_layout,omitempty"`
	// FP8Gather is Megatron's --fp8-param-gather: matrices of the blocks are stored and gathered in
	// one byte per element, in a separate buffer.
	FP8Gather bool `json:"fp8_gather,omitempty"`
	// FP32Accumulation is Megatron's --ddp-reduce-scatter-with-fp32-accumulation: gradients
	// are exchanged by all_to_all and summed locally.
	FP32Accumulation bool `json:"fp32_accumulation,omitempty"`
	// OwnerReduce is DeepSpeed's use_multi_rank_bucket_allreduce off: a bucket is reduced to each
	// rank that owns a part of it.
	OwnerReduce bool `json:"owner_reduce,omitempty"`
	// GatherBytes is XLA's separate threshold of all_gather, in bytes; absent if the setting
	// decides.
	GatherBytes int64 `json:"gather_bytes,omitempty"`
	// KeepParams is true if FSDP2 does not free parameters between forward and backward
	// (reshard_after_forward=False).
	KeepParams bool `json:"keep_params,omitempty"`
	// FindUnused is DDP's find_unused_parameters without a static graph: buckets are cut in forward
	// order, and every step sends the used parameters.
	FindUnused bool `json:"find_unused,omitempty"`
	// Caps are those of DDP's first buckets, in bytes, separated by spaces, if bucket_cap_mb_list
	// gives each its own; the setting is the cap of later ones.
	Caps string `json:"caps,omitempty"`
	// RootUnit is true if FSDP2's tensors outside all blocks are one unit, that of
	// fully_shard(model), instead of one before the blocks and one after.
	RootUnit bool `json:"root_unit,omitempty"`
}

// Bucket holds the gradients that one collective reduces.
type Bucket struct {
	// Elements is the number sent: the parameters' and Padding.
	Elements int64 `json:"elements"`
	Padding  int64 `json:"padding,omitempty"`
	// Params is the number of tensors, First and Last the smallest and the largest of their
	// indices. The gradient of First is ready last.
	Params int `json:"params"`
	First  int `json:"first"`
	Last   int `json:"last"`
	// Expert is true if it is reduced over DP/EP ranks.
	Expert bool `json:"expert,omitempty"`
	// Quantized is the number of elements that are gathered in a byte each.
	Quantized int64 `json:"quantized,omitempty"`
	// Whole is true if none of its tensors is divided between ranks.
	Whole bool `json:"whole,omitempty"`
}

// Never is the Wait of a message for which no computation waits.
const Never = -1

// Message is one collective call. Launch and Wait are boundaries between
// parameters: boundary p is before parameter p, 0 ≤ p ≤ the number of parameters.
// Forward passes them in ascending order, backward in descending order.
type Message struct {
	Collective string `json:"collective"`
	// Bytes is the total size S, as everywhere in zbench.
	Bytes int64 `json:"bytes"`
	// Ranks is the size of the calling group.
	Ranks int `json:"ranks"`
	// Launch is the boundary that computation must reach for the call, Wait the boundary at which
	// computation waits for its end, or Never.
	Launch int `json:"launch"`
	Wait   int `json:"wait"`
	// Stream numbers the trainer's streams of calls. Calls of one stream follow one another,
	// whatever their groups, and so do those of a group. Others run beside them.
	Stream int `json:"stream,omitempty"`
	// Follows is true if the call uses the result of the previous one in the pass.
	Follows bool `json:"follows,omitempty"`
}

// Plan is the trainer's behaviour with one setting. The messages of a pass are in the order of
// their calls and share one network.
type Plan struct {
	Buckets  []Bucket  `json:"buckets"`
	Backward []Message `json:"backward"`
	Forward  []Message `json:"forward"`
	// After are the calls after the computation, which nothing hides.
	After []Message `json:"after"`
	// EachBackward and EachForward are true if every microbatch communicates, not only
	// the last backward and the first forward of a step.
	EachBackward bool `json:"each_backward"`
	EachForward  bool `json:"each_forward"`
}

// ByName finds a trainer in any spelling of its name or an alias; a front end's name gives the
// front end's default. The error about an unknown name is a [spell.Unknown].
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

// Alias returns the trainer's name or alias given in any spelling: it chooses the form that comes
// first.
func (t Trainer) Alias(given string) string {
	name, _ := spell.Match(append([]string{t.Name}, t.Aliases...), given)
	return name
}

// Frameworks lists the trainers, each with its front ends.
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
// setting of 0 is the trainer's behaviour without one. The run must have passed Check.
func (t Trainer) Plan(params []Param, setting int64, run Run) Plan {
	return t.Planner(params).Plan(setting, run)
}

// grouped clears the expert marks of tensors if there are no expert-parallel groups: then all ranks
// reduce them with the rest, in the same buckets.
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

// Bytes returns the additional memory for a setting.
func (t Trainer) Bytes(plan Plan, setting int64, run Run) int64 {
	if t.Memory == nil {
		return 0
	}
	return t.Memory(plan, setting, run)
}

// table has the trainers in listing order. Each is registered by its own file, which defines it
// completely.
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

// unsimulated are known frameworks that are not supported, because their calls differ from any
// trainer's here, with the alternative.
var unsimulated = map[string]string{
	"maxtext":        "it scans over the layers and lets XLA shard by itself (FSDP), so that calls are combined within one turn of a loop, which is not simulated; for a program that neither scans nor shards parameters ask for xla",
	"horovod":        "it fuses what became ready in a cycle, which no list of tensors tells",
	"nemo_automodel": "each of its models has a plan of its own for FSDP2, which is not read; for a block a unit ask for fsdp2",
	"diffusion":      "Primus' diffusion models have units of their own, which are not read; give one rank's list with --params and a framework",
	"hummingbirdxt":  "it is not read; give one rank's list with --params and a framework",
	"megatron-fsdp":  "its buckets are its own, which ddp_bucket_size does not cut; ask for megatron without --use-megatron-fsdp",
}

// unsimulatedBy returns the only one that has a setting; empty if several do.
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
