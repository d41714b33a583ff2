// Package history is the memory of a node's checks: one small file per node with the figures of the
// newest checks, the versions that they were measured with, and the error counters that the last check
// read. It finds figures below their own past. It measures nothing and opens no file.
package history

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"zbench/bench/base/jsonfile"
	"zbench/bench/base/slice"
)

// Schema is the version of a memory's file. The names of all versions begin with `family`.
const (
	Schema = "zbench.history/1"
	family = "zbench.history/"
)

// The bounds of a file. Older entries are dropped.
const (
	// Most is the largest size of a file in bytes.
	Most = 4 << 20
	// mostRounds is enough for both windows of a lasting loss.
	mostRounds   = Window + Lasting
	mostFigures  = 256
	mostCounters = 2048
	mostEvents   = 256
	mostFacts    = 256
	longest      = 128
)

// Memory is the content of a node's file.
type Memory struct {
	// Version of the format.
	Schema string `json:"schema"`
	// Host is the name of the node.
	Host string `json:"host"`
	// Checks is the number of checks of the node so far.
	Checks int64 `json:"checks"`
	// Last is the time of the last check in UTC; the clock may step.
	Last time.Time `json:"last"`
	// Boot is the kernel's id of the boot during the last check; empty if unknown.
	Boot string `json:"boot"`
	// Log is the time of the newest line of the kernel log that was read, in microseconds after boot.
	Log int64 `json:"log_microseconds"`
	// Facts are the versions of libraries, drivers and firmware, by name.
	Facts map[string]string `json:"facts"`
	// Era counts the changes of Facts. Figures are only compared within an era.
	Era int64 `json:"era"`
	// Rounds are the measurements of the newest checks, oldest first.
	Rounds []Round `json:"rounds"`
	// Counters are the error counters of the last check, by component and name.
	Counters map[string]uint64 `json:"counters"`
	// Events holds the numbers of the newest checks that had a finding, by the finding's name.
	Events map[string][]int64 `json:"events"`
}

// Round holds the figures of one check.
type Round struct {
	// Time of the check in UTC.
	Time time.Time `json:"time"`
	// Era is the era of the figures.
	Era int64 `json:"era"`
	// Figures are rates by kind, then by component. Rates of matrix products are in operations per second;
	// all other rates are in bytes per second.
	Figures map[string]map[string]float64 `json:"figures"`
}

// New returns the memory of a node without checks.
func New(host string) *Memory {
	m := &Memory{Schema: Schema, Host: host}
	m.fill()
	return m
}

func (m *Memory) fill() {
	m.Rounds = jsonfile.Filled(m.Rounds)
	if m.Facts == nil {
		m.Facts = map[string]string{}
	}
	if m.Counters == nil {
		m.Counters = map[string]uint64{}
	}
	if m.Events == nil {
		m.Events = map[string][]int64{}
	}
}

// ErrFuture is wrapped by the error of a file of a later version. Such a file must not be replaced.
var ErrFuture = errors.New("a later version of zbench wrote it")

// Read reads a node's file. The error describes the defect: the file is torn, was edited, belongs to
// another node, or a later version wrote it.
func Read(text []byte, host string) (*Memory, error) {
	if len(text) > Most {
		return nil, fmt.Errorf("it has %d bytes, more than %d", len(text), Most)
	}
	var head struct {
		Schema string `json:"schema"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return nil, jsonfile.Explain(err)
	}
	switch {
	case head.Schema != Schema && strings.HasPrefix(head.Schema, family):
		return nil, fmt.Errorf("%w: its schema is %.40q", ErrFuture, head.Schema)
	case head.Schema != Schema:
		return nil, fmt.Errorf("its schema is %.40q, not %q", head.Schema, Schema)
	case jsonfile.Edited(text):
		return nil, errors.New("it was edited or damaged: the content does not fit its checksum")
	}
	var m struct {
		Memory
		Sum *string `json:"sha256"`
	}
	if err := jsonfile.Strict(text, &m); err != nil {
		return nil, err
	}
	switch {
	case m.Sum == nil:
		return nil, errors.New("it has no checksum")
	case m.Host != host:
		return nil, fmt.Errorf("it is the memory of %.80q, not of this node", m.Host)
	}
	m.fill()
	return &m.Memory, m.validate()
}

// validate refuses content that WriteJSON cannot have written, even if the checksum fits.
func (m *Memory) validate() error {
	switch {
	case m.Checks < 0 || m.Era < 0 || m.Log < 0:
		return errors.New("it has a negative count")
	case len(m.Rounds) > mostRounds || len(m.Counters) > mostCounters || len(m.Events) > mostEvents || len(m.Facts) > mostFacts:
		return errors.New("it has more entries than a memory")
	}
	for _, r := range m.Rounds {
		for kind, of := range r.Figures {
			for subject, rate := range of {
				if !(rate > 0) {
					return fmt.Errorf("%.80s of %.80s is %g; it must be positive", kind, subject, rate)
				}
			}
		}
	}
	return nil
}

// WriteJSON writes the file.
func (m *Memory) WriteJSON(w io.Writer) error {
	return jsonfile.Write(w, "history", m)
}

// Change is a fact whose value differs from its value in the last check.
type Change struct{ Name, Before, Now string }

// Begin counts a check and returns the facts that changed. A change begins an era. A fact that this
// check did not read keeps its value: passive checks open no library.
func (m *Memory) Begin(now time.Time, facts map[string]string) (changes []Change) {
	m.Checks++
	m.Last = now.UTC()
	for _, name := range slices.Sorted(maps.Keys(facts)) {
		value := short(facts[name])
		before, known := m.Facts[short(name)]
		if known && before != value {
			changes = append(changes, Change{short(name), before, value})
		}
		if known || len(m.Facts) < mostFacts {
			m.Facts[short(name)] = value
		}
	}
	if len(changes) > 0 {
		m.Era++
	}
	return changes
}

// `short` limits the length of a name that another program chose.
func short(name string) string { return strings.ToValidUTF8(name[:min(len(name), longest)], "") }

// Figure is one measurement of a check.
type Figure struct {
	Kind, Subject string
	Rate          float64
}

// gap is the time after which a check is separate from the check before. Measurements within minutes share
// the temperature and the neighbouring jobs.
const gap = 10 * time.Minute

// Add keeps the figures of a check. It returns false if the check is not separate from the previous check.
// The earlier figures are then kept.
func (m *Memory) Add(now time.Time, figures []Figure) bool {
	if n := len(m.Rounds); n > 0 {
		since := now.Sub(m.Rounds[n-1].Time)
		if since >= 0 && since < gap && m.Rounds[n-1].Era == m.Era {
			return false
		}
	}
	r := Round{Time: now.UTC(), Era: m.Era, Figures: map[string]map[string]float64{}}
	for i, f := range figures {
		if i >= mostFigures || !(f.Rate > 0) {
			continue
		}
		kind := short(f.Kind)
		if r.Figures[kind] == nil {
			r.Figures[kind] = map[string]float64{}
		}
		r.Figures[kind][short(f.Subject)] = f.Rate
	}
	if len(r.Figures) > 0 {
		m.Rounds = append(m.Rounds, r)
		m.Rounds = m.Rounds[max(len(m.Rounds)-mostRounds, 0):]
	}
	return len(r.Figures) > 0
}

// Decline is a component whose figure is below its own past.
type Decline struct {
	Kind, Subject string
	Loss
}

// Declines compares the newest check with the checks before it in its era. `fallen` lists the kinds whose
// components are below their past together.
func (m *Memory) Declines() (out []Decline, fallen []string) {
	if len(m.Rounds) == 0 {
		return nil, nil
	}
	newest := m.Rounds[len(m.Rounds)-1]
	same := slice.Where(m.Rounds, func(r Round) bool { return r.Era == newest.Era })
	for _, kind := range slices.Sorted(maps.Keys(newest.Figures)) {
		subjects := slices.Sorted(maps.Keys(newest.Figures[kind]))
		series := slice.Map(subjects, func(subject string) (s []float64) {
			for _, r := range same {
				if v, has := r.Figures[kind][subject]; has {
					s = append(s, v)
				}
			}
			return s
		})
		if Fallen(series) {
			fallen = append(fallen, kind)
		}
		for i, loss := range Below(series) {
			if loss.Checks > 0 {
				out = append(out, Decline{kind, subjects[i], loss})
			}
		}
	}
	return out, fallen
}

// Restart begins an era although no fact changed, because the whole fleet changed.
func (m *Memory) Restart() { m.Era++ }

// Counter is an error counter with its present value.
type Counter struct {
	Subject, Name string
	Value         uint64
}

// Growth is a counter that grew since the last check. Value is the count since the driver's reset. New is
// true if no earlier check has read the counter.
type Growth struct {
	Counter
	By  uint64
	New bool
}

// Grown stores the counters and returns the counters that grew. After a boot, or if a counter is smaller
// than before, the growth counts from zero.
func (m *Memory) Grown(boot string, now []Counter) (out []Growth) {
	before, first := m.Counters, m.Checks <= 1
	m.Counters = map[string]uint64{}
	if boot != m.Boot {
		before = nil
	}
	maps.Copy(m.Counters, before) // keeps counters that could not be read now
	m.Boot = boot
	for _, c := range now {
		name := short(c.Subject) + " " + short(c.Name)
		had, known := before[name]
		if known || len(m.Counters) < mostCounters {
			m.Counters[name] = c.Value
		}
		if had > c.Value {
			had = 0
		}
		if c.Value > had {
			out = append(out, Growth{c, c.Value - had, first})
		}
	}
	slices.SortStableFunc(out, func(a, b Growth) int { return cmp.Or(cmp.Compare(a.Subject, b.Subject), cmp.Compare(a.Name, b.Name)) })
	return out
}

// Again notes a finding of this check. It returns the number of the last Window checks that had the
// finding, this check included, but at most Separate.
func (m *Memory) Again(name string) int {
	name = short(name)
	seen := slice.Where(m.Events[name], func(check int64) bool { return check > m.Checks-Window && check < m.Checks })
	seen = append(seen, m.Checks)
	seen = seen[max(len(seen)-Separate, 0):]
	if _, known := m.Events[name]; !known && len(m.Events) >= mostEvents {
		m.forget()
	}
	m.Events[name] = seen
	return len(seen)
}

// forget drops the finding that was seen least recently.
func (m *Memory) forget() {
	names := slices.Sorted(maps.Keys(m.Events))
	oldest := slices.MinFunc(names, func(a, b string) int { return cmp.Compare(last(m.Events[a]), last(m.Events[b])) })
	delete(m.Events, oldest)
}

func last(checks []int64) int64 {
	if len(checks) == 0 {
		return 0
	}
	return checks[len(checks)-1]
}
