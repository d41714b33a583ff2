package results

import (
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/run/record"
)

// One independent series in a hundred is flagged: a sweep of a hundred cases has some. More
// than that, or one case of a few, is named, as is every other warning.
func TestCorrelationByChanceIsNotNamed(t *testing.T) {
	for _, c := range []struct {
		cases, flagged int
		code           string
		named          bool
	}{{128, 1, "correlated", false}, {128, 2, "correlated", false}, {128, 5, "correlated", true}, {4, 1, "correlated", true}, {128, 1, "noisy", true}} {
		rec := &record.Record{}
		for i := range c.cases {
			r := record.Result{Case: record.Case{Key: string(rune('a' + i))}, Isolated: &record.Timing{}}
			if i < c.flagged {
				r.Warnings = []record.Warning{{Code: c.code, Message: "isolated launches are strongly correlated in time"}}
			}
			rec.Results = append(rec.Results, r)
		}
		require.Len(t, warningGroups(rec), map[bool]int{true: 1}[c.named], "%+v", c)
	}
}
