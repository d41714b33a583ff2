package rendezvous

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"zbench/bench/base/jsonfile"
	"zbench/bench/run/plan"
)

// Protocol is the version of the messages. It changes whenever a process of an older
// zbench could misread one.
const Protocol = 6

// Limits of a registration, in bytes.
const (
	maxHello = 256 << 10
	maxName  = 256
	// maxUp and maxDown are the limits of a line to and from the leader.
	maxUp   = 16 * plan.MaxReport
	maxDown = 64 << 20
)

// MaxProcesses is the most processes of a world.
const MaxProcesses = 1 << 17

// Hello is a process's description of itself at registration.
type Hello struct {
	// Process is its number among Processes, both from its launcher; LocalProcess is its number on
	// its node. Process 0 is the leader.
	Process      int `json:"process"`
	Processes    int `json:"processes"`
	LocalProcess int `json:"local_process"`
	// Host is the name of its host, PID its process id there.
	Host string `json:"host"`
	PID  int    `json:"pid"`
	// Build and Backend must be equal in all processes. Backend is the requested one.
	Build   string `json:"build"`
	Backend string `json:"backend"`
}

// registration is a Hello in the form in which it is sent.
type registration struct {
	Protocol int `json:"protocol"`
	// Session identifies one call of Join, which may register again after a cut.
	Session string `json:"session"`
	// Via is the process through which this one is reached and whose stream carried its
	// registration; nil if it is reached directly.
	Via *int `json:"-"`
	Hello
}

// down is a line from the leader, with one field set.
type down struct {
	// Start is the caller's welcome, once the world is complete.
	Start json.RawMessage `json:"start,omitempty"`
	// Number identifies the order. Orders are numbered from 1.
	Number int             `json:"number,omitempty"`
	Order  json.RawMessage `json:"order,omitempty"`
	// Each has the orders of some processes, if every process has its own.
	Each []orderOf `json:"each,omitempty"`
	// Answers are for the registrations that a node's first process passed on.
	Answers []answerTo `json:"answers,omitempty"`
	// Roll is the number of a roll call, from 1: every process answers immediately.
	Roll int `json:"roll,omitempty"`
	// Cancel is the reason to abandon the order; End the instruction to leave, with the leader's
	// exit code.
	Cancel string `json:"cancel,omitempty"`
	End    string `json:"end,omitempty"`
	Code   int    `json:"code,omitempty"`
}

// up is a line to the leader.
type up struct {
	// Number is the number of the order that the reports answer.
	Number  int        `json:"number,omitempty"`
	Reports []reportOf `json:"reports,omitempty"`
	// Joined has further reports.
	Joined []joinedOf `json:"joined,omitempty"`
	// Register are registrations of processes that connect to a node's first process.
	Register []registrationOf `json:"register,omitempty"`
	// Here are processes that are connected to a node's first process.
	Here []int `json:"here,omitempty"`
	// Present are processes that answer roll call Roll.
	Present []presence `json:"present,omitempty"`
	Roll    int        `json:"roll,omitempty"`
	// Lost are processes lost by a node's first process.
	Lost []Loss `json:"lost,omitempty"`
	// Stop are processes that were asked to stop.
	Stop []int `json:"stop,omitempty"`
}

// presence is a process that answers, with its last standstill: its length and the time since its
// end, in seconds.
type presence struct {
	Process int     `json:"process"`
	Stood   float64 `json:"stood,omitempty"`
	Ago     float64 `json:"ago,omitempty"`
}

// registrationOf is a registration that was passed on; the answer repeats the ID.
type registrationOf struct {
	ID           int             `json:"id"`
	Registration json.RawMessage `json:"registration"`
}

// answerTo answers a registration. The ID is that of a registration that was passed on.
type answerTo struct {
	ID int `json:"id,omitempty"`
	// Refused is the reason for refusing the process; nil if it is accepted.
	Refused *Refused `json:"refused,omitempty"`
}

// orderOf is the order of one process.
type orderOf struct {
	Process int             `json:"process"`
	Order   json.RawMessage `json:"order"`
}

type reportOf struct {
	Process int             `json:"process"`
	Report  json.RawMessage `json:"report"`
}

// joinedOf has the reports of some processes, ascending, that only have times.
type joinedOf struct {
	Processes []int `json:"processes"`
	plan.Joined
}

// Loss is a process that no longer answers.
type Loss struct {
	Process int    `json:"process"`
	Host    string `json:"host,omitempty"`
	Why     string `json:"why"`
}

func (l Loss) Error() string {
	if l.Host == "" {
		return fmt.Sprintf("lost process %d: %s", l.Process, l.Why)
	}
	return fmt.Sprintf("lost process %d on %s: %s", l.Process, l.Host, l.Why)
}

// readRegistration decodes a registration of this protocol within its limits.
func readRegistration(text []byte) (registration, *Refused) {
	var head struct {
		Protocol int `json:"protocol"`
	}
	var r registration
	if err := json.Unmarshal(text, &head); err != nil {
		return r, refuse(Malformed, "the registration cannot be read: %v", err)
	}
	if head.Protocol != Protocol {
		return r, refuse(OtherProtocol, "the registration has protocol %d, the leader %d: run the same version of zbench in all processes", head.Protocol, Protocol)
	}
	if err := jsonfile.One(text, &r); err != nil {
		return r, refuse(Malformed, "the registration cannot be read: %v", err)
	}
	for _, name := range []string{r.Session, r.Host, r.Build, r.Backend} {
		if len(name) > maxName || !utf8.ValidString(name) {
			return r, refuse(Malformed, "a name in the registration has %d bytes; the limit is %d", len(name), maxName)
		}
	}
	switch {
	case r.Session == "":
		return r, refuse(Malformed, "the registration has no session")
	case r.PID < 0 || r.LocalProcess < 0:
		return r, refuse(Malformed, "the registration has a negative number")
	}
	return r, nil
}

// readUp decodes a line to the leader.
func readUp(text []byte) (u up, err error) {
	if err := jsonfile.One(text, &u); err != nil {
		return up{}, err
	}
	if len(u.Reports)+len(u.Joined) > 0 && u.Number < 1 {
		return up{}, fmt.Errorf("reports on order %d: orders are numbered from 1", u.Number)
	}
	for _, r := range u.Register {
		if len(r.Registration) > maxHello {
			return up{}, fmt.Errorf("a registration has %d bytes; the limit is %d", len(r.Registration), maxHello)
		}
	}
	for _, r := range u.Reports {
		if len(r.Report) > plan.MaxReport {
			return up{}, fmt.Errorf("a report has %d bytes; the limit is %d", len(r.Report), plan.MaxReport)
		}
	}
	for _, j := range u.Joined {
		if len(j.Processes) == 0 || 8*len(j.Seconds) > plan.MaxReport*len(j.Processes) {
			return up{}, fmt.Errorf("reports of %d processes have %d bytes; the limit of each is %d", len(j.Processes), 8*len(j.Seconds), plan.MaxReport)
		}
		for i := 1; i < len(j.Processes); i++ {
			if j.Processes[i-1] >= j.Processes[i] {
				return up{}, fmt.Errorf("a report of process %d and then %d: they must ascend", j.Processes[i-1], j.Processes[i])
			}
		}
	}
	return u, nil
}

// readDown decodes a line of the leader.
func readDown(text []byte) (d down, err error) {
	if err := jsonfile.One(text, &d); err != nil {
		return down{}, err
	}
	if (d.Order != nil || d.Each != nil) && d.Number < 1 {
		return down{}, fmt.Errorf("order %d: orders are numbered from 1", d.Number)
	}
	return d, nil
}

// own returns the order of a process; nil if there is none.
func (d *down) own(process int) json.RawMessage {
	for _, one := range d.Each {
		if one.Process == process {
			return one.Order
		}
	}
	return d.Order
}

// line returns the message as one line of JSON. It only has texts, whole numbers and JSON, so
// writing cannot fail.
func (d down) line() []byte {
	text, _ := line(d)
	return text
}

// line returns a message as one line of JSON.
func line(message any) ([]byte, error) {
	text, err := json.Marshal(message)
	return append(text, '\n'), err
}
