package experiments

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"zbench/bench/run/plan"
)

// After is a clock: a channel that is ready when so much time has passed.
type After func(time.Duration) <-chan time.Time

const (
	// launchDeadline is how long a launch waits for the other processes.
	launchDeadline = 180 * time.Second
	// watchdog is when processes that have not ended count as hung.
	watchdog = 24 * time.Hour
)

// errMissed is the fate of a launch that not all processes made.
var errMissed error = missed{}

type missed struct{}

func (missed) Error() string {
	return fmt.Sprintf("not finished at the deadline of %v", launchDeadline)
}
func (missed) Timeout() bool { return true }

// meeting is where launches meet: as on real hardware, one ends when every
// process that takes part has made the same, and else at the deadline.
type meeting struct {
	after After
	mu    sync.Mutex
	// met holds the launches by number of processes and sequence number.
	met map[[2]int]*launch
	// abandoned is closed when the watchdog gives up: everything ends.
	abandoned chan struct{}
	// differ describes the first launch on which processes did not agree.
	differ string
}

type launch struct {
	what    string
	arrived int
	done    chan struct{}
}

// meet makes a process's launch number seq among that many processes.
func (c *meeting) meet(processes, seq int, what string) error {
	c.mu.Lock()
	at := [2]int{processes, seq}
	l := c.met[at]
	if l == nil {
		l = &launch{what: what, done: make(chan struct{})}
		c.met[at] = l
	}
	if l.what == what {
		l.arrived++
	} else if c.differ == "" {
		c.differ = fmt.Sprintf("launch %d: %s and %s", seq, l.what, what)
	}
	if l.arrived == processes {
		close(l.done)
	}
	c.mu.Unlock()
	select {
	case <-l.done:
		return nil
	case <-c.after(launchDeadline):
		return errMissed
	case <-c.abandoned:
		return errGone
	}
}

// wire joins one follower to the leader, as a connection would: what is sent is
// text, and each end notices when the other is gone.
type wire struct {
	orders, reports                   chan []byte
	followerGone, leadGone, abandoned chan struct{}
}

func newWire(c *meeting, leadGone chan struct{}) *wire {
	return &wire{make(chan []byte, 1), make(chan []byte, 1), make(chan struct{}), leadGone, c.abandoned}
}

var errGone = errors.New("lost contact")

// Next and Report are plan.Leader.
func (w *wire) Next() (o plan.Order, err error) {
	select {
	case text := <-w.orders:
		return o, json.Unmarshal(text, &o)
	case <-w.leadGone:
		return o, errGone
	case <-w.abandoned:
		return o, errGone
	}
}

func (w *wire) Report(r plan.Report) error {
	text, err := json.Marshal(r)
	if err == nil {
		w.reports <- text // room for one: every order has one report
	}
	return err
}

// wires are plan.Followers.
type wires []*wire

func (all wires) Send(o plan.Order) {
	text, err := json.Marshal(o)
	if err != nil {
		panic(err) // an order is plain data
	}
	for _, w := range all {
		select {
		case w.orders <- text:
		case <-w.followerGone:
		case <-w.abandoned:
		}
	}
}

func (all wires) Reports(plan.Report) []plan.Report {
	out := make([]plan.Report, len(all))
	for i, w := range all {
		var text []byte
		select {
		case text = <-w.reports:
		default:
			select {
			case text = <-w.reports:
			case <-w.followerGone:
			case <-w.abandoned:
			}
		}
		if text == nil {
			out[i] = plan.Failing(plan.FailedLost, errGone.Error())
		} else if err := json.Unmarshal(text, &out[i]); err != nil {
			out[i] = plan.Failing(plan.FailedOrder, err.Error())
		}
	}
	return out
}
