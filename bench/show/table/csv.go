package table

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"

	"zbench/bench/base/plain"
)

// CSV writes a header and rows for a spreadsheet. A cell that a spreadsheet would compute is
// written as text (plain.Cell).
func CSV(w io.Writer, header []string, rows [][]string) error {
	out := csv.NewWriter(w)
	_ = out.Write(header) // the writer keeps its first error until Flush
	for _, cells := range rows {
		_ = out.Write(plain.Row(cells))
	}
	out.Flush()
	if err := out.Error(); err != nil {
		return fmt.Errorf("write CSV: %w", err)
	}
	return nil
}

// Number formats a CSV cell in the shortest form that reads back exactly. A nil value gives an
// empty cell.
func Number(v *float64) string {
	if v == nil {
		return ""
	}
	return strconv.FormatFloat(*v, 'g', -1, 64)
}
