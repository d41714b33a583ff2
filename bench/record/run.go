package record

import "time"

// RunSchema names the version of the format of run.json.
const RunSchema = "zbench.run/1"

// Run is run.json: facts of this run of zbench, kept out of the record so that a record
// depends only on its input.
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
	// Preflight is what was checked on all ranks before anything was measured; absent if
	// nothing was.
	Preflight []Preflight `json:"preflight,omitempty"`
	// Control is what leading several processes took; absent for one process.
	Control *Control `json:"control,omitempty"`
}

// Control is what rank 0's process did to lead the other processes.
type Control struct {
	// Processes is their number, rank 0's included.
	Processes int `json:"processes" jsonschema:"minimum=2"`
	// Registered is how long rank 0 listened until all processes had registered, in seconds.
	Registered float64 `json:"registered,omitzero" jsonschema:"minimum=0"`
	// Opened is how long rank 0 listened until all processes had opened their GPUs, too, in
	// seconds.
	Opened float64 `json:"opened,omitzero" jsonschema:"minimum=0"`
	// Orders is the number of orders that were sent to all of them.
	Orders int `json:"orders" jsonschema:"minimum=0"`
	// Waited is how long rank 0 waited for reports after its own part of an order, in
	// seconds: control, and ranks that are slower.
	Waited float64 `json:"waited" jsonschema:"minimum=0"`
}

// PreflightState is what came of a check.
type PreflightState string

// The states of a check. What is not checked is neither a pass nor a failure.
const (
	CheckOK         PreflightState = "ok"
	CheckWarning    PreflightState = "warning"
	CheckError      PreflightState = "error"
	CheckNotChecked PreflightState = "not_checked"
)

// Preflight is one row of what was checked on all ranks before anything was measured.
type Preflight struct {
	// Name says what was looked at.
	Name string `json:"check"`
	// State is the worst of its findings': error, warning, not_checked, ok.
	State PreflightState `json:"state"`
	// Findings are what was found, the worst first.
	Findings []PreflightFound `json:"findings"`
}

// PreflightFound is what a check found on some of the ranks.
type PreflightFound struct {
	// State of these ranks: ok, warning, error, not_checked.
	State PreflightState `json:"state"`
	// Ranks are their numbers, such as 8-15,24.
	Ranks string `json:"ranks" jsonschema:"pattern=^[0-9]+(-[0-9]+)?(\\,[0-9]+(-[0-9]+)?)*$"`
	// Hosts are the names of their hosts.
	Hosts []string `json:"hosts"`
	// Found is what was found, or why nothing could be.
	Found string `json:"found"`
	// Why says what a warning or an error costs.
	Why string `json:"why,omitempty"`
	// Next is the setting or the command that mends it.
	Next string `json:"next,omitempty"`
}
