package plan

import (
	"context"
	"hash/fnv"
	"slices"
	"strconv"

	"zbench/bench/base/slice"
	"zbench/bench/base/stat"
	"zbench/bench/run/record"
)

// Passes is the number of passes over the jobs: up, then down.
const Passes = record.Passes

// Job is one measurement that fills one or more rows of the record, such as a kernel that runs on
// several devices at once.
type Job struct {
	// Keys are the keys of the job's rows.
	Keys []string
	// Skipped jobs are never run.
	Skipped bool
	// Take runs one pass of the job and returns one part per key. The result whole is false if the pass
	// was cut short. The parts of such a pass are discarded.
	Take func(ctx context.Context, pass int) (parts []record.Part, whole bool)
}

// Log keeps a sweep's finished passes beyond the end of the process.
type Log struct {
	// Parts were finished by earlier runs of the same sweep and are not run again.
	Parts []record.Part
	// Append writes a finished pass to disk before the next begins; nil keeps nothing. An error ends the
	// sweep.
	Append func(record.Part) error
}

// Taken holds the passes of a sweep so far, by row and in order.
type Taken struct {
	Parts map[string][]record.Part
	// End is the reason for the sweep's end.
	record.End
}

// Results returns the results of the cases from the passes so far.
func (t *Taken) Results(cases []Case) []record.Result { return slice.Map(cases, t.resultOf) }

func (t *Taken) resultOf(c Case) record.Result { return t.Result(c.Planned(), t.Parts[c.Key]) }

// NewTaken returns a Taken that has the passes of earlier runs.
func NewTaken(parts []record.Part) *Taken {
	return &Taken{Parts: record.ByKey(parts)}
}

// Run runs the missing passes of the jobs: all jobs upwards, then downwards. It hands each part to log
// (nil keeps none) and calls done with a job's index after its last pass. It stops after a failed pass,
// after the loss of a process, at the end of ctx, and after an error of log. After a failed pass, the
// device or the communicator can no longer be trusted. A pass that was cut short is not kept.
func (t *Taken) Run(ctx context.Context, jobs []Job, log func(record.Part) error, done func(job int)) error {
	order := slice.Numbers(len(jobs))
	var err error
	for pass := range Passes {
		for _, i := range order {
			if err == nil && t.Failed == "" && t.Lost == nil && ctx.Err() == nil && t.lacks(jobs[i], pass) {
				err = t.step(ctx, jobs[i], pass, log)
			}
			if pass == Passes-1 {
				done(i)
			}
		}
		slices.Reverse(order)
	}
	return err
}

// lacks reports whether a row of the job lacks the pass.
func (t *Taken) lacks(j Job, pass int) bool {
	return !j.Skipped && slices.ContainsFunc(j.Keys, func(key string) bool { return t.open(key, pass) })
}

func (t *Taken) open(key string, pass int) bool {
	have := t.Parts[key]
	return len(have) <= pass && !record.Finished(record.Interrupted, have)
}

// step takes one pass of a job and logs it. Rows that already have it, or that have ended, are
// unchanged.
func (t *Taken) step(ctx context.Context, j Job, pass int, log func(record.Part) error) error {
	parts, whole := j.Take(ctx, pass)
	if !whole {
		return nil
	}
	for _, p := range parts {
		if !t.open(p.Key, pass) {
			continue
		}
		if p.Status == record.Interrupted {
			t.Lost = &p
			continue
		}
		t.Parts[p.Key] = append(t.Parts[p.Key], p)
		if p.Status == record.Failed && t.Failed == "" {
			t.Failed = p.Key
		}
		if log == nil {
			continue
		}
		if err := log(p); err != nil {
			return err
		}
	}
	return nil
}

// Sample is the loop of every timing. The function take appends n more samples to the series and returns
// their measured time, in seconds. From the series and the time, the rule decides when to stop. The
// result `why` is the rule's reason. An error of take ends the timing.
func Sample(rule stat.Rule, series *[]float64, take func(n int) (spent float64, err error)) (why string, err error) {
	spent := 0.0
	for {
		decision := rule.Decide(*series, spent)
		if decision.Stop {
			return decision.Why, nil
		}
		more, err := take(decision.Next)
		if err != nil {
			return "", err
		}
		spent += more
	}
}

// PerPass returns a rule's share of one pass.
func PerPass(r stat.Rule) stat.Rule {
	r.MinSamples = (r.MinSamples + Passes - 1) / Passes
	r.MaxSamples = (r.MaxSamples + Passes - 1) / Passes
	r.MaxTime /= Passes
	if r.Batch == 0 || r.Batch > MaxBatch {
		r.Batch = MaxBatch
	}
	return r
}

// CaseSeed returns the number of a pass of a case. The loopback draws its noise by it, so that
// neither the order of the cases nor a resumption changes a figure.
func CaseSeed(key string, pass int) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(key + "/" + strconv.Itoa(pass))) // a hash never fails
	return h.Sum64()
}
