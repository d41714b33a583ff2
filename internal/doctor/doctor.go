// Package doctor reports whether zbench can run on a machine. It lists the libraries and devices
// that it finds, the loss from missing ones, and slow system settings. Every defect comes with a
// remedy.
//
// It opens nothing itself. The machine is a file system (Machine), and the libraries are facts that
// the caller has gathered (Backend), so that tests can make every finding from a tree of files.
// Report.Shown displays the result.
package doctor

import (
	"slices"
	"strings"

	"zbench/bench/base/finding"
)

// Schema is the version of the JSON; Rules is the version of the rules that make its findings.
const (
	Schema = "zbench.doctor/1"
	Rules  = 1
)

// Mark is the severity of a check.
type Mark string

// The marks. Bad prevents a backend from running or disables something. Warn may cost speed or
// precision. Fact judges nothing.
const (
	Good Mark = "ok"
	Bad  Mark = "bad"
	Warn Mark = "doubt"
	Fact Mark = "fact"
)

// Item is one check.
type Item struct {
	// Mark is the severity of the check. bad prevents a backend from running or disables
	// something, doubt may cost speed or precision, fact judges nothing.
	Mark Mark `json:"mark"`
	// Name is the name of the check.
	Name string `json:"name"`
	// Value is the observed value.
	Value string `json:"value"`
	// Lost names the features that fail because of the finding. It is absent if nothing fails, or
	// if everything fails.
	Lost string `json:"lost,omitempty"`
	// Remedy is the next step. Every bad check has one.
	Remedy string `json:"remedy,omitempty"`
}

// Report holds all findings.
type Report struct {
	// Schema is the version of the format.
	Schema string `json:"schema"`
	// Tool is the version of zbench.
	Tool string `json:"tool"`
	// Host is the name of the node.
	Host string `json:"host"`
	// Backends are the backends that were requested.
	Backends []Backend `json:"backends"`
	// Usable is true if the user's request can run here.
	Usable bool `json:"usable"`
	// Verdict says in words what can run here.
	Verdict string `json:"verdict"`
	// Machine has the checks of the system's settings.
	Machine []Item `json:"machine"`
	// NotChecked lists the facts that only a run on the hardware can show.
	NotChecked []string `json:"not_checked"`
	// Judgement is the result of the report as findings.
	Judgement finding.Judgement `json:"judgement"`
}

// NotChecked lists the facts that neither doctor nor the loopback can show, because only a run on
// real GPUs can. A line is removed once it was verified on hardware.
func NotChecked() []string {
	return []string{
		"what an event costs, and whether its times hold for a few microseconds",
		"whether the proxy threads of RCCL or NCCL get a core of their own",
		"lazy connections: what the first operation on a communicator costs",
		"whether ncclCommAbort comes back after a hang",
		"what the libraries print while they run",
		"which NIC RCCL or NCCL takes for which GPU",
		"memory that a communicator takes",
		"clocks and power limits under load",
	}
}

// Judge decides whether the user's request can run here. `asked` is the name of a backend, or
// auto. `simulate` is true if auto would choose the loopback because there is no GPU.
func (r *Report) Judge(asked string, simulate bool) {
	var gpus, simulated, kernels []string
	for _, b := range r.Backends {
		if b.Kernels && !b.Usable {
			kernels = append(kernels, b.Name)
		}
		switch {
		case b.Usable && b.Simulated:
			simulated = append(simulated, b.Name)
		case b.Usable:
			gpus = append(gpus, b.Name)
		}
	}
	usable := slices.Concat(gpus, simulated)
	switch {
	case asked != "auto" && len(usable) > 0:
		r.Usable, r.Verdict = true, asked+" can run here"
	case len(gpus) > 0:
		r.Usable, r.Verdict = true, strings.Join(gpus, " and ")+" can run here"
	case simulate && len(simulated) > 0:
		r.Usable, r.Verdict = true, "no GPU here; the "+strings.Join(simulated, " and ")+" can run, SIMULATED"
	case len(kernels) > 0:
		r.Usable, r.Verdict = false, "hbm and kernels can run here on "+strings.Join(kernels, " and ")+", collectives cannot"
	case asked != "auto":
		r.Usable, r.Verdict = false, asked+" cannot run here"
	default:
		r.Usable, r.Verdict = false, "no backend can run on the GPUs that are meant"
	}
}
