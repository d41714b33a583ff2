package muon

import (
	"fmt"
	"strings"

	"zbench/bench/base/finding"
	"zbench/bench/base/plain"
	"zbench/bench/base/unit"
	"zbench/bench/run/record"
	"zbench/bench/show/document"
	"zbench/bench/work/kernel"
)

// CodeProduct is the code of findings about products.
const CodeProduct = "product"

// best summarises the best product in a few words.
func best(rec *record.Record) []document.Fact {
	if k := bestProduct(rec); k != nil {
		return []document.Fact{{Term: "Best product", Text: unit.Flops(*k.Metrics.Effective)}}
	}
	return nil
}

// products states the time of a step and compares its products.
func products(rec *record.Record) finding.List {
	best, vendor, full, iteration, hybrid := bestProduct(rec), kernel.Extent{}, kernel.Extent{}, kernel.Extent{}, kernel.Extent{}
	for _, k := range rec.KernelRows() {
		if k.Status != record.OK || k.LeftWrong() {
			continue
		}
		switch {
		case k.Metrics.ToVendor == nil:
		case k.Role == record.Sequence:
			iteration.Add(*k.Metrics.ToVendor)
		case k.Role == record.Hybrid:
			hybrid.Add(*k.Metrics.ToVendor)
		default:
			vendor.Add(*k.Metrics.ToVendor)
		}
		if k.Metrics.ToFull != nil {
			full.Add(*k.Metrics.ToFull)
		}
	}
	faster := func(v float64) string { return fmt.Sprintf("%.2g ×", v) }
	var out finding.List
	if s := rec.SequenceSeconds; s != nil {
		text := "Newton–Schulz of all matrices on one such GPU: " + unit.Seconds(*s) + " per optimiser step"
		if iteration.N > 0 {
			text += ", " + iteration.Text(faster) + " as fast as by the vendor's products"
		}
		if hybrid.N > 0 {
			text += "; with our triangles and its B·X " + hybrid.Text(faster)
		}
		out = append(out, finding.Finding{Code: CodeProduct, Text: text + "."})
	}
	var parts []string
	if best != nil {
		parts = append(parts, fmt.Sprintf("best product %s of %s at %s (effective%s)", plain.Line(What(best)), plain.Line(ShapeOf(best).Title()), unit.Flops(*best.Metrics.Effective), executed(rec, best)))
	}
	if full.N > 0 {
		parts = append(parts, full.Text(faster)+" as fast as without symmetry")
	}
	if vendor.N > 0 {
		parts = append(parts, vendor.Text(faster)+" as fast as the vendor's")
	}
	if len(parts) > 0 {
		out = append(out, finding.Finding{Code: CodeProduct, Text: plain.Capital(strings.Join(parts, "; ")) + "."})
	}
	return out
}

// executed returns the rate of the operations that the units executed, with its shares. It is empty
// if the rate is unknown.
func executed(rec *record.Record, k *record.Kernel) string {
	if s := kernel.Shares(rec, k); s != "" {
		return "; executed " + unit.Flops(*k.Metrics.Executed) + s
	}
	return ""
}

// bestProduct returns the row of our own product with the highest effective rate, or nil if none
// was timed.
func bestProduct(rec *record.Record) *record.Kernel {
	var best *record.Kernel
	for _, k := range rec.KernelRows() {
		if k.Status == record.OK && !k.LeftWrong() && k.Metrics.Effective != nil && k.Role == record.Own && (best == nil || *k.Metrics.Effective > *best.Metrics.Effective) {
			best = k
		}
	}
	return best
}
