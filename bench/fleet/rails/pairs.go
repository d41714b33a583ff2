// This file reads bandwidths of pairs that others measured, as CSV or from logs of
// rccl-tests. docs/METHOD.md has the forms.

package rails

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"zbench/bench/plain"
)

// ErrFormat is wrapped where a file cannot be read with certainty.
var ErrFormat = errors.New("not a table that zbench rails reads")

// Bounds of an input: lines, characters of a line and of a name, ends and values. No host's name
// has more than 253 characters.
const (
	mostName   = 255
	mostSource = 1000
	mostLines  = 5_000_000
	mostLine   = 1 << 20
	mostEnds   = 20_000
	mostCells  = 20_000_000
)

// line is a line of a table with its number, counted from 1.
type line struct {
	number int
	cells  []string
}

// lines reads a table: cells are separated by commas, semicolons or tabs, or where the
// first line has none of these by spaces. Empty lines and those that begin with # are
// left out.
func lines(r io.Reader) ([]line, error) {
	s := bufio.NewScanner(r)
	s.Buffer(nil, mostLine)
	var out []line
	separator := ""
	cells, number := 0, 0
	for s.Scan() {
		number++
		text := strings.TrimPrefix(s.Text(), "\ufeff")
		if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
			return nil, fmt.Errorf("%w: line %d is not text in UTF-8", ErrFormat, number)
		}
		if trimmed := strings.TrimSpace(text); trimmed == "" || strings.HasPrefix(trimmed, "#") {
			continue
		}
		if len(out) == 0 {
			separator = separatorOf(text)
		}
		one := line{number, split(text, separator)}
		if cells += len(one.cells); number > mostLines || cells > mostCells {
			return nil, fmt.Errorf("%w: line %d is beyond %d lines or %d cells", ErrFormat, number, mostLines, mostCells)
		}
		out = append(out, one)
	}
	if err := s.Err(); err != nil {
		if errors.Is(err, bufio.ErrTooLong) {
			return nil, fmt.Errorf("%w: line %d has more than %d characters", ErrFormat, number+1, mostLine)
		}
		return nil, err
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%w: there are no lines with values", ErrFormat)
	}
	return out, nil
}

func separatorOf(text string) string {
	for _, s := range []string{"\t", ";", ","} {
		if strings.Contains(text, s) {
			return s
		}
	}
	return ""
}

// split cuts a line. Cells may be quoted, with separators in them.
func split(text, separator string) []string {
	if separator == "" {
		return strings.Fields(text)
	}
	cells := strings.Split(text, separator)
	if strings.Contains(text, `"`) {
		r := csv.NewReader(strings.NewReader(text))
		r.Comma, r.LazyQuotes, r.TrimLeadingSpace = rune(separator[0]), true, separator != "\t"
		if quoted, err := r.Read(); err == nil {
			cells = quoted
		}
	}
	for i, c := range cells {
		cells[i] = strings.TrimSpace(c)
	}
	return cells
}

// number reads a finite number; gap is true for a cell without one, or of a test that
// failed.
func number(cell string) (v float64, gap bool, err error) {
	switch strings.ToLower(cell) {
	case "", "-", "--", "–", "—", "x", "?", "n/a", "#n/a", "na", "nan", "nil", "null", "none", "fail", "failed", "err", "error", "timeout", "timed out":
		return 0, true, nil
	}
	plainly, err := pointed(cell)
	if err != nil {
		return 0, false, err
	}
	v, err = strconv.ParseFloat(plainly, 64)
	if err != nil || math.IsInf(v, 0) || math.IsNaN(v) {
		return 0, false, fmt.Errorf("%q is not a number", plain.Line(short(cell)))
	}
	return v, false, nil
}

// pointed writes a number with a point: 45,5 is 45.5, and 1,234.5 is 1234.5.
func pointed(cell string) (string, error) {
	whole, rest, comma := strings.Cut(cell, ",")
	switch {
	case !comma:
		return cell, nil
	case strings.Contains(rest, "."):
		return strings.ReplaceAll(cell, ",", ""), nil
	case len(rest) == 3 && len(whole) <= 3 && strings.TrimLeft(whole, "0") != "":
		return "", fmt.Errorf("%q is %s%s or %s.%s: write it without a comma", plain.Line(short(cell)), whole, rest, whole, rest)
	}
	return whole + "." + rest, nil
}

// value reads a number that may have a unit of its own behind it.
func value(cell string, scale float64) (v float64, gap bool, err error) {
	digits := strings.TrimRight(cell, unitLetters)
	if own, named := unitOf([]string{strings.TrimSpace(cell[len(digits):])}); named && digits != "" {
		cell, scale = strings.TrimSpace(digits), own
	}
	v, gap, err = number(cell)
	return v * scale, gap, err
}

// unitLetters are those of units.
const unitLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ/ "

// short cuts a text for a message.
func short(text string) string {
	if r := []rune(text); len(r) > 40 {
		return string(r[:40]) + "…"
	}
	return text
}

// builder collects ends and values.
type builder struct {
	Matrix
	at    map[string]int
	nodes map[string]int
	// oneNode takes names for GPUs of one node.
	oneNode bool
	// gaps and zeros count missing values, and those that are 0.
	gaps, zeros int
	// unread are the columns that were not read.
	unread []string
}

func newBuilder() *builder { return &builder{at: map[string]int{}, nodes: map[string]int{}} }

// end is the number of an end.
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
	b.at[name] = len(b.Names)
	b.Names = append(b.Names, name)
	b.At = append(b.At, Place{Node: b.nodes[node], GPU: gpu})
	return b.at[name], nil
}

// nameError refuses what is no name.
func nameError(name string) error {
	switch {
	case name == "":
		return errors.New("a name is empty")
	case len(name) > mostName:
		return fmt.Errorf("a name has %d characters, at most %d: %s", len(name), mostName, plain.Line(short(name)))
	}
	return nil
}

// place reads the name of an end: NODE, or NODE:GPU, NODE/GPU or NODE:gpu3; gpu3 alone, and
// a number where the ends are known to be GPUs, is a GPU of the only node. A node has the
// GPU −1.
func place(name string, oneNode bool) (node string, gpu int) {
	node, after, cut := cutLast(name)
	if !cut {
		node, after = "", name
	}
	digits, prefixed := strings.CutPrefix(strings.ToLower(after), "gpu")
	n, err := strconv.ParseUint(digits, 10, 16)
	if err != nil || !cut && !prefixed && !oneNode {
		return name, -1
	}
	return node, int(n)
}

func cutLast(name string) (before, after string, ok bool) {
	i := strings.LastIndexAny(name, ":/")
	if i < 1 {
		return name, "", false
	}
	return name[:i], name[i+1:], true
}

// add takes a value in bytes per second. A pair of an end with itself is left out.
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
	default:
		b.Values = append(b.Values, Value{From: i, To: k, Rate: v})
	}
	return nil
}

// notes say what was left out.
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
