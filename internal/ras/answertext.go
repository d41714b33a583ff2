package ras

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"zbench/bench/base/pattern"
	"zbench/bench/base/plain"
	"zbench/bench/run/record"
)

// Lines of the text form. A rank is named with its GPU, process and node, which may be unknown.
// Details that concern only this rank may stand between them.
var (
	versionLine = pattern.New(`^[RN]CCL version (\S+)`)
	blockLine   = pattern.New(`^#\d+-\d+ \(([0-9a-f]+)\) ([A-Z]+)$`)
	rankLine    = pattern.New(`^Rank (\d+)(?: (.+?))? -- (?:GPU (.+) managed by process (\d+) on node (\S+)|\[.*\])$`)
	processLine = pattern.New(`^Process (\d+) on node (\S+) managing GPUs? (.+)$`)
	countLine   = pattern.New(`(?:^(\d+) ranks have|^has) (?:launched up to operation (\d+)|not launched any operations)$`)
	groupLine   = pattern.New(`^\d+ ranks (have status .+)$`)
)

// blockStates maps the status of a block to the state of its ranks.
var blockStates = map[string]record.WitnessRankState{
	"INCOMPLETE": record.RankMissing, "DEAD": record.RankDead, "ERROR": record.RankError, "MISMATCH": record.RankDiffers,
}

// reader reads the text form line by line.
type reader struct {
	w *record.Witness
	// inTable is true if rows of communicators follow.
	inTable bool
	// state and comm belong to the current block. `group` has the details that the next ranks
	// share.
	state       record.WitnessRankState
	comm, group string
	ranks       []record.WitnessRank
	// `launched` is the progress of each rank of the block, by its index in ranks. `furthest` is
	// the most progress of any rank, including ranks that are not listed.
	launched map[int]uint64
	furthest uint64
}

func parseText(text string) (*record.Witness, error) {
	r := &reader{w: &record.Witness{Communicators: []record.WitnessComm{}, Ranks: []record.WitnessRank{}}, launched: map[int]uint64{}}
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	m := versionLine.FindStringSubmatch(lines[0])
	if m == nil || !slices.Contains(lines, "Job summary") {
		return nil, fmt.Errorf("%w: %.80q", errNoAnswer, lines[0])
	}
	r.w.Library = plain.Line(m[1])
	for _, line := range lines {
		r.line(strings.TrimRight(line, " \t"))
	}
	r.endBlock()
	r.w.SetRanks(r.ranks)
	return r.w, nil
}

func (r *reader) line(line string) {
	trimmed := strings.TrimSpace(line)
	if m := blockLine.FindStringSubmatch(line); m != nil {
		r.endBlock()
		r.comm, r.state = m[1], blockStates[m[2]]
		return
	}
	if state, ok := blockStates[line]; ok {
		r.endBlock()
		r.comm, r.state = "", state
		return
	}
	switch {
	case strings.HasPrefix(trimmed, "Group ") && strings.HasSuffix(trimmed, "Errors"):
		r.inTable = true
	case line == "Errors" || line == "Warnings":
		r.endBlock()
		r.inTable, r.state = false, ""
	case r.inTable:
		r.row(strings.Fields(trimmed))
	case r.state != "":
		r.detail(trimmed)
	}
}

// row reads a row of the table of communicators: group, count, nodes, ranks per
// node, ranks per communicator, ranks in the group, status, errors.
func (r *reader) row(f []string) {
	const columns = 8
	if len(f) != columns {
		return
	}
	count, err1 := strconv.Atoi(f[1])
	size, err2 := strconv.Atoi(f[4])
	answered, err3 := strconv.Atoi(f[5])
	if err1 == nil && err2 == nil && err3 == nil && count > 0 && size >= 0 && answered >= 0 {
		r.w.Communicators = append(r.w.Communicators, record.WitnessComm{Count: count, Ranks: size, Answered: answered, Status: plain.Line(f[7])})
	}
}

// detail reads a line within a block.
func (r *reader) detail(line string) {
	if m := rankLine.FindStringSubmatch(line); m != nil {
		r.rank(m)
		return
	}
	if m := processLine.FindStringSubmatch(line); m != nil {
		if r.state == record.RankDead { // the block of the communicator names its missing ranks
			pid, _ := strconv.Atoi(m[1])
			r.ranks = append(r.ranks, record.WitnessRank{State: r.state, Host: plain.Line(m[2]), PID: pid, GPU: plain.Line(m[3])})
		}
		return
	}
	if m := countLine.FindStringSubmatch(line); m != nil {
		n, _ := strconv.ParseUint(m[2], 10, 64) // no number counts as 0
		r.furthest = max(r.furthest, n)
	}
	if countLine.MatchString(line) || groupLine.MatchString(line) || r.state == record.RankError {
		r.group = line
	}
}

// rank adds a rank of the block, with its own details, or else with its group's details.
func (r *reader) rank(m []string) {
	number, err := strconv.Atoi(m[1])
	if err != nil {
		return
	}
	pid, _ := strconv.Atoi(m[4])
	out := record.WitnessRank{State: r.state, Rank: &number, Communicator: r.comm, Host: plain.Line(m[5]), PID: pid, GPU: plain.Line(m[3])}
	said := m[2]
	if said == "" {
		said = r.group
	}
	if r.state != record.RankMissing {
		out.Detail = plain.Line(said)
	}
	if c := countLine.FindStringSubmatch(said); c != nil && r.state == record.RankDiffers {
		n, _ := strconv.ParseUint(c[2], 10, 64)
		r.furthest = max(r.furthest, n)
		r.launched[len(r.ranks)] = n
	}
	r.ranks = append(r.ranks, out)
}

// endBlock ends a block. In a mismatch it keeps the ranks that are behind and drops the ranks that
// are ahead.
func (r *reader) endBlock() {
	var kept []record.WitnessRank
	for i, x := range r.ranks {
		n, counted := r.launched[i]
		switch {
		case counted && n == r.furthest:
			continue
		case counted:
			x.State, x.Detail = record.RankBehind, fmt.Sprintf("operation %d of %d", n, r.furthest)
		}
		kept = append(kept, x)
	}
	r.ranks, r.launched, r.furthest, r.group = kept, map[int]uint64{}, 0, ""
}
