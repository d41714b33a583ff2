package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"zbench/bench/advice"
	"zbench/bench/finding"
	"zbench/bench/judge"
	"zbench/bench/plain"
	"zbench/bench/record"
	"zbench/bench/results"
	"zbench/bench/table"
)

// Bounds of the width of text for people. defaultWidth is used if the width is unknown, as
// of a pipe.
const (
	minWidth     = 40
	defaultWidth = 80
)

// columns is the width that text on the stream keeps to.
func (s Stream) columns() int {
	if s.Width <= 0 {
		return defaultWidth
	}
	return max(s.Width, minWidth)
}

// coloured reports whether a stream takes colour: a terminal that has it, unless the
// user wants none.
func (s State) coloured(to Stream) bool {
	return to.IsTTY && s.Getenv("NO_COLOR") == "" && s.Getenv("TERM") != "dumb"
}

// Colours of a terminal by what they say.
var verdictColours = map[finding.Severity]string{
	finding.Fault: "\x1b[31m", finding.Warning: "\x1b[33m", finding.OK: "\x1b[32m",
}

const (
	bold    = "\x1b[1m"
	dim     = "\x1b[2m"
	uncolor = "\x1b[0m"
)

// screen gathers lines for people, folded at a width.
type screen struct {
	strings.Builder
	width  int
	colour bool
}

// fold adds a text in a style. Continuation lines are indented.
func (s *screen) fold(style, text, first, rest string) {
	for _, line := range plain.Fold(plain.OneSpace(plain.Line(text)), s.width, first, rest) {
		s.line(style, line)
	}
}

func (s *screen) line(style, text string) {
	if s.colour && style != "" {
		text = style + text + uncolor
	}
	s.WriteString(text + "\n")
}

// command adds a command line, continued where it is wider than the terminal.
func (s *screen) command(before, line string) {
	lines := plain.Fold(plain.Line(line), s.width-len(" \\"), before, "  ")
	for i, text := range lines {
		if i < len(lines)-1 {
			text += " \\"
		}
		s.line("", text)
	}
}

// tallest is how many lines fit on a screen, with the command before and the prompt
// after them: a blank line that would make more of them is left out.
const tallest = 43

// writeSweepSummary writes what fits on a screen: a row for each size, the other
// answers, and the verdict last; with verbose all that is known between them, and
// else the answer to a question that was asked.
func writeSweepSummary(s State, r sweepOutput) error {
	head, err := summaryText(s, r)
	if err != nil {
		return err
	}
	if _, err := io.WriteString(s.Stdout.unescaped(), head); err != nil {
		return err
	}
	asked := !r.advice.IsAssumed() && r.advice.Answered()
	switch {
	case r.verbose:
		err = writeAll(s, r)
	case asked:
		if _, err = io.WriteString(s.Stdout, "\n"); err == nil {
			err = r.advice.WriteText(s.Stdout)
		}
	}
	if err != nil {
		return err
	}
	others, verdict := othersText(s, r), verdictText(s, s.Stdout, r)
	if strings.Count(head+others+verdict, "\n") < tallest || r.verbose || asked {
		others += "\n"
	}
	_, err = io.WriteString(s.Stdout.unescaped(), others+verdict)
	return err
}

// summaryText is the table.
func summaryText(s State, r sweepOutput) (string, error) {
	out := &screen{width: s.Stdout.columns(), colour: s.coloured(s.Stdout)}
	for i, t := range results.Summary(r.Record, out.width) {
		title, notes := t.Title, t.Notes
		t.Title, t.Notes = "", nil
		if title != "" {
			out.fold(bold, title, "", "  ")
		} else if i > 0 {
			out.line("", "")
		}
		if err := table.Text(out, out.width, t); err != nil {
			return "", err
		}
		for _, n := range notes {
			out.fold("", n, "", "  ")
		}
	}
	return out.String(), nil
}

// writeAll writes the whole table, the sizes near the plateau and the reasons.
func writeAll(s State, r sweepOutput) error {
	if _, err := io.WriteString(s.Stdout, "\n"); err != nil {
		return err
	}
	if err := table.Text(s.Stdout, max(s.Stdout.Width, table.Terminal), results.Results(r.Record)); err != nil {
		return err
	}
	if err := table.Text(s.Stdout, s.Stdout.columns(), results.LongRun(r.Record)...); err != nil {
		return err
	}
	if hints := results.WarningHints(r.Record); len(hints) > 0 {
		out := &screen{width: s.Stdout.columns()}
		for _, h := range hints {
			out.fold("", h, "", "    ")
		}
		if _, err := io.WriteString(s.Stdout.unescaped(), "\n"+out.String()); err != nil {
			return err
		}
	}
	if _, err := io.WriteString(s.Stdout, "\n"); err != nil {
		return err
	}
	if r.advice.Answered() {
		return r.advice.WriteText(s.Stdout)
	}
	answer := kneesOf(r.Record)
	return answer.WriteText(s.Stdout)
}

// othersText lists the answers for other models, and the limits of the assumed one.
func othersText(s State, r sweepOutput) string {
	if !r.advice.IsAssumed() || !r.advice.Answered() {
		return ""
	}
	out := &screen{width: s.Stdout.columns()}
	widest := 0
	for _, x := range r.advice.WhatIf {
		widest = max(widest, len(x.Name))
	}
	for _, x := range r.advice.WhatIf {
		out.fold("", whatIf(x), fmt.Sprintf("If %-*s  ", widest, x.Name), "  ")
	}
	return out.String()
}

// whatIf is the answer for another model in a few words.
func whatIf(x advice.WhatIf) string {
	text := x.Setting
	switch {
	case x.Refusal != nil:
		return "none: " + x.Refusal.Message
	case x.Keep:
		text = "keep " + text
	}
	if x.Range != "" {
		text += " (" + x.Range + ")"
	}
	if x.DefaultCost == nil {
		return text
	}
	// What is kept is the default.
	if !x.Keep {
		text += "; default " + x.Default
	}
	return text + ": step +" + advice.Share(*x.DefaultCost)
}

// writeKernelSummary writes the tables of hbm or of kernels, and the verdict last.
func writeKernelSummary(s State, rec *record.Record) error {
	if err := table.Text(s.Stdout, table.Terminal, results.KernelTables(rec)...); err != nil {
		return err
	}
	out := &screen{width: s.Stdout.columns(), colour: s.coloured(s.Stdout)}
	out.findings(judge.Of(rec))
	_, err := io.WriteString(s.Stdout.unescaped(), "\n"+out.String())
	return err
}

// verdictText is the verdict on the record, faults first and the recommendation last.
func verdictText(s State, to Stream, r sweepOutput) string {
	out := &screen{width: to.columns(), colour: s.coloured(to)}
	out.findings(results.Verdict(r.Record, r.advice))
	if d := r.advice; r.folder != "" && (d.IsAssumed() || d.FixFirst()) {
		out.next(d, r.folder)
	}
	return out.String()
}

// next adds the command that answers for the user's own model, or that looks for the fault
// which comes first.
func (s *screen) next(d *advice.Document, paths ...string) {
	switch {
	case !d.FixFirst():
		s.command("Next, for your model: ", advice.Command(paths...))
	case d.Answer.Refusal.Command != "":
		s.command("Next: ", d.Answer.Refusal.Command)
	}
}

// findings adds statements, each with what to do next.
func (s *screen) findings(all finding.List) {
	for _, f := range all {
		s.fold(verdictColours[f.Severity], f.Text, "", "  ")
		if f.Hint != "" {
			s.fold(dim, f.Hint, "  → ", "    ")
		}
	}
}

// adviceText is the end of a recommendation: the same lines as at the end of a sweep.
func adviceText(s State, records []*record.Record, d *advice.Document, paths ...string) string {
	of := records[0]
	if i := slices.IndexFunc(records, func(r *record.Record) bool { return r.Simulated }); i >= 0 {
		of = records[i]
	}
	out := &screen{width: s.Stdout.columns(), colour: s.coloured(s.Stdout)}
	out.findings(advice.Findings(of, d))
	if d.IsAssumed() || d.FixFirst() {
		out.next(d, paths...)
	}
	return out.String()
}
