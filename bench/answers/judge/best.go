package judge

import (
	"fmt"
	"strings"

	"zbench/bench/base/finding"
	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
	"zbench/bench/base/unit"
	"zbench/bench/run/curve"
	"zbench/bench/run/record"
	"zbench/bench/work/fabric"
)

// noFault states which faults were looked for and not found, and in which cases.
func (j judged) noFault(c *checked, classes []compared) finding.List {
	ok, known, partly := 0, 0, 0
	for _, r := range j.Each() {
		switch {
		case r.Status == record.Interrupted && r.Burst != nil:
			partly++
		case r.Status == record.OK:
			ok++
			if _, has := j.want.seconds(r); has {
				known++
			}
		}
	}
	if ok == 0 {
		return noneEnded(partly, c)
	}
	cases := unit.Count(ok, "case")
	if j.Simulated {
		cases = unit.Count(ok, "simulated case")
	}
	return c.finding(cases, looked(noLoss(classes), j.bandwidth(ok, known)))
}

// bandwidth names the reference with which the cases' bandwidth was compared.
func (j judged) bandwidth(ok, compared int) string {
	switch {
	case j.Simulated || len(j.lostBusBW()) > 0:
		return ""
	case compared == 0:
		return "bandwidth not judged: no reference"
	case compared < ok:
		return fmt.Sprintf("bandwidth as published in %s, in %s not judged: no reference", unit.Comma(compared), unit.Comma(ok-compared))
	}
	return "bandwidth as published"
}

// noneEnded states that no case ended ok. Tables show the figures of partly timed cases.
func noneEnded(partly int, c *checked) finding.List {
	text := "Nothing was measured: no case ended ok."
	if partly > 0 {
		text = fmt.Sprintf("No case ended ok: the figures of %s are of a part of the run, and not judged.", unit.Count(partly, "case"))
	}
	return finding.List{{Code: CodeFailed, Severity: finding.Warning, Text: text + c.skippedText()}}
}

// `looked` joins the statements about the examined things into one sentence; empty without a statement.
func looked(at ...string) string {
	if at = slice.Where(at, func(s string) bool { return s != "" }); len(at) == 0 {
		return ""
	}
	return " " + plain.Capital(strings.Join(at, ", ")) + "."
}

// bestOf returns the result with the best bus bandwidth.
func bestOf(rows []*record.Result) (best *record.Result, bw float64) {
	for _, r := range rows {
		if v, ok := curve.BusBW(r); ok && v > bw {
			best, bw = r, v
		}
	}
	return best, bw
}

// `best` returns the best bus bandwidth with the roof and the published figure.
func (j judged) best() finding.List {
	names, rows := wholes(j.Record)
	var top *record.Result
	for _, name := range names {
		if r, bw := bestOf(rows[name]); r != nil && bw > busBWOr0(top) {
			top = r
		}
	}
	if top == nil {
		return nil
	}
	text := fmt.Sprintf("Best busbw: %s %s", top.Collective, unit.Rate(busBWOr0(top)))
	if figures := j.figures(top); figures != "" {
		return finding.List{{Code: CodeBusBW, Text: text + ", " + figures + "."}}
	}
	return finding.List{{Code: CodeBusBW, Text: text + " at " + unit.Bytes(top.Bytes) + "."}}
}

// roofNames describes the roofs that are computed per node (Per).
var roofNames = map[string]string{"rails": "line rate", "links_raw": "peak of the links"}

// figures returns the best result's shares of the roof and of its fabric's published figure.
func (j judged) figures(top *record.Result) string {
	f, bw := j.want.fabric, busBWOr0(top)
	if f == nil {
		return ""
	}
	var parts []string
	var near *fabric.Roof
	for _, r := range slice.Pointers(f.Roofs) {
		at := roofValue(j.Record, r.Label)
		switch {
		case r.Per != "" && at > 0 && len(parts) == 0:
			parts = append(parts, unit.Part(bw/at)+" of the "+unit.Rate(at)+" "+roofNames[r.Per])
		case r.Per != "" || r.GPUs != 0 && r.GPUs != j.World.GPUsPerNode || r.Nodes.Min > top.Nodes:
		case near == nil || r.Nodes.Min > near.Nodes.Min:
			near = r
		}
	}
	if near != nil && near.BusBW > 0 {
		text := unit.Part(bw/near.BusBW) + " of the published " + unit.Rate(near.BusBW)
		if top.Nodes > near.Nodes.Max {
			text = fmt.Sprintf("%s of published %d-node runs", unit.Part(bw/near.BusBW), near.Nodes.Max)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

// roofValue returns a roof of the record by its label, 0 if it has none.
func roofValue(rec *record.Record, label string) float64 {
	if rec.Fabric == nil {
		return 0
	}
	return slice.First(rec.Fabric.Roofs, func(r record.Roof) bool { return r.Label == label }).BusBW
}

// scale names the collective that loses most with the number of ranks, and the message size.
func (j judged) scale() finding.List {
	drawn, _ := curve.Drawn(curve.Of(j.Record))
	worst, where, least := "", int64(0), 1.0
	compared := false
	for _, s := range curve.Scalings(drawn) {
		compared = compared || s.Family == curve.OneWorld
		for _, size := range s.Sizes {
			text, kept, falls := s.Fall(size)
			if falls && s.Family == curve.OneWorld && kept < least {
				worst, where, least = text, size, kept
			}
		}
	}
	switch {
	case !compared:
		return nil
	case worst == "":
		return finding.List{{Code: CodeScale, Text: "Scaling: no collective falls below " + unit.Part(curve.FallShare) + " of its best busbw at the most ranks."}}
	}
	return finding.List{{Code: CodeScale, Share: 1 - least, Text: fmt.Sprintf("Scaling: at %s %s.", unit.Bytes(where), worst)}}
}

func busBWOr0(r *record.Result) float64 {
	if r == nil {
		return 0
	}
	bw, _ := curve.BusBW(r)
	return bw
}
