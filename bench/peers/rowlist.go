package peers

import (
	"fmt"
	"iter"
	"strings"
)

// Bounds on what an input can make the importer keep.
const (
	maxRows = 1 << 20
	// maxCases is the number of different sizes, counts, types and operators.
	maxCases = 1 << 15
	// maxResults is that of cases in all runs and places.
	maxResults = 1 << 18
)

// printedCase is what a row says beside its values.
type printedCase struct {
	bytes, elements int64
	dtype, op, root string
}

// caseTable numbers the cases of a log.
type caseTable struct {
	list  []printedCase
	index map[printedCase]int32
}

// number returns the number of a case.
func (c *caseTable) number(p printedCase) int32 {
	if n, ok := c.index[p]; ok {
		return n
	}
	// A part of a line would keep the whole line in memory.
	p.dtype, p.op, p.root = strings.Clone(p.dtype), strings.Clone(p.op), strings.Clone(p.root)
	n := int32(len(c.list)) //nolint:gosec // bounded by maxRows
	c.list = append(c.list, p)
	c.index[p] = n
	return n
}

// full is an error where the log has more cases or rows than any sweep.
func (c *caseTable) full(rows, line int) error {
	switch {
	case rows > maxRows:
		return fmt.Errorf("%w: more than %d rows at line %d; split the file", ErrTooLarge, maxRows, line)
	case len(c.list) > maxCases:
		return fmt.Errorf("%w: more than %d different sizes at line %d; split the file", ErrTooLarge, maxCases, line)
	}
	return nil
}

// row is a table row in little space.
type row struct {
	sides [2]side
	line  int32
	// of is the number of its case.
	of      int32
	n       uint8 // sides present
	inPlace [2]bool
	// joined is true where other output had cut the row, half where it ends before
	// its second side.
	joined, half bool
}

// side is what a row says of one of out-of-place and in-place.
type side struct{ time, alg, bus, wrong decimal }

// blockRows is the number of rows that are allocated at once: a list that grows
// by copying needs twice its memory.
const blockRows = 1024

// rowList is a list of rows in order. All blocks but the last are full.
type rowList struct {
	blocks [][]row
	n      int
}

func (l *rowList) add(r row) {
	last := len(l.blocks) - 1
	if last < 0 || len(l.blocks[last]) == blockRows {
		var b []row // the first grows: most tables have few rows
		if last++; last > 0 {
			b = make([]row, 0, blockRows)
		}
		l.blocks = append(l.blocks, b)
	}
	l.blocks[last] = append(l.blocks[last], r)
	l.n++
}

// all lists the rows; they may be changed.
func (l *rowList) all() iter.Seq[*row] {
	return func(yield func(*row) bool) {
		for _, b := range l.blocks {
			for i := range b {
				if !yield(&b[i]) {
					return
				}
			}
		}
	}
}

// firstLine is the line of the first row.
func (l *rowList) firstLine() int { return int(l.blocks[0][0].line) }

// keep removes the rows for which ok is false, in place: pointers to rows become stale.
func (l *rowList) keep(ok func(*row) bool) {
	n := 0
	for r := range l.all() {
		if ok(r) {
			l.blocks[n/blockRows][n%blockRows] = *r
			n++
		}
	}
	l.n, l.blocks = n, l.blocks[:(n+blockRows-1)/blockRows]
	if last := len(l.blocks) - 1; last >= 0 {
		l.blocks[last] = l.blocks[last][:n-last*blockRows]
	}
}
