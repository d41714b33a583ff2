package results

import (
	"strings"

	"zbench/bench/curve"
	"zbench/bench/document"
	"zbench/bench/record"
	"zbench/bench/unit"
)

// averages has the line with which rccl-tests ends a table, for each collective: the arithmetic mean of
// the busbw over all rows of the whole world. It depends on the sizes that were asked for, so it
// judges nothing. There is none of a collective that was interrupted, or that has no busbw above 0,
// as with one rank.
func averages(rec *record.Record) []document.Fact {
	var each []string
	for _, name := range rec.Collectives() {
		sum, n, world, whole := 0.0, 0, 0, true
		for i := range rec.Results {
			r := &rec.Results[i]
			bw, known := curve.BusBW(r)
			whole = whole && (r.Collective != name || r.Status != record.Interrupted)
			if r.Collective != name || r.Status != record.OK || r.Groups > 1 || r.Ranks < world || !known {
				continue
			}
			if r.Ranks > world { // what came before is of a part of the world
				sum, n, world = 0, 0, r.Ranks
			}
			sum, n = sum+bw, n+1
		}
		if whole && sum > 0 {
			each = append(each, name+" "+unit.Rate(sum/float64(n)))
		}
	}
	if len(each) == 0 {
		return nil
	}
	return []document.Fact{{Term: "Average busbw", Text: strings.Join(each, ", ") + " (mean over sizes and placements, as rccl-tests prints it)"}}
}

// averageBlocks is the line as text.
func averageBlocks(rec *record.Record) []document.Block {
	var out []document.Block
	for _, f := range averages(rec) {
		out = append(out, document.Paragraph{Text: document.Said(f.Term + ": " + f.Text + ".")})
	}
	return out
}
