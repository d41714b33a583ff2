// Package policy holds how a communicator is made and its buffers are registered, and which collectives that serves: a
// library takes any combination and runs what it does not serve by its usual kernels.
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

// Policy is what is asked of the library beside the call. The zero Policy asks for nothing.
type Policy struct {
	// Register is how the buffers are registered: empty (not at all), buffer or window.
	Register string `json:"register,omitempty"`
	// CTA is the policy of compute units: empty (the library's own), efficiency or zero, which asks for copy engines.
	CTA string `json:"cta_policy,omitempty"`
}

// The ways, and what stands for none of them.
const (
	None       = "none"
	Buffer     = "buffer"
	Window     = "window"
	Default    = "default"
	Efficiency = "efficiency"
	Zero       = "zero"
)

// Registers lists the values of --register, CTAs those of --cta-policy. The place of the latter is their number in the
// library's configuration.
func Registers() []string { return []string{None, Buffer, Window} }

// CTAs are the values of --cta-policy.
func CTAs() []string { return []string{Default, Efficiency, Zero} }

// Check is an error that names the values, if there are others in lists of the two, or one twice.
func Check(registers, ctas []string) error {
	for _, of := range [][2][]string{{registers, Registers()}, {ctas, CTAs()}} {
		unknown := slices.ContainsFunc(of[0], func(word string) bool { return !slices.Contains(of[1], word) })
		if unknown || len(slice.Distinct(of[0])) < len(of[0]) {
			return fmt.Errorf("register %q, cta_policy %q: valid are %q and %q, each once", registers, ctas, Registers(), CTAs())
		}
	}
	return nil
}

// All combines lists of the two; empty ones are None and Default.
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

// Number is the value of CTAPolicy in ncclConfig_t.
func (p Policy) Number() int { return max(0, slices.Index(CTAs(), p.CTA)) }

// String names the policy; it is empty for the zero Policy.
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

// Split takes the name of a policy from the front of a result's setup, empty if there is none, and returns the rest of it,
// such as a skew.
func Split(setup string) (name, rest string) {
	for _, p := range All(Registers(), CTAs()) {
		if n := p.String(); len(n) > len(name) && strings.HasPrefix(setup+", ", n+", ") {
			name = n
		}
	}
	return name, strings.TrimPrefix(strings.TrimPrefix(setup, name), ", ")
}

// Named reports whether a result with this setup was measured with a policy.
func Named(setup string) bool {
	name, _ := Split(setup)
	return name != ""
}

// Library is what decides whether a policy is served.
type Library struct {
	// Name is the library with its version, Version that alone. NCCL tells it from RCCL.
	Name, Version string
	NCCL          bool
	// CUMem tells that NCCL_CUMEM_ENABLE is 1.
	CUMem bool
	// Lacks returns the public name of the first of these symbols that the library lacks; empty if it has all.
	Lacks func(symbols ...string) string
}

// Ran is what ran a collective, as the library tells it. The zero Ran is that it does not.
type Ran struct {
	// By is the library's name for it: CE and Copy Engine are copy engines, SYM and Symmetric kernels on windows, others
	// algorithms. Source is where it says so.
	By, Source string
}

// tuned is a line of NCCL_DEBUG_SUBSYS=TUNING (NVIDIA/nccl at v2.30.7: src/enqueue.cc, src/ce_coll.cc and
// src/scheduler/symmetric_sched.cc).
var tuned = pattern.New(`NCCL INFO (\w+)(?: \[([^\]\n]+)\])?: \d+ Bytes -> (?:Algo (\w+))?`)

// Logged is what ran the last launch of a collective by the lines of tuning that its launches wrote. What has no line was
// made of messages.
func Logged(lines []byte, c collective.Collective) Ran {
	ran := Ran{By: "messages", Source: "NCCL_DEBUG_SUBSYS=TUNING"}
	for _, m := range tuned.FindAllSubmatch(lines, -1) {
		if of, err := collective.ByName(string(m[1])); err == nil && of.Name == c.Name {
			ran.By = cmp.Or(string(m[2]), string(m[3]))
		}
	}
	return ran
}

// Untold and UntoldHint are for results with a policy of which the library does not tell what ran them.
const (
	Untold     = " NOT CHECKED: what ran; the library's version and functions alone say that the policy is served."
	UntoldHint = "set NCCL_DEBUG=INFO, NCCL_DEBUG_SUBSYS=TUNING and NCCL_DEBUG_FILE=FILE, without % in FILE: the library logs what runs each call, which costs small messages some time"
)

// Denied is the reason why a case was not run as the policy asks, by what ran it; empty if it was, or nobody knows.
func (p Policy) Denied(ran Ran) string {
	served := ran == Ran{}
	switch p.CTA {
	case Zero:
		served = served || slices.Contains([]string{"CE", "CE2", "Copy Engine", "Hierarchical CE"}, ran.By)
	case Efficiency:
		served = served || strings.HasPrefix(ran.By, "NVLS")
	default:
		served = true
	}
	if served {
		return ""
	}
	return fmt.Sprintf("the library ran it by %s (%s), not as CTA policy %s asks", ran.By, ran.Source, p.CTA)
}

// needs are the symbols that a way of registering takes.
var needs = map[string][]string{
	"": nil, Buffer: {"collMalloc", "collFree", "commRegister", "commDeregister"}, Window: {"collMalloc", "collFree", "windowRegister", "windowDeregister"},
}

// Unserved is the condition for which the library would not run the collective as the policy asks; empty if it does.
// The sources are NVIDIA/nccl at v2.30.7 (src/enqueue.cc, taskAppend; src/ce_coll.cc, ncclCeAvailable) and RCCL's changelog.
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

// Told is the logarithm of a ratio of times in words, with the limit within which it is no change.
func Told(log, limit float64, less, more string) string {
	if !(math.Abs(log) > limit) {
		return "as long within " + unit.Part(limit)
	}
	return Change(log, less, more) + " ± " + unit.Part(limit)
}

// Change is the logarithm of a ratio of times in words.
func Change(log float64, less, more string) string {
	if log < 0 {
		return unit.Part(1-math.Exp(log)) + " " + less
	}
	return unit.Part(math.Exp(log)-1) + " " + more
}
