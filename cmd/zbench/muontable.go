package main

import (
	"encoding/csv"
	"io"
	"strconv"

	method "zbench/bench/muon"
	"zbench/bench/plain"
)

// muonCSV writes the figures alone, in base units.
func muonCSV(w io.Writer, r *method.Report) error {
	c := csv.NewWriter(w)
	figure := func(v *float64) string {
		if v == nil {
			return ""
		}
		return strconv.FormatFloat(*v, 'g', -1, 64)
	}
	err := c.Write([]string{"name", "rows", "cols", "measured_batch", "what", "median_seconds", "samples", "effective_flops", "executed_flops", "least_bytes", "bytes_per_second", "times_own_full", "times_vendor"})
	for _, s := range r.Shapes {
		for _, x := range s.Rows {
			if err == nil {
				err = c.Write(plain.Row([]string{
					s.Shape.Name, strconv.Itoa(s.Shape.Rows), strconv.Itoa(s.Shape.Cols), strconv.Itoa(s.Measured), x.What, figure(x.Seconds), strconv.Itoa(x.Samples),
					figure(x.Effective), figure(x.Executed), figure(&x.Bytes), figure(x.Rate), figure(x.ToFull), figure(x.ToVendor),
				}))
			}
		}
	}
	c.Flush()
	if err != nil {
		return err
	}
	return c.Error()
}
