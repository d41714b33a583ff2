package judge

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"zbench/bench/finding"
	"zbench/bench/plain"
	"zbench/bench/record"
	"zbench/bench/unit"
)

// smallBucket is the least size at which a stall voids a bucket size: no trainer's bucket is smaller.
const smallBucket = 64 * unit.KiB

// stalls are runs of rows of an imported table in which the job stood still.
func (j judged) stalls() (l finding.List) {
	for _, s := range j.Stalls() {
		first, last := s.Rows[0], s.Rows[len(s.Rows)-1]
		l = append(l, finding.Finding{
			Code: CodeStall, Severity: finding.Fault,
			Subject: &finding.Subject{Kind: finding.Size, Name: first.Collective + ", " + unit.Bytes(first.Bytes) + " to " + unit.Bytes(last.Bytes)},
			Text: fmt.Sprintf("STALL: %s in a row of %s, from %s to %s, take up to %s times what the other rows allow: something stood still, and they are no part of a curve.",
				unit.Count(int64(len(s.Rows)), "row"), first.Collective, placed(first), placed(last), unit.Number(s.Factor)),
			Hint: "repeat these sizes: `" + RepeatLine(j.Record, s) + "`",
		})
	}
	return l
}

func placed(r *record.Result) string {
	if r.InPlace {
		return unit.Bytes(r.Bytes) + " in place"
	}
	return unit.Bytes(r.Bytes) + " out of place"
}

// RepeatLine is the command that measures the sizes of a stall again.
func RepeatLine(rec *record.Record, s record.Stall) string {
	var sizes []int64
	for _, r := range s.Rows {
		sizes = append(sizes, r.Bytes)
	}
	sizes = slices.Compact(sizes)
	words := make([]string, len(sizes))
	for i, n := range sizes {
		words[i] = strconv.FormatInt(n, 10)
	}
	x := s.Rows[0]
	line := []string{"zbench", "collectives", x.Collective, "--sizes", strings.Join(words, ","), "--datatype", x.Dtype}
	nodes := max(rec.World.Nodes, 1)
	if x.Ranks > 0 && x.Ranks%nodes == 0 {
		line = append(line, "--nodes", strconv.Itoa(nodes), "--gpus-per-node", strconv.Itoa(x.Ranks/nodes))
	}
	return plain.Shell(line...)
}

// stalled reports whether a stall has sizes of buckets.
func (j judged) stalled() bool {
	return slices.ContainsFunc(j.Stalls(), func(s record.Stall) bool { return s.Rows[len(s.Rows)-1].Bytes >= smallBucket })
}
