package experiments

import (
	"fmt"
	"strings"
)

// Failures lists the bars that do not hold. In a small run it lists only those that chance cannot
// explain.
func (r Report) Failures(small bool) []string {
	var out []string
	check := func(b *Bar, what string, count int, n Noise) {
		if b == nil || b.Holds(count, r.Seeds) || small && b.Plausible(count, r.Seeds) {
			return
		}
		out = append(out, fmt.Sprintf("%s, ρ = %g, σ = %g: %s %d of %d, bar %s", n.Name, n.Rho, n.Sigma, what, count, r.Seeds, b))
	}
	for _, row := range r.Rows {
		check(row.Covers, "covered", row.Covered, row.Noise)
		check(row.Flags, "flagged", row.Flagged, row.Noise)
	}
	return out
}

// Markdown returns the table.
func (r Report) Markdown() string {
	var b strings.Builder
	b.WriteString("| noise | ρ | σ % | covers % | bar | if taken for independent % | no interval % | flagged % | bar | stopped by precision % | n | looks | GPU-s | GPU-s of n = 100 | precise at n = 100 % |\n")
	b.WriteString("|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n")
	share := func(count int) float64 { return 100 * float64(count) / float64(r.Seeds) }
	for _, w := range r.Rows {
		fmt.Fprintf(&b, "| %s | %g | %g | %.1f | %s | %.1f | %.1f | %.1f | %s | %.1f | %.0f | %.1f | %.0f | %.0f | %.1f |\n",
			w.Noise.Name, w.Noise.Rho, 100*w.Noise.Sigma, share(w.Covered), mark(w.Covers, w.Covered, r.Seeds),
			share(w.Plain), share(w.NoInterval), share(w.Flagged), mark(w.Flags, w.Flagged, r.Seeds),
			share(w.Precise), w.Samples, w.Looks, gpus*w.Seconds, gpus*w.FixedSeconds, share(w.FixedPrecise))
	}
	return b.String()
}

// Choices returns the table of Rules, with fewer columns and the name of the rule.
func (r Report) Choices() string {
	var b strings.Builder
	b.WriteString("| noise | ρ | σ % | rule | covers % | flagged % | stopped by precision % | n | looks |\n")
	b.WriteString("|---|---|---|---|---|---|---|---|---|\n")
	share := func(count int) float64 { return 100 * float64(count) / float64(r.Seeds) }
	for _, w := range r.Rows {
		fmt.Fprintf(&b, "| %s | %g | %g | %s | %.1f | %.1f | %.1f | %.0f | %.1f |\n", w.Noise.Name, w.Noise.Rho,
			100*w.Noise.Sigma, w.Rule, share(w.Covered), share(w.Flagged), share(w.Precise), w.Samples, w.Looks)
	}
	return b.String()
}

// mark states a bar and whether it holds.
func mark(b *Bar, count, seeds int) string {
	switch {
	case b == nil:
		return ""
	case b.Holds(count, seeds):
		return b.String()
	default:
		return b.String() + " **fails**"
	}
}
