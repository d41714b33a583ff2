package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"zbench/bench/base/plain"
	"zbench/bench/base/unit"
	"zbench/bench/run/record"
)

// liveRows is the number of rows that a terminal shows during a sweep.
const liveRows = 8

// `every` is the time between two lines of progress if lines cannot be redrawn, as in a file.
const every = 10 * time.Second

// progress shows the state of a sweep on standard error. A terminal shows the last rows and how far
// the sweep is; they are redrawn in place and cleared at the end. Other outputs get one line every
// ten seconds, or one line per row if that is requested.
type progress struct {
	out Stream
	now func() time.Time
	// first is the number of cases whose first pass is over. done is the number of cases whose last
	// pass is over. total is the number of all cases.
	first, done, total int
	// firsts are the times of the first passes in this run. seconds are the times of the second
	// passes, in which the cases are in the opposite order.
	firsts, seconds []time.Duration
	// last is the time at which the last pass ended. shown is the time at which the last line was
	// printed, or at which the progress began.
	last, shown time.Time
	// If quiet is true, nothing is printed. If `each` is true, every row is printed. If redraw is
	// true, lines of a terminal are rewritten.
	quiet, each, redraw bool
	// rows are the rows on the terminal. drawn is the number of lines that they take.
	rows  []string
	drawn int
}

// newProgress returns the progress of a sweep. total is the number of its cases, before is the
// number of cases that an earlier run finished.
func newProgress(s State, total, before int, quiet, each bool) *progress {
	return &progress{
		out: s.Stderr, now: s.Now, last: s.Now(), shown: s.Now(), total: total, first: before, done: before,
		quiet: quiet, each: each, redraw: s.Stderr.IsTTY && s.Getenv("TERM") != "dumb",
	}
}

// took returns the time since the end of the last pass.
func (p *progress) took() time.Duration {
	before := p.last
	p.last = p.now()
	return p.last.Sub(before)
}

// Pass shows the first pass of a case. Done shows the last pass.
func (p *progress) Pass(planned record.Result, part record.Part) {
	if part.Pass > 0 {
		return
	}
	p.first++
	p.firsts = append(p.firsts, p.took())
	r := record.Assemble(planned, []record.Part{part})
	if part.Status == record.OK {
		r.Status = record.OK // Assemble marks a case with one of two passes as interrupted
	}
	p.show(fmt.Sprintf("[first pass %d/%d]", p.first, p.total), row(r))
}

// Done shows one finished case.
func (p *progress) Done(r record.Result) {
	p.done++
	if took := p.took(); r.Status != record.Skipped {
		p.seconds = append(p.seconds, took)
	}
	p.show(fmt.Sprintf("[%d/%d]", p.done, p.total), row(r))
}

// First shows the first pass of a kernel's row. Last shows the last pass.
func (p *progress) First(part record.Part) {
	if part.Pass > 0 {
		return
	}
	p.first++
	p.firsts = append(p.firsts, p.took())
	p.show(fmt.Sprintf("[first pass %d/%d]", p.first, p.total), kernelRow(part))
}

// Last shows the last pass of a kernel's row.
func (p *progress) Last(part record.Part) {
	p.done++
	p.seconds = append(p.seconds, p.took())
	p.show(fmt.Sprintf("[%d/%d]", p.done, p.total), kernelRow(part))
}

// kernelRow returns a pass of a kernel's row as text, with its outcome.
func kernelRow(part record.Part) string {
	how := string(part.Status)
	if part.Reason != "" {
		how += ": " + part.Reason
	}
	return strings.TrimSuffix(part.Key, "@0") + ": " + how
}

// begins shows what is measured next. A nil progress shows nothing.
func (p *progress) begins(text string) {
	if p != nil {
		p.show(fmt.Sprintf("[first pass %d/%d]", p.first, p.total), text+" begins")
	}
}

// show adds a row.
func (p *progress) show(at, text string) {
	left := p.left()
	switch {
	case p.quiet:
		return
	case p.redraw:
		if left > 0 {
			at += "  ETA " + left.String()
		}
		p.redrawn(text, at)
	case p.each || p.last.Sub(p.shown) >= every:
		p.shown = p.last
		if left > 0 {
			at = strings.TrimSuffix(at, "]") + ", about " + left.String() + " left]"
		}
		fmt.Fprintln(p.out, at+" "+text)
	}
}

// redrawn adds a row on the terminal, above the line that shows how far the sweep is.
func (p *progress) redrawn(text, at string) {
	p.rows = append(p.rows, text)
	if len(p.rows) > liveRows {
		p.rows = p.rows[1:]
	}
	lines := slices.Concat(p.rows, []string{at})
	if p.done == p.total {
		p.rows, lines = nil, nil
	}
	var b strings.Builder
	if p.drawn > 1 {
		fmt.Fprintf(&b, "\x1b[%dA", p.drawn-1)
	}
	b.WriteString("\r\x1b[J")
	for i, line := range lines {
		if i > 0 {
			b.WriteString("\r\n")
		}
		b.WriteString(p.cut(plain.Line(line)))
	}
	p.drawn = len(lines)
	_, _ = io.WriteString(p.out.unescaped(), b.String()) // ignore errors: they must not stop the sweep
}

// cut shortens a line so that the terminal does not wrap it.
func (p *progress) cut(text string) string {
	if runes := []rune(text); len(runes) >= p.out.columns() {
		return string(runes[:p.out.columns()-1])
	}
	return text
}

// `left` estimates the remaining time, or returns 0 if it is unknown. During the first passes, the
// estimate is their mean time multiplied by the number of remaining passes. For the second passes,
// the time of each case's first pass is scaled by the ratio of second to first passes so far.
func (p *progress) left() time.Duration {
	firsts, k := slices.Clone(p.firsts), len(p.seconds)
	// The very first pass includes one-time costs, for example for memory that is touched for the
	// first time.
	switch {
	case len(firsts) > 1:
		firsts[0] = mean(firsts[1:])
	case k == 0:
		return 0
	}
	left := mean(firsts) * time.Duration(2*p.total-p.first-p.done)
	switch before := len(firsts) - k; {
	case k > 0 && before >= 0 && sum(firsts[before:]) > 0:
		left = time.Duration(float64(sum(p.seconds)) / float64(sum(firsts[before:])) * float64(sum(firsts[:before])))
	case k > 0: // the run was resumed during the second passes
		left = mean(p.seconds) * time.Duration(p.total-p.done)
	}
	return left.Round(time.Second)
}

// sum returns the sum of durations.
func sum(all []time.Duration) (total time.Duration) {
	for _, d := range all {
		total += d
	}
	return total
}

// mean returns the mean of durations; 0 if there are none.
func mean(all []time.Duration) time.Duration { return sum(all) / time.Duration(max(1, len(all))) }

// row returns a case with its figures as text.
func row(r record.Result) string {
	name := r.Collective
	switch {
	case r.Stride > 0:
		name += fmt.Sprintf(" s%d", r.Stride)
	case r.Groups > 1:
		name += fmt.Sprintf(" g%d", r.Ranks)
	}
	if r.InPlace {
		name += " in place"
	}
	return fmt.Sprintf("%s %s: %s", name, unit.Bytes(r.BytesRequested), outcome(r))
}

func outcome(r record.Result) string {
	s, timed := r.Seconds()
	switch {
	case r.Status != record.OK:
		return fmt.Sprintf("%s: %s", r.Status, r.Reason)
	case !timed:
		return string(r.Status)
	}
	text := unit.Seconds(s)
	if r.BusBW != nil {
		text += ", busbw " + unit.Rate(*r.BusBW)
	}
	return text
}
