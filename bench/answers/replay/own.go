package replay

import (
	"fmt"
	"math"

	"zbench/bench/base/finding"
	"zbench/bench/base/slice"
	"zbench/bench/base/stat"
	"zbench/bench/base/unit"
	"zbench/bench/files/trace"
)

// ownWithin is the largest accepted difference of the replayed step from the trace's step, as a share. A
// replay that is further off is not of this job, and its results for other settings are worthless.
const ownWithin = 0.01

// OwnBlocks is the number of blocks of the trace's own step.
const OwnBlocks = firstRounds

// Own is a step of a job from its trace, and its replay.
type Own struct {
	// File is the trace's name.
	File string `json:"file"`
	// Rank of the step; -1 if the file does not state it.
	Rank int `json:"rank"`
	// Of is the number of steps in the trace. The step of middle length is replayed.
	Of int `json:"of"`
	// Traced is the duration of the step in the job, in seconds.
	Traced float64 `json:"traced"`
	// TracedCompute is the part of Traced in which the step does not wait for a message, in seconds.
	TracedCompute float64 `json:"traced_compute"`
	// Messages of the step.
	Messages int `json:"messages"`
	// Simulated is true if a model, not hardware, decided the trace's times; absent otherwise.
	Simulated bool `json:"simulated,omitempty"`
	// Steps are the replayed steps, on the slowest rank; null if there are none.
	Steps *stat.Summary `json:"steps"`
	// Compute is a replayed step without messages, in seconds.
	Compute float64 `json:"compute"`
}

// OwnOf returns the trace's own step before it is replayed.
func OwnOf(file string, t *trace.Own) *Own {
	return &Own{
		File: file, Rank: t.Rank, Of: t.Steps, Traced: t.Seconds, TracedCompute: t.Computing, Simulated: t.Simulated,
		Messages: slice.Count(t.Nodes, func(n trace.Node) bool { return n.Call != nil }),
	}
}

// Fits reports whether the replayed step matches the job's.
func (o *Own) Fits() bool { return o.Steps != nil && math.Abs(o.off()) <= ownWithin }

// `off` returns the difference of the replayed step from the trace's step, as a share of the latter.
func (o *Own) off() float64 { return o.Steps.Median/o.Traced - 1 }

// finding compares the replayed step with the traced step.
func (o *Own) finding() finding.Finding {
	if o.Steps == nil {
		return finding.Finding{Code: finding.CodeNotChecked, Severity: finding.Warning, Text: fmt.Sprintf("The step of %s was not taken.", o.File)}
	}
	text := fmt.Sprintf("%s has a step of %s, of which %s wait for messages. Replayed it takes %s, of which %s wait",
		o.File, unit.Seconds(o.Traced), unit.Seconds(o.Traced-o.TracedCompute), unit.Seconds(o.Steps.Median), unit.Seconds(max(0, o.Steps.Median-o.Compute)))
	if o.Simulated {
		text = fmt.Sprintf("SIMULATED (times of %s): %s", o.File, finding.NotHardware) + ". " + text
	}
	if o.Fits() {
		return finding.Finding{Code: CodeOwn, Severity: finding.OK, Text: text + fmt.Sprintf(": within %s.", unit.Percent(ownWithin))}
	}
	return finding.Finding{
		Code: CodeOwn, Severity: finding.Warning, Text: text + fmt.Sprintf(": %+.1f %%. This replay is not of that job: it says nothing about other settings.", 100*o.off()),
		Hint: "replay on the ranks that the trace is of; where it waits for late ranks or the host, no replay of its messages is as long",
	}
}
