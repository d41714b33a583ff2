package judge

import (
	"cmp"
	"slices"
	"strings"

	"zbench/bench/base/slice"
	"zbench/bench/hardware/policy"
	"zbench/bench/run/curve"
	"zbench/bench/run/record"
	"zbench/bench/run/spec"
	"zbench/bench/work/fabric"
)

// `expected` holds the times of cases on a fabric without a fault, from the fabric's model. For measurements the
// model counts only where it was fitted to published tables.
type expected struct {
	fabric    *fabric.Fabric
	simulated bool
	machines  map[int]*fabric.Machine // by nodes; nil if the fabric has no such world
}

// expect prepares the expectations of a record; they are empty if its fabric is unknown.
func expect(rec *record.Record) expected {
	e := expected{fabric: fabricOf(rec), simulated: rec.Simulated, machines: map[int]*fabric.Machine{}}
	if e.fabric == nil {
		return e
	}
	healthy := *e.fabric
	healthy.Faults = nil
	for _, r := range rec.Each() {
		n := r.Nodes
		if _, known := e.machines[n]; known {
			continue
		}
		w := spec.World{Nodes: n, GPUsPerNode: rec.World.GPUsPerNode, GPUsPerProcess: max(r.GPUsPerProcess, 1)}
		e.machines[n], _ = healthy.Resolve(w, fabric.Conditions{})
	}
	return e
}

// fabricOf returns the record's fabric. If the record has none and ran on one node, it is the first fabric with
// its GPU. Across nodes a fabric depends on NICs, which a record does not have.
func fabricOf(rec *record.Record) *fabric.Fabric {
	names := fabric.Names()
	if rec.Fabric != nil {
		names = []string{rec.Fabric.Name}
	}
	for _, name := range names {
		f, err := fabric.ByName(name)
		if err == nil && (rec.Fabric != nil || rec.World.Nodes == 1 && strings.Contains(rec.World.GPU, f.GPU) && !rec.Simulated) {
			return f
		}
	}
	return nil
}

// seconds returns the expected time of a case; false if there is none. For measured times only a
// published table is an expectation.
func (e expected) seconds(r *record.Result) (float64, bool) {
	m := e.machines[r.Nodes]
	if m == nil || r.Groups > 1 || r.Ranks != m.Size() || r.Bytes <= 0 || e.simulated && r.Setup != "" || policy.Named(r.Setup) {
		return 0, false
	}
	if !e.simulated && len(m.Extrapolated[m.Whole()][r.Collective]) > 0 {
		return 0, false
	}
	t := m.Launch(m.Whole(), r.Collective, r.Bytes)
	return t, t > 0
}

// begin returns the additional time of a burst, in seconds per launch: a process enqueues its first launches
// before any of them runs.
func (e expected) begin(r *record.Result) float64 {
	m := e.machines[r.Nodes]
	return float64(m.GPUsPerProcess) * m.Host.Launch / float64(max(1, r.Burst.Iterations))
}

// name describes the source of the expectation.
func (e expected) name() string {
	if e.simulated {
		return "the fabric's model"
	}
	return "the published table of " + e.fabric.GPU
}

// `took` returns the shorter of a case's two times, with the lower end of its interval, in seconds. The burst time
// excludes waiting for late ranks. The median of isolated launches excludes intermittently slow launches.
func took(r *record.Result) (median, lo float64, ok bool) {
	best := curve.BurstOf(r)
	if alone := curve.IsolatedOf(r); alone.Known && (!best.Known || alone.Median < best.Median) {
		best = alone
	}
	lo = best.Median
	if best.Bounded {
		lo = best.Lo
	}
	return best.Median, lo, best.Known
}

// excess returns the ratio of a case's time to the expected time, for the median and for the lower end of the
// interval.
func (e expected) excess(r *record.Result) (times, lo float64, ok bool) {
	want, known := e.seconds(r)
	median, least, timed := took(r)
	if !known || !timed || r.Status != record.OK {
		return 0, 0, false
	}
	return median / want, least / want, true
}

// wholes returns the results of one curve for each collective, in order of size. The results ran on a whole
// world (no groups) and ended ok. Of several worlds it takes the world with the most ranks. It takes
// out-of-place results if there are any.
func wholes(rec *record.Record) (names []string, rows map[string][]*record.Result) {
	names, rows = slice.Group(slice.Where(rec.Each(), func(r *record.Result) bool {
		return r.Status == record.OK && r.Groups <= 1 && !policy.Named(r.Setup)
	}), func(r *record.Result) string { return r.Collective })
	for name, all := range rows {
		most := slices.MaxFunc(all, func(a, b *record.Result) int {
			return cmp.Or(cmp.Compare(a.Ranks, b.Ranks), slice.AsInt(b.InPlace)-slice.AsInt(a.InPlace))
		})
		rows[name] = slice.Where(all, func(r *record.Result) bool { return r.Ranks == most.Ranks && r.InPlace == most.InPlace })
		slices.SortStableFunc(rows[name], func(a, b *record.Result) int { return cmp.Compare(a.Bytes, b.Bytes) })
	}
	return names, rows
}
