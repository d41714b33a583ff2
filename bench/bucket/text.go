package bucket

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"zbench/bench/plain"
	"zbench/bench/table"
	"zbench/bench/unit"
)

// simulatedMark starts whatever is shown of a simulated record.
const simulatedMark = "SIMULATED"

// extrapolatedMark marks curves whose model has parts without measurements.
const extrapolatedMark = "extrapolated"

// WriteJSON writes the answer as bucket.json holds it: indented, with a
// newline at its end, the same bytes for the same record.
func (a Answer) WriteJSON(w io.Writer) error {
	text, err := json.MarshalIndent(a, "", "  ")
	if err != nil {
		return fmt.Errorf("bucket: encode: %w", err)
	}
	if _, err := w.Write(append(text, '\n')); err != nil {
		return fmt.Errorf("bucket: write: %w", err)
	}
	return nil
}

// HasPoints tells whether any curve gave sizes.
func (a Answer) HasPoints() bool {
	for i := range a.Curves {
		if len(a.Curves[i].Points) > 0 {
			return true
		}
	}
	return false
}

// Sentence is the answer in one line: the first curve that has points, and
// what a bucket size still takes.
func (a Answer) Sentence() string {
	const rest = "A bucket size still takes the model and its backward time."
	for i := range a.Curves {
		c := &a.Curves[i]
		if len(c.Points) == 0 {
			continue
		}
		sizes := make([]string, len(c.Points))
		for j, p := range c.Points {
			sizes[j] = fmt.Sprintf("%.0f %% from %s", 100*p.Fraction, unit.Bytes(p.Bytes))
		}
		return fmt.Sprintf("%s%s on %d ranks reaches %s of its %s plateau. %s",
			a.mark(c.Extrapolated), c.Collective, c.Ranks, strings.Join(sizes, ", "), unit.Rate(c.PlateauBusBW), rest)
	}
	why := "the record holds no results"
	if len(a.Curves) > 0 {
		why = a.Curves[0].label() + ": " + a.Curves[0].Reason
	}
	return fmt.Sprintf("%sno message sizes to advise (%s).", a.mark(false), why)
}

// mark is what a line about the answer starts with.
func (a Answer) mark(extrapolated bool) string {
	switch {
	case a.Simulated && extrapolated:
		return simulatedMark + ", " + extrapolatedMark + ": "
	case a.Simulated:
		return simulatedMark + ": "
	case extrapolated:
		return extrapolatedMark + ": "
	}
	return ""
}

// What the table is of, and in which units.
const (
	simulatedText = simulatedMark + ": a model, not hardware, decided these times."
	sizesOf       = "Message sizes from which on a collective reaches a share of its highest bus bandwidth"
	sizeUnits     = "(total bytes S as in rccl-tests; per rank = S / ranks; 1 GB/s = 1e9 B/s, 1 MiB = 2^20 B)"
)

// WriteMarkdown writes the same for a merge request.
func (a Answer) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	b.WriteString("## " + sizesOf + "\n\n")
	if a.Simulated {
		b.WriteString(simulatedText + "\n\n")
	}
	if a.HasPoints() {
		b.WriteString(sizeUnits + "\n\n")
		if err := table.Markdown(&b, a.Table()); err != nil {
			return fmt.Errorf("bucket: %w", err)
		}
		b.WriteString("\n")
	}
	list := func(format string, args ...string) {
		safe := make([]any, len(args))
		for i, arg := range args {
			safe[i] = plain.Markdown(arg)
		}
		fmt.Fprintf(&b, "- "+format+"\n", safe...)
	}
	for i := range a.Curves {
		if c := &a.Curves[i]; c.Reason != "" {
			list("No sizes for %s: %s", c.label(), c.Reason)
		}
	}
	for _, x := range a.Warnings {
		list("Warning (%s): %s. %s.", x.Code, x.Message, x.Hint)
	}
	if len(a.Needs) > 0 {
		b.WriteString("\n### Still needed for a bucket size\n\n")
	}
	for _, n := range a.Needs {
		list("%s: %s", n.What, n.How)
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("bucket: write: %w", err)
	}
	return nil
}

// WriteText writes the table that `zbench recommend` prints: a line per point,
// then the doubts, then what is still needed.
func (a Answer) WriteText(w io.Writer) error {
	var b strings.Builder
	if a.Simulated {
		b.WriteString(simulatedText + "\n")
	}
	if a.HasPoints() {
		b.WriteString(sizesOf + "\n" + sizeUnits + "\n\n")
		if err := table.Text(&b, table.Terminal, a.Table()); err != nil {
			return fmt.Errorf("bucket: %w", err)
		}
	}
	for i := range a.Curves {
		if c := &a.Curves[i]; c.Reason != "" {
			fmt.Fprintf(&b, "\nNo sizes for %s:\n  %s\n", c.label(), c.Reason)
		}
	}
	for _, x := range a.Warnings {
		fmt.Fprintf(&b, "\nWarning (%s): %s.\n  %s.\n", x.Code, x.Message, x.Hint)
	}
	if len(a.Needs) > 0 {
		b.WriteString("\nStill needed for a bucket size:\n")
	}
	for _, n := range a.Needs {
		fmt.Fprintf(&b, "  - %s\n    %s\n", n.What, n.How)
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("bucket: write: %w", err)
	}
	return nil
}

// Table has one row per point; a curve's name stands on its first.
func (a Answer) Table() table.Table {
	t := table.Of([]string{"collective", "dtype", "op", "ranks", "buffers", "plateau", "share", "busbw", "from size", "elements", "per rank", ""})
	for i := range a.Curves {
		c := &a.Curves[i]
		for j, p := range c.Points {
			cells := make([]string, 6, len(t.Columns))
			if j == 0 {
				cells = append(cells[:0], c.Collective, c.Dtype, orDash(c.Op), ranks(c), buffers(c.InPlace), unit.Rate(c.PlateauBusBW))
			}
			elements := "unknown"
			if p.Elements > 0 {
				elements = unit.Number(float64(p.Elements))
			}
			t.Add(append(cells, fmt.Sprintf("%.0f %%", 100*p.Fraction), unit.Rate(p.BusBW),
				atMost(p.AtSmallestSize)+unit.Bytes(p.Bytes), elements, unit.Bytes(p.PerRankBytes), note(c))...)
		}
	}
	return t
}

// note is what qualifies a whole curve.
func note(c *Curve) string {
	if c.Extrapolated {
		return extrapolatedMark
	}
	return c.Setup
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// atMost marks a knee that may lie below the sweep.
func atMost(yes bool) string {
	if yes {
		return "≤ "
	}
	return ""
}

// ranks is the number of ranks, times the groups that ran at once.
func ranks(c *Curve) string {
	switch {
	case c.Stride > 0:
		return fmt.Sprintf("%d ×%d, %d apart", c.Ranks, c.Groups, c.Stride)
	case c.Groups > 1:
		return fmt.Sprintf("%d ×%d", c.Ranks, c.Groups)
	}
	return strconv.Itoa(c.Ranks)
}
