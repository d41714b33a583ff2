package plan

import (
	"context"
	"errors"

	"zbench/bench/base/slice"
	"zbench/bench/run/record"
)

// Taker is a Process with its own jobs, such as its devices' kernels: each process has the same
// jobs in the same order.
type Taker interface {
	// Take takes a pass of a job, like Job.Take.
	Take(ctx context.Context, job, pass int) (parts []record.Part, whole bool)
}

var errNoJobs = errors.New("this driver has no jobs")

// Take takes a pass of a job in all processes at once and returns the parts of each, in the order of the
// processes; a process whose pass was cut short has no parts. The argument seconds is the expected upper
// bound. A process is lost if it exceeds this bound by more than the deadline of an init.
func (g *Group) Take(job, pass int, seconds float64) ([][]record.Part, error) {
	reports, err := g.do(Order{Verb: Take{Job: job, Pass: pass, Seconds: seconds}})
	if err != nil {
		return nil, err
	}
	return slice.Map(reports, func(r Report) []record.Part { return r.Parts }), nil
}

// Take takes a pass of a job. Seconds is the longest expected duration.
type Take struct {
	still
	Job     int     `json:"job"`
	Pass    int     `json:"pass,omitempty"`
	Seconds float64 `json:"seconds,omitempty"`
}

// Name returns the verb.
func (Take) Name() string { return "take" }

func (v Take) within(d Deadlines, _ float64) float64 { return d.Init + v.Seconds }

func (v Take) carryOut(w *worker, r *Report) error {
	t, can := w.p.(Taker)
	if !can {
		return errNoJobs
	}
	if parts, whole := t.Take(w.whole(), v.Job, v.Pass); whole {
		r.Parts = parts
	}
	return nil
}
