package judge

import (
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/exit"
	"zbench/bench/base/finding"
	"zbench/bench/base/stat"
	"zbench/bench/hardware/device"
	"zbench/bench/run/record"
	"zbench/bench/run/spec"
)

// slowerThan is a record of a node of MI300X that takes so many times what its reference does.
func slowerThan(times float64, simulated bool) *record.Record {
	rec := &record.Record{
		Simulated: simulated, Fabric: &record.Fabric{Name: "mi300x-8gpu"},
		World:   record.World{World: spec.World{Nodes: 1, GPUsPerNode: 8}, Ranks: 8, GPU: "MI300X"},
		Results: []record.Result{{Collective: "all_reduce", Case: record.Case{Key: "k", Status: record.OK, Verified: record.Verified{State: record.VerifiedOK}}, Bytes: 1 << 30, BytesRequested: 1 << 30, Ranks: 8, Nodes: 1, GPUsPerProcess: 1}},
	}
	r := &rec.Results[0]
	seconds, known := expect(rec).seconds(r)
	if !known {
		panic("no reference")
	}
	seconds *= times
	bw := float64(r.Bytes) / seconds * 1.75
	r.Burst = &record.Timing{MeanOfRanks: stat.Summarize([]float64{seconds}), BusBW: &bw}
	r.Headline, r.BusBW = "burst.mean_of_ranks", &bw
	return rec
}

// A reference that is not this run fails nothing by itself; in a simulation the model is the truth.
func TestBelowAReferenceFailsOnlyOnRequest(t *testing.T) {
	rec := slowerThan(1.25, false)
	l := Record(rec)
	require.Empty(t, l.Faults())
	require.Equal(t, exit.OK, exit.Of(finding.Pass, l))
	below := l.Only(CodeBelowReference)
	require.Len(t, below, 1)
	word, _ := below[0].Word()
	require.Equal(t, "BELOW REFERENCE", word)
	require.InDelta(t, 0.2, below[0].Share, 1e-9)
	require.NotContains(t, l.Only(CodeNoFault)[0].Text, "as published")
	for least, want := range map[float64]finding.State{0.15: finding.Fail, 0.05: finding.Fail, 0.25: finding.Pass} {
		check, cases := AgainstReference(rec, "below-reference", least)
		require.Equal(t, want, check.State, "%v: %s", least, check.Reason)
		require.Equal(t, 1, cases)
	}
	require.Empty(t, Record(slowerThan(1.1, false)).Only(CodeBelowReference))
	check, _ := AgainstReference(slowerThan(1.1, false), "below-reference:5%", 0.05)
	require.Equal(t, finding.Fail, check.State, "a limit below that of the warning holds, too: %s", check.Reason)

	require.Equal(t, exit.Regression, exit.Of(finding.Pass, Record(slowerThan(1.25, true))))
	rec.Fabric, rec.World.GPU = nil, "another"
	check, cases := AgainstReference(rec, "below-reference", 0)
	require.Equal(t, finding.NotChecked, check.State)
	require.Zero(t, cases)
}

// The memory's best bandwidth has what others published of the device as its reference.
func TestMemoryBelowItsReference(t *testing.T) {
	published := device.PublishedFor("MI300X")
	require.NotEmpty(t, published)
	rec := &record.Record{Spec: &spec.Spec{Benchmark: spec.HBM, Kernels: &spec.Kernels{}}, World: record.World{Devices: []record.Device{{Name: "MI300X", Kind: record.GPU}}}}
	most := 0.0
	for _, p := range published {
		most = max(most, p.Rates["copy"])
	}
	rate := 0.8 * most
	rec.Kernels = []record.Kernel{{Kernel: "copy", Case: record.Case{Status: record.OK}, Timing: &record.KernelTiming{}, Metrics: record.Metrics{Rate: &rate}}}
	l := Record(rec)
	require.Len(t, l.Only(CodeBelowReference), 1)
	require.InDelta(t, 0.2, l.Only(CodeBelowReference)[0].Share, 1e-9)
	require.Equal(t, exit.OK, exit.Of(finding.Pass, l))
	check, _ := AgainstReference(rec, "below-reference", 0.15)
	require.Equal(t, finding.Fail, check.State)
}
