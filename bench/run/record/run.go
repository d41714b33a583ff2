package record

import "time"

// RunSchema names the version of the format of run.json.
const RunSchema = "zbench.run/1"

// Run is run.json: facts of this run of zbench, kept out of the record so that a record only
// depends on its input.
type Run struct {
	// Version of the format.
	Schema string `json:"schema"`
	// Started is the start of the command, in UTC (RFC 3339).
	Started time.Time `json:"started"`
	// Finished is the end of the command, in UTC (RFC 3339).
	Finished time.Time `json:"finished"`
	// Seconds from start to end.
	Seconds float64 `json:"seconds"`
	// Args is the command line.
	Args []string `json:"args"`
	// Host is the name of the machine.
	Host string `json:"host"`
	// Go is the version of the Go runtime.
	Go string `json:"go"`
	// Platform is the operating system and the architecture.
	Platform string `json:"platform"`
	// CPUs is the number of CPUs of the machine.
	CPUs int `json:"cpus"`
	// Preflight has the checks of all ranks before the measurement; absent if there were none.
	Preflight []Preflight `json:"preflight,omitempty"`
	// Control has the cost of leading several processes; absent for one process.
	Control *Control `json:"control,omitempty"`
}

// Control describes how rank 0's process led the other processes.
type Control struct {
	// Processes is the number of processes, rank 0's included.
	Processes int `json:"processes" jsonschema:"minimum=2"`
	// Registered is the time until all processes had registered with rank 0, in seconds.
	Registered float64 `json:"registered,omitzero" jsonschema:"minimum=0"`
	// Opened is the time until all processes had also opened their GPUs, in seconds.
	Opened float64 `json:"opened,omitzero" jsonschema:"minimum=0"`
	// Orders is the number of orders that rank 0 sent to all processes.
	Orders int `json:"orders" jsonschema:"minimum=0"`
	// Waited is how long rank 0 waited for reports after its own part of an order, in seconds. It
	// contains the cost of control, and waiting for slower ranks.
	Waited float64 `json:"waited" jsonschema:"minimum=0"`
}

// PreflightState is the result of a check.
type PreflightState string

// The states of a check. Not checked is neither a pass nor a failure.
const (
	CheckOK         PreflightState = "ok"
	CheckWarning    PreflightState = "warning"
	CheckError      PreflightState = "error"
	CheckNotChecked PreflightState = "not_checked"
)

// Preflight is one check of all ranks before the measurement.
type Preflight struct {
	// Name of the check.
	Name string `json:"check"`
	// State is the worst state of its findings: error, warning, not_checked, ok.
	State PreflightState `json:"state"`
	// Findings of the check, the worst first.
	Findings []PreflightFound `json:"findings"`
}

// PreflightFound is a check's finding on some of the ranks.
type PreflightFound struct {
	// State of these ranks: ok, warning, error, not_checked.
	State PreflightState `json:"state"`
	// Ranks are their numbers, such as 8-15,24.
	Ranks string `json:"ranks" jsonschema:"pattern=^[0-9]+(-[0-9]+)?(\\,[0-9]+(-[0-9]+)?)*$"`
	// Hosts are the names of their hosts.
	Hosts []string `json:"hosts"`
	// Found is the finding, or why nothing could be checked.
	Found string `json:"found"`
	// Why is the cost of a warning or an error.
	Why string `json:"why,omitempty"`
	// Next is the setting or the command that fixes it.
	Next string `json:"next,omitempty"`
}
