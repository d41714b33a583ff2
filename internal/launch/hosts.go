package launch

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"zbench/bench/base/slice"
)

// mostHosts is the longest allowed list of hosts. A longer list is a mistake.
const mostHosts = 1 << 16

// HostsOf returns the names in a list of Slurm, such as SLURM_JOB_NODELIST:
// "rack1-n[01-03,20],login" has five names. An empty list has none.
func HostsOf(list string) ([]string, error) {
	var all []string
	for list != "" {
		name, rest, err := nextHost(list)
		if err != nil {
			return nil, err
		}
		names, err := expandHost(name)
		if err != nil {
			return nil, err
		}
		if all = append(all, names...); len(all) > mostHosts {
			return nil, fmt.Errorf("%.40q has more than %d nodes", list, mostHosts)
		}
		list = rest
	}
	return all, nil
}

// firstHost returns the first name of a list of Slurm, "" for an empty list.
func firstHost(list string) (string, error) {
	all, err := HostsOf(list)
	if err != nil {
		return "", fmt.Errorf("%q is not a list of nodes of Slurm", list)
	}
	return strings.Join(all[:min(1, len(all))], ""), nil
}

// nextHost splits off the first name, at the first comma outside brackets.
func nextHost(list string) (name, rest string, err error) {
	depth := 0
	for i, c := range []byte(list) {
		switch {
		case c == '[':
			depth++
		case c == ']':
			depth--
		case c == ',' && depth == 0:
			return list[:i], list[i+1:], nil
		}
		if depth < 0 || depth > 1 {
			return "", "", fmt.Errorf("%.40q is not a list of nodes of Slurm", list)
		}
	}
	if depth != 0 {
		return "", "", fmt.Errorf("%.40q is not a list of nodes of Slurm", list)
	}
	return list, "", nil
}

// expandHost returns the names that a name with brackets stands for.
func expandHost(name string) ([]string, error) {
	head, rest, found := strings.Cut(name, "[")
	if !found {
		if name == "" || strings.ContainsAny(name, " \t\n/]") {
			return nil, fmt.Errorf("%.40q is not the name of a node", name)
		}
		return []string{name}, nil
	}
	numbers, tail, _ := strings.Cut(rest, "]")
	var all []string
	for part := range strings.SplitSeq(numbers, ",") {
		from, to, several := strings.Cut(part, "-")
		if !several {
			to = from
		}
		first, err := strconv.ParseUint(from, 10, 32)
		last, bad := strconv.ParseUint(to, 10, 32)
		if err != nil || bad != nil || last < first || last-first >= mostHosts {
			return nil, fmt.Errorf("%.40q: %.40q is not a range of numbers", name, part)
		}
		for n := first; n <= last; n++ {
			names, err := expandHost(fmt.Sprintf("%s%0*d%s", head, len(from), n, tail))
			if err != nil {
				return nil, err
			}
			if all = append(all, names...); len(all) > mostHosts {
				return nil, fmt.Errorf("%.40q has more than %d nodes", name, mostHosts)
			}
		}
	}
	return all, nil
}

// hostList returns the argument of mpirun's --host: the hosts with the number of processes on each.
func hostList(hosts []Host, processes int) string {
	return strings.Join(slice.Map(hosts, func(h Host) string { return fmt.Sprintf("%s:%d", h.Name, max(h.Slots, processes)) }), ",")
}

var errNoHosts = errors.New("the hostfile names no host")

// Host is a line of a hostfile.
type Host struct {
	Name string
	// Slots is the number of processes that may run on the host; 0 if the file does not give it.
	Slots int
}

// ReadHosts reads a hostfile of Open MPI: one host per line, optionally with slots=N. Comments
// begin with #.
func ReadHosts(text string) ([]Host, error) {
	var hosts []Host
	for i, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		h := Host{Name: words[0]}
		if strings.ContainsRune(h.Name, '=') {
			return nil, fmt.Errorf("line %d: %q is no host", i+1, h.Name)
		}
		for _, w := range words[1:] {
			key, value, has := strings.Cut(w, "=")
			if !has {
				return nil, fmt.Errorf("line %d: %q is no setting such as slots=8: is another line mixed into this one?", i+1, w)
			}
			if key != "slots" {
				continue
			}
			var err error
			if h.Slots, err = number("slots", value); err != nil {
				return nil, fmt.Errorf("line %d: %w", i+1, err)
			}
		}
		hosts = append(hosts, h)
	}
	if len(hosts) == 0 {
		return nil, errNoHosts
	}
	return hosts, nil
}
