package peers

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// setup describes one run by the devices and settings in the log. Tables with the same setup are
// parts of a run or repeats of it. Tables with different setups give different results.
type setup struct {
	// list identifies the device list by its checksum; devices is a short form of the list.
	list    [sha256.Size]byte
	devices string
	// settings are the other facts in the log, one phrase each.
	settings []string
	// process is the launcher's label of the process that printed the table.
	process string
	// line is the line of the first row.
	line int
}

// setups holds the setups of a log.
type setups struct {
	// alike has the setups by the checksum of their description, in order.
	alike map[[sha256.Size]byte][]*setup
	// curves has the setups with which each curve was measured, in order. If a curve has several
	// setups, labels has a label for each of these setups.
	curves map[curveKey][]*setup
	labels map[curveKey]map[*setup]string
}

func newSetups() setups {
	return setups{alike: map[[sha256.Size]byte][]*setup{}, curves: map[curveKey][]*setup{}}
}

// maxAlike is the number of setups with which a table is compared. The latest setups are used.
const maxAlike = 16

// describe collects what the log says about the setup of a test.
func (set *setting) describe() {
	t := set.test
	set.said = setup{settings: set.phrases(), process: t.stream}
	if len(t.worlds) > 0 {
		set.said.list, set.said.devices = sha256.Sum256(t.worlds[0].text()), t.worlds[0].short()
	}
	set.saidKey = sha256.Sum256(fmt.Appendf(nil, "%x %q %g %g", set.said.list, set.said.settings, set.unit, set.scale))
}

// setupOf returns the setup of a table, and adds it if it is new. If programs wrote at the same
// time, each gets a setup of its own. A world of one rank also gets its own setup, because a
// program that was built without MPI makes one such world per process.
func (b *builder) setupOf(set *setting) *setup {
	t := set.test
	known := b.setups.alike[set.saidKey]
	from := max(0, len(known)-maxAlike)
	alone := set.ranks == 1
	switch {
	case alone:
		from = len(known)
	case len(t.worlds) == 0:
		from = max(0, len(known)-1)
	}
	for _, one := range known[from:] {
		if b.belongs(set, one) {
			return one
		}
	}
	out := set.said
	out.line = t.rows[0].line
	if !alone {
		b.setups.alike[set.saidKey] = append(known, &out)
	}
	return &out
}

// Two times are not repeats if their ratio exceeds otherRun. Small sizes vary more: in a repeated
// table, up to 10 % of the cases (mostCases) may exceed that ratio.
const (
	otherRun  = 1.3
	mostCases = 0.1
)

// belongs reports whether a table can be a part or a repeat of a setup: it measured other cases, or
// similar times on the same devices. Without a device list, a case that was measured twice does not
// count as a repeat.
func (b *builder) belongs(set *setting, to *setup) bool {
	t := set.test
	common, apart := 0, 0
	best := [2]float64{math.Inf(1), math.Inf(1)} // seconds per byte
	for _, r := range t.rows {
		for i := range r.sides[:r.n] {
			into := b.index[resultKey{set.caseOf(r, r.inPlace[i]), to}]
			if into == nil {
				continue
			}
			if len(t.worlds) == 0 {
				return false
			}
			here, there := scaled(r.sides[i].time, set.unit), scaled(into.samples[0].time, set.unit)
			common++
			if differ(here, there) {
				apart++
			}
			bytes := float64(r.bytes)
			best = [2]float64{min(best[0], here/bytes), min(best[1], there/bytes)}
		}
	}
	return common == 0 || float64(apart) <= mostCases*float64(common) && !differ(best[0], best[1])
}

// differ reports whether two times are too different to be repeats.
func differ(a, b float64) bool { return max(a, b) > otherRun*min(a, b) }

// use stores the fact that a curve was measured with a setup.
func (s *setups) use(c curveKey, by *setup) {
	known := s.curves[c]
	if n := len(known); n > 0 && known[n-1] == by || slices.Contains(known, by) {
		return
	}
	s.curves[c] = append(known, by)
}

// phrases returns the settings with which the program ran, one phrase each.
func (set *setting) phrases() []string {
	h, t := set.test.header, set.test
	said := []string{"settings not in the log"}
	if h.known {
		said = []string{
			fmt.Sprintf("%d threads", h.threads), fmt.Sprintf("%d GPUs per thread", h.gpus),
			fmt.Sprintf("warmup iters %d", h.warmup), fmt.Sprintf("iters %d", h.iters), fmt.Sprintf("agg iters %d", h.agg),
			fmt.Sprintf("graph %d", h.graph), fmt.Sprintf("unalign %d", h.unalign),
		}
	}
	if h.blocking != "" {
		said = append(said, "blocking")
		if strings.Contains(h.blocking, "no barrier") {
			said = append(said, "no barrier")
		}
	}
	if m := rankStat.FindStringSubmatch(t.command); m != nil {
		said = append(said, "-a "+m[1])
	}
	if t.stream != "" {
		said = append(said, "process "+t.stream)
	}
	return append(said, t.settings()...)
}

// text lists the device of each rank. It leaves out process numbers, because they differ in every
// run.
func (w *world) text() []byte {
	var text []byte
	devices := slices.SortedFunc(slices.Values(w.devices), func(a, b device) int {
		return cmp.Or(cmp.Compare(a.group, b.group), cmp.Compare(a.rank, b.rank))
	})
	for _, d := range devices {
		text = fmt.Appendf(text, "%d %d %q %q %q %q\n", d.group, d.rank, d.host, d.ordinal, d.bus, d.gpu)
	}
	return text
}

// maxShort is the largest number of devices that are all named.
const maxShort = 16

// short names the devices by host and device number, or by address if several devices of a host
// have the same number.
func (w *world) short() string {
	first := w.devices[0]
	if len(w.devices) > maxShort {
		return fmt.Sprintf("%d devices from %s:%s", len(w.devices), first.host, first.ordinal)
	}
	numbers, alike := map[string]bool{}, false
	for _, d := range w.devices {
		at := d.host + " " + d.ordinal
		alike = alike || numbers[at]
		numbers[at] = true
	}
	var words []string
	for i, d := range w.devices {
		name := d.ordinal
		if alike {
			name = d.bus
		}
		if i > 0 && d.host == w.devices[i-1].host {
			words[len(words)-1] += "," + name
			continue
		}
		words = append(words, d.host+":"+name)
	}
	return strings.Join(words, " ")
}

// name makes labels for the setups of each curve with several setups.
func (s *setups) name() {
	s.labels = map[curveKey]map[*setup]string{}
	for c, all := range s.curves {
		if len(all) < 2 {
			continue
		}
		labels, taken, said := map[*setup]string{}, map[string]bool{}, map[string]int{}
		devices := slices.ContainsFunc(all, func(o *setup) bool { return o.list != all[0].list })
		for _, one := range all {
			for _, phrase := range one.settings {
				said[phrase]++
			}
		}
		for i, one := range all {
			label := one.label(devices, func(phrase string) bool { return said[phrase] < len(all) })
			if label == "" {
				label = "run " + strconv.Itoa(i+1)
			}
			for taken[slug(label)] {
				label += " #" + strconv.Itoa(i+1)
			}
			labels[one], taken[slug(label)] = label, true
		}
		s.labels[c] = labels
	}
}

// label returns how a setup differs from the other setups of its curve, or empty text if the log
// does not show it.
func (s *setup) label(devices bool, differs func(string) bool) string {
	var parts []string
	switch {
	case devices && s.devices == "":
		parts = append(parts, "devices not in the log")
	case devices:
		parts = append(parts, s.devices)
	}
	for _, phrase := range s.settings {
		if differs(phrase) {
			parts = append(parts, phrase)
		}
	}
	return strings.Join(parts, ", ")
}

// slug returns a label in a form that fits into a case's key.
func slug(label string) string {
	return strings.NewReplacer(", ", "+", " ", "_", "/", "_").Replace(label)
}

// setupWarning warns if the log measured the same cases with several setups.
func (b *builder) setupWarning(s *scan) {
	var most []*setup
	for _, into := range b.results {
		if all := b.setups.curves[into.curve()]; len(all) > len(most) {
			most = all
		}
	}
	if len(most) < 2 {
		return
	}
	lists, settings, processes := map[[sha256.Size]byte]bool{}, map[string]bool{}, map[string]bool{}
	var lines []string
	for _, one := range most {
		lists[one.list], settings[strings.Join(one.settings, ", ")], processes[one.process] = true, true, true
		lines = append(lines, strconv.Itoa(one.line))
	}
	switch {
	case len(processes) > 1:
		s.warn("separate_worlds", rebuildHint,
			"the log holds %d separate worlds, each with its own rank 0, that measured the same cases: each is a result of its own, nothing was merged", len(most))
	case len(lists) == 1 && len(settings) == 1:
		s.warn("several_setups", "the setup of each result says which run; import the runs one by one to compare them",
			"the log measured the same in %d runs (from lines %s) that lack a device list or differ by more than 30 %%: each is a result of its own, none is a repeat of another",
			len(most), strings.Join(lines[:min(len(lines), maxShort)], ", "))
	default:
		var where []string
		if len(lists) > 1 {
			where = append(where, fmt.Sprintf("on %d different sets of devices", len(lists)))
		}
		if len(settings) > 1 {
			where = append(where, fmt.Sprintf("with %d different settings", len(settings)))
		}
		s.warn("several_setups", "the setup of each result says which; for a recommendation import a log of one",
			"the log measured the same %s: each is a result of its own, none is a repeat of another", strings.Join(where, " and "))
	}
}
