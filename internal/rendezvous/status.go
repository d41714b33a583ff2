package rendezvous

import (
	"fmt"

	"zbench/bench/run/record"
)

// Status is the progress of the registration.
type Status struct {
	// Registered is how many of the Processes have registered, including the leader.
	Registered, Processes int
	// Missing lists the numbers of the missing processes, in ascending order.
	Missing []int
	// Refused lists the last refusals of missing processes, ordered by process.
	Refused []Refused
}

func (r *registry) status() Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := Status{Registered: len(r.connected), Processes: r.options.Self.Processes}
	for n := range s.Processes {
		if r.connected[n] {
			continue
		}
		s.Missing = append(s.Missing, n)
		if no := r.refused[n]; no != nil {
			s.Refused = append(s.Refused, *no)
		}
	}
	return s
}

// Text returns one line with the number of registered processes and of the missing processes.
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

// maxQuoted is the largest number of refusals that are quoted in a line.
const maxQuoted = 3
