package rails

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"zbench/bench/base/pattern"
	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
)

// ReadMatrix reads bandwidths of pairs: a line for each pair (name, name, GB/s), or a square with names in
// its first line and first column. Gaps are allowed. A unit in the header applies (Gb/s, MB/s, GiB/s);
// without a unit, values are in GB/s. notes lists the omissions. The error names the line.
//
// From the output of a program that measures a node's pairs it reads the labelled square.
func ReadMatrix(r io.Reader) (m *Matrix, notes []string, err error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, nil, err //nolint:wrapcheck // the reader's own
	}
	var all []line
	if len(text) <= mostPrinted {
		all, notes = linesOf(string(text))
	}
	if all == nil {
		if all, err = lines(bytes.NewReader(text)); err != nil {
			return nil, nil, err
		}
	}
	b := newBuilder()
	bare := unnamed(all)
	if bare {
		all = numberedSquare(all)
	}
	columns := squareOf(all)
	if columns != nil {
		err = b.square(all, columns)
	} else {
		err = b.long(all)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	if len(b.Values) == 0 {
		return nil, nil, fmt.Errorf("%w: no pair has a value", ErrFormat)
	}
	notes = append(append(notes, b.notes()...), unread(all, columns)...)
	if bare {
		notes = append(notes, "the square has no names: its rows and columns are counted from 0")
	}
	return &b.Matrix, notes, nil
}

// `unnamed` reports whether a square has only values: as many lines as cells per line, a diagonal of gaps or
// zeros, and no line of column numbers.
func unnamed(all []line) bool {
	if len(all) < 3 {
		return false
	}
	counted := true
	for i, l := range all {
		if len(l.cells) != len(all) {
			return false
		}
		for k, c := range l.cells {
			v, gap, err := number(c)
			if err != nil || i == k && !gap && v != 0 {
				return false
			}
			if i == 0 && k > 1 {
				before, _, _ := number(l.cells[k-1])
				counted = counted && v == before+1
			}
		}
	}
	return !counted
}

// numberedSquare adds the names that a square lacks.
func numberedSquare(all []line) []line {
	out := []line{{all[0].number, []string{""}}}
	for i, l := range all {
		name := strconv.Itoa(i)
		out[0].cells = append(out[0].cells, name)
		out = append(out, line{l.number, append([]string{name}, l.cells...)})
	}
	return out
}

// squareOf returns the columns of a square by the name of their row; nil if the table is no square.
// A column may have a word before its row's name: dst3, GPU3.
func squareOf(all []line) map[string]int {
	head := all[0].cells
	if len(all) < 3 || len(head) < 3 {
		return nil
	}
	shift := shiftOf(all)
	out := map[string]int{}
	for _, row := range all[1:] {
		name := row.cells[0]
		for i, column := range head {
			if i+shift == 0 {
				continue
			}
			if own := strings.TrimLeft(strings.TrimPrefix(strings.ToLower(column), strings.ToLower(name)), " "); own == "" && name != "" || sameNumber(column, name) {
				out[name] = i + shift
				break
			}
		}
	}
	if 2*len(out) < len(all)-1 || len(out) < 3 {
		return nil
	}
	return out
}

var word = pattern.New(`^(?i:dst|to|gpu|dev|device|node|rank)[ _-]?`)

// sameNumber reports whether column equals row once a prefix such as "gpu" is removed.
func sameNumber(column, row string) bool {
	return word.MatchString(column) && word.ReplaceAllString(column, "") == word.ReplaceAllString(row, "")
}

// shiftOf returns 1 if the header of a square lacks its first cell.
func shiftOf(all []line) int {
	if len(all[1].cells) == len(all[0].cells)+1 {
		return 1
	}
	return 0
}

func (b *builder) square(all []line, columns map[string]int) error {
	b.oneNode = len(columns) <= 16 && slices.IndexFunc(all[1:], func(l line) bool {
		_, err := strconv.Atoi(word.ReplaceAllString(l.cells[0], ""))
		return err != nil
	}) < 0
	scale, _ := unitOf(all[0].cells)
	var order []string
	for _, row := range all[1:] {
		if _, has := columns[row.cells[0]]; has && !slices.Contains(order, row.cells[0]) {
			order = append(order, row.cells[0])
		}
	}
	seen := map[string]int{}
	for _, row := range all[1:] {
		from := row.cells[0]
		if _, has := columns[from]; !has {
			return fmt.Errorf("line %d: row %q has no column of its name", row.number, plain.Line(short(from)))
		}
		if before := seen[from]; before > 0 {
			return fmt.Errorf("line %d: row %q is in line %d, too", row.number, plain.Line(short(from)), before)
		}
		seen[from] = row.number
		for _, to := range order {
			cell := ""
			if at := columns[to]; at < len(row.cells) {
				cell = row.cells[at]
			}
			if err := b.add(from, to, cell, scale); err != nil {
				return fmt.Errorf("line %d: %w", row.number, err)
			}
		}
	}
	return nil
}

// `unread` returns the columns of a square without a row, such as sums.
func unread(all []line, columns map[string]int) []string {
	if columns == nil {
		return nil
	}
	shift := shiftOf(all)
	used := map[int]bool{0: true}
	for _, i := range columns {
		used[i] = true
	}
	var names []string
	for i, c := range all[0].cells {
		if !used[i+shift] {
			names = append(names, plain.Line(short(c)))
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []string{"columns without a row of their name: " + strings.Join(names[:min(len(names), 8)], ", ")}
}

// `long` reads a table with one line per pair.
func (b *builder) long(all []line) error {
	h := heading{at: [3]int{0, 1, 2}, scale: 1e9}
	if titled(all[0].cells) {
		var err error
		if h, err = header(all[0].cells); err != nil {
			return fmt.Errorf("line %d: %w", all[0].number, err)
		}
		b.oneNode, b.unread = h.gpus, h.unread
		all = all[1:]
	}
	for _, row := range all {
		if len(row.cells) <= max(h.at[0], h.at[1]) {
			return fmt.Errorf("line %d has %s; a line is name, name, GB/s", row.number, plain.Count(len(row.cells), "cell"))
		}
		if n := len(row.cells); h.columns > 0 && n > h.columns && strings.Join(row.cells[h.columns:], "") != "" {
			return fmt.Errorf("line %d has %s, the header %d: is a line end missing?", row.number, plain.Count(n, "cell"), h.columns)
		}
		scale := h.scale
		if h.columns == 0 && len(row.cells) > 3 {
			own, named := unitOf(row.cells[3:4])
			if len(row.cells) > 4 || !named && row.cells[3] != "" {
				return fmt.Errorf("line %d has %s and no header names them: %s", row.number, plain.Count(len(row.cells), "cell"), wanted)
			}
			scale = own
		}
		cell := ""
		if h.at[2] < len(row.cells) {
			cell = row.cells[h.at[2]]
		}
		if err := b.add(row.cells[h.at[0]], row.cells[h.at[1]], cell, scale); err != nil {
			return fmt.Errorf("line %d: %w", row.number, err)
		}
	}
	return nil
}

// heading holds the meaning of the column names.
type heading struct {
	// `at` holds the columns of both ends and of the value. columns is the number of all columns, 0
	// without a header.
	at      [3]int
	columns int
	scale   float64
	gpus    bool
	// `unread` lists the names of unknown columns.
	unread []string
}

// `titled` reports whether a line is a header. A header has no number in the value's place, and it has words
// or a unit.
func titled(cells []string) bool {
	if len(cells) < 3 {
		return false
	}
	if _, gap, err := value(cells[2], 1); err == nil && !gap {
		return false
	}
	if slices.ContainsFunc(cells, isRate) {
		return true
	}
	_, empty, _ := number(cells[2])
	return !empty && !slices.ContainsFunc(cells[:3], func(c string) bool { _, gap, err := number(c); return err == nil && !gap })
}

// `wanted` describes the columns that a table of pairs needs.
const wanted = "a table of pairs has two columns of ends (node_a,node_b; src,dst; from,to; gpu_a,gpu_b) and one of bandwidths (GB/s, bw, busbw)"

// header finds the columns. Three columns may have unknown names, but no name that is known to mean
// something else. With more columns, the names must identify the ends and the bandwidth.
func header(cells []string) (heading, error) {
	h := heading{columns: len(cells), at: [3]int{0, 1, 2}}
	h.scale, _ = unitOf(cells)
	var ends []int
	rate := slices.IndexFunc(cells, isRate)
	for i, c := range cells {
		if i != rate && (isEnd(c) || len(cells) == 3 && !elsewise.MatchString(c)) {
			ends = append(ends, i)
		}
	}
	if rate < 0 && len(ends) == 3 { // no name is a bandwidth's
		rate, ends = 2, ends[:2]
	}
	if rate < 0 || len(ends) != 2 {
		return h, fmt.Errorf("the columns %s: %s", columnList(cells), wanted)
	}
	for i, c := range cells {
		if i != rate && !slices.Contains(ends, i) && !isRate(c) && !elsewise.MatchString(c) {
			h.unread = append(h.unread, plain.Line(short(c)))
		}
	}
	h.at = [3]int{ends[0], ends[1], rate}
	h.gpus = strings.Contains(strings.ToLower(cells[ends[0]]+cells[ends[1]]), "gpu")
	return h, nil
}

// columnList returns the names of columns, shortened if there are many.
func columnList(cells []string) string {
	const most = 12
	out := slice.Map(cells[:min(len(cells), most)], func(c string) string { return plain.Line(short(c)) })
	if len(cells) > most {
		out = append(out, "…")
	}
	return strings.Join(out, ", ")
}

var (
	// endWord matches the words of a column of ends. endMark matches words that only distinguish the column
	// of one end from the column of the other end.
	endWord = pattern.New(`^(src|source|dst|dest|destination|from|to|sender|receiver|send|recv|target|client|server|peer|local|remote)?(node|host|hostname|machine|gpu|device|dev|rank|end)?([abij]|\d*)$`)
	endMark = pattern.New(`^([a-z]|\d+|name|id|one|two|first|second)$`)
	// elsewise matches columns that are neither an end nor a bandwidth.
	elsewise = pattern.New(`(?i)file|path|log|test|size|bytes|count|time|date|latency|lat_|nodes|pair|^n$|^g$|^op$|error|iter|type|collective`)
)

// isEnd reports whether a column has ends: node_a, "GPU B", src, host2, or just a.
func isEnd(cell string) bool {
	words := strings.FieldsFunc(strings.ToLower(cell), func(r rune) bool { return strings.ContainsRune(" _-.:/()#", r) })
	known := len(words) == 1 && slices.Contains([]string{"a", "b", "i", "j", "x", "y"}, words[0])
	for _, w := range words {
		mark := endMark.MatchString(w)
		if !mark && !endWord.MatchString(w) {
			return false
		}
		known = known || !mark
	}
	return known
}

// isRate reports whether a column has bandwidths.
func isRate(cell string) bool {
	c := strings.ToLower(cell)
	_, unit := unitOf([]string{cell})
	return unit || strings.Contains(c, "bw") || strings.Contains(c, "bandwidth") || strings.Contains(c, "rate") || strings.Contains(c, "throughput")
}

// builder collects ends and values.
type builder struct {
	Matrix
	at    map[string]int
	nodes map[string]int
	// places has the names of ends by their place.
	places map[Place]string
	// oneNode treats names as GPUs of one node.
	oneNode bool
	// gaps counts missing values. zeros counts values of 0.
	gaps, zeros int
	// `unread` lists the ignored columns.
	unread []string
}

func newBuilder() *builder {
	return &builder{at: map[string]int{}, nodes: map[string]int{}, places: map[Place]string{}}
}

// end returns the index of an end. It adds the end if the name is new.
func (b *builder) end(name string) (int, error) {
	if i, known := b.at[name]; known {
		return i, nil
	}
	if err := nameError(name); err != nil {
		return 0, err
	}
	if len(b.Names) >= mostEnds {
		return 0, fmt.Errorf("there are more than %d names", mostEnds)
	}
	node, gpu := place(name, b.oneNode)
	if _, known := b.nodes[node]; !known {
		b.nodes[node] = len(b.Nodes)
		b.Nodes = append(b.Nodes, node)
	}
	at := Place{Node: b.nodes[node], GPU: gpu}
	if other, known := b.places[at]; known {
		return 0, fmt.Errorf("%s and %s are names of the same end", plain.Line(short(other)), plain.Line(short(name)))
	}
	b.at[name], b.places[at] = len(b.Names), name
	b.Names = append(b.Names, name)
	b.At = append(b.At, at)
	return b.at[name], nil
}

// place reads the name of an end: NODE, or NODE:GPU, NODE/GPU or NODE:gpu3. gpu3 alone is a GPU of the only
// node, and so is a bare number if oneNode is true. For a node the GPU is −1.
func place(name string, oneNode bool) (node string, gpu int) {
	after, i := name, strings.LastIndexAny(name, ":/")
	cut := i > 0
	if cut {
		node, after = name[:i], name[i+1:]
	}
	digits, prefixed := strings.CutPrefix(strings.ToLower(after), "gpu")
	bits := 8 // a larger number is not a GPU of a node, but a port or another name
	if oneNode {
		bits = 16
	}
	n, err := strconv.ParseUint(digits, 10, bits)
	if err != nil || !cut && !prefixed && !oneNode {
		return name, -1
	}
	return node, int(n)
}

// add takes a value in bytes per second. It ignores a pair of an end with itself.
func (b *builder) add(from, to string, cell string, scale float64) error {
	v, gap, err := value(cell, scale)
	switch {
	case err != nil:
		return err
	case v < 0:
		return fmt.Errorf("a bandwidth is at least 0, not %s", short(cell))
	}
	i, err := b.end(from)
	if err != nil {
		return err
	}
	k, err := b.end(to)
	switch {
	case err != nil:
		return err
	case i == k:
	case gap:
		b.gaps++
	case v == 0:
		b.zeros++
	case math.IsInf(v, 0):
		return fmt.Errorf("%s is too large", short(cell))
	case len(b.Values) == mostValues:
		return fmt.Errorf("there are more than %d values, all pairs of 1,024 ends: give pairs of nodes rather than of GPUs, or a part of them at a time", mostValues)
	default:
		b.Values = append(b.Values, Value{From: i, To: k, Rate: v})
	}
	return nil
}

// notes lists the omissions.
func (b *builder) notes() []string {
	var out []string
	if len(b.unread) > 0 {
		out = append(out, "columns that were not read: "+strings.Join(b.unread[:min(len(b.unread), 8)], ", "))
	}
	if b.gaps > 0 {
		out = append(out, plain.Count(b.gaps, "pair")+" without a value")
	}
	if b.zeros > 0 {
		out = append(out, plain.Count(b.zeros, "value")+" of 0: taken for a test that failed, and left out")
	}
	return out
}
