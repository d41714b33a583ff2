package bisect

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"

	"zbench/bench/plain"
)

// WriteCSV writes a row for each variant of each case, in base units.
func (d *Document) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	rows := [][]string{{"key", "group", "bytes", "verdict", "first", "probability", "variant", "children", "seconds", "change", "change_lo", "change_hi", "rank", "left_out", "simulated"}}
	for i := range d.Cases {
		c := &d.Cases[i]
		for v, r := range c.Variants {
			rank := ""
			if r.Rank > 0 {
				rank = strconv.Itoa(r.Rank)
			}
			rows = append(rows, plain.Row([]string{
				c.Key, c.Group, strconv.FormatInt(c.Bytes, 10), string(c.Verdict), c.First, number(c.Probability),
				r.Name, strconv.Itoa(r.Children), number(r.Seconds), number(r.Change), number(r.Lo), number(r.Hi), rank,
				strconv.FormatBool(d.Variants[v].LeftOut), strconv.FormatBool(d.Simulated),
			}))
		}
	}
	if err := out.WriteAll(rows); err != nil {
		return fmt.Errorf("write CSV: %w", err)
	}
	return nil
}

// number prints a number that may be missing.
func number(v *float64) string {
	if v == nil {
		return ""
	}
	return strconv.FormatFloat(*v, 'g', -1, 64)
}
