package record

import (
	"cmp"

	"zbench/bench/base/slice"
)

// CurveKey identifies a curve. It has all properties of the curve's cases except their size.
type CurveKey struct {
	// Collective is the name of the collective.
	Collective string `json:"collective"`
	// Dtype is the element type, as rccl-tests names it.
	Dtype string `json:"dtype"`
	// Op is the reduction operator; empty where the collective has none.
	Op string `json:"op"`
	// Ranks is the number of ranks; 0 when not known.
	Ranks int `json:"ranks"`
	// Nodes is the number of nodes; 0 when not known.
	Nodes int `json:"nodes"`
	// GPUsPerProcess is how many GPUs one process drives; 0 when not known.
	GPUsPerProcess int `json:"gpus_per_process"`
	// Groups is the number of communicators of this many ranks that ran at once.
	Groups int `json:"groups"`
	// Stride is the distance between the ranks of a group; absent if they are neighbours.
	Stride int `json:"stride,omitempty"`
	// InPlace is true for one buffer, false for two.
	InPlace bool `json:"in_place"`
	// Setup is the devices or settings in which the curve differs from otherwise equal curves; absent if
	// there are none.
	Setup string `json:"setup,omitempty"`
}

// CurveKey returns the key of the case's curve.
func (r *Result) CurveKey() CurveKey {
	return CurveKey{r.Collective, r.Dtype, r.Op, r.Ranks, r.Nodes, r.GPUsPerProcess, r.Groups, r.Stride, r.InPlace, r.Setup}
}

// Compare orders curves: the whole world before its parts, out of place before in place.
func (k CurveKey) Compare(o CurveKey) int {
	return cmp.Or(
		cmp.Compare(k.Collective, o.Collective), cmp.Compare(o.Ranks, k.Ranks), cmp.Compare(o.Nodes, k.Nodes),
		cmp.Compare(k.Groups, o.Groups), cmp.Compare(k.Stride, o.Stride), cmp.Compare(k.GPUsPerProcess, o.GPUsPerProcess), cmp.Compare(k.Dtype, o.Dtype),
		cmp.Compare(k.Op, o.Op), slice.AsInt(k.InPlace)-slice.AsInt(o.InPlace), cmp.Compare(k.Setup, o.Setup),
	)
}
