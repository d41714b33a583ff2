package trainer

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// columns says where a CSV row has what; -1 is nowhere.
type columns struct{ name, elements, shape, expert, trained int }

// fromCSV reads name,elements or name,shape rows.
func fromCSV(file string, text []byte) ([]Param, error) {
	r := csv.NewReader(bytes.NewReader(text))
	r.Comment, r.FieldsPerRecord, r.TrimLeadingSpace, r.ReuseRecord = '#', -1, true, true
	at := columns{name: 0, elements: 1, shape: 1, expert: -1, trained: 2}
	var l list
	for first := true; ; first = false {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			return l.done()
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %s: %w", ErrParams, file, err) // it names the line
		}
		line, _ := r.FieldPos(0)
		where := fmt.Sprintf("%s line %d", file, line)
		if first {
			head, is, err := headings(where, row)
			if err != nil {
				return nil, err
			}
			if is {
				at = head
				continue
			}
		}
		p, err := at.param(where, row)
		if err == nil {
			err = l.add(where, p)
		}
		if err != nil {
			return nil, err
		}
	}
}

// headings reads the first row as names of columns, where it is that.
func headings(where string, row []string) (at columns, is bool, err error) {
	find := func(names ...string) int {
		return slices.IndexFunc(row, func(s string) bool { return slices.Contains(names, strings.ToLower(strings.TrimSpace(s))) })
	}
	at = columns{find("name", "parameter", "tensor"), find("elements", "numel", "params", "count"), find("shape", "size"), find("expert", "is_expert"), find("requires_grad", "trainable")}
	switch {
	case at.name < 0:
		return at, false, nil
	case at.elements < 0 && at.shape < 0:
		return at, false, fmt.Errorf("%w: %s: the header has neither elements nor shape", ErrParams, where)
	}
	return at, true, nil
}

func (at columns) param(where string, row []string) (Param, error) {
	cell := func(i int) string {
		if i < 0 || i >= len(row) {
			return ""
		}
		return strings.TrimSpace(row[i])
	}
	plain := at.elements == at.shape // no header told
	if plain && (len(row) < 2 || len(row) > 3) {
		return Param{}, fmt.Errorf("%w: %s: %d fields; write name,elements or name,shape with the shape as 4096x1024, requires_grad behind it", ErrParams, where, len(row))
	}
	n, shape, err := counted(cell(at.elements), cell(at.shape))
	if err != nil {
		return Param{}, fmt.Errorf("%w: %s: %w", ErrParams, where, err)
	}
	p := named(cell(at.name), n, shape)
	if text := cell(at.expert); text != "" {
		if p.Expert, err = strconv.ParseBool(strings.ToLower(text)); err != nil {
			return Param{}, fmt.Errorf("%w: %s: expert is %s, not true or false", ErrParams, where, short(text))
		}
	}
	if text := cell(at.trained); text != "" {
		trained, err := strconv.ParseBool(strings.ToLower(text))
		if err != nil {
			return Param{}, fmt.Errorf("%w: %s: requires_grad is %s, not True or False; write name,elements or name,shape with the shape as 4096x1024", ErrParams, where, short(text))
		}
		freeze(&p, !trained)
	}
	return p, nil
}

// counted reads a number of elements and a shape, one of which may be empty.
func counted(count, shape string) (int64, []int64, error) {
	switch {
	case count == "":
		return elementsColumn(shape)
	case shape == "":
		return elementsColumn(count)
	}
	n, _, err := elementsColumn(count)
	if err != nil {
		return 0, nil, err
	}
	product, sides, err := elementsColumn(shape)
	if err == nil {
		err = agree(n, product)
	}
	return n, sides, err
}

// agree refuses a count that is not the product of the shape beside it.
func agree(count, product int64) error {
	if count != product {
		return fmt.Errorf("%d elements and a shape of %d contradict each other", count, product)
	}
	return nil
}

// elements reads a count, or a shape as 4096x1024, [4096, 1024] or (4096,). A
// bare number is a count, whose shape is not known: nil.
func elementsColumn(text string) (n int64, shape []int64, err error) {
	inner := strings.TrimPrefix(text, "torch.Size")
	inner = strings.Trim(inner, "[]() ")
	if inner == "" {
		if text != inner {
			return 1, []int64{}, nil // a scalar: []
		}
		return 0, nil, errors.New("no number of elements")
	}
	sides := strings.FieldsFunc(inner, func(r rune) bool { return strings.ContainsRune("xX×*, ", r) })
	shape = make([]int64, len(sides))
	for i, s := range sides {
		n, err := strconv.ParseInt(strings.ReplaceAll(s, "_", ""), 10, 64)
		if err != nil || n < 1 {
			return 0, nil, fmt.Errorf("%s is not a number of elements or a shape", short(text))
		}
		shape[i] = n
	}
	if len(sides) == 0 {
		return 0, nil, fmt.Errorf("%s is not a number of elements or a shape", short(text))
	}
	if n = dims(shape); inner == text && len(shape) == 1 {
		shape = nil
	}
	return n, shape, nil
}
