package judge

import (
	"fmt"
	"slices"
	"strings"

	"zbench/bench/base/finding"
	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
	"zbench/bench/base/unit"
	"zbench/bench/run/record"
	"zbench/bench/work/kernel"
)

// Codes of findings of hbm and of kernels.
const (
	CodeSlowDevice = "slow_device"
	CodeBandwidth  = "bandwidth"
	CodeFused      = "fused"
	CodeNotTimed   = "not_timed"
	CodeHostMemory = "host_memory"
	CodeClock      = "clock"
)

// Confidence is low if at least the share unsureShare of the cases misses the requested precision.
const unsureShare = 0.5

// kernels returns the findings of a record of hbm or kernels, in the order of [Record]: faults first, then the best
// figure with the peak and the published figure, then the confidence.
func kernels(rec *record.Record) finding.List {
	j := judgedKernels{rec}
	v := slices.Concat(editedLines(rec), j.failed(), j.wrongData(), j.interrupted(), j.slowDevice())
	if c := check(rec); len(v.Faults()) == 0 {
		classes := j.compared()
		v = append(v, gated(c.noFault(classes), classes, c.some(), "Measure again with a larger --max-time; look at that GPU's clocks, and at other processes on it.")...)
	} else {
		v = append(v, c.besideFaults()...)
	}
	if figures := kernel.Of(rec.Benchmark()).Figures; figures != nil {
		v = append(v, figures(rec)...)
	} else {
		v = append(v, j.bandwidth()...)
	}
	return slices.Concat(v, j.belowReference(), j.fused(), j.lowClock(), j.throttled(), j.fellClock(), j.confidence(), j.label())
}

// judgedKernels is a record of hbm or of kernels.
type judgedKernels struct{ *record.Record }

// `where` returns the rows for which a condition holds.
func (j judgedKernels) where(holds func(*record.Kernel) bool) []*record.Kernel {
	return slice.Where(j.KernelRows(), holds)
}

// `ended` returns the rows that ended in a state.
func (j judgedKernels) ended(s record.Status) []*record.Kernel {
	return j.where(func(k *record.Kernel) bool { return k.Status == s })
}

// share returns n as a share of all rows.
func (j judgedKernels) share(n int) float64 { return float64(n) / float64(max(1, len(j.Kernels))) }

// name describes a row.
func (j judgedKernels) name(k *record.Kernel) string {
	name := plain.Line(strings.TrimSpace(k.Kernel + " " + k.Dtype + " " + k.Shape.Text()))
	if len(j.World.Devices) > 1 {
		name += " on " + j.GPU(k)
	}
	return name
}

func (j judgedKernels) failed() finding.List {
	failed := j.ended(record.Failed)
	n := len(failed)
	if n == 0 {
		return nil
	}
	first := failed[0]
	return finding.List{{
		Code: CodeFailed, Severity: finding.Fault, Share: j.share(n),
		Text: fmt.Sprintf("Failed: %d of %s. First, %s: %s", n, unit.Count(int64(len(j.Kernels)), "case"), j.name(first), plain.Sentence(plain.Line(first.Reason))),
	}}
}

// wrongData returns the rows with wrong elements, or with more error than a check's bar.
func (j judgedKernels) wrongData() finding.List {
	wrong := j.where((*record.Kernel).LeftWrong)
	n := len(wrong)
	if n == 0 {
		return nil
	}
	first := wrong[0]
	text := fmt.Sprintf("Wrong data in %d of %s: what they took means nothing. First, %s", n, unit.Count(int64(len(j.Kernels)), "case"), j.name(first))
	if first.Reason != "" {
		text += ": " + plain.Line(first.Reason)
	}
	return finding.List{{Code: CodeWrongData, Severity: finding.Fault, Share: j.share(n), Text: plain.Sentence(text), Hint: plain.Sentence(first.Verified.Hint())}}
}

func (j judgedKernels) interrupted() finding.List {
	n := len(j.ended(record.Interrupted))
	if n == 0 {
		return nil
	}
	return finding.List{{
		Code: CodeInterrupted, Severity: finding.Warning, Share: j.share(n),
		Text: fmt.Sprintf("Interrupted: %d of %s did not finish.", n, unit.Count(int64(len(j.Kernels)), "case")),
	}}
}

// noFault states which kernels were checked.
func (c *checked) noFault(classes []compared) finding.List {
	if c.ok == 0 {
		return noneEnded(0, c)
	}
	return c.finding(unit.Count(c.ok, "case"), looked(noLoss(classes)))
}

// `timed` returns the rows with a time, and how many of them miss the requested precision: the
// interval of the median is wider or unknown, or the passes differ.
func (j judgedKernels) timed() (timed, missed int, precision float64) {
	if j.OfKernels() {
		precision = j.Spec.Kernels.Precision
	}
	rows := j.where(func(k *record.Kernel) bool { return k.Timing != nil && k.Timing.Seconds != nil })
	missed = slice.Count(rows, func(k *record.Kernel) bool {
		s := k.Timing.Seconds
		wide := s.Lo == nil || s.Hi == nil || (*s.Hi-*s.Lo)/2 > precision*s.Median
		return wide || k.Warned("drift")
	})
	return len(rows), missed, precision
}

func isVerified(k *record.Kernel) bool { return k.Verified.State == record.VerifiedOK }

// level returns the confidence in the times; empty if there are none.
func (j judgedKernels) level() string {
	timed, missed, _ := j.timed()
	switch {
	case timed == 0:
		return ""
	case j.OnLoopback() || float64(missed) >= unsureShare*float64(timed):
		return "low"
	case missed > 0:
		return "medium"
	}
	return "high"
}

func (j judgedKernels) confidence() finding.List {
	level := j.level()
	if level == "" {
		return nil
	}
	timed, missed, precision := j.timed()
	l := finding.Finding{Code: CodeConfidence, Text: fmt.Sprintf("%s confidence: the median of every case is known to %s.", plain.Capital(level), unit.Part(precision))}
	if j.OnLoopback() {
		l.Text = fmt.Sprintf("Low confidence: simulated. The median of every case is known to %s.", unit.Part(precision))
	}
	if missed > 0 {
		l.Severity = finding.Warning
		l.Text = fmt.Sprintf("%s confidence: in %d of %s the median is not known to %s, or the two passes differ.", plain.Capital(level), missed, unit.Count(int64(timed), "case"), unit.Part(precision))
		l.Hint = "Look for other work on this device; raise --max-time."
	}
	return finding.List{l}
}

// label names the source of figures that are not a GPU's.
func (j judgedKernels) label() finding.List {
	kinds := map[string]finding.Finding{
		record.HostMemory: {Code: CodeHostMemory, Text: "HOST MEMORY: figures of this host's CPUs and memory, not of a GPU."},
		record.OnLoopback: {Code: finding.CodeSimulated, Text: "SIMULATED: the loopback's clock, not hardware, decided these times."},
		record.Checked:    {Code: CodeNotTimed, Text: "EMULATED: the loopback ran the kernels thread by thread; results are checked, nothing is timed."},
	}
	for _, d := range j.World.Devices {
		if l, is := kinds[d.Kind]; is {
			l.Severity = finding.Warning
			return finding.List{l}
		}
	}
	return nil
}
