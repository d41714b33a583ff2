package gpu

import (
	"fmt"
	"slices"
	"strings"

	"zbench/bench/base/stat"
)

// finding is one line of the table: ratios of the turns, above 1 where zbench is
// better, against a bar that must be reached and a target that should.
type finding struct {
	row, what string
	// ours and peer are the median seconds, 0 for none; work is what is done in them,
	// in bytes or operations as unit says (B/s, FLOP/s).
	ours, peer float64
	work       float64
	unit       string
	// ratios has one of each turn that both sides have; asked is how many turns there were to be.
	ratios      []float64
	asked       int
	bar, target float64
	// missing says why the peer has no figure, failed why zbench has none, or what is
	// too far from the peer's where that is the measure: within says how far it may be.
	missing, failed, within string
}

const missed = "MISSED"

func (f finding) ratio() float64 { return stat.Quantile(f.ratios, 0.5) }

func (f finding) verdict() string {
	switch {
	case f.failed != "":
		return missed + ": " + f.failed
	case f.missing != "":
		return "NOT CHECKED: " + f.missing
	case f.within != "":
		return "ok"
	case len(f.ratios) == 0:
		return missed + ": nothing was measured"
	case f.bar > 0 && !(f.ratio() >= f.bar):
		return missed
	case f.target > 0 && f.ratio() < f.target:
		return "ok, below the target"
	case f.bar == 0 && f.target == 0:
		return "stated"
	}
	return "ok"
}

// compared is a finding of seconds: ours and the peer's by turns, each with the
// same case in it.
func compared(row, what string, ours, peer []float64, bar, target float64) finding {
	f := finding{row: row, what: what, bar: bar, target: target}
	for i := range min(len(ours), len(peer)) {
		if ours[i] > 0 && peer[i] > 0 {
			f.ratios = append(f.ratios, peer[i]/ours[i])
		}
	}
	f.ours, f.peer = median(ours), median(peer)
	return f
}

func median(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	return stat.Quantile(v, 0.5)
}

// doing says what is done in the time.
func (f finding) doing(work float64, unit string) finding {
	f.work, f.unit = work, unit
	return f
}

func (f finding) text(seconds float64) string {
	switch {
	case seconds == 0:
		return ""
	case f.work == 0:
		return fmt.Sprintf("%.4g µs", seconds*1e6)
	}
	return fmt.Sprintf("%.4g µs, %.4g T%s", seconds*1e6, f.work/seconds/1e12, f.unit)
}

func barText(f finding) string {
	var parts []string
	if f.within != "" {
		parts = append(parts, "within "+f.within)
	}
	if f.bar > 0 {
		parts = append(parts, fmt.Sprintf("≥ %.3g", f.bar))
	}
	if f.target > 0 {
		parts = append(parts, fmt.Sprintf("target %.3g", f.target))
	}
	return strings.Join(parts, ", ")
}

func ratioText(f finding) string {
	if len(f.ratios) == 0 {
		return ""
	}
	text := fmt.Sprintf("%.3f (%.3f to %.3f)", f.ratio(), slices.Min(f.ratios), slices.Max(f.ratios))
	if f.asked > 0 {
		text += fmt.Sprintf(", %d of %d turns", len(f.ratios), f.asked)
	}
	return text
}

// markdown is the table as docs/MEASURED.md takes it.
func markdown(with []string, rows []finding) string {
	var b strings.Builder
	for _, line := range with {
		fmt.Fprintf(&b, "%s\n\n", line)
	}
	b.WriteString("| row | what | zbench | peer | ratio: median (least to most) | bar | verdict |\n|---|---|---|---|---|---|---|\n")
	for _, f := range rows {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s |\n", f.row, f.what, f.text(f.ours), f.text(f.peer), ratioText(f), barText(f), strings.ReplaceAll(f.verdict(), "|", "/"))
	}
	return b.String()
}

// turnsCSV has the ratio of every turn.
func turnsCSV(rows []finding) string {
	var b strings.Builder
	b.WriteString("row,what,turn,ratio\n")
	for _, f := range rows {
		for i, r := range f.ratios {
			fmt.Fprintf(&b, "%q,%q,%d,%g\n", f.row, f.what, i+1, r)
		}
	}
	return b.String()
}
