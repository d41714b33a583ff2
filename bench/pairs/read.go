// Package pairs finds the slow node, or the slow pair, in bandwidths that were measured
// between pairs. Read takes a CSV, Judge names what is slow against the median of the
// rest. It knows nothing but the figures.
package pairs

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Bounds of what is read.
const (
	maxSamples = 4 << 20
	maxName    = 128
)

// Sample is one measurement from a node, or GPU, to another.
type Sample struct {
	From, To string
	// Rate is in bytes per second.
	Rate float64
}

// ErrNoPairs is a file without a pair.
var ErrNoPairs = errors.New("no line has two different names and a bandwidth")

// Read reads a CSV in GB/s (1e9 bytes per second). Either each line is a pair: node, node,
// GB/s. Or it is a matrix: its first line names the columns, each other line begins with
// its own name; columns may be called dst0 for line 0, and columns of other names are
// left out. Lines that begin with # are comments. Empty cells, – and nan are gaps.
func Read(text []byte) ([]Sample, error) {
	r := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(text, []byte("\ufeff"))))
	r.Comment, r.FieldsPerRecord, r.TrimLeadingSpace = '#', -1, true
	var rows [][]string
	var lines []int
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		for i := range row {
			row[i] = strings.TrimSpace(row[i])
		}
		line, _ := r.FieldPos(0)
		rows, lines = append(rows, row), append(lines, line)
	}
	if len(rows) == 0 {
		return nil, ErrNoPairs
	}
	read := list
	if len(rows[0]) > 3 || len(rows[0]) == 3 && len(rows) > 1 && isMatrix(rows) {
		read = matrix
	}
	samples, err := read(rows, lines)
	if err == nil && len(samples) == 0 {
		err = ErrNoPairs
	}
	return samples, err
}

// isMatrix tells a matrix of two from a list of pairs: its first line has the names of the
// lines as columns.
func isMatrix(rows [][]string) bool {
	return len(rows) == 3 && columnOf(rows[0][1], rows[1:]) >= 0 && columnOf(rows[0][2], rows[1:]) >= 0
}

// columnOf is the line that a column stands for, -1 if there is none.
func columnOf(name string, rows [][]string) int {
	i := slices.IndexFunc(rows, func(row []string) bool { return row[0] == name })
	if bare, ok := strings.CutPrefix(name, "dst"); i < 0 && ok {
		i = slices.IndexFunc(rows, func(row []string) bool { return row[0] == bare })
	}
	return i
}

// rate reads a cell: ok is false for a gap.
func rate(cell string) (bytes float64, ok bool, err error) {
	switch strings.ToLower(cell) {
	case "", "-", "–", "nan", "na", "n/a":
		return 0, false, nil
	}
	v, err := strconv.ParseFloat(cell, 64)
	if err != nil || math.IsInf(v, 0) || v < 0 || v > 1e9 {
		return 0, false, fmt.Errorf("%.40q is no bandwidth in GB/s", cell)
	}
	return v * 1e9, true, nil
}

func list(rows [][]string, lines []int) ([]Sample, error) {
	var all []Sample
	for i, row := range rows {
		if len(row) < 3 {
			return nil, fmt.Errorf("line %d has %d columns; a pair has three: node, node, GB/s", lines[i], len(row))
		}
		v, ok, err := rate(row[2])
		switch {
		case err != nil && i == 0:
			continue // the names of the columns
		case err != nil:
			return nil, fmt.Errorf("line %d: %w", lines[i], err)
		case !ok:
			continue
		}
		if all, err = add(all, row[0], row[1], v); err != nil {
			return nil, fmt.Errorf("line %d: %w", lines[i], err)
		}
	}
	return all, nil
}

func matrix(rows [][]string, lines []int) ([]Sample, error) {
	var all []Sample
	at := make([]int, len(rows[0]))
	for c := range rows[0] {
		at[c] = -1
		if c > 0 {
			at[c] = columnOf(rows[0][c], rows[1:])
		}
	}
	for i, row := range rows[1:] {
		for c := 1; c < min(len(row), len(at)); c++ {
			if at[c] < 0 || at[c] == i {
				continue
			}
			v, ok, err := rate(row[c])
			if err == nil && ok {
				all, err = add(all, row[0], rows[1+at[c]][0], v)
			}
			if err != nil {
				return nil, fmt.Errorf("line %d, column %s: %w", lines[1+i], rows[0][c], err)
			}
		}
	}
	return all, nil
}

func add(all []Sample, from, to string, v float64) ([]Sample, error) {
	switch {
	case from == "" || to == "" || len(from) > maxName || len(to) > maxName:
		return nil, errors.New("a name is empty or too long")
	case from == to:
		return nil, fmt.Errorf("%q is paired with itself", from)
	case len(all) >= maxSamples:
		return nil, fmt.Errorf("more than %d pairs", maxSamples)
	}
	return append(all, Sample{from, to, v}), nil
}
