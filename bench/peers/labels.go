package peers

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"zbench/bench/pattern"
)

// labelRE is the label that mpirun --tag-output, with --timestamp-output before
// it, puts in front of whatever it reads from a process: a line, or a part of one.
var labelRE = pattern.New(`(?:[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d [\d:]{8} \d{4})?\[(?:[^\[\]@\s]*@)?(\d+,\d+)\]<(std(?:out|err|diag))>:?`)

// maxOpen bounds the text of lines that have not ended, in bytes.
const maxOpen = 8 << 20

// labelled puts lines together that a launcher's labels cut in pieces. The next piece of the same process
// continues a piece.
type labelled struct {
	emit func(line) error
	open map[string]*line
	size int
}

// line takes one line of the file; cut is true where it has no line end.
func (d *labelled) line(no int, raw string, cut bool) error {
	text := shown(raw)
	if !strings.Contains(text, "]<std") {
		return d.give(line{no: no, text: text, cut: cut})
	}
	at := labelRE.FindAllStringSubmatchIndex(text, -1)
	if len(at) == 0 || at[0][0] != 0 {
		return d.give(line{no: no, text: text, cut: cut})
	}
	for i, m := range at {
		stream, end, last := text[m[2]:m[3]], len(text), i == len(at)-1
		if !last {
			end = at[i+1][0]
		}
		l := line{no: no, text: text[m[1]:end], stream: stream, cut: cut}
		if err := d.piece(stream+" "+text[m[4]:m[5]], l, last); err != nil {
			return err
		}
	}
	return nil
}

// piece takes a part of a line; last is true where a line end follows.
func (d *labelled) piece(process string, l line, last bool) error {
	before := d.open[process]
	if before != nil {
		d.size -= len(before.text)
		delete(d.open, process)
		if !last || !begins(l.text) {
			l = before.with(l)
		} else {
			before.broken = true
			if err := d.give(*before); err != nil {
				return err
			}
		}
	}
	if last {
		return d.give(l)
	}
	if d.open == nil {
		d.open = map[string]*line{}
	}
	d.open[process] = &l
	if d.size += len(l.text); d.size > maxOpen || len(l.text) > maxLine {
		return fmt.Errorf("%w: line %d, which labels of several processes cut, is longer than any of a log", ErrTooLarge, l.no)
	}
	return nil
}

// with appends the next piece to a line.
func (l *line) with(next line) line {
	next.no = l.no
	next.split = l.split || next.split || !strings.HasSuffix(l.text, " ") && !strings.HasPrefix(next.text, " ") && l.text != "" && next.text != ""
	next.text = l.text + next.text
	next.rejoined = true
	return next
}

// begins reports whether a text begins a line of the tool's and is not the rest of one.
func begins(text string) bool {
	return strings.HasPrefix(strings.TrimLeft(text, " "), "#") || headLike(tokenize(text))
}

// end emits the pieces that no later piece finished.
func (d *labelled) end() error {
	rest := make([]line, 0, len(d.open))
	for _, l := range d.open {
		l.broken = true
		rest = append(rest, *l)
	}
	slices.SortFunc(rest, func(a, b line) int { return cmp.Or(cmp.Compare(a.no, b.no), strings.Compare(a.stream, b.stream)) })
	for _, l := range rest {
		if err := d.give(l); err != nil {
			return err
		}
	}
	return nil
}

func (d *labelled) give(l line) error {
	l.strip()
	return d.emit(l)
}
