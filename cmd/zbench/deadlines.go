package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"zbench/bench/base/exit"
	"zbench/bench/hardware/backend"
	"zbench/bench/run/plan"
)

// deadlineFlagSet has the time limits of calls that can hang.
type deadlineFlagSet struct {
	join, heartbeat, init, first, batch time.Duration
}

// deadlineFlags are the names of these flags. They do not affect the measurement, so a resumed
// sweep may change them.
var deadlineFlags = []string{"join-timeout", "heartbeat", "init-timeout", "first-timeout", "batch-timeout"}

func addDeadlineFlags(f *pflag.FlagSet, o *deadlineFlagSet) {
	def := plan.DefaultDeadlines()
	f.DurationVar(&o.join, "join-timeout", 5*time.Minute, "how long processes may take to register with rank 0's")
	f.DurationVar(&o.heartbeat, "heartbeat", 30*time.Second, "a process that is silent for so long is lost")
	f.DurationVar(&o.init, "init-timeout", duration(def.Init), "deadline for opening the GPUs, and for the init of communicators")
	f.DurationVar(&o.first, "first-timeout", duration(def.First), "deadline for the first operation of a collective on its communicators, which connects them")
	f.DurationVar(&o.batch, "batch-timeout", duration(def.Batch), "deadline for every other batch of launches; 20 times the expected time if that is more")
}

func duration(seconds float64) time.Duration { return time.Duration(seconds * float64(time.Second)) }

// check refuses time limits that are out of range.
func (o *deadlineFlagSet) check() error {
	for i, d := range []time.Duration{o.join, o.heartbeat, o.init, o.first, o.batch} {
		if d < time.Second || d > 24*time.Hour {
			return usagef("give a time with its unit, as 90s or 5m", "--%s must be 1s to 24h, not %s", deadlineFlags[i], d)
		}
	}
	return nil
}

// deadlines returns the time limits for the driver, in seconds.
func (o *deadlineFlagSet) deadlines() plan.Deadlines {
	return plan.Deadlines{Init: o.init.Seconds(), First: o.first.Seconds(), Batch: o.batch.Seconds()}
}

// longest returns the longest time that a process may take for one order of the leader. It is what
// can be known before the first launch.
func (o *deadlineFlagSet) longest() time.Duration {
	return 2*o.init + guardMargin + o.first + o.batch
}

// guardMargin is the time that a guarded call may take in addition to its stages.
const guardMargin = plan.ByItselfTime + 2*time.Second

// guarded runs a library call that may hang, at a time when nothing exists yet that could cancel
// the call. The call has several stages. Each stage has the user's limit, in seconds, and reports
// what hangs. guarded therefore waits longer than all stages together. It only ends parts that have
// no limit of their own.
func guarded[T any](ctx context.Context, limit float64, stages int, what string, call func() (T, error)) (T, error) {
	late := exit.With(exit.Run, fmt.Errorf("%s: not finished at the deadline of %g s", what, limit),
		"look for hanging GPUs and drivers on that host (dmesg, "+backend.Tools()+"); --init-timeout gives more time")
	return within(ctx, duration(limit*float64(stages))+guardMargin, late, call)
}

// `within` runs a call with a time limit. After the limit it returns the given error. The call runs
// in a goroutine of its own, which may then remain until the process ends.
func within[T any](ctx context.Context, limit time.Duration, late error, call func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := call()
		done <- result{value, err}
	}()
	over := time.NewTimer(limit)
	defer over.Stop()
	var none T
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		return none, context.Cause(ctx)
	case <-over.C:
		return none, late
	}
}
