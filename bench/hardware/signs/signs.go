// Package signs knows log lines in which a library, a program or the kernel states a defect. Take
// gives a Reader each line of a log; Found returns the log's signs at the end. A new sign is a row
// of the table in table.go.
package signs

import (
	"fmt"
	"slices"
	"strings"

	"zbench/bench/base/pattern"
	"zbench/bench/base/unit"
)

// Found is a sign that a log has.
type Found struct {
	*Sign
	// Line is the number of the first such line, from 1, and Text that line.
	Line int
	Text string
	// Subjects are the subjects of the lines, each once.
	Subjects []string
	// Count is the number of such lines.
	Count int
}

// At returns its place and subjects: "line 7 (hosta, hostb)".
func (f Found) At() string {
	if len(f.Subjects) == 0 {
		return fmt.Sprintf("line %d", f.Line)
	}
	return fmt.Sprintf("line %d (%s)", f.Line, unit.FirstFew(f.Subjects, 4))
}

// Reader collects the signs of a log. The zero value is ready.
type Reader struct{ found []*Found }

// hostLine matches the library's prefix of its lines.
var hostLine = pattern.New(`([A-Za-z0-9_.-]+):\d+:\d+ \[\d+\]`)

// Tells reports whether a line has a sign.
func Tells(line string) bool {
	sign, _ := of(line)
	return sign != nil
}

// of returns the sign of a line and the name in its pattern; nil if it has none.
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

// Take reads a line and returns its sign; nil if it has none. It becomes a finding only after all
// lines were taken.
func (r *Reader) Take(no int, line string) *Sign {
	sign, subjects := of(line)
	if sign != nil {
		r.note(sign, no, line, append(slices.Clip(subjects), hostLine.FindStringSubmatch(line)...))
	}
	return sign
}

// note counts a line. Its subject is the last non-empty subject.
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

// Found returns the signs in the order of the log. cluster is true if the GPUs are of a kind that
// comes with RDMA NICs.
func (r *Reader) Found(cluster bool) (out []Found) {
	usual := r.index("plugin") >= 0 // some process has another network
	for _, f := range r.found {
		expected := r.index("nics") >= 0 || cluster && len(f.Subjects) > 1
		if f.Means != "" && (!f.Ethernet || expected && !usual) {
			out = append(out, *f)
		}
	}
	return out
}
