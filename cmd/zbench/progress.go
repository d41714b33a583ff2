package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"zbench/bench/plain"
	"zbench/bench/record"
	"zbench/bench/unit"
)

// liveRows is the number of rows that a terminal shows during a sweep.
const liveRows = 8

// progress shows on standard error what a sweep measures, from the first pass of the
// first case on: on a terminal the last rows and how far the sweep is, redrawn in
// place and cleared at the end; elsewhere a line for each row, where that is asked
// for.
type progress struct {
	out   Stream
	now   func() time.Time
	start time.Time
	// first counts the cases that are through their first pass, done those that
	// are through their last, of total.
	first, done, total int
	// before is how many of them an earlier run has done.
	before int
	// quiet shows nothing, redraw rewrites a terminal's lines.
	quiet, redraw bool
	// rows are those on the terminal, drawn the number of its lines that are taken.
	rows  []string
	drawn int
}

func newProgress(s State, total, before int, quiet, always bool) *progress {
	redraw := s.Stderr.IsTTY && s.Getenv("TERM") != "dumb"
	return &progress{
		out: s.Stderr, now: s.Now, start: s.Now(), total: total, before: before, done: before,
		quiet: quiet || !s.Stderr.IsTTY && !always, redraw: redraw,
	}
}

// Pass shows one pass of a case. The last is shown by Done.
func (p *progress) Pass(planned record.Result, part record.Part) {
	if part.Pass > 0 {
		return
	}
	p.first++
	if p.quiet {
		return
	}
	r := record.Assemble(planned, []record.Part{part})
	if part.Status == record.OK {
		r.Status = record.OK // one pass of two is no interruption here
	}
	p.show(fmt.Sprintf("[first pass %d/%d]", p.first, p.total), row(r))
}

// Done shows one finished case.
func (p *progress) Done(r record.Result) {
	p.done++
	if !p.quiet {
		p.show(fmt.Sprintf("[%d/%d]", p.done, p.total), row(r))
	}
}

// First shows the first pass of a kernel's row. The last is shown by Last.
func (p *progress) First(part record.Part) {
	if part.Pass > 0 {
		return
	}
	p.first++
	if !p.quiet {
		p.show(fmt.Sprintf("[first pass %d/%d%s]", p.first, p.total, p.rest()), kernelRow(part))
	}
}

// Last shows the last pass of a kernel's row.
func (p *progress) Last(part record.Part) {
	p.done++
	if !p.quiet {
		p.show(fmt.Sprintf("[%d/%d%s]", p.done, p.total, p.rest()), kernelRow(part))
	}
}

// rest says how long the rest takes, where each row is a line: kernels are measured in real time, for
// minutes. A terminal that is redrawn shows it below the rows.
func (p *progress) rest() string {
	if left := p.left(); left > 0 && !p.redraw {
		return ", about " + left.String() + " left"
	}
	return ""
}

// kernelRow is a pass of a kernel's row with how it ended.
func kernelRow(part record.Part) string {
	how := string(part.Status)
	if part.Reason != "" {
		how += ": " + part.Reason
	}
	return strings.TrimSuffix(part.Key, "@0") + ": " + how
}

// show adds a row.
func (p *progress) show(at, text string) {
	if !p.redraw {
		fmt.Fprintln(p.out, at+" "+text)
		return
	}
	p.rows = append(p.rows, text)
	if len(p.rows) > liveRows {
		p.rows = p.rows[1:]
	}
	lines := slices.Concat(p.rows, []string{at + "  ETA " + p.left().String()})
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
	_, _ = io.WriteString(p.out.unescaped(), b.String()) // progress that cannot be shown stops nothing
}

// cut shortens a line so that the terminal does not wrap it.
func (p *progress) cut(text string) string {
	if runes := []rune(text); len(runes) >= p.out.columns() {
		return string(runes[:p.out.columns()-1])
	}
	return text
}

// left estimates the remaining time from the passes so far.
func (p *progress) left() time.Duration {
	passes := max(p.first+p.done-p.before, 1)
	return time.Duration(float64(p.now().Sub(p.start)) / float64(passes) * float64(max(0, 2*p.total-p.first-p.done))).Round(time.Second)
}

// row is a case with its figures.
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
