// Package signs recognises log lines in which a library, a program or the kernel states a defect.
// Each line of a log goes to Reader.Take; Reader.Found then returns the signs of the whole log. To
// add a sign, add a row to the table in table.go.
package signs

import (
	"fmt"
	"slices"
	"strings"

	"zbench/bench/base/pattern"
	"zbench/bench/base/unit"
)

// Found is a sign that was found in a log.
type Found struct {
	*Sign
	// Line is the number, from 1, of the first line with this sign. Text is that line.
	Line int
	Text string
	// Subjects are the subjects of all lines with this sign, without repetitions.
	Subjects []string
	// Count is the number of lines with this sign.
	Count int
}

// At returns the line number and the subjects: "line 7 (hosta, hostb)".
func (f Found) At() string {
	if len(f.Subjects) == 0 {
		return fmt.Sprintf("line %d", f.Line)
	}
	return fmt.Sprintf("line %d (%s)", f.Line, unit.FirstFew(f.Subjects, 4))
}

// Reader collects the signs of a log. The zero value is ready to use.
type Reader struct{ found []*Found }

// hostLine matches the prefix that the library puts in front of its log lines.
var hostLine = pattern.New(`([A-Za-z0-9_.-]+):\d+:\d+ \[\d+\]`)

// Tells reports whether a line has a sign.
func Tells(line string) bool {
	sign, _ := of(line)
	return sign != nil
}

// Function `of` returns the sign of a line and the groups of its pattern. The returned sign is nil
// if the line has no sign.
func of(line string) (*Sign, []string) {
	for i := range table {
		s := &table[i]
		if !slices.ContainsFunc(s.Has, func(w string) bool { return strings.Contains(line, w) }) {
			continue
		}
		if m := s.Pattern.FindStringSubmatch(line); m != nil {
			return s, m[1:]
		}
	}
	return nil, nil
}

// Take reads a line and returns its sign, or nil. Only Found decides which signs become findings,
// after all lines were read.
func (r *Reader) Take(no int, line string) *Sign {
	sign, subjects := of(line)
	if sign != nil {
		r.note(sign, no, line, append(slices.Clip(subjects), hostLine.FindStringSubmatch(line)...))
	}
	return sign
}

// note counts a line with a sign. The line's subject is the last subject that is not empty.
func (r *Reader) note(s *Sign, no int, line string, subjects []string) {
	i := r.index(s.Code)
	if i < 0 {
		i = len(r.found)
		r.found = append(r.found, &Found{Sign: s, Line: no, Text: strings.TrimSpace(line)})
	}
	f := r.found[i]
	f.Count++
	const most = 64
	if subjects = slices.DeleteFunc(subjects, func(s string) bool { return s == "" }); len(subjects) > 0 && len(f.Subjects) < most {
		if name := subjects[len(subjects)-1]; !slices.Contains(f.Subjects, name) {
			f.Subjects = append(f.Subjects, name)
		}
	}
}

func (r *Reader) index(code string) int {
	return slices.IndexFunc(r.found, func(f *Found) bool { return f.Code == code })
}

// Found returns the signs in the order of the log. cluster is true if GPUs of this kind usually
// have RDMA NICs.
func (r *Reader) Found(cluster bool) (out []Found) {
	usual := r.index("plugin") >= 0 // some process uses another network
	for _, f := range r.found {
		expected := r.index("nics") >= 0 || cluster && len(f.Subjects) > 1
		if f.Means != "" && (!f.Ethernet || expected && !usual) {
			out = append(out, *f)
		}
	}
	return out
}
