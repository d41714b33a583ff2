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

// Variables are the environment variables that decide how data travel, or when they become visible.
var Variables = []string{
	"NCCL_PROTO", "NCCL_ALGO", flush.Variable, flush.Ordering, "NCCL_NET", "NCCL_NET_PLUGIN", "RCCL_AINIC_ROCE", "NCCL_IB_DISABLE",
	"NCCL_NET_GDR_LEVEL", "NCCL_NET_GDR_READ", "NCCL_DMABUF_ENABLE", "NCCL_P2P_DISABLE", "NCCL_DEBUG", Fence, FenceBefore, "GPU_MAX_HW_QUEUES",
}

// `tuned` matches the line about a launch in the library's log (NCCL_TUNING), with its protocol.
var tuned = pattern.New(`-> Algo \w+ proto (\w+)`)

// Variable is an environment variable.
type Variable struct {
	// Name of the variable.
	Name string `json:"name"`
	// Value is empty if the variable is not set.
	Value string `json:"value"`
}

// Precondition is something that must be known before a clean result means anything.
type Precondition struct {
	// Name of the precondition.
	Name string `json:"name"`
	// Text describes what was found.
	Text string `json:"text"`
	// Checked is false if the precondition could not be determined.
	Checked bool `json:"checked"`
	// Next says how to determine the precondition; absent if it was determined.
	Next string `json:"next,omitempty"`
}

// Conditions are the inputs of the preconditions.
type Conditions struct {
	Nodes int
	// RCCL is the version of the collectives library. Pollara is true if the NICs are known to be Pollara.
	RCCL    string
	Pollara bool
	Env     func(string) string
	// Log is the library's log; empty if unknown.
	Log string
}

// Variables returns all Variables with their values, also variables that are not set.
func (c Conditions) Variables() []Variable {
	all := []Variable{}
	for _, name := range Variables {
		all = append(all, Variable{name, c.Env(name)})
	}
	return all
}

// Preconditions returns all preconditions in reading order.
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

// unchecked returns the preconditions that could not be determined.
func unchecked(all []Precondition) []Precondition {
	return slices.DeleteFunc(slices.Clone(all), func(p Precondition) bool { return p.Checked })
}
