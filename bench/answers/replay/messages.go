package replay

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"zbench/bench/base/finding"
	"zbench/bench/base/slice"
	"zbench/bench/base/stat"
	"zbench/bench/base/unit"
	"zbench/bench/run/plan"
)

// Messages compares the time of a step's messages inside the step with their time back to back.
type Messages struct {
	// Amount is the setting whose messages are compared; empty for the trace's own step.
	Amount string `json:"amount"`
	// Rounds is the number of steps of each kind. The kinds take turns.
	Rounds int `json:"rounds"`
	// Communicators is the number of sets of communicators of the messages. Messages of one set follow each
	// other; messages of different sets run at the same time.
	Communicators int `json:"communicators"`
	// Alone is the sum of the messages' own times in a step without computation, in seconds: the median
	// over rounds. A message's own time is its time on the rank that reaches it last.
	Alone float64 `json:"alone"`
	// Within is the sum of the messages' own times in a step with computation, in seconds.
	Within float64 `json:"within"`
	// Factor is Within divided by Alone, as a geometric mean over rounds. Computation by one thread takes
	// nothing from messages, so an excess over 1 comes from late launches, or from messages of other
	// communicators on the same links.
	Factor float64 `json:"factor"`
	// Lo is the lower end of the 95 % interval of Factor.
	Lo float64 `json:"lo"`
	// Hi is the upper end of the 95 % interval of Factor.
	Hi float64 `json:"hi"`
	// Late is the rank for which the other ranks wait; null if no rank stands out. If messages are on
	// several sets of communicators, only single launches can show such a rank.
	Late *Late `json:"late"`
	// Busy describes a network that is sometimes slow; null if it is not.
	Busy *Busy `json:"busy"`
}

// Late is a rank that comes last to messages more often than chance allows.
type Late struct {
	// Rank is the number of the rank.
	Rank int `json:"rank"`
	// Last is the number of messages with a wait at which the rank came last.
	Last int `json:"last"`
	// Of is the number of messages with a wait in the rank's groups.
	Of int `json:"of"`
	// Wait is the median time that other ranks wait for the rank, in seconds per step or per single launch.
	Wait float64 `json:"wait"`
	// Per is the unit of Wait: "step" or "launch".
	Per string `json:"per"`
}

const (
	messageRounds = 10
	// `waited` is the least wait of other ranks that counts, as a share of a message's time.
	waited = 0.01
	// lateChance is the largest probability with which a normal rank is called late.
	lateChance = 1e-3
)

// Bare returns the step with all of its computation before its messages. The messages then follow each
// other, on any communicators, and the host has already launched them.
func Bare(s *plan.Step) *plan.Step {
	out := Alone(s)
	out.Sends, out.Cases = s.Sends, s.Cases
	for i := range s.Sends {
		out.Ops = append(out.Ops, plan.StepOp{Do: plan.StepLaunch, Message: i})
		if i+1 == len(s.Sends) || s.Comms(i+1) != s.Comms(i) {
			out.Ops = append(out.Ops, plan.StepOp{Do: plan.StepWait, Message: i})
		}
	}
	return out
}

// TakeMessages times the messages of a staged step, alternately with computation (setting `step`) and
// without computation (setting `bare`).
func TakeMessages(ctx context.Context, p plan.Player, step, bare int, s *plan.Step) (*Messages, error) {
	times := [2][][]float64{}
	for range messageRounds {
		for i, setting := range []int{bare, step} {
			all, err := watched(ctx, p, plan.Watch{Setting: setting, Count: len(s.Sends)})
			if err != nil {
				return nil, err
			}
			times[i] = append(times[i], all)
		}
	}
	var comms []plan.Comms
	for i := range s.Sends {
		comms = append(comms, s.Comms(i))
	}
	return messagesOf(times, comms), nil
}

// `watched` returns the times of more messages than one Watch can take.
func watched(ctx context.Context, p plan.Player, w plan.Watch) (all []float64, err error) {
	for end := w.First + w.Count; w.First < end; w.First += w.Count {
		w.Count = min(plan.MaxWatched, end-w.First)
		some, err := p.Watch(ctx, w)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

// messagesOf compares the times of messages without and with computation, by round and message ×
// rank.
func messagesOf(times [2][][]float64, comms []plan.Comms) *Messages {
	m := &Messages{Rounds: len(times[0]), Communicators: 1}
	for i, c := range comms {
		if i > 0 && !slices.Contains(comms[:i], c) {
			m.Communicators++
		}
	}
	if m.Communicators == 1 { // with several communicators, a slow message of one group makes a rank late to a message of another group
		m.Late = lateOf(times[1], comms)
	}
	for _, rounds := range times {
		for i := range rounds {
			rounds[i] = ownTimes(rounds[i], comms)
		}
	}
	m.Busy = busyOf(times)
	var without, with, logs []float64
	for i, alone := range times[0] {
		a, w := float64(len(comms))*stat.Mean(alone), float64(len(comms))*stat.Mean(times[1][i])
		without, with, logs = append(without, a), append(with, w), append(logs, math.Log(w/a))
	}
	m.Alone, m.Within = stat.Quantile(without, 0.5), stat.Quantile(with, 0.5)
	mean := stat.Mean(logs)
	half := Design{Settings: 2}.half(logs, len(logs), 0.05)
	m.Factor, m.Lo, m.Hi = math.Exp(mean), math.Exp(mean-half), math.Exp(mean+half)
	return m
}

// ownTimes returns each message's own time in a step: its time on the rank that reaches it last and waits
// for no other rank. If several groups run at once, the slowest group counts.
func ownTimes(seconds []float64, comms []plan.Comms) (all []float64) {
	ranks := len(seconds) / len(comms)
	for i, c := range comms {
		slowest := 0.0
		for _, h := range c.Held(0, ranks) {
			slowest = max(slowest, slices.Min(of(h, seconds[i*ranks:])))
		}
		all = append(all, slowest)
	}
	return all
}

// `of` returns the times of a group's ranks.
func of(h plan.Held, seconds []float64) []float64 {
	return slice.Map(h.Ranks, func(rank int) float64 { return seconds[rank] })
}

// Launched looks for a late rank in the times of single launches, by launch × rank. If launches
// come late, the messages' own times show no rank, because the host is also late with the event
// before them.
func (m *Messages) Launched(seconds []float64, launches int, c plan.Comms) {
	var rounds [][]float64
	ranks := len(seconds) / launches
	for i := range launches {
		rounds = append(rounds, seconds[i*ranks:(i+1)*ranks])
	}
	if l := lateOf(rounds, []plan.Comms{c}); l != nil && m.Late == nil {
		l.Per = "launch"
		m.Late = l
	}
}

// LaunchedLate reports whether messages wait for launches inside the step. It is false with several
// communicators, because their messages may wait for each other.
func (m *Messages) LaunchedLate() bool { return m.Lo > 1+waited && m.Communicators == 1 }

// lateOf finds the rank that came last to most of the messages with a wait in its group.
func lateOf(rounds [][]float64, comms []plan.Comms) *Late {
	ranks := len(rounds[0]) / len(comms)
	last, among, waits := make([]int, ranks), make([]int, ranks), make([][]float64, ranks)
	chance := 0.0 // largest probability that a given rank is last by chance
	for _, seconds := range rounds {
		wait := make([]float64, ranks) // the wait of other ranks for each rank
		for i, c := range comms {
			for _, h := range c.Held(0, ranks) {
				row := of(h, seconds[i*ranks:])
				shortest := slices.Min(row)
				by := stat.Quantile(row, 0.5) - shortest
				if by <= waited*shortest {
					continue
				}
				chance = max(chance, 1/float64(len(row)))
				for _, rank := range h.Ranks {
					among[rank]++
				}
				k := h.Ranks[slices.Index(row, shortest)]
				last[k]++
				wait[k] += by
			}
		}
		for k := range waits {
			waits[k] = append(waits[k], wait[k])
		}
	}
	k := slices.Index(last, slices.Max(last))
	if last[k] == 0 || stat.BinomialTail(last[k], among[k], chance)*float64(ranks) > lateChance {
		return nil
	}
	return &Late{Rank: k, Last: last[k], Of: among[k], Wait: stat.Quantile(waits[k], 0.5), Per: "step"}
}

// Codes of the findings of messages.
const (
	CodeLaunches = "late_launches"
	CodeBeside   = "beside"
	CodeLate     = "late_rank"
)

// findings state the messages' loss inside a step, and the rank for which they wait.
func (m *Messages) findings() (list finding.List) {
	of := cmp.Or(m.Amount, "the trace's buckets")
	if m.LaunchedLate() {
		list = append(list, finding.Finding{
			Code: CodeLaunches, Severity: finding.Warning,
			Text: fmt.Sprintf("LAUNCHES: In a step with %s messages take %.2f to %.2f times as long as behind each other, %s for %s, beside computation that takes nothing from them.", of, m.Lo, m.Hi, unit.Seconds(m.Within), unit.Seconds(m.Alone)),
			Hint: "the host of a rank launches them late: look at what else it does",
		})
	}
	if m.Communicators > 1 && m.Lo > 1+waited {
		list = append(list, finding.Finding{
			Code: CodeBeside, Severity: finding.Note,
			Text: fmt.Sprintf("In a step with %s messages are on %d sets of communicators, and take %.2f to %.2f times as long beside one another as one by one, %s for %s.", of, m.Communicators, m.Lo, m.Hi, unit.Seconds(m.Within), unit.Seconds(m.Alone)),
		})
	}
	if m.Busy != nil {
		list = append(list, m.Busy.finding(of))
	}
	if l := m.Late; l != nil {
		list = append(list, finding.Finding{
			Code: CodeLate, Severity: finding.Warning, Subject: &finding.Subject{Kind: finding.Rank, Name: fmt.Sprint("rank ", l.Rank)},
			Text: fmt.Sprintf("LATE: Rank %d comes last to %d of %d messages that were waited for; the others wait %s a %s for it.", l.Rank, l.Last, l.Of, unit.Seconds(l.Wait), l.Per),
			Hint: "look at what else its GPU and host do",
		})
	}
	return list
}
