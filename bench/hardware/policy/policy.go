// Package policy describes how a communicator is created and its buffers are registered, and which
// collectives benefit from that. A library accepts any combination. If a library does not support the
// combination for a collective, it runs the collective with its usual kernels.
package policy

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"zbench/bench/base/pattern"
	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
	"zbench/bench/base/unit"
	"zbench/bench/hardware/collective"
)

// Policy is what a run requests of the library besides the calls. The zero Policy requests nothing.
type Policy struct {
	// Register says how buffers are registered: empty (not at all), buffer or window.
	Register string `json:"register,omitempty"`
	// CTA is the policy for compute units: empty (the library decides), efficiency, or zero (use
	// copy engines).
	CTA string `json:"cta_policy,omitempty"`
}

// Values of Register and CTA. None and Default are names of the empty values.
const (
	None       = "none"
	Buffer     = "buffer"
	Window     = "window"
	Default    = "default"
	Efficiency = "efficiency"
	Zero       = "zero"
)

// Registers returns the valid values of --register.
func Registers() []string { return []string{None, Buffer, Window} }

// CTAs returns the valid values of --cta-policy, in the order of their numbers in the library's
// configuration.
func CTAs() []string { return []string{Default, Efficiency, Zero} }

// Check returns an error that lists the valid values if a list contains an invalid value or a
// duplicate.
func Check(registers, ctas []string) error {
	for _, of := range [][2][]string{{registers, Registers()}, {ctas, CTAs()}} {
		unknown := slices.ContainsFunc(of[0], func(word string) bool { return !slices.Contains(of[1], word) })
		if unknown || len(slice.Distinct(of[0])) < len(of[0]) {
			return fmt.Errorf("register %q, cta_policy %q: valid are %q and %q, each once", registers, ctas, Registers(), CTAs())
		}
	}
	return nil
}

// All returns all combinations of two lists; an empty list means None or Default.
func All(registers, ctas []string) (all []Policy) {
	for _, register := range orOne(registers) {
		for _, cta := range orOne(ctas) {
			p := Policy{Register: register, CTA: cta}
			if register == None {
				p.Register = ""
			}
			if cta == Default {
				p.CTA = ""
			}
			if !slices.Contains(all, p) {
				all = append(all, p)
			}
		}
	}
	return all
}

func orOne(list []string) []string {
	if len(list) == 0 {
		return []string{""}
	}
	return list
}

// Number returns the policy as the value of CTAPolicy in ncclConfig_t.
func (p Policy) Number() int { return max(0, slices.Index(CTAs(), p.CTA)) }

// String returns the policy's name, or empty text for the zero Policy.
func (p Policy) String() string {
	var parts []string
	if p.Register != "" {
		parts = append(parts, "register "+p.Register)
	}
	if p.CTA != "" {
		parts = append(parts, "CTA "+p.CTA)
	}
	return strings.Join(parts, ", ")
}

// Split splits a result's setup. name is the policy's name at its beginning, or empty; rest is the
// remainder, such as a skew.
func Split(setup string) (name, rest string) {
	for _, p := range All(Registers(), CTAs()) {
		if n := p.String(); len(n) > len(name) && strings.HasPrefix(setup+", ", n+", ") {
			name = n
		}
	}
	return name, strings.TrimPrefix(strings.TrimPrefix(setup, name), ", ")
}

// Named reports whether a setup begins with a policy, which means that its result was measured with
// that policy.
func Named(setup string) bool {
	name, _ := Split(setup)
	return name != ""
}

// Library holds the facts about a library that decide whether it supports a policy.
type Library struct {
	// Name is the library's name with its version. Version is the version alone. NCCL is true for
	// NCCL and false for RCCL.
	Name, Version string
	NCCL          bool
	// CUMem is true if NCCL_CUMEM_ENABLE is 1.
	CUMem bool
	// Lacks returns the public name of the first given symbol that the library lacks, or empty text
	// if it has all of them.
	Lacks func(symbols ...string) string
}

// Ran says how the library ran a collective, according to the library. The zero Ran means that the
// library did not report it.
type Ran struct {
	// By is the library's name of the method. CE and Copy Engine mean copy engines. SYM and Symmetric mean
	// kernels on windows. All other names are algorithms. Source says where the library reported it.
	By, Source string
}

// tuned matches a line of NCCL_DEBUG_SUBSYS=TUNING (NVIDIA/nccl at v2.30.7: src/enqueue.cc, src/ce_coll.cc
// and src/scheduler/symmetric_sched.cc).
var tuned = pattern.New(`NCCL INFO (\w+)(?: \[([^\]\n]+)\])?: \d+ Bytes -> (?:Algo (\w+))?`)

// Logged returns how the last launch of a collective ran, from the tuning lines that the launches
// logged. A collective without such a line was made of messages.
func Logged(lines []byte, c collective.Collective) Ran {
	ran := Ran{By: "messages", Source: "NCCL_DEBUG_SUBSYS=TUNING"}
	for _, m := range tuned.FindAllSubmatch(lines, -1) {
		if of, err := collective.ByName(string(m[1])); err == nil && of.Name == c.Name {
			ran.By = cmp.Or(string(m[2]), string(m[3]))
		}
	}
	return ran
}

// Untold and UntoldHint are the warning and its hint for a result with a policy if the library does
// not report how it ran the collective.
const (
	Untold     = " NOT CHECKED: what ran; the library's version and functions alone say that the policy is served."
	UntoldHint = "set NCCL_DEBUG=INFO, NCCL_DEBUG_SUBSYS=TUNING and NCCL_DEBUG_FILE=FILE, with no % in FILE but %h and %p: the library logs what runs each call, which costs small messages some time"
)

// Denied returns the reason why a case did not run as the policy requests. It returns empty text if the
// case ran as requested, or if this is unknown.
func (p Policy) Denied(ran Ran) string {
	switch {
	case ran == Ran{}, p.CTA == "",
		p.CTA == Zero && slices.Contains([]string{"CE", "CE2", "Copy Engine", "Hierarchical CE"}, ran.By),
		p.CTA == Efficiency && strings.HasPrefix(ran.By, "NVLS"):
		return ""
	}
	return fmt.Sprintf("the library ran it by %s (%s), not as CTA policy %s asks", ran.By, ran.Source, p.CTA)
}

// needs lists the symbols that each kind of registration requires.
var needs = map[string][]string{
	"": nil, Buffer: {"collMalloc", "collFree", "commRegister", "commDeregister"}, Window: {"collMalloc", "collFree", "windowRegister", "windowDeregister"},
}

// Unserved returns the missing condition if the library would not run the collective as the policy
// requests, or empty text if it would. Sources: NVIDIA/nccl at v2.30.7 (src/enqueue.cc, taskAppend;
// src/ce_coll.cc, ncclCeAvailable) and RCCL's changelog.
func (p Policy) Unserved(c collective.Collective, nodes int, l Library) string {
	if name := l.Lacks(needs[p.Register]...); name != "" {
		return fmt.Sprintf("%s has no %s, which --register %s needs", l.Name, name, p.Register)
	}
	if p.CTA == "" {
		return ""
	}
	before := func(version string) bool { return l.Version != "" && plain.Version(l.Version, version) < 0 }
	if name := l.Lacks("commInitConfig"); name != "" {
		return fmt.Sprintf("%s has no %s, which --cta-policy needs", l.Name, name)
	}
	if before("2.27.3") {
		return l.Name + " has no CTA policies: they came with 2.27.3"
	}
	if p.CTA == Efficiency {
		switch {
		case !l.NCCL:
			return "CTA policy efficiency selects NVLS, which RCCL does not have"
		case c.Rooted || c.SendShare == c.RecvShare:
			return "CTA policy efficiency serves all_gather and reduce_scatter, not " + c.Name
		case p.Register != Buffer:
			return "CTA policy efficiency needs registered buffers: --register buffer"
		}
		return ""
	}
	switch {
	case before("2.28.3"):
		return l.Name + " has no copy engines: they came with 2.28.3"
	case c.Reduces:
		return "copy engines move data and reduce none: " + c.Name + " needs kernels"
	case !c.Copied:
		return "copy engines do not serve " + c.Name
	case p.Register != Window:
		return "copy engines need windows on both buffers: --register window"
	case nodes > 1 && before("2.30.6"):
		return "before 2.30.6 copy engines serve one node only; this is " + l.Name
	case nodes > 1 && !l.NCCL && !l.CUMem:
		return "RCCL's copy engines serve several nodes with NCCL_CUMEM_ENABLE=1 only"
	}
	return ""
}

// Told describes the logarithm of a ratio of times in words. Within the limit it says that the
// times are equal.
func Told(log, limit float64, less, more string) string {
	if !(math.Abs(log) > limit) {
		return "as long within " + unit.Part(limit)
	}
	return Change(log, less, more) + " ± " + unit.Part(limit)
}

// Change describes the logarithm of a ratio of times in words.
func Change(log float64, less, more string) string {
	if log < 0 {
		return unit.Part(1-math.Exp(log)) + " " + less
	}
	return unit.Part(math.Exp(log)-1) + " " + more
}
