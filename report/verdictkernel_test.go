package report

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/answers/judge"
	"zbench/bench/base/finding"
	"zbench/bench/base/unit"
	"zbench/bench/results"
	"zbench/bench/run/record"
	"zbench/bench/run/spec"
	"zbench/bench/work/muon"
)

func kindsOf(v finding.List) (out []string) {
	for _, l := range v {
		out = append(out, l.Code)
	}
	return out
}

func only(t *testing.T, v finding.List, kind string) finding.Finding {
	t.Helper()
	lines := v.Only(kind)
	require.Len(t, lines, 1, "%v", v)
	return lines[0]
}

// Streams: what was checked, the best bandwidth of the memory beside the peak and the
// published figure, and how far the times can be believed. A rate of the caches is not
// the memory's, however high.
func TestVerdictOfStreams(t *testing.T) {
	rec := streamsAndSweep()
	v := judge.Record(rec)
	require.Equal(t, []string{judge.CodeNoFault, judge.CodeBandwidth, judge.CodeConfidence}, kindsOf(v))
	most, name := 0.0, ""
	for _, k := range rec.Kernels {
		if (k.Role == record.Reference || k.Role == record.Preset) && *k.Metrics.Rate > most {
			most, name = *k.Metrics.Rate, k.Kernel
		}
	}
	best := only(t, v, judge.CodeBandwidth).Text
	require.True(t, strings.HasPrefix(best, "Best bandwidth: "+name+" float64 1 GiB "+unit.Rate(most)), best)
	require.Contains(t, best, unit.Part(most/5.3e12)+" of the peak")
	require.Contains(t, only(t, v, judge.CodeNoFault).Text, "No fault in "+unit.Count(int64(len(rec.Kernels)), "case"))
	page := writeHTML(t, results.Kernels(rec, ""))
	require.Less(t, strings.Index(page, `class="verdict"`), strings.Index(page, "<nav"))
	require.Contains(t, page, "<dt>Of peak</dt><dd>"+unit.Part(most/5.3e12)+"</dd>")
	require.Contains(t, page, "<dt>Data</dt><dd>verified</dd>")

	for i := range rec.Kernels {
		rec.Kernels[i].CacheResident = true
	}
	l := only(t, judge.Record(rec), judge.CodeBandwidth)
	require.Equal(t, finding.Warning, l.Severity)
	require.Contains(t, l.Text, "No bandwidth of the memory: all arrays fit in the last level of cache (256 MiB)")
	require.Equal(t, "Give larger arrays (--size): 1 GiB or more in all.", l.Hint)
}

func TestVerdictComparesWithPublished(t *testing.T) {
	k := timedResult("copy", "float64", record.Preset, 2<<30, float64(2<<30)/4e12, 1)
	rec := memoryOf("hbm", k)
	published := judge.Published(rec)
	most := 0.0
	for _, p := range published {
		most = max(most, p.Rates["copy"])
	}
	require.Positive(t, most, "something is published of this GPU")
	require.Contains(t, only(t, judge.Record(rec), judge.CodeBandwidth).Text, unit.Part(*k.Metrics.Rate/most)+" of published (")
	rec.World.Devices[0].Kind = record.HostMemory
	require.NotContains(t, only(t, judge.Record(rec), judge.CodeBandwidth).Text, "published")
}

// Wrong elements come first, with their share; nothing is said to be without fault.
func TestVerdictOfWrongKernels(t *testing.T) {
	rec := streamsAndSweep()
	rec.Kernels[3].Status, rec.Kernels[3].Reason = record.WrongData, "1 of 1,024 elements"
	rec.Kernels[3].Verified = record.Verified{State: record.VerifiedWrong, Wrong: new(int64(1))}
	v := judge.Record(rec)
	require.Equal(t, judge.CodeWrongData, v[0].Code)
	require.InDelta(t, 1/float64(len(rec.Kernels)), v[0].Share, 1e-12)
	require.Contains(t, v[0].Text, "write float64 1 GiB: 1 of 1,024 elements.")
	require.Empty(t, v.Only(judge.CodeNoFault))
	page := writeHTML(t, results.Kernels(rec, ""))
	require.Contains(t, page, "<dt>Data</dt><dd>WRONG</dd>")
	require.Contains(t, page, `<li class="bad"><strong>FAULT</strong> Wrong data in 1 of `)

	rec.Kernels[4].Status, rec.Kernels[4].Reason = record.Failed, "out of memory"
	rec.Kernels[5].Status = record.Interrupted
	require.Equal(t, []string{judge.CodeFailed, judge.CodeWrongData, judge.CodeInterrupted}, kindsOf(judge.Record(rec))[:3])
	require.Contains(t, judge.Record(rec)[0].Text, "copy float64 1 GiB: Out of memory.")
	require.Contains(t, only(t, judge.Record(memoryOf("hbm")), judge.CodeFailed).Text, "Nothing was measured")
}

// One GPU of four that is slower is named with what it loses; four equal ones are not.
func TestVerdictNamesTheSlowGPU(t *testing.T) {
	four := func(slow float64) *record.Record {
		var rows []record.Kernel
		for device := range 4 {
			rate := 4e12
			if device == 2 {
				rate *= slow
			}
			k := timedResult("copy", "float64", record.Preset, 2<<30, float64(2<<30)/rate, 1)
			k.Device, k.Key = device, record.KernelKey("preset/copy", device)
			rows = append(rows, k)
		}
		rec := memoryOf("hbm", rows...)
		for device := 1; device < 4; device++ {
			d := rec.World.Devices[0]
			d.Index = device
			rec.World.Devices = append(rec.World.Devices, d)
		}
		return rec
	}
	l := judge.Record(four(0.8))[0]
	require.Equal(t, judge.CodeSlowDevice, l.Code)
	require.InDelta(t, 0.2, l.Share, 1e-9)
	require.Contains(t, l.Text, "Slow: GPU 2 reaches")
	require.Empty(t, judge.Record(four(1)).Only(judge.CodeSlowDevice))
	require.Empty(t, judge.Record(four(0.97)).Only(judge.CodeSlowDevice))

	// Of several nodes the limit is that of a screen, and the name has the node.
	two := func(slow float64) *record.Record {
		rec := four(slow)
		rec.World.GPUsPerNode, rec.World.Hosts = 2, []string{"gpu-17", "gpu-18"}
		for i := range rec.World.Devices {
			rec.World.Devices[i].Host = rec.World.Hosts[i/2]
		}
		return rec
	}
	require.Empty(t, judge.Record(two(0.94)).Only(judge.CodeSlowDevice))
	require.NotEmpty(t, judge.Record(four(0.94)).Only(judge.CodeSlowDevice))
	l = judge.Record(two(0.9))[0]
	require.Equal(t, "GPU 0 of gpu-18", l.Subject.Name)
	require.Contains(t, l.Text, "Slow: GPU 0 of gpu-18 reaches 3.58 TB/s")

	// Half of the nodes are slow: how GPUs differ within their nodes tells.
	rec := four(1)
	rec.World.GPUsPerNode, rec.World.Hosts = 2, []string{"gpu-17", "gpu-18"}
	for i := range rec.World.Devices {
		rec.World.Devices[i].Host = rec.World.Hosts[i/2]
		if i >= 2 {
			*rec.Kernels[i].Metrics.Rate *= 0.8
		}
	}
	l = judge.Record(rec)[0]
	require.InDelta(t, 0.2, l.Share, 1e-9)
	require.Contains(t, l.Text, "of the 4 GPUs; 2 of them are at least 8 % slower")

	// With a GPU a node nothing tells a slow one from the others, and that is said.
	rec.World.GPUsPerNode, rec.World.Hosts = 1, []string{"a", "b", "c", "d"}
	for i := range rec.World.Devices {
		rec.World.Devices[i].Host = rec.World.Hosts[i]
	}
	l = judge.Record(rec).Only(judge.CodeSlowDevice)[0]
	require.Equal(t, finding.Warning, l.Severity)
	require.Contains(t, l.Text, "Uneven: the 4 GPUs reach")
}

// How far the times can be believed: by the share of medians that miss the precision.
func TestVerdictConfidenceOfKernels(t *testing.T) {
	rec := memoryOf("hbm", timedResult("copy", "float64", record.Preset, 2<<30, 1e-3, 1), timedResult("add", "float64", record.Preset, 2<<30, 1e-3, 2), timedResult("dot", "float64", record.Preset, 2<<30, 1e-3, 3))
	rec.Spec.Kernels.Precision = 0.5
	require.Contains(t, only(t, judge.Record(rec), judge.CodeConfidence).Text, "High confidence: ")
	rec.Kernels[0].Warnings = []record.Warning{{Code: "drift"}}
	l := only(t, judge.Record(rec), judge.CodeConfidence)
	require.Equal(t, finding.Warning, l.Severity)
	require.Contains(t, l.Text, "Medium confidence: in 1 of 3 cases")
	rec.Kernels[1].Timing.Seconds.Lo = nil
	require.Contains(t, only(t, judge.Record(rec), judge.CodeConfidence).Text, "Low confidence: in 2 of 3 cases")
}

// What is not a GPU's is labelled in the box.
func TestVerdictLabelsKernels(t *testing.T) {
	for kind, want := range map[string]string{record.HostMemory: judge.CodeHostMemory, record.OnLoopback: finding.CodeSimulated, record.Checked: judge.CodeNotTimed} {
		rec := streamsAndSweep()
		rec.World.Devices[0].Kind = kind
		if kind == record.Checked {
			for i := range rec.Kernels {
				rec.Kernels[i].Timing, rec.Kernels[i].Metrics = nil, record.Metrics{}
			}
		}
		v := judge.Record(rec)
		require.Equal(t, want, v[len(v)-1].Code)
		require.Equal(t, kind == record.Checked, len(v.Only(judge.CodeBandwidth, judge.CodeConfidence)) == 0)
		page := writeHTML(t, results.Kernels(rec, ""))
		require.Equal(t, kind == record.OnLoopback, strings.Contains(page, `<dd>SIMULATED</dd>`))
		require.Equal(t, kind == record.OnLoopback, strings.Contains(page, "<title>SIMULATED"))
		require.Equal(t, kind == record.Checked, strings.Contains(page, "<dd>NOT TIMED</dd>"))
		require.Equal(t, kind == record.HostMemory, strings.Contains(page, "<dd>HOST MEMORY</dd>"))
	}
}

func TestVerdictOfFusedKernels(t *testing.T) {
	rec := fusedNorms()
	l := only(t, judge.Record(rec), judge.CodeFused)
	require.Equal(t, "Fused: 2.4 × as fast as kernel by kernel, 95 % of a copy's rate.", l.Text)
	rec.Kernels[3].Metrics.ToUnfused = new(0.9)
	l = only(t, judge.Record(rec), judge.CodeFused)
	require.Equal(t, finding.Warning, l.Severity)
	require.Contains(t, l.Text, "0.9 × to 2.4 × as fast")
	require.Contains(t, l.Text, "Slower at rmsnorm bfloat16 32768 × 16384.")
}

func TestVerdictOfMuon(t *testing.T) {
	rec := muonOf(muonRow(8, "8x4", 0.01), muonRow(9, "9x4", 0.02))
	rec.Kernels[0].Metrics.Effective, rec.Kernels[1].Metrics.Effective = new(5e14), new(6.1e14)
	rec.Kernels[1].Metrics.Executed = new(3.1e14)
	rec.Kernels[1].Metrics.ToVendor = new(0.92)
	rec.SequenceSeconds = new(0.0123)
	v := judge.Record(rec)
	require.Equal(t, []string{judge.CodeNoFault, muon.CodeProduct, muon.CodeProduct, judge.CodeConfidence}, kindsOf(v))
	require.Contains(t, v[1].Text, "12.3 ms per optimiser step")
	require.Equal(t, "Best product X·Xᵀ of 9x4 at 610 TFLOP/s (effective; executed 310 TFLOP/s, 23.7 % of the published 1307 TFLOP/s, 43.8 % of the 708 TFLOP/s that others reached (AMD, Measuring Max-Achievable FLOPs, part 2, rocm.blogs.amd.com)); 1.5 × as fast as without symmetry; 0.92 × as fast as the vendor's.", v[2].Text)
	page := muonPage(t, rec)
	require.Contains(t, page, "<dt>Best product</dt><dd>610 TFLOP/s</dd>")
	rec.Kernels[0].Role, rec.Kernels[0].Metrics.ToVendor = record.Sequence, new(1.3)
	v = judge.Record(rec)
	require.Contains(t, v[1].Text, "12.3 ms per optimiser step, 1.3 × as fast as by the vendor's products.")
	require.Contains(t, v[2].Text, "0.92 × as fast as the vendor's.", "of products alone")

	wrong := muonOf(muonRow(8, "8x4", 0.04))
	require.Equal(t, judge.CodeWrongData, judge.Record(wrong)[0].Code, "a check found more than its bar")
	require.Contains(t, judge.Record(wrong)[0].Hint, "the deviation is one of arithmetic")
	require.Empty(t, judge.Record(wrong).Only(muon.CodeProduct), "what is wrong has no speed")
	require.Equal(t, spec.Muon, wrong.Benchmark())
}

// A clock well below the highest, and one that fell between the passes, are warnings; where others
// measured it under such products it is a note. A record without clocks says nothing.
func TestVerdictOfTheClock(t *testing.T) {
	k := timedResult("copy", "float64", record.Preset, 2<<30, float64(2<<30)/4e12, 1)
	at := func(clocks ...float64) finding.List {
		c := k
		timing := *k.Timing
		c.Timing = &timing
		for _, hz := range clocks {
			timing.Conditions = append(timing.Conditions, record.Conditions{Clock: hz, Power: 745, PowerLimit: 750})
		}
		rec := memoryOf("hbm", c)
		rec.World.Devices[0].Clock = 2.1e9
		return judge.Record(rec).Only(judge.CodeClock)
	}
	require.Empty(t, at())
	require.Empty(t, at(2.1e9, 2.05e9))
	slow := only(t, at(1.2e9, 1.2e9), judge.CodeClock)
	require.Equal(t, finding.Warning, slow.Severity)
	require.Equal(t, "GPU 0", slow.Subject.Name)
	require.Contains(t, slow.Text, "in 1 of 1 case the compute units ran below 75 % of their highest clock, 2.10 GHz. Lowest, copy float64 0 B: 1.20 GHz, 57 %, at 745 W of the 750 W that it may draw.")
	require.Contains(t, only(t, at(2.1e9, 1.9e9), judge.CodeClock).Text, "in 1 case it fell during the run by more than 5 %. At the most, copy float64 0 B: from 2.10 GHz to 1.90 GHz.")

	k.Dtype, k.Metrics.Effective = "bfloat16", new(7e14)
	loaded := only(t, at(1.2e9), judge.CodeClock)
	require.Equal(t, finding.Note, loaded.Severity)
	require.Contains(t, loaded.Text, "1.20 GHz, 57 %, at 745 W of the 750 W that it may draw; others measured 1.21 GHz under such products.")
	require.Equal(t, finding.Warning, only(t, at(1.0e9), judge.CodeClock).Severity)
	k.Timing.Conditions = []record.Conditions{{LimitedBy: record.ByPower}}
	require.Empty(t, at(2.1e9), "under load as it should be")
	k.Timing.Conditions[0] = record.Conditions{LimitedBy: "temperature, hardware", Temperature: 96}
	require.Contains(t, only(t, at(2.1e9), judge.CodeClock).Text, "lowered by its driver in 1 case. First, copy bfloat16 0 B: by temperature, hardware, at 96 °C.")
	k.Timing.Conditions = []record.Conditions{{LimitedBy: record.ByPower}, {LimitedBy: record.ByPower + ", " + record.ByTemperature, Temperature: 91}}
	require.Contains(t, only(t, at(2.1e9), judge.CodeClock).Text, "by power, temperature, at 91 °C.", "heat builds up: the second pass counts, too")
}
