package judge

import (
	"cmp"
	"fmt"
	"slices"
	"sort"

	"zbench/bench/answers/fleet/nodescreen"
	"zbench/bench/base/finding"
	"zbench/bench/base/slice"
	"zbench/bench/base/stat"
	"zbench/bench/base/unit"
	"zbench/bench/hardware/backend"
	"zbench/bench/run/record"
	"zbench/bench/run/spec"
	"zbench/bench/work/kernel"
)

// slowDeviceShare is the share of the GPUs' median bandwidth that a GPU must lose to be named.
const slowDeviceShare = 0.05

// bestKernel returns the row with the highest bandwidth, preferably of the memory itself. Sizes of a sweep, points of a
// tuning, unfused work and copies do not count.
func (j judgedKernels) bestKernel() (best *record.Kernel, ofMemory bool) {
	for _, k := range j.KernelRows() {
		switch k.Role {
		case record.SizeSweep, record.Tune, record.Unfused, record.Copy:
			continue
		}
		if k.Status != record.OK || k.LeftWrong() || k.Metrics.Rate == nil || k.LaunchBound() {
			continue
		}
		memory := !k.CacheResident
		if best == nil || memory && !ofMemory || memory == ofMemory && *k.Metrics.Rate > *best.Metrics.Rate {
			best, ofMemory = k, memory
		}
	}
	return best, ofMemory
}

// bandwidth returns the best bandwidth with the peak and the published figure.
func (j judgedKernels) bandwidth() finding.List {
	best, ofMemory := j.bestKernel()
	switch {
	case best == nil && !slices.ContainsFunc(j.Kernels, func(k record.Kernel) bool { return k.Timing != nil }):
		return nil
	case best == nil:
		return finding.List{{Code: CodeBandwidth, Severity: finding.Warning, Text: "No bandwidth: a launch alone takes half of every time.", Hint: "Give larger " + j.sizeFlag() + "."}}
	case !ofMemory:
		return finding.List{{
			Code: CodeBandwidth, Severity: finding.Warning,
			Text: fmt.Sprintf("No bandwidth of the memory: all arrays fit in the last level of cache (%s). Best there: %s %s.", unit.Bytes(j.DeviceOf(best).Cache), j.name(best), unit.Rate(*best.Metrics.Rate)),
			Hint: "Give larger " + j.sizeFlag() + ": " + unit.Bytes(4*j.DeviceOf(best).Cache) + " or more in all.",
		}}
	}
	text := fmt.Sprintf("Best bandwidth: %s %s", j.name(best), unit.Rate(*best.Metrics.Rate))
	if best.Metrics.OfPeak != nil {
		text += ", " + unit.Part(*best.Metrics.OfPeak) + " of the peak"
	}
	if rate, tool := j.published(best); rate > 0 {
		text += fmt.Sprintf(", %s of published (%s %s)", unit.Part(*best.Metrics.Rate/rate), tool, unit.Rate(rate))
	} else if best.Metrics.OfPeak == nil && j.DeviceOf(best).Kind == record.GPU {
		text += ", not judged: no reference"
	}
	return finding.List{{Code: CodeBandwidth, Text: text + "."}}
}

// sizeFlag names the flag that makes a kernel move more bytes.
func (j judgedKernels) sizeFlag() string {
	if j.Benchmark() == spec.HBM {
		return "arrays (--size)"
	}
	return "matrices (--rows)"
}

// `published` returns the highest published rate of the kernel on the device.
func (j judgedKernels) published(k *record.Kernel) (rate float64, tool string) {
	if j.DeviceOf(k).Kind != record.GPU {
		return 0, ""
	}
	for _, p := range Published(j.Record) {
		if v := p.Rates[k.Kernel]; v > rate {
			rate, tool = v, p.Tool
		}
	}
	return rate, tool
}

// slowDevice names the GPU that loses most against the median GPU at the best kernel.
func (j judgedKernels) slowDevice() finding.List {
	best, _ := j.bestKernel()
	if best == nil || best.Job() == "" || len(j.World.Devices) < 2 {
		return nil
	}
	of, text := func(k *record.Kernel) *float64 { return k.Metrics.Rate }, unit.Rate
	if best.Metrics.Effective != nil { // products, which memory does not bound
		of, text = func(k *record.Kernel) *float64 { return k.Metrics.Effective }, unit.Flops
		for _, k := range j.KernelRows() {
			if k.Status == record.OK && of(k) != nil && *of(k) > *of(best) {
				best = k
			}
		}
	}
	rows := j.where(func(k *record.Kernel) bool { return k.Job() == best.Job() && of(k) != nil })
	rates, nodes := j.rates(rows, of)
	slices.Sort(rates)
	if len(rates) < 2 {
		return nil
	}
	slowest := slices.MinFunc(rows, func(a, b *record.Kernel) int { return cmp.Compare(*of(a), *of(b)) })
	limit := slowLimit(rates, nodes)
	// If the number of GPUs is even, this is the upper median. Of two GPUs, the slow GPU is then compared with the
	// other.
	median := rates[len(rates)/2]
	lost := 1 - rates[0]/median
	if lost < limit {
		if limit <= nodescreen.Most || lost < nodescreen.Effect {
			return nil
		}
		return uneven(best, lost, len(rates), text(rates[0]), text(rates[len(rates)-1]))
	}
	more := ""
	if n := sort.Search(len(rates), func(i int) bool { return 1-rates[i]/median < limit }); n > 1 {
		more = fmt.Sprintf("; %d of them are at least %s slower", n, unit.Part(limit))
	}
	return finding.List{{
		Code: CodeSlowDevice, Severity: finding.Fault, Share: lost, Subject: &finding.Subject{Kind: finding.GPU, Name: j.GPU(slowest)},
		Text: fmt.Sprintf("Slow: %s reaches %s at %s %s, %s less than the median of the %d GPUs%s.", j.GPU(slowest), text(rates[0]), best.Kernel, best.Dtype, unit.Part(lost), len(rates), more),
		Hint: "Look at that GPU's clocks, temperature and throttling (" + backend.ToolOf(j.Source.Backend) + "), and at other processes on it.",
	}}
}

// rates returns the rates of the rows: the rates of all rows, and the rates of each host's rows.
func (j judgedKernels) rates(rows []*record.Kernel, of func(*record.Kernel) *float64) (all []float64, hosts map[string][]float64) {
	hosts = map[string][]float64{}
	for _, k := range rows {
		host := j.DeviceOf(k).Host
		all, hosts[host] = append(all, *of(k)), append(hosts[host], *of(k))
	}
	return all, hosts
}

// uneven returns the finding of GPUs that differ so much that no slow one can be named.
func uneven(best *record.Kernel, lost float64, gpus int, least, most string) finding.List {
	return finding.List{{
		Code: CodeSlowDevice, Severity: finding.Warning, Share: lost,
		Text: fmt.Sprintf("Uneven: the %d GPUs reach %s to %s at %s %s: too far apart to tell a slow one from the others.", gpus, least, most, best.Kernel, best.Dtype),
		Hint: "Measure more nodes together, or compare each with its own earlier figures.",
	}}
}

// slowLimit returns the smallest loss of a slow GPU, as a share of the median. Among the GPUs of several nodes some are
// always a little slower, so the limit is computed as in zbench screen. It follows from the differences between all
// GPUs or, if they are smaller, from the differences within each node. The differences within each node are smaller if,
// for example, half of the nodes are slow.
func slowLimit(rates []float64, nodes map[string][]float64) float64 {
	if len(nodes) < 2 || len(rates) < nodescreen.Least {
		return slowDeviceShare
	}
	_, _, limit := nodescreen.Limit(rates)
	var within []float64
	for _, of := range nodes {
		if len(of) < 2 {
			return limit
		}
		middle := stat.Quantile(of, 0.5)
		within = append(within, slice.Map(of, func(r float64) float64 { return r / middle })...)
	}
	_, _, inNode := nodescreen.Limit(within)
	return min(limit, inNode)
}

// `fused` returns the gain of the fused kernel over the same work kernel by kernel.
func (j judgedKernels) fused() finding.List {
	gain, copied := kernel.Extent{}, kernel.Extent{}
	var worst *record.Kernel
	for _, k := range j.KernelRows() {
		if k.Status != record.OK || k.LeftWrong() || k.Metrics.ToUnfused == nil {
			continue
		}
		if gain.N == 0 || *k.Metrics.ToUnfused < gain.Lo {
			worst = k
		}
		gain.Add(*k.Metrics.ToUnfused)
		if k.Metrics.OfCopy != nil {
			copied.Add(*k.Metrics.OfCopy)
		}
	}
	if worst == nil {
		return nil
	}
	l := finding.Finding{Code: CodeFused, Text: fmt.Sprintf("Fused: %s as fast as kernel by kernel", gain.Text(func(v float64) string { return fmt.Sprintf("%.2g ×", v) }))}
	if copied.N > 0 {
		l.Text += ", " + copied.Text(unit.Part) + " of a copy's rate"
	}
	l.Text += "."
	if gain.Lo < 1 {
		l.Severity = finding.Warning
		l.Text += " Slower at " + j.name(worst) + "."
	}
	return finding.List{l}
}
