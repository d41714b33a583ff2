package hbm

import (
	"slices"

	"zbench/bench/base/stat"
	"zbench/bench/run/plan"
	"zbench/bench/run/record"
	"zbench/internal/native"
)

const (
	// batchSeconds is the least duration of a batch between two events in seconds, so that the
	// cost and the resolution of an event do not matter.
	batchSeconds = 2e-3
	// deadline is the time limit of a batch in seconds. No batch comes near it.
	deadline = 120.0
	// launchSamples is the number of isolated launches whose median is taken.
	launchSamples = 7
)

// Time times the loaded sequence on the timer's devices. It warms up for `warm` seconds, finds the
// number of rounds that takes `batch` seconds on every device, and runs batches of that size until
// the mean over the devices satisfies the rule. It returns the samples of each device in seconds
// per round, with the clock rate of the compute units if the timer counts it. sense reads a
// device's other conditions directly after the last batch; a nil function reads nothing.
func Time(t *native.Timer, rule stat.Rule, batch, warm float64, sense func(device int) record.Conditions) ([]record.KernelSamples, error) {
	devices := 0
	rounds, err := stat.Rounds(batch, warm, func(rounds int) (float64, error) {
		seconds, err := t.Run(rounds, deadline)
		if err != nil {
			return 0, err
		}
		devices = len(seconds)
		return slices.Min(seconds), nil
	})
	if err != nil {
		return nil, err
	}
	if err := t.ClearClocks(); err != nil {
		return nil, err
	}
	all := slices.Repeat([]record.KernelSamples{{Launches: rounds}}, devices)
	var means []float64
	why, err := plan.Sample(rule, &means, func(n int) (spent float64, err error) {
		for range n {
			seconds, err := t.Run(rounds, deadline)
			if err != nil {
				return 0, err
			}
			sum := 0.0
			for i, s := range seconds {
				all[i].Seconds = append(all[i].Seconds, s/float64(rounds))
				sum += s / float64(rounds)
			}
			means = append(means, sum/float64(devices))
			spent += slices.Max(seconds)
		}
		return spent, nil
	})
	if err != nil {
		return all, err
	}
	conditions := make([]record.Conditions, devices)
	for i := range devices {
		if sense != nil {
			conditions[i] = sense(i)
		}
	}
	clocks, err := t.Clocks()
	for i, c := range clocks {
		all[i].Stop, conditions[i].Clock = why, c
		if conditions[i] != (record.Conditions{}) {
			all[i].Conditions = &conditions[i]
		}
	}
	return all, err
}
