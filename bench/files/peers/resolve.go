package peers

import (
	"crypto/sha256"
	"fmt"
	"path"
	"slices"

	"zbench/bench/hardware/collective"
	"zbench/bench/run/record"
)

// setting holds the properties that all rows of a test share.
type setting struct {
	test *test
	timeUnit
	collective.Collective
	// ranks, nodes and perProc describe one communicator; 0 means unknown.
	ranks, nodes, perProc int
	// factor is true if the bus factor is known and fits the printed busbw. Otherwise the printed
	// busbw is kept.
	factor bool
	world  record.World
	setup  *setup
	// Field said is the setup as the log describes it. saidKey is the checksum of said.
	said    setup
	saidKey [sha256.Size]byte
	// Field whole is nil for a whole table. For one pass of a table, it is the setting of the
	// whole table.
	whole *setting
	// repeatSaid is true after the warning about repeats.
	repeatSaid bool
}

// resolve determines what a test measured, and on which ranks.
func (s *scan) resolve(t *test, o Hints) (*setting, error) {
	out := &setting{test: t, perProc: t.header.perProcess()}
	var sh shape
	if len(t.worlds) > 0 {
		sh = t.worlds[0].shape()
	}
	out.ranks, out.nodes, out.world = sh.comm, sh.commNodes, sh.World
	out.fromOptions(s, o)
	if t.settleHalves() {
		s.warn("one_placement", "check the rows' places in the log", "the header of the table at line %d has two placements, its rows one: they are taken for %s", t.rows[0].line,
			map[bool]string{false: "out of place", true: "in place"}[t.layout.inPlace[0]])
	}
	t.refuseCounts()
	out.timeUnit = t.findTimeUnit(out.ranks)
	if len(t.rows) == 0 {
		return out, nil
	}
	ratio := t.ratio(out.unit)
	seen := t.evidence(ratio, out.ranks)
	if t.layout.inferred && slices.ContainsFunc(t.rows, func(r *row) bool { return !r.within(ratio, out.unit) }) {
		t.skipRows("there is no line of column names, and the rows are of several worlds: their busbw over size/time is not that of one number of ranks; import each run on its own, with its header")
		return out, nil
	}
	name, err := s.findName(t, o, seen)
	if err != nil {
		return out, err
	}
	if o.Collective != "" && name.from == "log" {
		if c, err := collective.ByName(o.Collective); err != nil || c.Name != name.Name {
			s.warn("option_ignored", "leave --collective out", "the log says %s; --collective %s was not used", name.Name, o.Collective)
		}
	}
	out.Collective = name.Collective
	if out.scale != 1 && !out.SendShare && !out.RecvShare {
		t.skipRows("algbw is not size/time")
		return out, nil
	}
	out.fromClaims(s, t.claim, fileWorld(path.Base(o.File)), ratio)
	if err := out.fitRanks(s, name.from, seen); err != nil {
		return out, err
	}
	out.finishWorld(s, sh)
	return out, nil
}

// fromOptions fills in the caller's facts where the log has none.
func (out *setting) fromOptions(s *scan, o Hints) {
	pick := func(logged *int, given int, flag string) {
		switch {
		case given == 0 || given == *logged:
		case *logged == 0:
			*logged = given
		default:
			s.warn("option_ignored", "leave "+flag+" out", "the log says %d; %s %d was not used", *logged, flag, given)
		}
	}
	pick(&out.ranks, o.Ranks, "--ranks")
	pick(&out.nodes, o.Nodes, "--nodes")
}

// fromClaims fills in ranks and nodes from the rows or the file name, if the busbw of the rows
// confirms the ranks.
func (out *setting) fromClaims(s *scan, fromRows, fromFile claim, ratio interval) {
	for _, c := range []claim{fromRows, fromFile} {
		if c.ranks == 0 || out.ranks > 0 && out.ranks != c.ranks {
			continue
		}
		if !ratio.has(out.BusFactor(c.ranks)) {
			s.warn("ranks_contradicted", "pass --ranks and --nodes", "%s has %d ranks, but busbw over size/time of the table at line %d is not that of %s on as many: they are not used",
				c.from, c.ranks, out.test.rows[0].line, out.Name)
			continue
		}
		if out.ranks == 0 && c == fromFile {
			s.warn("ranks_from_name", "pass --ranks and --nodes to be sure", "ranks %d and nodes %d are those of %s; busbw over size/time agrees", c.ranks, c.nodes, c.from)
		}
		out.ranks = c.ranks
		if out.nodes == 0 {
			out.nodes = c.nodes
		}
	}
}

// fitRanks compares the number of ranks with busbw over size/time. If the log lacks the number,
// fitRanks computes it.
func (out *setting) fitRanks(s *scan, from string, seen evidence) error {
	ratio := seen.ratio
	if out.ranks > 0 && ratio.has(out.BusFactor(out.ranks)) {
		out.factor = true
		return nil
	}
	n := uniqueRanks(out.Collective, ratio)
	if share := int(seen.share); n == 0 && share > 1 && divides(out.Collective) && ratio.has(out.BusFactor(share)) {
		n = share
	}
	line := out.test.rows[0].line
	switch {
	case ratio.empty():
		return errDisagree(line)
	case out.ranks > 0:
		return fmt.Errorf("busbw over size/time of the table at line %d is not that of %s (from the %s) on %d ranks%s; check the list of devices, or pass --collective and --ranks as they were",
			line, out.Name, sources[from], out.ranks, butOf(seen.candidates()))
	case n == 0:
		s.warn("ranks_unknown", "pass --ranks and --nodes", "the log lists no devices and its numbers fit several worlds: busbw is the printed one, to its printed digits")
		return nil
	}
	s.warn("ranks_from_ratio", "pass --ranks and --nodes to be sure", "the log lists no devices; busbw over size/time of the table at line %d is that of %d ranks", line, n)
	out.ranks, out.factor = n, true
	return nil
}

// finishWorld completes the world and adds warnings about it.
func (out *setting) finishWorld(s *scan, sh shape) {
	if out.nodes == 0 && out.ranks > 0 && out.ranks == out.perProc {
		out.nodes = 1
	}
	if out.world.GPUsPerProcess > 0 {
		out.perProc = out.world.GPUsPerProcess
	}
	w := &out.world
	w.GPUsPerProcess = out.perProc
	if sh.groups <= 1 {
		w.Ranks, w.Nodes = out.ranks, out.nodes
		w.GPUsPerNode = evenShare(w.Ranks, w.Nodes)
	} else {
		s.warn("split_communicators", "NCCL_TESTS_SPLIT was set; each result is of one group while the others run", "the %d ranks form %d communicators of %d", sh.Ranks, sh.groups, sh.comm)
	}
	switch {
	case sh.gaps:
		s.warn("device_list_incomplete", "pass the whole log", "the device list lacks ranks below its highest, %d", sh.comm-1)
	case sh.sameDevice:
		s.warn("hosts_not_distinct", "pass --nodes", "two ranks have the same device of the same host name: the number of nodes is not known from the log")
	case out.nodes == 0:
		s.warn("nodes_unknown", "pass --nodes", "the log does not say on how many nodes it ran")
	case w.GPUsPerNode == 0 && w.Ranks > 0:
		s.warn("uneven_nodes", "the slowest link decides: compare with care", "%d ranks do not divide evenly among %d nodes", w.Ranks, w.Nodes)
	}
	if sh.mixedGPUs {
		s.warn("mixed_gpus", "the slowest device decides: compare with care", "the device list names more than one kind of GPU")
	}
}

// skipRows rejects all rows of a test for one reason.
func (t *test) skipRows(reason string) {
	t.refuse(func(*row) string { return reason })
}
