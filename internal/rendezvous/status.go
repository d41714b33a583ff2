package rendezvous

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"zbench/bench/record"
	"zbench/bench/slice"
	"zbench/bench/table"
)

// Status is how far the registration has got.
type Status struct {
	// Registered of Processes are there, the leader included.
	Registered, Processes int
	// Missing are the numbers of the others, in ascending order.
	Missing []int
	// Refused are the last refusals of missing processes, by their numbers.
	Refused []Refused
	// Hosts are the hosts from which processes have registered.
	Hosts []string
}

func (r *registry) status() Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := Status{Registered: len(r.connected), Processes: r.options.Self.Processes}
	for n := range s.Processes {
		e, no := r.entries[n], r.refused[n]
		switch {
		case r.connected[n]:
			s.Hosts = append(s.Hosts, e.Host)
		case no != nil:
			s.Refused = append(s.Refused, *no)
			s.Missing = append(s.Missing, n)
		default:
			s.Missing = append(s.Missing, n)
		}
	}
	slices.Sort(s.Hosts)
	s.Hosts = slices.Compact(s.Hosts)
	return s
}

// Text is one line: how many are there and who is missing.
func (s Status) Text() string {
	text := fmt.Sprintf("%d of %d processes have registered", s.Registered, s.Processes)
	if len(s.Missing) == 0 {
		return text
	}
	text += "; missing: " + record.ProcessText(s.Missing, s.Processes)
	for i, no := range s.Refused {
		if i == maxQuoted {
			return text + fmt.Sprintf("; and %d more were refused", len(s.Refused)-i)
		}
		text += "; " + no.Error()
	}
	return text
}

// maxQuoted is the most refusals that a line quotes.
const maxQuoted = 3

// Table lists the missing processes: one row for those that were not heard of, one for
// each that was refused.
func (s Status) Table() table.Table {
	t := table.Of([]string{"process", "state", "host", "reason"})
	t.Title = fmt.Sprintf("%d of %d processes have registered", s.Registered, s.Processes)
	refused := slice.Map(s.Refused, func(no Refused) int { return no.Process })
	silent := slices.DeleteFunc(slices.Clone(s.Missing), func(n int) bool { return slices.Contains(refused, n) })
	if len(silent) > 0 {
		_, numbers, _ := strings.Cut(record.ProcessText(silent, 0), " ")
		t.Add(numbers, "not heard of", "–", "not started, or without a connection to the leader")
	}
	for _, no := range s.Refused {
		t.Add(strconv.Itoa(no.Process), "refused", cmp.Or(no.Host, "–"), no.Text)
	}
	return t
}
