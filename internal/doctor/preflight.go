package doctor

import (
	"zbench/bench/run/record"
	"zbench/internal/preflight"
)

// The map `marks` gives the mark for each state of preflight's checks. NotChecked judges nothing.
var marks = map[record.PreflightState]Mark{
	record.CheckOK: Good, record.CheckWarning: Warn, record.CheckError: Bad, record.CheckNotChecked: Fact,
}

// preflight runs the checks that precede a run on several nodes, for this host only.
func (m Machine) preflight() []Item {
	h := m.Host
	h.FS = m.FS
	r := preflight.JudgeHost(preflight.Process{Facts: preflight.Collect(h), Ranks: max(m.GPUs, 1)})
	var all []Item
	for _, c := range r.Checks {
		for _, found := range c.Findings { // there is one process, so there is one host
			f := Item{Mark: marks[found.State], Name: c.Name, Value: found.Found, Remedy: found.Next}
			switch {
			case found.State == record.CheckNotChecked:
				f.Value = "not checked: " + found.Found
			case found.Why != "":
				f.Value += ": " + found.Why
			}
			all = append(all, f)
		}
	}
	return all
}
