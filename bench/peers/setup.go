package peers

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// setup is everything that the log says of how a table was measured: on which
// devices, with which settings. Tables of the same setup are repeats; those of
// another are other results.
type setup struct {
	// list tells device lists apart; devices is the list in short.
	list    [sha256.Size]byte
	devices string
	// settings is what else the log says, one phrase each.
	settings []string
	// process is the launcher's label of the process that printed the table.
	process string
	// order counts the setups of the log, from 1.
	order int
}

// setups are the setups of a log.
type setups struct {
	byID map[[sha256.Size]byte]*setup
	// curves has the setups that measured each curve, in order, and labels their
	// labels where they are several.
	curves map[curveKey][]*setup
	labels map[curveKey]map[*setup]string
}

// of finds the setup of a test or adds it. Programs that wrote at once, and worlds
// of one rank, of which a program built without MPI makes one per process, are
// each a setup of their own.
func (s *setups) of(set *setting) *setup {
	t := set.test
	out := &setup{order: len(s.byID) + 1, settings: set.phrases(), process: t.stream}
	if len(t.worlds) > 0 {
		out.list, out.devices = sha256.Sum256(t.worlds[0].text()), t.worlds[0].short()
	}
	id := fmt.Sprintf("%x %q %g %g", out.list, out.settings, set.unit, set.scale)
	if t.mixed() || set.ranks == 1 {
		id += fmt.Sprintf(" alone %d", out.order)
	}
	key := sha256.Sum256([]byte(id))
	if s.byID == nil {
		s.byID, s.curves = map[[sha256.Size]byte]*setup{}, map[curveKey][]*setup{}
	}
	if known := s.byID[key]; known != nil {
		return known
	}
	s.byID[key] = out
	return out
}

// use notes that a setup measured a curve.
func (s *setups) use(c curveKey, by *setup) {
	known := s.curves[c]
	if n := len(known); n > 0 && known[n-1] == by || slices.Contains(known, by) {
		return
	}
	s.curves[c] = append(known, by)
}

// phrases says how the program ran.
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
	return said
}

// text says which device each rank has. Process numbers are left out: the next run
// has others.
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

// maxShort is the number of devices that are named one by one.
const maxShort = 16

// short names the devices: hosts with the numbers of their devices, or where
// several of a host have the same number, with their addresses.
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

// name makes the labels of the setups where a curve has several.
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
		for _, one := range all {
			label := one.label(devices, func(phrase string) bool { return said[phrase] < len(all) })
			for taken[slug(label)] {
				label += " #" + strconv.Itoa(one.order)
			}
			labels[one], taken[slug(label)] = label, true
		}
		s.labels[c] = labels
	}
}

// label says in what a setup differs from the others of its curve.
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
	if len(parts) == 0 {
		return "run " + strconv.Itoa(s.order)
	}
	return strings.Join(parts, ", ")
}

// slug is a label as a part of a key.
func slug(label string) string {
	return strings.NewReplacer(", ", "+", " ", "_", "/", "_").Replace(label)
}

// setupWarning says so where the log measured the same in several setups.
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
	for _, one := range most {
		lists[one.list], settings[strings.Join(one.settings, ", ")], processes[one.process] = true, true, true
	}
	if len(processes) > 1 {
		s.warn("separate_worlds", rebuildHint,
			"the log holds %d separate worlds, each with its own rank 0, that measured the same cases: each is a result of its own, nothing was merged", len(most))
		return
	}
	s.warn("several_setups", "the setup of each result says which; for a recommendation import a log of one",
		"the log measured the same on %d different sets of devices, with %d different settings: each is a result of its own, none is a repeat of another", len(lists), len(settings))
}
