package trainer

import (
	"fmt"
	"slices"

	"zbench/bench/hardware/collective"
)

// Check refuses a run with options that the trainer does not support.
func (t Trainer) Check(r Run) error {
	for _, d := range []string{r.GradDtype, r.ParamDtype} {
		if _, err := collective.DtypeByName(d); err != nil {
			return err
		}
	}
	switch {
	case r.DP < 1:
		return fmt.Errorf("%d data-parallel ranks: there is at least 1", r.DP)
	case r.TP < 0 || r.ETP < 0:
		return fmt.Errorf("tensor-parallel ranks %d and %d cannot be negative", r.TP, r.ETP)
	case r.DP*r.tp()%r.expertRanks() != 0:
		return fmt.Errorf("%d data-parallel ranks do not divide into %d expert-parallel groups%s", r.DP, r.EP, r.apartWords())
	case r.instances() > 1 && r.DP%r.instances() != 0:
		return fmt.Errorf("%d data-parallel ranks do not divide into %d optimizer instances", r.DP, r.Instances)
	case r.instances() > 1 && r.Ranks(true)%r.instances() != 0:
		return fmt.Errorf("the %d ranks that hold the same experts do not divide into %d optimizer instances", r.Ranks(true), r.Instances)
	case r.LayerWise && !t.LayerWise:
		return fmt.Errorf("%s is not simulated with a layer-wise optimizer: Megatron alone is", t.Title)
	case r.LayerWise && r.instances() > 1:
		return fmt.Errorf("%d optimizer instances: Megatron refuses more than one with the layer-wise optimizer of Muon", r.Instances)
	case r.FP32Accumulation && r.instances() > 1:
		return fmt.Errorf("%d optimizer instances: Megatron refuses more than one with sums in fp32 after an all_to_all", r.Instances)
	case r.Accum < 0 || r.EP < 0 || r.Instances < 0:
		return fmt.Errorf("accumulation %d, expert-parallel groups %d and optimizer instances %d cannot be negative", r.Accum, r.EP, r.Instances)
	case !slices.Contains(t.Stages, r.Zero):
		return fmt.Errorf("%s has no ZeRO stage %d here: valid are %v", t.Name, r.Zero, t.Stages)
	}
	return nil
}

// GradBytes returns the size, in bytes, of a gradient's element on the wire.
func (r Run) GradBytes() int64 { return width(r.GradDtype) }

// param returns the size, in bytes, of a gathered parameter's element.
func (r Run) param() int64 { return width(r.ParamDtype) }

// width returns the size of an element type that Check has accepted.
func width(dtype string) int64 {
	d, err := collective.DtypeByName(dtype)
	if err != nil {
		return 1
	}
	return int64(d.Size)
}

// Microbatches returns Accum, but at least 1.
func (r Run) Microbatches() int { return max(1, r.Accum) }

func (r Run) instances() int { return max(1, r.Instances) }

// shardRanks returns the number of ranks that hold the parts of one copy, which is an optimizer
// instance or a replica.
func (r Run) shardRanks(expert bool) int { return max(1, r.Ranks(expert)/r.instances()) }

// Ranks returns the number of ranks that reduce a gradient together, over all instances. expert
// says whether it is the gradient of an expert.
func (r Run) Ranks(expert bool) int {
	if expert {
		return max(1, r.DP*r.tp()/r.expertRanks())
	}
	return r.DP
}

// Apart returns the distance between two ranks that reduce a gradient together. It is above 1
// because tensor-parallel ranks are neighbours (Megatron-Core's order is tp-cp-ep-dp-pp).
func (r Run) Apart(expert bool) int {
	if expert {
		return r.expertRanks()
	}
	return r.tp()
}

func (r Run) tp() int { return max(1, r.TP) }

// expertTP is the number of ranks that hold parts of one expert's matrix. expertRanks is the number
// of ranks that together hold the experts of a block.
func (r Run) expertTP() int {
	if r.ETP > 0 {
		return r.ETP
	}
	return r.tp()
}

func (r Run) expertRanks() int { return max(1, r.EP) * r.expertTP() }

// apartWords describes the tensor-parallel ranks, for an error about experts.
func (r Run) apartWords() string {
	if r.tp() == 1 && r.expertTP() == 1 {
		return ""
	}
	return fmt.Sprintf(" with %d tensor-parallel ranks, %d of an expert", r.tp(), r.expertTP())
}
