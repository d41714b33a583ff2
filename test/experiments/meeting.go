package experiments

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"zbench/bench/run/plan"
)

// After is a clock: it returns a channel that is ready after the given time.
type After func(time.Duration) <-chan time.Time

const (
	// launchDeadline is how long a launch waits for the other processes.
	launchDeadline = 180 * time.Second
	// watchdog is the time after which processes that have not ended count as hung.
	watchdog = 24 * time.Hour
)

// errMissed is the error of a launch that not all processes made.
var errMissed error = missed{}

type missed struct{}

func (missed) Error() string {
	return fmt.Sprintf("not finished at the deadline of %v", launchDeadline)
}
func (missed) Timeout() bool { return true }

// meeting is where launches of different processes meet. As on real hardware, a launch ends when
// every participating process has made the same launch, or else at its deadline.
type meeting struct {
	after After
	mu    sync.Mutex
	// met has the launches by number of processes and sequence number.
	met map[[2]int]*launch
	// abandoned is closed when the watchdog gives up and ends everything.
	abandoned chan struct{}
	// differ describes the first launch on which processes did not agree.
	differ string
}

type launch struct {
	what    string
	arrived int
	done    chan struct{}
}

// meet makes launch number seq of a process, among the given number of processes.
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

// wire connects a follower and the leader like a network connection: messages are text, and each
// end notices when the other end is gone.
type wire struct {
	orders, reports                   chan []byte
	followerGone, leadGone, abandoned chan struct{}
}

func newWire(c *meeting, leadGone chan struct{}) *wire {
	return &wire{make(chan []byte, 1), make(chan []byte, 1), make(chan struct{}), leadGone, c.abandoned}
}

var errGone = errors.New("lost contact")

// Next and Report implement plan.Leader.
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
		w.reports <- text // never blocks: every order has one report
	}
	return err
}

// wires implement plan.Followers.
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
