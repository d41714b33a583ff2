package rendezvous

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"zbench/bench/base/jsonfile"
	"zbench/bench/run/plan"
)

// Protocol is the version of the messages. It changes whenever an older zbench could
// misread a message.
const Protocol = 6

// Limits in bytes. maxHello is the limit of a registration.
const (
	maxHello = 256 << 10
	maxName  = 256
	// maxUp is the limit of a line to the leader; maxDown is the limit of a line from the leader.
	maxUp   = 16 * plan.MaxReport
	maxDown = 64 << 20
)

// MaxProcesses is the largest number of processes in a world.
const MaxProcesses = 1 << 17

// Hello is how a process describes itself when it registers.
type Hello struct {
	// Process is the process's number, and Processes is the number of processes, both
	// from the launcher. LocalProcess is the process's number on its node. Process 0 is
	// the leader.
	Process      int `json:"process"`
	Processes    int `json:"processes"`
	LocalProcess int `json:"local_process"`
	// Host is the name of the process's host; PID is its process id there.
	Host string `json:"host"`
	PID  int    `json:"pid"`
	// Build and Backend must be equal in all processes. Backend is the backend that was requested.
	Build   string `json:"build"`
	Backend string `json:"backend"`
}

// registration is a Hello as it is sent.
type registration struct {
	Protocol int `json:"protocol"`
	// Session identifies one call of Join. After a connection was cut, the same call may register
	// again.
	Session string `json:"session"`
	// Via is the process whose stream carried this registration, and through which
	// this process is reached; nil if it is reached directly.
	Via *int `json:"-"`
	Hello
}

// A `down` is a line from the leader. Each line has one kind of message: a start, an order,
// answers, a roll call, a cancellation or an end.
type down struct {
	// Start is the caller's welcome. It is sent when the world is complete.
	Start json.RawMessage `json:"start,omitempty"`
	// Number is the number of the order; orders are numbered from 1.
	Number int             `json:"number,omitempty"`
	Order  json.RawMessage `json:"order,omitempty"`
	// Each holds the orders of several processes, if every process gets an order of its own.
	Each []orderOf `json:"each,omitempty"`
	// Answers are the answers to registrations that the first process of a node passed on.
	Answers []answerTo `json:"answers,omitempty"`
	// Roll is the number of a roll call, from 1. Every process answers it immediately.
	Roll int `json:"roll,omitempty"`
	// Cancel is the reason to abandon the order. End is the reason to leave the run; Code is
	// then the exit code of the leader.
	Cancel string `json:"cancel,omitempty"`
	End    string `json:"end,omitempty"`
	Code   int    `json:"code,omitempty"`
}

// An `up` is a line to the leader.
type up struct {
	// Number is the number of the order on which Reports report.
	Number  int        `json:"number,omitempty"`
	Reports []reportOf `json:"reports,omitempty"`
	// Joined has more reports on that order.
	Joined []joinedOf `json:"joined,omitempty"`
	// Register has the registrations of processes that connect to the first process of a node.
	Register []registrationOf `json:"register,omitempty"`
	// Here lists the processes that are now connected to the first process of a node.
	Here []int `json:"here,omitempty"`
	// Present lists the processes that answer roll call Roll.
	Present []presence `json:"present,omitempty"`
	Roll    int        `json:"roll,omitempty"`
	// Lost lists the processes that the first process of a node has lost.
	Lost []Loss `json:"lost,omitempty"`
	// Stop lists the processes that were requested to stop.
	Stop []int `json:"stop,omitempty"`
}

// presence is the answer of a process to a roll call. It has the length of the last time that the
// process stood still, and the time since then, in seconds.
type presence struct {
	Process int     `json:"process"`
	Stood   float64 `json:"stood,omitempty"`
	Ago     float64 `json:"ago,omitempty"`
}

// registrationOf is a registration that was passed on. The answer to it has the same ID.
type registrationOf struct {
	ID           int             `json:"id"`
	Registration json.RawMessage `json:"registration"`
}

// answerTo is the answer to a registration. ID is set if the registration was passed on.
type answerTo struct {
	ID int `json:"id,omitempty"`
	// Refused is the reason why the process is refused; nil if it is accepted.
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

// joinedOf has the reports of several processes, in ascending order. These reports contain only
// times.
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

// readRegistration decodes a registration. It refuses a registration of another protocol, and a
// registration that exceeds the limits.
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

// own() returns the order of a process from Each; nil if there is none.
func (d *down) own(process int) json.RawMessage {
	for _, one := range d.Each {
		if one.Process == process {
			return one.Order
		}
	}
	return d.Order
}

// line returns the message as one line of JSON. The message contains only texts, whole numbers
// and JSON, so encoding cannot fail.
func (d down) line() []byte {
	text, _ := line(d)
	return text
}

// line returns a message as one line of JSON.
func line(message any) ([]byte, error) {
	text, err := json.Marshal(message)
	return append(text, '\n'), err
}
