package replay

import (
	"fmt"
	"math"
	"slices"

	"zbench/bench/base/finding"
	"zbench/bench/base/stat"
	"zbench/bench/base/unit"
)

// Busy describes a network that is sometimes slow: messages take several times as long as in other
// rounds.
type Busy struct {
	// Slow is the number of slow messages.
	Slow int `json:"slow"`
	// Of is the number of timed messages.
	Of int `json:"of"`
	// Times is the median ratio of slow messages to their fastest time.
	Times float64 `json:"times"`
	// Lost is the lost time, as a share of the normal time of all messages.
	Lost float64 `json:"lost"`
	// Stretches is true if slow messages follow each other more often than chance allows.
	Stretches bool `json:"stretches"`
}

const (
	// If times hardly vary, a message counts as slow from busyFrom times its fastest time.
	busyFrom = 1.25
	// A message counts as slow from busySpread standard deviations above its fastest time. The fastest of
	// ten times is 1.5 deviations below the mean, so a slow message is 2.5 deviations above the mean. By
	// chance one message in a hundred is so slow, and these messages lose less time than busyLost.
	busySpread = 4
	// halfWidth is the average width of the narrowest half of ten normal values, in standard
	// deviations.
	halfWidth = 0.7
	// busyLost is the least reported loss, as a share of the messages' time. busyLeast is the least
	// reported number of slow messages. Smaller values may be an accident.
	busyLost  = 0.03
	busyLeast = 3
)

// busyOf examines the messages' own times in both kinds of steps, by round; nil if each message takes its
// usual time. Each message is compared with itself in other rounds, because lateness in every round belongs
// to the step.
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

// slowFrom returns the least time of each message over rounds, and the time above which the message is
// slow. The variation of a message is taken from the narrowest half of its rounds, which are similar even
// if most rounds are slow. It counts as at least the variation of the median message, because a few rounds
// may be close together by chance.
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

// CodeBusy is the finding of a network that is sometimes slow.
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
