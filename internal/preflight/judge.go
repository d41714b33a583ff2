package preflight

import (
	"cmp"
	"slices"
	"time"

	"zbench/bench/base/slice"
	"zbench/bench/run/record"
)

// Process is one process of the run as the leader sees it.
type Process struct {
	Facts Facts
	// Host is the name of the process's host.
	Host string
	// FirstRank is the number of the process's first rank; Ranks is how many ranks it has.
	FirstRank, Ranks int
	// Sent is the leader's wall clock when it requested the facts; Received is its wall clock when
	// they arrived. Both are zero if unknown.
	Sent, Received time.Time
}

// Report has the findings about all processes, one row per check.
type Report struct {
	Ranks, Hosts int
	Checks       []record.Preflight
}

// verdict is the finding of one check about one process.
type verdict struct {
	state record.PreflightState
	// `found` is the observation; `next` is the setting or the command that fixes it.
	found, next string
}

func ok(found string) verdict             { return verdict{record.CheckOK, found, ""} }
func warn(found, next string) verdict     { return verdict{record.CheckWarning, found, next} }
func bad(found, next string) verdict      { return verdict{record.CheckError, found, next} }
func notChecked(because string) verdict   { return verdict{record.CheckNotChecked, because, ""} }
func (v verdict) worse(than verdict) bool { return severity(v.state) > severity(than.state) }

// severity orders the states. The state "not checked" does not hide a known defect.
func severity(s record.PreflightState) int {
	return slices.Index([]record.PreflightState{record.CheckOK, record.CheckNotChecked, record.CheckWarning, record.CheckError}, s)
}

// world holds all processes in the order of their ranks, and facts that several checks need.
type world struct {
	all   []Process
	sweep Sweep
	// The map `on` has the processes of each host, as indices into `all`. The list `hosts` has the
	// hosts in order.
	on    map[string][]int
	hosts []string
	ranks int
	// `several` is true if ranks of other hosts take part. `alone` is true if their part is only
	// assumed, because one host is judged by itself; such a host may have no cluster network.
	several, alone bool
}

func worldOf(all []Process, sweep Sweep) *world {
	w := &world{all: slices.Clone(all), sweep: sweep, on: map[string][]int{}}
	slices.SortStableFunc(w.all, func(a, b Process) int { return cmp.Compare(a.FirstRank, b.FirstRank) })
	for i, p := range w.all {
		if w.on[p.Host] == nil {
			w.hosts = append(w.hosts, p.Host)
		}
		w.on[p.Host] = append(w.on[p.Host], i)
		w.ranks += p.Ranks
	}
	w.several = len(w.hosts) > 1
	return w
}

// each() calls judge for every process and returns the verdicts.
func (w *world) each(judge func(p *Process) verdict) []verdict {
	out := make([]verdict, len(w.all))
	for i := range w.all {
		out[i] = judge(&w.all[i])
	}
	return out
}

// usual() returns the most frequent value, or the first of equally frequent ones. Empty values do
// not count.
func (w *world) usual(value func(p *Process) string) string {
	count := map[string]int{}
	for i := range w.all {
		count[value(&w.all[i])]++
	}
	most := ""
	count[most] = 0
	for i := range w.all {
		if v := value(&w.all[i]); count[v] > count[most] {
			most = v
		}
	}
	return most
}

// Judge judges all processes of a run. Their order has no effect.
func Judge(all []Process, sweep Sweep) Report {
	return worldOf(all, sweep).report(func(check) bool { return true })
}

// JudgeHost judges one host by one of its processes, as if other hosts took part. It makes only the
// checks for which one host is enough.
func JudgeHost(p Process) Report {
	w := worldOf([]Process{p}, Sweep{PerNode: p.Ranks})
	w.several, w.alone = true, true
	return w.report(func(c check) bool { return c.host })
}

func (w *world) report(wanted func(check) bool) Report {
	r := Report{Ranks: w.ranks, Hosts: len(w.hosts)}
	for _, c := range checks {
		if !wanted(c) {
			continue
		}
		verdicts := c.judge(w)
		if c.hardware {
			for i := range verdicts {
				if w.all[i].Facts.Simulated {
					verdicts[i] = notChecked("simulated")
				}
			}
		}
		r.Checks = append(r.Checks, w.row(c, verdicts))
	}
	return r
}

// maxFindings is the largest number of separate findings of one check. If each of 128 hosts had a
// value of its own, the remaining hosts would share one more finding.
const maxFindings = 8

// row groups equal verdicts of a check, the worst first.
func (w *world) row(c check, verdicts []verdict) record.Preflight {
	members := map[verdict][]int{}
	var order []verdict
	for i, v := range verdicts {
		if members[v] == nil {
			order = append(order, v)
		}
		members[v] = append(members[v], i)
	}
	slices.SortStableFunc(order, func(a, b verdict) int { return severity(b.state) - severity(a.state) })
	row := record.Preflight{Name: c.name, State: record.CheckNotChecked}
	if len(order) > 0 {
		row.State = order[0].state
	}
	for i, v := range order {
		if i == maxFindings {
			row.Findings = append(row.Findings, w.rest(order[i:], members))
			break
		}
		f := w.place(members[v])
		f.State, f.Found, f.Next = v.state, v.found, v.next
		if v.state == record.CheckWarning || v.state == record.CheckError {
			f.Why = c.why
		}
		row.Findings = append(row.Findings, f)
	}
	return row
}

// rest() returns one finding for the verdicts beyond maxFindings.
func (w *world) rest(order []verdict, members map[verdict][]int) record.PreflightFound {
	all := slices.Concat(slice.Map(order, func(v verdict) []int { return members[v] })...)
	slices.Sort(all)
	f := w.place(all)
	f.State, f.Found, f.Next = order[0].state, "other values, as: "+order[0].found, order[0].next
	return f
}

// place returns the ranks and hosts of processes, which are given as indices into `all`.
func (w *world) place(members []int) record.PreflightFound {
	var f record.PreflightFound
	var ranks []int
	for _, i := range members {
		p := w.all[i]
		for n := range p.Ranks {
			ranks = append(ranks, p.FirstRank+n)
		}
		n := len(f.Hosts) // the ranks of a node are consecutive
		if n == 0 || f.Hosts[n-1] != p.Host && !slices.Contains(f.Hosts, p.Host) {
			f.Hosts = append(f.Hosts, p.Host)
		}
	}
	f.Ranks = record.RankSet(ranks)
	return f
}
