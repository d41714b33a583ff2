package soak

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"zbench/bench/base/pattern"
	"zbench/bench/base/plain"
	"zbench/bench/hardware/flush"
)

// Variables are those of the environment that decide which way data take, or when it is seen.
var Variables = []string{
	"NCCL_PROTO", "NCCL_ALGO", flush.Variable, flush.Ordering, "NCCL_NET", "NCCL_NET_PLUGIN", "RCCL_AINIC_ROCE", "NCCL_IB_DISABLE",
	"NCCL_NET_GDR_LEVEL", "NCCL_NET_GDR_READ", "NCCL_DMABUF_ENABLE", "NCCL_P2P_DISABLE", "NCCL_DEBUG", Fence, FenceBefore, "GPU_MAX_HW_QUEUES",
}

// tuned is the line of a launch in the library's log (NCCL_TUNING), with its protocol.
var tuned = pattern.New(`-> Algo \w+ proto (\w+)`)

// Variable is a variable of the environment.
type Variable struct {
	// Name of the variable.
	Name string `json:"name"`
	// Value is empty if it is not set.
	Value string `json:"value"`
}

// Precondition is what must be known for a clean result to say anything.
type Precondition struct {
	// Name is what it is.
	Name string `json:"name"`
	// Text is what was found.
	Text string `json:"text"`
	// Checked is false where it could not be found out.
	Checked bool `json:"checked"`
	// Next is then what would tell.
	Next string `json:"next,omitempty"`
}

// Conditions are what the preconditions are found in.
type Conditions struct {
	Nodes int
	// RCCL is the version of the collectives library, Pollara tells that the NICs are known to be Pollara.
	RCCL    string
	Pollara bool
	Env     func(string) string
	// Log is what the library has logged; empty if that is not known.
	Log string
}

// Variables are those that are set, and those that are not.
func (c Conditions) Variables() []Variable {
	all := []Variable{}
	for _, name := range Variables {
		all = append(all, Variable{name, c.Env(name)})
	}
	return all
}

// Preconditions are all of them, in the order of reading.
func (c Conditions) Preconditions() []Precondition {
	proto, other := c.Env("NCCL_PROTO"), ""
	for _, m := range tuned.FindAllSubmatch([]byte(c.Log), -1) {
		if !strings.EqualFold(string(m[1]), proto) {
			other = ", but the library's log names " + plain.Line(string(m[1]))
		}
	}
	all := []Precondition{{
		Name: "protocol", Checked: proto != "" && !strings.ContainsAny(proto, ",^:") && other == "", Text: "NCCL_PROTO is " + cmp.Or(proto, "not set: the library chooses by size") + other,
		Next: "add --vary NCCL_PROTO, or set it: Simple is the protocol with the known corruption",
	}, {
		Name: "timing", Checked: !strings.EqualFold(c.Env("NCCL_DEBUG"), "TRACE"), Text: "NCCL_DEBUG is " + cmp.Or(c.Env("NCCL_DEBUG"), "not set"),
		Next: "leave TRACE out: it changes when things happen",
	}}
	if c.Nodes > 1 {
		state, row := flush.Of(c.RCCL, c.Pollara, c.Env)
		fence := ""
		if row != nil {
			fence = fmt.Sprintf(" over %s; its fence is %s", row.Transport, cmp.Or(row.Fence.Is, "not known"))
		}
		direct := strings.Contains(c.Log, "GDRDMA")
		all = append(all, Precondition{
			Name: "GDR flush", Checked: state != flush.Unknown, Text: "the flush is " + string(state) + fence, Next: "add --vary " + flush.Variable,
		}, Precondition{
			Name: "GPUDirect", Checked: direct, Text: map[bool]string{true: "the library's log names GDRDMA", false: "no log names GDRDMA"}[direct],
			Next: "set NCCL_DEBUG=INFO, NCCL_DEBUG_SUBSYS=INIT,NET,TUNING and NCCL_DEBUG_FILE=/tmp/rccl.%h.%p: the connections are logged there",
		})
	}
	for i := range all {
		if all[i].Checked {
			all[i].Next = ""
		}
	}
	return all
}

// unchecked are the preconditions that are not known.
func unchecked(all []Precondition) []Precondition {
	return slices.DeleteFunc(slices.Clone(all), func(p Precondition) bool { return p.Checked })
}
