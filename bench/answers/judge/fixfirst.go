package judge

import (
	"cmp"
	"slices"
	"strings"

	"zbench/bench/base/finding"
	"zbench/bench/run/record"
)

// A fault voids a bucket size if it costs at least the share voidShare of bandwidth or time. Repairing such a
// fault gains more than the size usually does, and moves the best size.
const voidShare = 0.10

// FixFirst returns the finding that comes before any bucket size: wrong data, launches that do not end, or a fault
// that costs voidShare of large messages. It is nil if there is none: smaller losses, dips, noise and comparisons
// with another machine's table void no bucket size.
func FixFirst(rec *record.Record) *finding.Finding {
	j := judged{rec, expect(rec)}
	for _, find := range []func(judged) finding.List{
		judged.hangs, judged.wrongData, judged.late, judged.slowGroups, judged.lostBusBW, judged.unstable, judged.bucketStalls,
	} {
		for _, l := range find(j) {
			if l.Severity == finding.Fault && j.voids(l) {
				return &l
			}
		}
	}
	return nil
}

// Unclear returns the text of the finding that parts of a record are behind their peers although no detector says
// why; empty if there is none. Such a part can move the best size, but it is not known well enough to void one.
func Unclear(rec *record.Record) string {
	all := Record(rec)
	if i := slices.IndexFunc(all, func(l finding.Finding) bool { return l.Code == finding.CodeUnclear }); i >= 0 {
		return strings.TrimSuffix(all[i].Text, ".")
	}
	return ""
}

// voids reports whether a finding is a fault of the fabric or of its data that costs enough.
func (j judged) voids(l finding.Finding) bool {
	switch l.Code {
	case CodeHang, CodeAsyncError, CodeWrongData, CodeStall:
		return true
	case CodeLate:
		return j.lateCost() >= voidShare
	case CodeSlowGroup:
		return j.slowCost() >= voidShare
	case CodeLostBusBW, CodeUnstable:
		return l.Share >= voidShare
	}
	return false // a failed case lacked memory, or was refused
}

// slowCost returns the share of bandwidth that the slowest group loses in messages of the largest size. Smaller
// sizes do not count, because a late rank slows its group in small messages only.
func (j judged) slowCost() (most float64) {
	largest := map[splitOf]*record.Result{}
	for _, r := range j.Each() {
		if s := (splitOf{ranks: r.Ranks, stride: r.Stride, groups: r.Groups}); r.SlowestGroup != nil && r.Status == record.OK && (largest[s] == nil || r.Bytes > largest[s].Bytes) {
			largest[s] = r
		}
	}
	for _, r := range largest {
		if g := r.SlowestGroup; slowest(r) {
			most = max(most, 1-g.Typical/g.Median)
		}
	}
	return most
}

// lateCost returns the share of a launch of the largest size in which its ranks wait for each other. Smaller sizes
// do not count, because the same wait is a large part of a small message and a small part of a bucket.
func (j judged) lateCost() (most float64) {
	names, rows := wholes(j.Record)
	for _, name := range names {
		large := slices.MaxFunc(rows[name], func(a, b *record.Result) int { return cmp.Compare(a.Bytes, b.Bytes) })
		if t := large.Isolated; waitsForAll(name) && len(lateCounts(large)) > 0 {
			most = max(most, t.Spread.Median/t.MaxOfRanks.Median)
		}
	}
	return most
}
