package trainer

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"zbench/bench/base/spell"
)

// layerWiseOptimizers are the optimizers whose state Megatron's distributed optimizer shards layer
// by layer: all choices of --optimizer except adam and sgd (NVIDIA/Megatron-LM at d98e8a64,
// megatron/training/arguments.py; since 0044db1f).
var layerWiseOptimizers = []string{"muon", distMuon, "adaptive_muon", "lion", "soap"}

// plainOptimizers are all other optimizers.
var plainOptimizers = []string{"adam", "sgd"}

// OptimizerName returns Megatron's name of an optimizer, given in any spelling. The error is a
// [spell.Unknown].
func OptimizerName(name string) (string, error) {
	return spell.Own("Megatron optimizer", slices.Concat(plainOptimizers, layerWiseOptimizers), name)
}

// LayerWiseOptimizer reports whether Megatron's distributed optimizer keeps the matrices of an
// optimizer whole. The error about an unknown name lists the valid ones.
func LayerWiseOptimizer(name string) (bool, error) {
	own, err := OptimizerName(name)
	return slices.Contains(layerWiseOptimizers, own), err
}

// optimizerKeys are settings that only count together with Megatron's own keys, because other tools
// have an optimizer, too.
var optimizerKeys = []key{
	{names: "config"}, // in Primus, the file that names the optimizer
	{"mixed_precision", func(c *Config, value string) error { // a key of Bridge
		c.fp16 = strings.HasPrefix(value, "fp16")
		c.bf16 = strings.HasPrefix(value, "bf16")
		return nil
	}},
	{"grad_reduce_in_fp32", func(c *Config, value string) error {
		c.said[bridgeReduce] = value
		return nil
	}},
	{"optim.name", func(c *Config, value string) error {
		if value == "mcore_distributed_optim" {
			c.Zero = new(1)
		} else {
			c.refused = errors.New("NeMo 1 reduces for the optimizer " + value + " in buckets of its own, of bucket_cap_mb or grad_allreduce_chunk_size_mb, which ddp_bucket_size does not cut")
		}
		return nil
	}},
	{"optim", func(c *Config, value string) error {
		if strings.HasPrefix(value, distributedAdam) {
			c.Zero = new(1)
		}
		return nil
	}},
	{"optimizer optimizer.optimizer", setOptimizer},
	{legacyKey, isOn(func(c *Config) *bool { return &c.legacyLayout })},
	{"use_layer_wise_param_layout", func(c *Config, value string) error {
		c.legacyLayout = strings.EqualFold(value, "false")
		return nil
	}},
	{"overlap_param_gather_with_optimizer_step optimizer.overlap_param_gather_with_optimizer_step comm_overlap.overlap_param_gather_with_optimizer_step", noBuckets},
	{"num_layers_per_virtual_pipeline_stage num_virtual_stages_per_pipeline_rank virtual_pipeline_model_parallel_size", interleaved},
}

// noBuckets refuses the switch that keeps Megatron from cutting buckets
// (megatron/training/training.py: per_chunk_bucket_sizes is None then).
func noBuckets(c *Config, value string) error {
	on := false
	if err := isOn(func(*Config) *bool { return &on })(c, value); err != nil || !on {
		return err
	}
	return fmt.Errorf("it turns bucketing off, so that no bucket size has an effect: take it out to set one")
}

// interleaved adds a note: with several chunks per stage, only the first chunk is cut into buckets
// (same source).
func interleaved(c *Config, value string) error {
	if n, err := whole(value); err == nil && n > 0 {
		c.Notes = append(c.Notes, "with interleaved stages the bucket size counts on the first chunk of the first stage alone: the list of parameters must be that chunk's")
	}
	return nil
}

// setOptimizer stores the optimizer under one key.
func setOptimizer(c *Config, value string) error {
	c.said["optimizer"] = strings.ToLower(value)
	return nil
}

// layerWise sets the layout of the buffers from the optimizer. In a Primus file, dist_muon is the
// optimizer of the Megatron-LM that Primus pins (AMD-AGI/Primus at fd1eeabb: d3528a21), which
// reduces by all_reduce.
func (c *Config) layerWise(primus bool) {
	optimizer := c.said["optimizer"]
	if !slices.Contains(layerWiseOptimizers, optimizer) {
		return
	}
	sharded := c.Zero != nil && *c.Zero == 1
	pinned := primus && optimizer == distMuon
	switch {
	case optimizer == distMuon || sharded:
		c.Zero, c.LayerWise, c.LegacyLayout = new(1), true, c.legacyLayout || pinned
	default:
		c.Notes = append(c.Notes, optimizer+" without use_distributed_optimizer: every rank steps every matrix, gradients are reduced by all_reduce, and buckets end as with Adam")
	}
	switch {
	case pinned:
		c.Notes = append(c.Notes, "dist_muon is read as in the Megatron-LM that Primus pins (d3528a21): all_reduce in buckets of the size that is set; since 0044db1f (May 2026) it means the layer-wise buffers of optimizer: muon")
	case primus && c.LayerWise:
		c.Notes = append(c.Notes, "the Megatron-LM that Primus pins (d3528a21) refuses optimizer: "+optimizer+" with use_distributed_optimizer: the answer is for one since 0044db1f (May 2026)")
	}
}

// legacyKey is Megatron's argument that turns the layer-wise layout off. distMuon is an optimizer
// that shards itself.
const (
	legacyKey = "no_use_layer_wise_param_layout"
	distMuon  = "dist_muon"
)

// optimizer returns the name of the optimizer for a snippet: the user's optimizer, or muon.
func (s Spelling) optimizer() string {
	if s.Config != nil && s.Config.LayerWise {
		return s.Config.said["optimizer"]
	}
	return "muon"
}

// LayerWiseFloor describes the buffer of matrices that has the most gradients. Ranks is its number
// of ranks, and Total is its number of elements. Largest is the number of elements of its largest
// matrix. No bucket closes below Least elements. OneFrom is the number of ranks from which the
// buffer is one bucket with every setting; 0 if there is no such number up to mostRanks.
type LayerWiseFloor struct {
	Ranks, OneFrom        int
	Total, Largest, Least int64
	Expert                bool
	// Guessed is true if shapes are unknown, so that names decided which tensors are matrices.
	Guessed bool
}

// mostRanks is the largest number of ranks in the search for OneFrom.
const mostRanks = 1 << 16

// LayerWise describes the layer-wise buffers of a run, or returns false if the run has none.
func (p *Planner) LayerWise(run Run) (LayerWiseFloor, bool) {
	if !run.LayerWise || run.LegacyLayout || run.Zero != 1 {
		return LayerWiseFloor{}, false
	}
	in := p.prepared(run)
	if in.floor == nil {
		in.floor = in.layerWiseFloor(run)
	}
	return *in.floor, in.floor.Total > 0
}

func (in *prepared) layerWiseFloor(run Run) *LayerWiseFloor {
	best := &LayerWiseFloor{}
	var most *wholePacking
	for _, expert := range []bool{false, true} {
		w := newWholePacking(in, run, expert)
		f := LayerWiseFloor{Ranks: int(w.dp), Expert: expert}
		for _, x := range w.all {
			f.Total += x.elements
			f.Largest = max(f.Largest, x.elements)
			f.Guessed = f.Guessed || !x.shaped
		}
		if f.Total > best.Total {
			*best, most = f, w
		}
	}
	if most == nil {
		return best
	}
	best.Least = int64(floorShare * float64(int64(best.Ranks)*best.Largest))
	best.OneFrom = most.oneFrom(run.PadBuckets)
	return best
}

// oneFrom returns the number of ranks from which even the smallest setting gives one bucket.
func (w *wholePacking) oneFrom(pad bool) int {
	one := func(dp int) bool {
		return packingOf(w.all, dp, pad).end(0, 1, &chunking{}) == len(w.all)
	}
	if !one(mostRanks) {
		return 0
	}
	lo, hi := 0, mostRanks // the last number with several buckets, and the first with one
	for hi-lo > 1 {
		if mid := (lo + hi) / 2; one(mid) {
			hi = mid
		} else {
			lo = mid
		}
	}
	return hi
}
