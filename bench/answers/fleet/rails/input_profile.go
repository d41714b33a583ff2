package rails

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
)

// ReadProfile reads the figures of healthy hardware for messages of `bytes` bytes. Each line has network or
// xgmi, the rate of a message in each direction, and the source: network, 45 GB/s, SOURCE. The error names
// the line.
func ReadProfile(r io.Reader, bytes int64) (*Profile, error) {
	all, err := lines(r)
	if err != nil {
		return nil, err
	}
	p := &Profile{}
	var sources []string
	for _, l := range all {
		to := map[string]*float64{"network": &p.Network, "xgmi": &p.XGMI}
		if len(l.cells) < 3 || to[strings.ToLower(l.cells[0])] == nil {
			return nil, fmt.Errorf("%w: line %d: a line is network or xgmi, a rate, and its source", ErrFormat, l.number)
		}
		rate, err := rateOfCell(l.cells[1])
		if err != nil {
			return nil, fmt.Errorf("%w: line %d: %w", ErrFormat, l.number, err)
		}
		seconds := to[strings.ToLower(l.cells[0])]
		if *seconds != 0 {
			return nil, fmt.Errorf("%w: line %d: %s is given twice", ErrFormat, l.number, plain.Line(l.cells[0]))
		}
		*seconds = float64(bytes) / rate
		if i := slices.IndexFunc(l.cells[2:], func(c string) bool { _, err := rateOfCell(c); return err == nil }); i >= 0 {
			return nil, fmt.Errorf("%w: line %d has a second rate, %s: is a line end missing?", ErrFormat, l.number, plain.Line(l.cells[2+i]))
		}
		source := strings.TrimSpace(strings.Join(l.cells[2:], ", "))
		if len(source) > mostSource {
			return nil, fmt.Errorf("%w: line %d: the source has %d characters, at most %d", ErrFormat, l.number, len(source), mostSource)
		}
		if source == "" {
			return nil, fmt.Errorf("%w: line %d: the figure has no source", ErrFormat, l.number)
		}
		sources = append(sources, source)
	}
	p.Source = strings.Join(slice.Distinct(sources), "; ")
	return p, nil
}

// rateOfCell reads a rate with its unit, in bytes per second.
func rateOfCell(cell string) (float64, error) {
	digits := strings.TrimRight(cell, unitLetters)
	scale, named := unitOf([]string{strings.TrimSpace(cell[len(digits):])})
	v, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
	if err != nil || !(v > 0) || v > 1e12 || !named {
		return 0, fmt.Errorf("%q is not a rate with its unit, such as 45 GB/s", plain.Line(short(cell)))
	}
	return v * scale, nil
}

// ReadLeaves reads the leaf switches, one line per cable: node, rail, name of the switch. Nodes outside the
// run are ignored. names has the switch of each rail and node, "" if unknown.
func ReadLeaves(r io.Reader, nodes []string, gpus int) (names [][]string, err error) {
	all, err := lines(r)
	if err != nil {
		return nil, err
	}
	for range gpus {
		names = append(names, make([]string, len(nodes)))
	}
	known := 0
	for i, l := range all {
		if len(l.cells) != 3 || l.cells[2] == "" {
			return nil, fmt.Errorf("%w: line %d: a line is node, rail, leaf switch", ErrFormat, l.number)
		}
		for _, name := range []string{l.cells[0], l.cells[2]} {
			if err := nameError(name); err != nil {
				return nil, fmt.Errorf("%w: line %d: %w", ErrFormat, l.number, err)
			}
		}
		rail, err := strconv.Atoi(l.cells[1])
		switch {
		case err != nil && i == 0:
			continue // a header
		case err != nil || rail < 0 || rail >= gpus:
			return nil, fmt.Errorf("%w: line %d: rail %q is not one of 0 to %d", ErrFormat, l.number, plain.Line(short(l.cells[1])), gpus-1)
		}
		node := slices.Index(nodes, l.cells[0])
		if node < 0 {
			continue
		}
		if before := names[rail][node]; before != "" && before != l.cells[2] {
			return nil, fmt.Errorf("%w: line %d: rail %d of node %s is on %s, and on %s before", ErrFormat, l.number, rail, plain.Line(short(l.cells[0])), plain.Line(short(l.cells[2])), plain.Line(short(before)))
		}
		known++
		names[rail][node] = l.cells[2]
	}
	if known == 0 {
		return nil, fmt.Errorf("%w: no line is of a node of this run; these are %s", ErrFormat, list(nodes))
	}
	return names, nil
}
