package replay

import (
	"fmt"
	"math"
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
	// busyFrom is from how many times the fastest on a message counts as slow, where times hardly vary.
	busyFrom = 1.25
	// busySpread is the same in standard deviations: the least of ten is 1.5 of them below the mean, so that slow is
	// what is 2.5 above it. By chance that is one time in a hundred, which loses less than busyLost.
	busySpread = 4
	// halfWidth is the width that the narrowest half of ten normal values has on average, in standard deviations.
	halfWidth = 0.7
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
		base, from := slowFrom(rounds)
		for _, own := range rounds {
			before := false
			for i, seconds := range own {
				slow := seconds > from[i]
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

// slowFrom is the least time of each message over rounds, and the time from which on it is slow. It varies by the
// narrowest half of its rounds, which are alike even where most of them are slow, or by what the middle one of all
// messages varies by: a few rounds may lie close together by chance.
func slowFrom(rounds [][]float64) (base, from []float64) {
	var spread []float64
	half := (len(rounds) + 1) / 2
	for i := range rounds[0] {
		var logs []float64
		for _, own := range rounds {
			logs = append(logs, math.Log(own[i]))
		}
		slices.Sort(logs)
		width := math.Inf(1)
		for k := half - 1; k < len(logs); k++ {
			width = min(width, logs[k]-logs[k-half+1])
		}
		base, spread = append(base, math.Exp(logs[0])), append(spread, width/halfWidth)
	}
	middle := stat.Quantile(spread, 0.5)
	for i, b := range base {
		from = append(from, b*max(busyFrom, math.Exp(busySpread*max(middle, spread[i]))))
	}
	return base, from
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
