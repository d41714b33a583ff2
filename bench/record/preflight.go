package record

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
