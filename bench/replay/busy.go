package replay

import (
	"fmt"
	"slices"

	"zbench/bench/finding"
	"zbench/bench/stat"
	"zbench/bench/unit"
)

// Busy is a network that is slow now and then: messages take a few times as long as they did in other rounds.
type Busy struct {
	// Slow is how many messages took long.
	Slow int `json:"slow"`
	// Of is how many were timed.
	Of int `json:"of"`
	// Times is how many times as long they took as at their fastest: the median.
	Times float64 `json:"times"`
	// Lost is the time that was lost, as a share of what all messages would have taken.
	Lost float64 `json:"lost"`
	// Stretches tells that slow messages follow each other more often than chance would have it.
	Stretches bool `json:"stretches"`
}

const (
	// busyFrom is from how many times the fastest on a message counts as slow: beyond what launches vary by.
	busyFrom = 1.25
	// busyLost is the share of messages' time, and busyLeast the number of messages, that are not an accident.
	busyLost  = 0.03
	busyLeast = 3
)

// busyOf looks at the messages' own times of both kinds of steps, by round; nil where each message takes what it takes. A
// message is held against itself: what is late in every round is of the step.
func busyOf(kinds [2][][]float64) *Busy {
	b := &Busy{}
	var times []float64
	var fast, lost float64
	pairs, both := 0, 0
	for _, rounds := range kinds {
		base := slices.Clone(rounds[0])
		for _, own := range rounds {
			for i := range own {
				base[i] = min(base[i], own[i])
			}
		}
		for _, own := range rounds {
			before := false
			for i, seconds := range own {
				slow := seconds > busyFrom*base[i]
				fast += base[i]
				if slow {
					times = append(times, seconds/base[i])
					lost += seconds - base[i]
				}
				if i > 0 {
					pairs++
				}
				if slow && before {
					both++
				}
				before = slow
			}
			b.Of += len(own)
		}
	}
	if b.Slow, b.Lost = len(times), lost/fast; b.Slow < busyLeast || b.Lost < busyLost {
		return nil
	}
	b.Times = stat.Quantile(times, 0.5)
	share := float64(b.Slow) / float64(b.Of)
	b.Stretches = stat.BinomialTail(both, pairs, share*share) < lateChance
	return b
}

// CodeBusy is the finding of a network that is slow now and then.
const CodeBusy = "busy_network"

func (b *Busy) finding(of string) finding.Finding {
	f := finding.Finding{
		Code: CodeBusy, Severity: finding.Warning,
		Text: fmt.Sprintf("NETWORK: Of the messages of a step with %s %d of %d take about %.1f times as long as in other rounds, %s more than all of them would.", of, b.Slow, b.Of, b.Times, unit.Percent(b.Lost)),
		Hint: "find out what else is on the network, and repeat when it is quiet; a link that fails now and then looks the same: `zbench rails` on the nodes names it",
	}
	if b.Stretches {
		f.Text += " They follow each other: something else is on the network for a while, again and again."
	}
	return f
}
