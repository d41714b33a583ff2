package judge

import (
	"fmt"
	"slices"

	"zbench/bench/base/finding"
	"zbench/bench/base/slice"
	"zbench/bench/base/unit"
	"zbench/bench/run/record"
	"zbench/bench/run/spec"
)

// smallBucket is the smallest size at which a stall voids a bucket size: no trainer's bucket is
// smaller.
const smallBucket = 64 * unit.KiB

// stalls returns the runs of rows of an imported table in which the job stood still.
func (j judged) stalls() finding.List { return j.stallsFrom(0) }

// bucketStalls returns the stalls that reach the sizes of buckets.
func (j judged) bucketStalls() finding.List { return j.stallsFrom(smallBucket) }

func (j judged) stallsFrom(bytes int64) (l finding.List) {
	for _, s := range j.Stalls() {
		if s.Rows[len(s.Rows)-1].Bytes < bytes {
			continue
		}
		first, last := s.Rows[0], s.Rows[len(s.Rows)-1]
		l = append(l, finding.Finding{
			Code: CodeStall, Severity: finding.Fault,
			Subject: &finding.Subject{Kind: finding.Size, Name: first.Collective + ", " + unit.Bytes(first.Bytes) + " to " + unit.Bytes(last.Bytes)},
			Text: fmt.Sprintf("STALL: %s in a row of %s, from %s to %s, take up to %s times what the other rows allow: something stood still, and they are no part of a curve.",
				unit.Count(int64(len(s.Rows)), "row"), first.Collective, placed(first), placed(last), unit.Number(s.Factor)),
			Hint: "repeat these sizes: `" + repeatLine(j.Record, s) + "`",
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

// repeatLine returns the command that measures a stall's sizes again.
func repeatLine(rec *record.Record, s record.Stall) string {
	sizes := slice.Map(s.Rows, func(r *record.Result) int64 { return r.Bytes })
	x, nodes := s.Rows[0], rec.World.Nodes // 0 is unknown
	if nodes > 0 && (x.Ranks == 0 || x.Ranks%nodes != 0) {
		nodes = 0
	}
	return spec.SizesLine([]string{x.Collective}, slices.Compact(sizes), x.Dtype, nodes, x.Ranks)
}
