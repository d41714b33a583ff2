package main

import (
	"fmt"
	"time"

	"zbench/bench/record"
	"zbench/bench/unit"
)

// progress tells on standard error how far a sweep is: one line that is
// rewritten on a terminal, a line per case otherwise.
type progress struct {
	out         Stream
	now         func() time.Time
	start       time.Time
	done, total int
	// before is how many of them an earlier run has done.
	before int
	quiet  bool
}

func newProgress(s State, total int, quiet bool) *progress {
	return &progress{out: s.Stderr, now: s.Now, start: s.Now(), total: total, quiet: quiet}
}

// step reports one finished case.
func (p *progress) step(r record.Result) {
	p.done++
	if p.quiet {
		return
	}
	text := fmt.Sprintf("[%d/%d] %s %s: %s", p.done, p.total, r.Collective, unit.Bytes(r.BytesRequested), outcome(r))
	if !p.out.IsTTY {
		fmt.Fprintln(p.out, text)
		return
	}
	elapsed := p.now().Sub(p.start)
	left := time.Duration(float64(elapsed) / float64(p.done-p.before) * float64(p.total-p.done)).Round(time.Second)
	text += fmt.Sprintf("   ETA %s", left)
	if runes := []rune(text); p.out.Width > 0 && len(runes) >= p.out.Width {
		text = string(runes[:p.out.Width-1])
	}
	fmt.Fprintf(p.out, "\r\x1b[K%s", text)
	if p.done == p.total {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
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
