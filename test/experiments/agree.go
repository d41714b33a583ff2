package experiments

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"zbench/bench/run/plan"
	"zbench/bench/run/record"
)

// Agreement is the outcome of many trials, with one row per trouble.
type Agreement struct {
	Rows []AgreementRow
	// Failures say what went wrong, by seed.
	Failures []string
}

// AgreementRow counts the trials with one trouble. Orders and Launches are totals over all
// processes. Missed counts the processes that waited for a launch in vain.
type AgreementRow struct {
	Trouble                            Trouble
	Seeds, Processes, Orders, Launches int
	Unequal, Hung, Missed              int
}

// Agree runs trials with seeds 0 to seeds−1.
func Agree(seeds int, after After, m Mistake) Agreement {
	var a Agreement
	for _, trouble := range Troubles() {
		a.Rows = append(a.Rows, AgreementRow{Trouble: trouble})
	}
	for seed := range seeds {
		t := newTrial(seed, after)
		t.mistake = m
		t.run()
		row := &a.Rows[seed%len(a.Rows)]
		row.Seeds++
		row.Processes += len(t.processes)
		for _, p := range t.processes {
			row.Orders += len(p.orders)
			row.Launches += len(p.launches)
			if p.missed {
				row.Missed++
			}
		}
		wrong := t.judge()
		if len(wrong) > 0 {
			a.Failures = append(a.Failures, fmt.Sprintf("seed %d (%s): %s", seed, t.trouble, strings.Join(wrong, "; ")))
			row.Unequal++
		}
		if t.hung {
			row.Hung++
		}
	}
	return a
}

// excused reports whether the trouble itself explains why its process did less than the others.
// Such a process must still have done a part of the same work.
func (t *trial) excused() bool {
	return t.trouble == LaunchFails || t.trouble == ProcessDies || t.trouble == LeaderDies
}

// judge returns what is wrong with a trial. Nothing is wrong if all processes did the same work to
// the end.
func (t *trial) judge() (wrong []string) {
	if t.hung {
		wrong = append(wrong, "processes never ended")
	}
	if t.meeting.differ != "" {
		wrong = append(wrong, t.meeting.differ)
	}
	// The process with the trouble is compared with one of the others.
	like := t.processes[0]
	if t.upset == 0 {
		like = t.processes[1]
	}
	for _, p := range t.processes {
		if p.missed && !t.excused() {
			wrong = append(wrong, fmt.Sprintf("process %d waited in vain", p.number))
		}
		if !same(t.begun(p), t.begun(like), t.excused() && p.number == t.upset) {
			wrong = append(wrong, fmt.Sprintf("process %d had %d orders, process %d had %d, or others", p.number, len(p.orders), like.number, len(like.orders)))
		}
	}
	if n := t.meeting.incomplete(); n > 1 || n == 1 && !t.excused() {
		wrong = append(wrong, fmt.Sprintf("%d launches were not made by all", n))
	}
	return append(append(wrong, t.judgeEvidence()...), t.judgeResults(like)...)
}

// begun returns the orders that a process began. One order asks for bursts and then for isolated
// launches. If the bursts fail, only processes that take no part in the case reach the isolated
// launches.
func (t *trial) begun(p *process) []string {
	last := len(p.orders) - 1
	if t.excused() && last >= 0 && strings.HasSuffix(p.orders[last], launchesAlone) {
		return p.orders[:last]
	}
	return p.orders
}

// judgeEvidence compares the evidence of the failed case with what was planted: the ranks of the
// process with the trouble have failed or are lost, and all other participating ranks wait for
// them.
func (t *trial) judgeEvidence() (wrong []string) {
	p := t.processes[t.upset]
	state, planted := map[Trouble]record.RankState{LaunchFails: record.RankFailed, ProcessDies: record.LostContact}[t.trouble]
	planted = planted && p.at <= 0 // the process reached that launch
	for i, r := range t.results {
		c := t.cases[i]
		active := c.Ranks * max(c.Parallel, 1)
		alone := active == p.ranks && t.upset == 0 // then no other rank waits for it
		switch {
		case !planted && r.Evidence != nil:
			wrong = append(wrong, c.Key+" has evidence, and nothing was planted")
		case !planted || r.Status != record.Failed && !r.Lost() || alone:
		case r.Lost() != (state == record.LostContact):
			wrong = append(wrong, fmt.Sprintf("%s is %s: %s", c.Key, r.Status, r.Reason))
		case r.Evidence == nil:
			wrong = append(wrong, c.Key+" has failed without evidence")
		default:
			want := &record.Evidence{During: r.Evidence.During, Iterations: r.Evidence.Iterations, Deadline: new(launchDeadline.Seconds())}
			ranks := slices.Repeat([]record.RankProgress{{Enqueued: want.Iterations, Started: -1, Ended: -1}}, active)
			for rank := t.upset * p.ranks; rank < (t.upset+1)*p.ranks; rank++ {
				ranks[rank] = record.RankProgress{Lost: state == record.LostContact, Failed: state == record.RankFailed}
				if state == record.RankFailed {
					ranks[rank].Error = errLink.Error()
				}
			}
			want.SetRanks(ranks)
			if !reflect.DeepEqual(want, r.Evidence) {
				wrong = append(wrong, fmt.Sprintf("%s has the evidence %q, not %q", c.Key, r.Evidence.Text(), want.Text()))
			}
		}
	}
	return wrong
}

// `same` compares the orders of two processes. If excused is true, the list a may be shorter than
// the list b.
func same(a, b []string, excused bool) bool {
	if excused && len(a) < len(b) {
		b = b[:len(a)]
	}
	return slices.Equal(a, b)
}

// judgeResults compares the leader's results with the expected results of the sweep.
func (t *trial) judgeResults(like *process) (wrong []string) {
	if t.trouble == LeaderDies && t.processes[0].at <= 0 {
		return nil
	}
	if len(t.results) != len(t.cases) {
		return []string{fmt.Sprintf("%d results of %d cases", len(t.results), len(t.cases))}
	}
	least := t.processes[0].memory
	for _, p := range t.processes {
		least = min(least, p.memory)
	}
	for i, r := range t.results {
		c := t.cases[i]
		fits := plan.ArenaHead+aligned(c.Layout.SendBytes)+aligned(c.Layout.RecvBytes) <= least
		known := slices.ContainsFunc(t.log.Parts, func(p record.Part) bool { return p.Key == c.Key })
		begun := slices.Contains(like.orders, fmt.Sprintf("begin %s, pass 0", c.Key))
		switch {
		case begun && (!fits || known):
			wrong = append(wrong, c.Key+" was launched, and is done or does not fit")
		case known && r.Status != record.OK:
			wrong = append(wrong, fmt.Sprintf("%s was done before, and is %s", c.Key, r.Status))
		case known:
		case fits != (r.Status != record.Skipped) && !t.excused():
			wrong = append(wrong, fmt.Sprintf("%s is %s", c.Key, r.Status))
		case fits && r.Status != record.OK && slices.Contains([]Trouble{NoTrouble, NoKernelsOne, Resumed}, t.trouble):
			wrong = append(wrong, fmt.Sprintf("%s is %s: %s", c.Key, r.Status, r.Reason))
		}
	}
	return wrong
}

// aligned returns the size of a buffer, including the gap before the next one.
func aligned(bytes int64) int64 { return (bytes + plan.Align - 1) / plan.Align * plan.Align }

// incomplete counts the launches that some, but not all, processes made.
func (c *meeting) incomplete() (n int) {
	for at, l := range c.met {
		if l.arrived < at[0] {
			n++
		}
	}
	return n
}

// Markdown returns the table.
func (a Agreement) Markdown() string {
	var b strings.Builder
	b.WriteString("| trouble | seeds | processes | orders | launches | waited in vain | unequal | hung |\n|---|---|---|---|---|---|---|---|\n")
	for _, r := range a.Rows {
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %d | %d | %d | %d |\n", r.Trouble, r.Seeds, r.Processes, r.Orders, r.Launches, r.Missed, r.Unequal, r.Hung)
	}
	return b.String()
}
