package nodewatch_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"

	"zbench/bench/answers/fleet/history"
	"zbench/bench/answers/fleet/nodescreen"
	"zbench/bench/answers/fleet/nodewatch"
	"zbench/test/rendertest"
	"zbench/test/schematest"
)

var noon = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

// seen is a healthy check of four GPUs with a rail each; lost is the loss of one GPU's memory.
func seen(check int, gpu int, lost float64) *nodewatch.Seen {
	n := &nodescreen.Node{Schema: nodescreen.NodeSchema, Host: "a", Facts: []nodescreen.Fact{{Name: "amdgpu", Value: "6.12"}, {Name: "env NCCL_DEBUG", Value: fmt.Sprint(check)}}}
	for g := range 4 {
		rate := 4e12 * (1 + 0.005*float64((check*7+g*3)%5-2))
		if g == gpu {
			rate *= 1 - lost
		}
		n.GPUs = append(n.GPUs, nodescreen.GPU{Index: g, Name: "MI300X", Memory: &nodescreen.Rate{What: "copy 1 GiB", Rate: &rate}})
		n.NICs = append(n.NICs, nodescreen.NIC{Name: fmt.Sprint("ionic_", g), State: "ACTIVE", Negotiated: new(50e9)})
	}
	return &nodewatch.Seen{Node: n, Boot: "1", For: "3s"}
}

// judged judges a daily check.
func judged(m *history.Memory, s *nodewatch.Seen) *nodewatch.Document {
	return nodewatch.Judge(s, m, noon.Add(time.Duration(m.Checks)*24*time.Hour), nodewatch.Fleet{})
}

// Each hard defect isolates in its first check; others wait.
func TestHardEvidenceIsolatesAtOnce(t *testing.T) {
	for code, action := range map[string]nodewatch.Action{
		"uncorrected_errors": nodewatch.Isolate, "pcie_width": nodewatch.Isolate, "xgmi_link_missing": nodewatch.Isolate, "gpu_missing": nodewatch.Isolate,
		"kfd_unreadable": nodewatch.Reset, "mtus_differ": nodewatch.Monitor,
	} {
		s := seen(0, 0, 0)
		s.Node.Faults = []nodescreen.Fault{{Code: code, Subject: "0000:0c:00.0", Message: "m", Next: "n"}}
		d := judged(history.New("a"), s)
		require.Equal(t, action, d.Action, code)
		require.Contains(t, d.Reason, "zbench: "+code+" 0000:0c:00.0: m")
	}
	s := seen(0, 0, 0)
	s.Node.NICs[2].State = "DOWN"
	d := judged(history.New("a"), s)
	require.Equal(t, nodewatch.Isolate, d.Action)
	require.Contains(t, d.Reason, "ionic_2")
	require.NotContains(t, d.Reason, "\n")
	require.Equal(t, nodewatch.None, judged(history.New("a"), seen(0, 0, 0)).Action)
	s = seen(0, 0, 0)
	s.Node.Faults = []nodescreen.Fault{{Code: "no_measurement", Subject: "node", Message: "stuck"}}
	d = judged(history.New("a"), s)
	require.Equal(t, nodewatch.None, d.Action, "zbench's own failure proves nothing")
	require.Contains(t, strings.Join(d.Unchecked, "\n"), "stuck")
}

// Lines as published (bench/hardware/signs has their sources), with the times of /dev/kmsg, of the
// kernel's buffer and of journalctl.
const kernelLog = "6,1,1000000,-;amdgpu 0000:0b:00.0: amdgpu: ring gfx_0.0.0 uses VM inv eng 0\n" +
	"<3>[    2.000000] amdgpu 0000:0b:00.0: 1048560 uncorrectable hardware errors detected in umc block\n" +
	"Oct  7 12:58:23 host kernel: [    3.000000] amdgpu 0000:0a:00.0: amdgpu: GPU reset begin!\n" +
	"6,9,4000000,-;mlx5_core 0000:0a:00.0 mlx5_0: Port: 1 Link DOWN\n"

func TestTheKernelLog(t *testing.T) {
	lines, newest := nodewatch.ReadLog(kernelLog)
	require.EqualValues(t, 4000000, newest)
	require.Len(t, lines, 3)
	m := history.New("a")
	check := func(text string) *nodewatch.Document {
		s := seen(0, 0, 0)
		s.Log, s.Newest = nodewatch.ReadLog(text)
		return judged(m, s)
	}
	d := check(kernelLog)
	require.Equal(t, nodewatch.Isolate, d.Action)
	require.Contains(t, d.Reason, "gpu_uncorrectable 0000:0b:00.0")
	require.Len(t, d.Findings, 3)
	require.Equal(t, nodewatch.None, check(kernelLog).Action, "these lines were judged")
	flap := func(at int) *nodewatch.Document {
		return check(kernelLog + fmt.Sprintf("6,9,%d,-;mlx5_core 0000:0a:00.0 mlx5_0: Port: 1 Link DOWN\n", at))
	}
	require.Equal(t, nodewatch.Monitor, flap(5000000).Action)
	require.Equal(t, nodewatch.Isolate, flap(6000000).Action, "the third check with it")
}

func TestCountersThatGrow(t *testing.T) {
	m := history.New("a")
	check := func(ce, downs uint64) *nodewatch.Document {
		s := seen(0, 0, 0)
		s.Counters = []history.Counter{{Subject: "0000:0c:00.0", Name: "ras/umc/ce", Value: ce}, {Subject: "ionic_1", Name: "link_downed", Value: downs}}
		return judged(m, s)
	}
	require.Equal(t, nodewatch.None, check(0, 0).Action)
	d := check(1200, 0)
	require.Equal(t, nodewatch.Monitor, d.Action)
	require.Contains(t, d.Reason, "grew by 1200 since the last check")
	require.Equal(t, nodewatch.None, check(1200, 0).Action)
	require.Equal(t, "link_downs", check(1200, 1).Findings[0].Code)
	require.Equal(t, nodewatch.Monitor, check(1200, 2).Action)
	require.Equal(t, nodewatch.Isolate, check(1200, 3).Action)
}

// A PCIe error that is not fatal may be from the boot: only new ones count, three checks isolate.
func TestPCIeErrorsThatGrow(t *testing.T) {
	m := history.New("a")
	for n, action := range []nodewatch.Action{nodewatch.None, nodewatch.Monitor, nodewatch.Monitor, nodewatch.Isolate} {
		s := seen(0, 0, 0)
		s.Counters = []history.Counter{{Subject: "ionic_1", Name: "aer/nonfatal/CmpltTO", Value: uint64(1 + n)}}
		require.Equal(t, action, judged(m, s).Action, "check %d", n)
	}
}

// Three checks and a longer measurement are needed; one that does not show the loss spares the node.
func TestALowerBandwidthNeedsThreeChecksAndAConfirmation(t *testing.T) {
	m := history.New("a")
	for i := range 40 {
		require.Equal(t, nodewatch.None, judged(m, seen(i, 0, 0)).Action)
	}
	for i := range 2 {
		d := judged(m, seen(40+i, 2, 0.075))
		require.Equal(t, nodewatch.None, d.Action, "check %d", i)
		require.False(t, d.Pending())
	}
	for lost, action := range map[float64]nodewatch.Action{0: nodewatch.Monitor, 0.075: nodewatch.Isolate} {
		text := &bytes.Buffer{}
		require.NoError(t, m.WriteJSON(text))
		again, err := history.Read(text.Bytes(), "a")
		require.NoError(t, err)
		d := judged(again, seen(42, 2, 0.075))
		require.Equal(t, nodewatch.Monitor, d.Action)
		require.True(t, d.Pending())
		require.Contains(t, d.Reason, "GPU 2: ")
		d.Confirm(seen(43, 2, lost).Node)
		require.Equal(t, action, d.Action)
	}
}

func TestAChangeOfTheFleetIsAnEra(t *testing.T) {
	m := history.New("a")
	for i := range 40 {
		judged(m, seen(i, 0, 0))
	}
	var d *nodewatch.Document
	for i := range 3 {
		s := seen(40+i, 0, 0)
		for g := range s.Node.GPUs {
			*s.Node.GPUs[g].Memory.Rate *= 0.9
		}
		d = nodewatch.Judge(s, m, m.Last.Add(24*time.Hour), nodewatch.Fleet{Fallen: func(string) (int, int) { return 20, 128 }})
		require.Len(t, d.Fallen, 1)
	}
	require.Equal(t, nodewatch.None, d.Action)
	require.Equal(t, d.Fallen, d.Excused)
	require.EqualValues(t, 1, m.Era)
	require.Equal(t, nodewatch.Monitor, func() nodewatch.Action {
		s := seen(43, 0, 0)
		s.Node.Facts[0].Value = "6.13"
		return judged(m, s).Action
	}(), "another driver is reported")
}

// Prometheus' own parser reads what any names and messages make of the file.
func TestMetricsAreReadByPrometheus(t *testing.T) {
	s := seen(0, 0, 0)
	s.Node.GPUs[1].Name = "odd \"name\" \\ \n of a GPU"
	s.Node.Faults = []nodescreen.Fault{{Code: "pcie_width", Subject: "a\"b\\c", Message: "m"}, {Code: "pcie_width", Subject: "a\"b\\c", Message: "again"}}
	d := judged(history.New("a"), s)
	var text bytes.Buffer
	require.NoError(t, d.WriteMetrics(&text, s.Figures()))
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(&text)
	require.NoError(t, err)
	require.Len(t, families["zbench_watch_action"].Metric, len(nodewatch.Actions()))
	require.Len(t, families["zbench_watch_finding"].Metric, 1)
	require.Len(t, families["zbench_watch_rate"].Metric, 4)
	require.Equal(t, 4e12*(1-0.01), families["zbench_watch_rate"].Metric[0].GetGauge().GetValue())
	for name, f := range families {
		require.NotEmpty(t, f.GetHelp(), name)
		for _, one := range f.Metric {
			require.Nil(t, one.TimestampMs, "the textfile collector refuses time stamps")
		}
	}
}

func TestSchemaRefuses(t *testing.T) {
	s := seen(0, 0, 0)
	s.Node.Faults = []nodescreen.Fault{{Code: "pcie_width", Subject: "s", Message: "m", Next: "n"}}
	d := judged(history.New("a"), s)
	d.Fallen, d.Excused, d.Unchecked, d.Withheld = []string{"k"}, []string{"k"}, []string{"u"}, "w"
	schematest.Refuses(t, schematest.Read(t, "schema/v1.json"), schematest.Changes{Good: schematest.Written(t, d), Bad: map[string]string{
		"/schema": `"zbench.watch/0"`, "/sha256": `"none"`, "/action": `"DRAIN"`, "/findings/0/action": `"DRAIN"`, "/findings/0/lost": `2`, "/time": `"noon"`,
	}})
	require.Contains(t, rendertest.Text(t, d.Shown("v1"), 100, false), "ISOLATE")
}
