package recommend

import (
	"fmt"
	"io"
	"strings"

	"zbench/bench/jsonfile"
	"zbench/bench/unit"
)

// simulatedMark starts whatever is shown of a simulated record.
const simulatedMark = "SIMULATED"

// extrapolatedMark marks curves whose model has parts without measurements.
const extrapolatedMark = "extrapolated"

// WriteJSON writes the answer as knees.json holds it: indented, with a
// newline at its end, the same bytes for the same record.
func (a Knees) WriteJSON(w io.Writer) error {
	return jsonfile.WriteBare(w, "bucket", a)
}

// HasPoints tells whether any curve gave sizes.
func (a Knees) HasPoints() bool {
	for i := range a.Curves {
		if len(a.Curves[i].Points) > 0 {
			return true
		}
	}
	return false
}

// Sentence is the answer in one line: the first curve that has points, and
// what a bucket size still takes.
func (a Knees) Sentence() string {
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
func (a Knees) mark(extrapolated bool) string {
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
