package main

import (
	"fmt"
	"io"
	"time"

	"zbench/bench/plain"
	"zbench/bench/record"
	"zbench/bench/unit"
)

// progress tells on standard error how far a sweep is: one line that is
// rewritten on a terminal, a line per case otherwise.
type progress struct {
	out         Stream
	now         func() time.Time
	start, last time.Time
	// first counts the cases that are through their first pass, done those that
	// are through their last, of total.
	first, done, total int
	// before is how many of them an earlier run has done.
	before int
	quiet  bool
}

func newProgress(s State, total, before int, quiet, _ bool) *progress {
	return &progress{out: s.Stderr, now: s.Now, start: s.Now(), last: s.Now(), total: total, before: before, done: before, quiet: quiet}
}

// heartbeat is how often the first pass says something off a terminal.
const heartbeat = 10 * time.Second

// Pass reports one pass of a case. The last is reported by Done; the first says
// something on a terminal, and now and then elsewhere.
func (p *progress) Pass(part record.Part) {
	if part.Pass > 0 {
		return
	}
	p.first++
	if p.quiet || !p.out.IsTTY && p.now().Sub(p.last) < heartbeat {
		return
	}
	p.say(fmt.Sprintf("[first pass %d/%d] %s", p.first, p.total, part.Key))
}

// Done reports one finished case.
func (p *progress) Done(r record.Result) {
	p.done++
	if p.quiet {
		return
	}
	p.say(fmt.Sprintf("[%d/%d] %s %s: %s", p.done, p.total, r.Collective, unit.Bytes(r.BytesRequested), outcome(r)))
}

func (p *progress) say(text string) {
	p.last = p.now()
	if !p.out.IsTTY {
		fmt.Fprintln(p.out, text)
		return
	}
	elapsed := p.last.Sub(p.start)
	passes := max(p.first+p.done-p.before, 1)
	left := time.Duration(float64(elapsed) / float64(passes) * float64(2*p.total-p.first-p.done)).Round(time.Second)
	text = plain.Text(text) + fmt.Sprintf("   ETA %s", left)
	if runes := []rune(text); p.out.Width > 0 && len(runes) >= p.out.Width {
		text = string(runes[:p.out.Width-1])
	}
	line := clearLine + text
	if p.done == p.total {
		line += clearLine
	}
	_, _ = io.WriteString(p.out.own(), line) // progress that cannot be shown stops nothing
}

func outcome(r record.Result) string {
	if r.Status != record.OK {
		return fmt.Sprintf("%s: %s", r.Status, r.Reason)
	}
	s, _ := r.Seconds()
	text := unit.Seconds(s)
	if r.BusBW != nil {
		text += ", busbw " + unit.Rate(*r.BusBW)
	}
	return text
}
