package plan

import (
	"encoding/json"
	"fmt"
	"slices"

	"zbench/bench/base/jsonfile"
)

// Protocol is the version of the messages between processes. It changes whenever a
// process of an older zbench could misread an Order or a Report.
const Protocol = 13

// The fields of a report, and its message with the number of the protocol.
type (
	reportFields  Report
	reportMessage struct {
		Protocol int `json:"protocol"`
		reportFields
	}
)

// MarshalJSON adds the number of the protocol.
func (r Report) MarshalJSON() ([]byte, error) {
	return json.Marshal(reportMessage{Protocol, reportFields(r)})
}

// UnmarshalJSON refuses a report of another protocol, with an unknown field, or with
// values that no process reports.
func (r *Report) UnmarshalJSON(text []byte) error {
	var in reportMessage
	if len(text) > MaxReport {
		return fmt.Errorf("a report has %d bytes; the limit is %d", len(text), MaxReport)
	}
	if err := decode("a report", text, &in, &in.Protocol); err != nil {
		return err
	}
	if err := in.check(); err != nil {
		return err
	}
	*r = Report(in.reportFields).bounded() // the sender may not have limited its texts
	return nil
}

// check refuses values that no process reports.
func (r reportFields) check() error {
	if f := r.Failure; f != nil {
		if !slices.Contains(failureKinds, f.Kind) || f.Message == "" {
			return fmt.Errorf("a report of a failure of the kind %q, %q: kinds are %q; %s", f.Kind, f.Message, failureKinds, sameBuild)
		}
	}
	if r.Verified.Wrong < 0 || r.Budget.Bytes < 0 || r.Budget.Cache < 0 || r.Hold < 0 {
		return fmt.Errorf("a report with a negative count: %d wrong elements, %d bytes, cache of %d bytes, hold of %g s", r.Verified.Wrong, r.Budget.Bytes, r.Budget.Cache, r.Hold)
	}
	return nil
}

// decode reads a message of this protocol. The leader reads thousands per second, so the reason for
// a refusal is only determined after a failed attempt.
func decode(what string, text []byte, into any, protocol *int) error {
	err := jsonfile.One(text, into)
	if err == nil && *protocol == Protocol {
		return nil
	}
	var head struct {
		Protocol int `json:"protocol"`
	}
	if bad := json.Unmarshal(text, &head); bad != nil {
		return fmt.Errorf("%s that cannot be read: %w", what, bad)
	}
	if head.Protocol != Protocol {
		return fmt.Errorf("%s of protocol %d, this zbench has %d: %s", what, head.Protocol, Protocol, sameBuild)
	}
	return fmt.Errorf("%s that this zbench does not know: %w; %s", what, err, sameBuild)
}
