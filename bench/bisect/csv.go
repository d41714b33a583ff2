package bisect

import (
	"strconv"

	"zbench/bench/table"
)

// CSV has a row for each variant of each case, in base units.
func (d *Document) CSV() (header []string, rows [][]string) {
	header = []string{"key", "group", "bytes", "verdict", "first", "probability", "variant", "children", "seconds", "change", "change_lo", "change_hi", "rank", "left_out", "simulated"}
	for i := range d.Cases {
		c := &d.Cases[i]
		for v, r := range c.Variants {
			rank := ""
			if r.Rank > 0 {
				rank = strconv.Itoa(r.Rank)
			}
			rows = append(rows, []string{
				c.Key, c.Group, strconv.FormatInt(c.Bytes, 10), string(c.Verdict), c.First, table.Number(c.Probability),
				r.Name, strconv.Itoa(r.Children), table.Number(r.Seconds), table.Number(r.Change), table.Number(r.Lo), table.Number(r.Hi), rank,
				strconv.FormatBool(d.Variants[v].LeftOut), strconv.FormatBool(d.Simulated),
			})
		}
	}
	return header, rows
}
