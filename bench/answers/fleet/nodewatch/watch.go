// Package nodewatch judges one check of a node for its scheduler. It combines the findings of nodescreen,
// the kernel log since the last check, and the node's history. It measures nothing.
package nodewatch

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"zbench/bench/answers/fleet/history"
	"zbench/bench/answers/fleet/nodescreen"
	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
	"zbench/bench/hardware/signs"
)

// Action tells an operator what to do with the node.
type Action string

// The actions, the mildest first.
const (
	None    Action = "NONE"
	Monitor Action = "MONITOR"
	Reset   Action = "RESET"
	Isolate Action = "ISOLATE"
)

// Actions returns all actions, the mildest first.
func Actions() []Action { return []Action{None, Monitor, Reset, Isolate} }

func (a Action) rank() int { return slices.Index(Actions(), a) }

// hard holds the actions of findings that a single check proves, by code. Other findings begin as MONITOR.
var hard = map[string]Action{
	"uncorrected_errors": Isolate, "gpu_uncorrectable": Isolate, "gpu_lost": Isolate, "wrong_data": Isolate,
	"pcie_width": Isolate, "nic_state": Isolate, "nic_rate": Isolate, "xgmi_link_missing": Isolate,
	"gpu_missing": Isolate, "kfd_node_missing": Isolate, "hive_incomplete": Isolate,
	"gpu_reset": Reset, "gpu_timeout": Reset, "kfd_unreadable": Reset, "address_twice": Reset, "unique_id_twice": Reset,
}

// `repeated` lists the codes that take the node out if Separate of the last checks have them. `measured`
// lists the codes of performance. Findings with codes of performance also need a longer measurement.
var (
	repeated = []string{"link_downs", "link_down", "pcie_error", "gpu_reset", "gpu_timeout"}
	measured = []string{"memory", "product", "link", "collective", "nic_collective"}
	// `failed` lists the codes of zbench's own steps that did not end. They prove nothing about the node.
	failed = []string{"error", "no_measurement"}
)

// decline is the code of a figure below its own past.
const decline = "own_past"

// Seen holds the readings and measurements of one check.
type Seen struct {
	// Node is the report of the node; active checks add their measurements.
	Node *nodescreen.Node `json:"node"`
	// Boot is the kernel's id of this boot; empty if unknown.
	Boot string `json:"boot"`
	// For is the duration of one measurement, such as "3 s". Figures of other durations are another kind.
	For string `json:"for"`
	// Facts are the facts whose change begins an era, in addition to the node's facts.
	Facts map[string]string `json:"facts"`
	// Counters are the error counters.
	Counters []history.Counter `json:"counters"`
	// Log has the signs of the kernel log, oldest first. NoLog says why the log was not read.
	Log   []Line `json:"log"`
	NoLog string `json:"no_log"`
	// Newest is the time of the log's newest line, in microseconds after boot.
	Newest int64 `json:"newest"`
}

// Fleet holds the knowledge about the other nodes.
type Fleet struct {
	// Fallen returns the number of nodes on which a kind of figures has fallen, this node included, and the
	// number of all nodes. It is nil if nothing is known about other nodes.
	Fallen func(kind string) (fallen, nodes int)
}

// Judge judges a check and adds it to the node's memory.
func Judge(s *Seen, m *history.Memory, now time.Time, fleet Fleet) *Document {
	d := &Document{Schema: Schema, Host: s.Node.Host, Simulated: s.Node.Simulated, Time: now.UTC()}
	for _, c := range m.Begin(now, s.facts()) {
		d.add(Monitor, "drift", c.Name, fmt.Sprintf("%s changed from %s to %s; its figures begin anew", c.Name, c.Before, c.Now), "if nobody changed it, compare with `zbench topo` of other nodes")
	}
	d.Check = m.Checks
	d.log(s, m)
	for _, g := range m.Grown(s.Boot, s.Counters) {
		d.grew(g, m)
	}
	screened := nodescreen.Judge(nodescreen.Fleet{Nodes: []*nodescreen.Node{s.Node}})
	d.Unchecked = append(d.Unchecked, slice.Where(screened.Unchecked, func(u string) bool { return !strings.HasPrefix(u, "differences between nodes") })...)
	for _, f := range screened.Findings {
		d.screened(f, m)
	}
	if figures := s.Figures(); len(figures) > 0 {
		if m.Add(now, figures) {
			d.past(m, fleet)
		} else {
			d.Unchecked = append(d.Unchecked, "figures against their own past: the last measurement is less than ten minutes old")
		}
	}
	m.Log = s.Newest
	d.Conclude()
	return d
}

// Figures returns the measured rates. The kind of each rate names the duration of the measurement.
func (s *Seen) Figures() []history.Figure {
	return slice.Map(s.Node.Figures(), func(f history.Figure) history.Figure {
		f.Kind += timed + s.For
		return f
	})
}

// `timed` separates the kind of a figure from the duration of its measurement.
const timed = ", measured for "

// facts returns the facts that begin an era when they change. The environment of the caller is left out.
func (s *Seen) facts() map[string]string {
	out := map[string]string{}
	maps.Copy(out, s.Facts)
	for _, f := range s.Node.Facts {
		if !strings.HasPrefix(f.Name, "env ") {
			out[f.Name] = f.Value
		}
	}
	return out
}

// log adds the signs that the kernel wrote since the last check, once per component.
func (d *Document) log(s *Seen, m *history.Memory) {
	if s.NoLog != "" {
		d.Unchecked = append(d.Unchecked, "the kernel log: "+s.NoLog)
	}
	for _, l := range s.Log {
		sign := signs.ByCode(l.Code)
		if sign == nil || s.Boot == m.Boot && l.At <= m.Log && l.At > 0 {
			continue
		}
		subject := l.Subject
		if subject == "" {
			subject = "node"
		}
		if i := d.index(l.Code, subject); i >= 0 {
			d.Findings[i].Times++
			continue
		}
		d.found(m, l.Code, subject, "the kernel log says that "+sign.Means+": "+plain.Line(l.Text), sign.Next)
	}
}

// `grew` adds a finding for a counter that grew. Counters of uncorrected errors are left to the topology's
// rules, which judge their value.
func (d *Document) grew(g history.Growth, m *history.Memory) {
	since := "since the last check"
	if g.New {
		since = "since its reset"
	}
	switch {
	case g.Name == "link_downed":
		d.found(m, "link_downs", g.Subject, fmt.Sprintf("the port lost its link %s %s", plain.Count(int(min(g.By, 1<<30)), "time"), since), "check the cable, the transceiver and the switch's port")
	case strings.HasPrefix(g.Name, "aer/nonfatal/") && !g.New:
		d.found(m, "pcie_error", g.Subject, fmt.Sprintf("%s grew by %d %s to %d", g.Name, g.By, since, g.Value), signs.ByCode("pcie_error").Next)
	case strings.HasSuffix(g.Name, "/ce"), strings.HasPrefix(g.Name, "aer/correctable/"):
		d.found(m, "corrected_errors", g.Subject, fmt.Sprintf("%s grew by %d %s to %d", g.Name, g.By, since, g.Value), "a burst often precedes uncorrected errors: watch it")
	}
}

// `screened` adds a finding from the screen of this node alone.
func (d *Document) screened(f nodescreen.Deviation, m *history.Memory) {
	code := f.Rule
	if f.Code != "" {
		code = f.Code
	}
	switch {
	case slices.Contains(failed, code):
		d.Unchecked = append(d.Unchecked, f.Reason())
	case f.Unclear:
		d.add(Monitor, code, f.Subject, "unclear: "+f.Message, f.Next)
	case slices.Contains(measured, code):
		again := m.Again(code + " " + f.Subject)
		i := d.add(Monitor, code, f.Subject, f.Message, f.Next)
		d.Findings[i].Checks, d.Findings[i].Pending = again, again >= history.Separate
	default:
		d.found(m, code, f.Subject, f.Message, f.Next)
	}
}

// `past` adds findings for figures below their own past. If the whole fleet fell, it begins an era instead.
func (d *Document) past(m *history.Memory, fleet Fleet) {
	declines, fallen := m.Declines()
	d.Fallen = append(d.Fallen, fallen...)
	for _, l := range declines {
		if slices.Contains(d.Excused, l.Kind) {
			continue
		}
		if fleet.Fallen != nil {
			if n, of := fleet.Fallen(l.Kind); history.Together(n, of) {
				d.Unchecked = append(d.Unchecked, fmt.Sprintf("%s against its own past: %d of %d nodes fell together, so a change of the fleet is the cause; its figures begin anew", l.Kind, n, of))
				d.Excused = append(d.Excused, l.Kind)
				continue
			}
		}
		if slices.ContainsFunc(d.Findings, func(f Found) bool { return f.Pending && f.Subject == l.Subject }) {
			continue
		}
		i := d.add(Monitor, decline, l.Subject, fmt.Sprintf("%s: %.1f %% below its own last %d checks, in %d checks", l.Kind, 100*l.Lost, l.Of, l.Checks), "`zbench screen` on the node; compare clocks, power limits and temperatures with the others'")
		d.Findings[i].Checks, d.Findings[i].Lost, d.Findings[i].Pending = l.Checks, l.Lost, true
		d.Findings[i].decline = l
	}
	if len(d.Excused) > 0 {
		m.Restart()
	}
}

// Pending reports whether a longer measurement would decide about a finding.
func (d *Document) Pending() bool {
	return slices.ContainsFunc(d.Findings, func(f Found) bool { return f.Pending })
}

// Confirm isolates the node for each pending finding that a longer measurement shows, too. With a nil
// report the findings stay as they are.
func (d *Document) Confirm(n *nodescreen.Node) {
	if n != nil {
		again, figures := nodescreen.Judge(nodescreen.Fleet{Nodes: []*nodescreen.Node{n}}).Findings, n.Figures()
		for i := range d.Findings {
			f := &d.Findings[i]
			if !f.Pending {
				continue
			}
			holds := slices.ContainsFunc(again, func(x nodescreen.Deviation) bool { return x.Rule == f.Code && x.Subject == f.Subject })
			if f.Code == decline {
				holds = slices.ContainsFunc(figures, func(x history.Figure) bool {
					return strings.HasPrefix(f.decline.Kind, x.Kind+timed) && x.Subject == f.Subject && f.decline.Confirms(x.Rate)
				})
			}
			if f.Pending = false; holds {
				f.Action, f.Message = Isolate, f.Message+"; a longer measurement confirms it"
			} else {
				f.Message += "; a longer measurement does not confirm it"
			}
		}
	}
	d.Conclude()
}
