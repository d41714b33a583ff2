package ras

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"zbench/bench/base/pattern"
	"zbench/bench/base/plain"
	"zbench/bench/run/record"
)

// answer is the JSON form of an answer, with only the fields that are read.
type answer struct {
	Version       *string `json:"nccl_version"`
	Communicators []comm  `json:"communicators"`
}

type comm struct {
	Hash    string `json:"hash"`
	Size    int    `json:"size"`
	Missing int    `json:"missing_ranks_count"`
	Ranks   []rank `json:"ranks"`
	Absent  []rank `json:"missing_ranks"`
}

type rank struct {
	Rank   int    `json:"rank"`
	Host   string `json:"host"`
	PID    int    `json:"pid"`
	Device int    `json:"cuda_dev"`
	Status struct {
		Init  int  `json:"init_state"`
		Async int  `json:"async_error"`
		Abort bool `json:"abort_flag"`
		Dead  bool `json:"considered_dead"`
	} `json:"status"`
	Counts map[string]uint64 `json:"collective_counts"`
}

// missingComma matches a number followed by the status of a missing rank. Version 2.28.9 writes no
// comma between them.
var missingComma = pattern.New(`([0-9])(\s*\n\s*"status"\s*:)`)

func parseJSON(text []byte) (*record.Witness, error) {
	var a answer
	if json.Unmarshal(text, &a) != nil {
		a = answer{}
		if err := json.Unmarshal(missingComma.ReplaceAll(text, []byte("$1,$2")), &a); err != nil {
			return nil, fmt.Errorf("%w: %w", errNoAnswer, err)
		}
	}
	if a.Version == nil || a.Communicators == nil {
		return nil, fmt.Errorf("%w: nccl_version or communicators is missing", errNoAnswer)
	}
	w := &record.Witness{Library: plain.Line(*a.Version), Communicators: []record.WitnessComm{}, Ranks: []record.WitnessRank{}}
	slices.SortStableFunc(a.Communicators, func(x, y comm) int { return cmp.Compare(y.Size, x.Size) })
	var ranks []record.WitnessRank
	for _, c := range a.Communicators {
		if c.Size < 0 || c.Size > 1<<24 {
			return nil, fmt.Errorf("%w: a communicator of %d ranks", errNoAnswer, c.Size)
		}
		found, status := c.singled()
		ranks = append(ranks, found...)
		w.Communicators = append(w.Communicators, record.WitnessComm{ID: plain.Line(c.Hash), Count: 1, Ranks: c.Size, Answered: len(c.Ranks), Status: status})
	}
	w.SetRanks(ranks)
	return w, nil
}

// inProgress is ncclInProgress, which is no error.
const inProgress = 7

// singled() returns the ranks of a communicator that stand out, and the communicator's status in
// the words of RAS.
func (c comm) singled() (out []record.WitnessRank, status string) {
	var words []string
	for _, r := range c.Absent {
		state := record.RankMissing
		if r.Status.Dead {
			state = record.RankDead
		}
		out = append(out, c.witness(r, state, ""))
	}
	if len(c.Absent) > 0 || c.Missing > 0 {
		words = append(words, "INCOMPLETE")
	}
	furthest := map[string]uint64{}
	for _, r := range c.Ranks {
		for op, n := range r.Counts {
			furthest[op] = max(furthest[op], n)
		}
	}
	failed, mismatch := false, false
	for _, r := range c.Ranks {
		detail := r.behind(furthest)
		switch code := cmp.Or(r.Status.Init%inProgress, r.Status.Async%inProgress); {
		case code != 0:
			failed = true
			out = append(out, c.witness(r, record.RankError, fmt.Sprintf("error %d", code)))
		case detail != "":
			mismatch = true
			out = append(out, c.witness(r, record.RankBehind, detail))
		case r.Status.Abort:
			mismatch = true
			out = append(out, c.witness(r, record.RankDiffers, "aborted"))
		}
	}
	if failed {
		words = append(words, "ERROR")
	}
	if mismatch {
		words = append(words, "MISMATCH")
	}
	return out, cmp.Or(strings.Join(words, ","), "OK")
}

// behind() names the operations that the rank has launched less often than some other rank.
func (r rank) behind(furthest map[string]uint64) string {
	var parts []string
	for _, op := range slices.Sorted(maps.Keys(furthest)) {
		if n := r.Counts[op]; n < furthest[op] {
			parts = append(parts, fmt.Sprintf("%s %d of %d", plain.Line(op), n, furthest[op]))
		}
	}
	return strings.Join(parts, ", ")
}

func (c comm) witness(r rank, state record.WitnessRankState, detail string) record.WitnessRank {
	number := r.Rank
	return record.WitnessRank{
		State: state, Rank: &number, Communicator: plain.Line(c.Hash), Host: known(plain.Line(r.Host)), PID: max(r.PID, 0), GPU: strconv.Itoa(r.Device), Detail: detail,
	}
}

// known() returns a host's address, "" if it is unknown; the service then writes "unknown".
func known(host string) string {
	if host == "unknown" {
		return ""
	}
	return host
}
