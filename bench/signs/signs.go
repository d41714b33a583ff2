// Package signs knows lines of logs by which a library, a program or the kernel says what is wrong. Take gives a Reader each
// line of a log; Found says at the end what the log comes to. A new sign is a row of the table in table.go.
package signs

import (
	"slices"
	"strings"

	"zbench/bench/pattern"
)

// Found is a sign that a log has.
type Found struct {
	*Sign
	// Line is the number of the first such line, from 1, and Text that line.
	Line int
	Text string
	// Subjects are what the lines are about, each once.
	Subjects []string
	// Count is the number of such lines.
	Count int
}

// Reader gathers the signs of a log. The zero value is ready.
type Reader struct {
	found []*Found
	hosts map[string]bool
	// nics is true where a process found RDMA NICs, plugin where one uses a network of neither RDMA nor sockets.
	nics, plugin bool
}

var (
	hostLine    = pattern.New(`([A-Za-z0-9_.-]+):\d+:\d+ \[\d+\]`)
	nicLine     = pattern.New(`NET/IB : Using \[\d+\]\w`)
	networkLine = pattern.New(`Using network (\S+)`)
)

// Take reads a line and returns its sign; nil if it has none. Whether it is a finding is known when all lines were taken.
func (r *Reader) Take(no int, line string) *Sign {
	host := ""
	if strings.Contains(line, "NET/IB") || strings.Contains(line, "Using network") {
		host = r.network(line)
	}
	for i := range table {
		s := &table[i]
		if !slices.ContainsFunc(s.Has, func(w string) bool { return strings.Contains(line, w) }) {
			continue
		}
		if m := s.Pattern.FindStringSubmatch(line); m != nil {
			if host == "" {
				host = hostOf(line)
			}
			r.note(s, no, line, append(m[1:], host))
			return s
		}
	}
	return nil
}

// network takes what a line says of the network, and returns its host.
func (r *Reader) network(line string) string {
	host := hostOf(line)
	if r.hosts == nil {
		r.hosts = map[string]bool{}
	}
	r.hosts[host] = true
	r.nics = r.nics || nicLine.MatchString(line)
	if m := networkLine.FindStringSubmatch(line); m != nil {
		r.plugin = r.plugin || m[1] != "Socket" && m[1] != "IB"
	}
	return host
}

// hostOf is the host that the library puts in front of its lines; empty where there is none.
func hostOf(line string) string {
	if m := hostLine.FindStringSubmatch(line); m != nil {
		return m[1]
	}
	return ""
}

func (r *Reader) note(s *Sign, no int, line string, subjects []string) {
	i := slices.IndexFunc(r.found, func(f *Found) bool { return f.Code == s.Code })
	if i < 0 {
		i = len(r.found)
		r.found = append(r.found, &Found{Sign: s, Line: no, Text: strings.TrimSpace(line)})
	}
	f := r.found[i]
	f.Count++
	const most = 64
	if j := slices.IndexFunc(subjects, func(s string) bool { return s != "" }); j >= 0 && len(f.Subjects) < most {
		if name := strings.Trim(subjects[j], "[]"); !slices.Contains(f.Subjects, name) {
			f.Subjects = append(f.Subjects, name)
		}
	}
}

// Found returns the signs in the order of the log. cluster is true where the GPUs are of a kind that comes with RDMA NICs.
func (r *Reader) Found(cluster bool) (out []Found) {
	for _, f := range r.found {
		if f.Ethernet && (r.plugin || !r.nics && (!cluster || len(r.hosts) < 2)) {
			continue
		}
		out = append(out, *f)
	}
	return out
}
