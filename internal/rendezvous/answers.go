package rendezvous

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"zbench/bench/base/slice"
	"zbench/bench/run/plan"
	"zbench/bench/run/record"
)

// The struct answers holds the reports on the last order.
type answers struct {
	mu      sync.Mutex
	number  int            // number of the last order; 0 before the first
	reports []*plan.Report // by process, from 1; nil until the process reports
	pending int
	whole   chan struct{}  // closed when all processes have reported
	lost    []*plan.Report // by process, from 1; nil unless the process is lost

	roll    int          // number of the last roll call
	absent  map[int]bool // processes that have not answered the roll call
	present chan struct{}
	now     func() time.Time
	began   time.Time             // when the order was sent
	stood   map[int]time.Duration // how long each process has stood still since then
}

func (a *answers) prepare(processes int, now func() time.Time) {
	a.now = now
	a.lost = make([]*plan.Report, processes-1)
	a.whole = make(chan struct{})
	close(a.whole)
}

// begin starts the next order. A lost process counts as having reported on it.
func (a *answers) begin() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := len(a.lost)
	a.number++
	a.began, a.stood = a.now(), map[int]time.Duration{}
	a.reports, a.pending, a.whole = make([]*plan.Report, n), n, make(chan struct{})
	if n == 0 {
		close(a.whole)
	}
	for i, why := range a.lost {
		if why != nil {
			a.put(i, *why)
		}
	}
	return a.number
}

// put stores a report. It returns false if the process has already reported. The caller holds a.mu.
func (a *answers) put(i int, r plan.Report) bool {
	if i >= len(a.reports) || a.reports[i] != nil {
		return false
	}
	a.reports[i] = &r
	if a.pending--; a.pending == 0 {
		close(a.whole)
	}
	return true
}

// accept stores the report of a process. It returns false if no report was expected.
func (a *answers) accept(process, number int, r plan.Report) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return number == a.number && a.put(process-1, r)
}

// unreadable() answers the last order in place of a process whose message cannot be read.
func (a *answers) unreadable(process int, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.put(process-1, plan.Failing(plan.FailedOrder, err.Error()))
}

// gone() marks a process as lost. It returns false if the process was already lost.
func (a *answers) gone(process int, why string, as plan.FailureKind) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.lost[process-1] != nil {
		return false
	}
	report := plan.Failing(as, why)
	a.lost[process-1] = &report
	a.answered(process)
	a.put(process-1, report)
	return true
}

// failAll answers the last order in place of all processes.
func (a *answers) failAll(r plan.Report) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := range a.reports {
		a.put(i, r)
	}
}

// afterLoss reports whether a process was lost.
func (a *answers) afterLoss() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.ContainsFunc(a.lost, func(r *plan.Report) bool { return r != nil })
}

func (a *answers) all() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.whole
}

// missing() returns the processes that have not reported on the last order.
func (a *answers) missing() (all []int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i, r := range a.reports {
		if r == nil {
			all = append(all, i+1)
		}
	}
	return all
}

// failed() reports whether some process has reported a failure.
func (a *answers) failed() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.ContainsFunc(a.reports, func(r *plan.Report) bool { return r != nil && r.Failure != nil })
}

// collected() returns all reports. A process that was lost after its report counts as lost, because
// its loss may have made other processes fail. The exception is a process that had reported a
// failure of its own.
func (a *answers) collected() []plan.Report {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := slice.Map(a.reports, func(r *plan.Report) plan.Report { return *r })
	for i, lost := range a.lost {
		if lost != nil && !all[i].Failure.Own() {
			all[i] = *lost
		}
	}
	return all
}

// call begins a roll call of all processes that are not lost. The leader itself counts as
// present. The channel is closed when all have answered.
func (a *answers) call() (roll int, present <-chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.roll++
	a.absent, a.present = map[int]bool{0: true}, make(chan struct{})
	for i, lost := range a.lost {
		if lost == nil {
			a.absent[i+1] = true
		}
	}
	return a.roll, a.present
}

// answered() removes a process from the roll call. The caller holds a.mu.
func (a *answers) answered(process int) {
	if !a.absent[process] {
		return
	}
	if delete(a.absent, process); len(a.absent) == 0 {
		close(a.present)
	}
}

// answer() records a process's answer to a roll call.
func (a *answers) answer(roll int, one presence) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if roll != a.roll || !a.absent[one.Process] {
		return
	}
	if one.Stood > 0 && seconds(one.Ago) < a.now().Sub(a.began) {
		a.stood[one.Process] = seconds(one.Stood)
	}
	a.answered(one.Process)
}

// Stood names the processes that stood still during the last order, with the longest time; "" if
// none did. It implements plan.Standing.
func (a *answers) Stood() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.stood) == 0 {
		return ""
	}
	longest := slices.Max(slices.Collect(maps.Values(a.stood)))
	return fmt.Sprintf("%s stood still for up to %s", record.ProcessText(slices.Sorted(maps.Keys(a.stood)), len(a.lost)+1), longest.Round(100*time.Millisecond))
}

// silent() returns the processes that have not answered the roll call. The value is true if the
// process has reported on the last order.
func (a *answers) silent() map[int]bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := map[int]bool{}
	for process := range a.absent {
		all[process] = a.reports[process-1] != nil
	}
	return all
}

// heard() handles a line from the process at the other end of a stream.
func (l *Leader) heard(stream int, text []byte, err error) {
	if err != nil {
		l.misread(stream, TooLarge, fmt.Errorf("a message has more than %d bytes", maxUp))
		return
	}
	message, err := readUp(text)
	if err != nil {
		l.misread(stream, Malformed, fmt.Errorf("a message cannot be read: %w", err))
		return
	}
	for _, r := range message.Reports {
		l.take(stream, message.Number, r)
	}
	for _, j := range message.Joined {
		l.takeJoined(stream, message.Number, j)
	}
	for _, one := range message.Register {
		l.admit(stream, one)
	}
	for _, process := range message.Here {
		if l.expects(stream, process) {
			l.registry.arrive(process)
		}
	}
	for _, one := range message.Present {
		if l.expects(stream, one.Process) {
			l.answer(message.Roll, one)
		}
	}
	for _, one := range message.Lost {
		if l.expects(stream, one.Process) {
			l.leave(one.Process, one.Why)
		}
	}
	for _, process := range message.Stop {
		if l.expects(stream, process) {
			l.options.OnStop(process)
		}
	}
}

// admit accepts or refuses a process that connects through the process of a stream.
func (l *Leader) admit(stream int, one registrationOf) {
	in, no := readRegistration(one.Registration)
	if no == nil {
		in.Via = &stream
		_, no = l.registry.add(in, l.hub)
	}
	if no != nil {
		no.From = fmt.Sprintf("process %d, which gathers its node", stream)
		l.refused.add(no)
	}
	l.hub.reply(stream, down{Answers: []answerTo{{one.ID, no}}}.line())
}

// misread() counts an unreadable message, and ends the wait for its sender's report.
func (l *Leader) misread(process int, reason Reason, err error) {
	l.refuse(process, reason, "process %d: %v", process, err)
	l.unreadable(process, err)
	l.fail(l.options.Grace)
}

// expects() reports whether a stream may speak for a process. If not, it counts
// the message as refused.
func (l *Leader) expects(stream, process int) bool {
	if l.registry.reaches(stream, process) {
		return true
	}
	l.refuse(stream, NotExpected, "process %d sent a message of process %d", stream, process)
	return false
}

// refuse counts a message from a process as refused.
func (l *Leader) refuse(process int, reason Reason, format string, args ...any) {
	no := refuse(reason, format, args...)
	no.Process = process
	l.refused.add(no)
}

func (l *Leader) take(stream, number int, in reportOf) {
	if !l.expects(stream, in.Process) {
		return
	}
	var r plan.Report
	if err := r.UnmarshalJSON(in.Report); err != nil { // json.Unmarshal would scan the text twice more
		l.misread(in.Process, Malformed, err)
		return
	}
	l.store(in.Process, number, r)
}

// takeJoined stores the reports of several processes that share a stream.
func (l *Leader) takeJoined(stream, number int, in joinedOf) {
	if slices.ContainsFunc(in.Processes, func(p int) bool { return !l.expects(stream, p) }) {
		return
	}
	each, err := in.Split(len(in.Processes))
	for i, process := range in.Processes {
		if err != nil {
			l.misread(process, Malformed, err)
			continue
		}
		l.store(process, number, each[i])
	}
}

// store stores the report of a process, or counts it as refused.
func (l *Leader) store(process, number int, r plan.Report) {
	if r.Failure != nil {
		l.fail(l.options.Grace)
	}
	if !l.accept(process, number, r) {
		l.refuse(process, NotExpected, "process %d reports on order %d a second time, or too late", process, number)
	}
}

// leave handles the end of a process, and of the processes that are reached through it.
func (l *Leader) leave(process int, why string) {
	gone, started := l.registry.leave(process)
	if !started {
		return
	}
	for _, one := range gone {
		if one.Process == process {
			l.lose(process, why)
		} else {
			l.loseAs(one.Process, fmt.Sprintf("process %d, through which it is connected: %s", process, why), plan.FailedUnreached)
		}
	}
}

// lose marks a process as lost after Start. From now on its reports are FailedLost.
func (l *Leader) lose(process int, why string) { l.loseAs(process, why, plan.FailedLost) }

func (l *Leader) loseAs(process int, why string, as plan.FailureKind) {
	l.hub.forget(process)
	if l.gone(process, why, as) {
		loss := Loss{Process: process, Host: l.host(process), Why: why}
		l.options.OnLost(loss)
		l.end(loss.Error())
	}
}

func (l *Leader) host(process int) string {
	l.registry.mu.Lock()
	defer l.registry.mu.Unlock()
	if e := l.registry.entries[process]; e != nil {
		return e.Host
	}
	return ""
}

// Ended is the error of a run that the leader has ended. The leader reports the reason itself.
type Ended struct {
	Reason string
	// Code is the exit code of the leader.
	Code int
}

func (e *Ended) Error() string { return "the leader ended the run: " + e.Reason }

// hasEnded reports whether the error means that the leader has ended the run.
func hasEnded(err error) bool {
	_, ended := errors.AsType[*Ended](err)
	return ended
}
