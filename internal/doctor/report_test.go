package doctor

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"zbench/bench/base/finding"
	"zbench/internal/native"
	"zbench/report"
	"zbench/test/golden"
	"zbench/test/rendertest"

	"github.com/stretchr/testify/require"
)

// sample has every kind of finding: a library that is there, one that is broken,
// one that is nowhere, symbols of all kinds, devices, compiled kernels.
func sample() Report {
	r := Report{Schema: Schema, Tool: "1.2.3", Host: "node17", NotChecked: NotChecked()[:2], Backends: []Backend{
		{Name: "loopback", Usable: true, Simulated: true},
		{
			Name: "rocm", Install: "ROCm with RCCL", Usable: true, Libraries: []*native.Library{
				{
					Role: "collectives", Name: "librccl.so", Path: "/opt/rocm-6.4.1/lib/librccl.so.1.0", Version: "2.22.3", Required: true, Flag: "rccl-lib", By: "--rccl-lib", Listed: 24,
					Missing: []native.Symbol{
						{Name: "ncclCommAbort", Lost: "giving up a communicator that failed"},
						{Name: "ncclGather", Lost: "nothing: gather is made of messages"},
						{Name: "ncclCommFinalize", Lost: "giving up a communicator that failed"},
					},
				},
				{Role: "runtime", Name: "libamdhip64.so", Path: "/opt/rocm-6.4.1/lib/libamdhip64.so.6", Version: "6.4.43484", Required: true, Flag: "hip-lib", Listed: 23},
				{Role: "compiler", Name: "libhiprtc.so", Flag: "hiprtc-lib", Lost: "kernels: verification", Attempts: []native.Attempt{
					{Path: "libhiprtc.so.7", Absent: true},
					{Path: "/opt/rocm/lib/libhiprtc.so.7", Absent: true},
					{Path: "/opt/rocm/lib/libhiprtc.so.6", Why: "the file is cut short"},
				}},
			},
			Devices: []Device{
				{Index: 0, Name: "AMD Instinct MI300X", Arch: "gfx942", PCI: "0000:0c:00.0", Bytes: 206141652992},
				{Index: 1, Err: "out of memory (code 2)"},
			},
		},
		{
			Name: "cuda", Install: "CUDA and NCCL", Why: "libnccl.so lacks ncclSend", Remedy: "use a newer one",
			Libraries: []*native.Library{{
				Role: "collectives", Name: "libnccl.so", Path: "/usr/lib/libnccl.so.2", Version: "2.4.8", Required: true, Flag: "nccl-lib", Listed: 24,
				Missing: []native.Symbol{{Name: "ncclSend", Required: true}},
			}},
		},
	}, Machine: machine(instinct(), "/dev/dri/renderD129").Items()}
	r.Judge("auto", false)
	return r
}

func TestGoldens(t *testing.T) {
	r := sample()
	golden.Equal(t, "sample.txt", rendertest.Text(t, r.Shown(), 100, false))
	golden.Equal(t, "sample.md", rendertest.Markdown(t, r.Shown()))
}

// Colour adds nothing but colour, lines keep to the width where words allow, and
// what is wrong has its remedy beside it.
func TestText(t *testing.T) {
	var plain, colour bytes.Buffer
	r := sample()
	require.NoError(t, report.WriteText(&plain, r.Shown(), report.Screen{Width: 80}))
	require.NoError(t, report.WriteText(&colour, r.Shown(), report.Screen{Width: 80, Colour: true}))
	require.NotContains(t, plain.String(), "\x1b")
	require.NotEqual(t, plain.String(), colour.String())
	require.Equal(t, plain.String(), regexp.MustCompile(`\x1b\[\d+m`).ReplaceAllString(colour.String(), ""))
	for line := range strings.Lines(plain.String()) {
		line = strings.TrimRight(line, "\n")
		require.Equal(t, strings.TrimRight(line, " "), line)
		if utf8.RuneCountInString(line) > 80 {
			require.LessOrEqual(t, len(strings.Fields(line)), 3, "a long word may stand out: %s", line)
		}
	}
	require.Equal(t, strings.Count(plain.String(), "✗")+strings.Count(plain.String(), "  ! "), strings.Count(plain.String(), "→"))
}

func TestJSONReadsBack(t *testing.T) {
	var data bytes.Buffer
	want := sample()
	require.NoError(t, want.WriteJSON(&data))
	var back Report
	require.NoError(t, json.Unmarshal(data.Bytes(), &back))
	require.Equal(t, finding.Pass, back.Judgement.State)
	require.Equal(t, want.findings(), back.Judgement.Findings)
	back.Judgement = finding.Judgement{}
	for i := range want.Backends {
		want.Backends[i].Install = "" // a remedy has it
	}
	require.Equal(t, want, back)
}

// Every bad finding has a remedy, whatever is wrong with the backend.
func TestBackendsHaveRemedies(t *testing.T) {
	backends := sample().Backends
	backends = append(backends,
		Backend{Name: "rocm", Install: "ROCm", Why: "no device", Remedy: "look at /dev/kfd"},
		Backend{Name: "rocm", Install: "ROCm", Why: "not found", Libraries: []*native.Library{{Name: "librccl.so", Required: true, Flag: "rccl-lib"}}},
		Backend{Name: "rocm", Install: "ROCm", Compiled: []Compiled{{Arch: "gfx942", Errors: []string{"verify.hip: no"}}}},
	)
	for _, b := range backends {
		bad := 0
		for _, f := range b.Items() {
			if f.Mark == Bad {
				bad++
				require.NotEmpty(t, f.Remedy, "%+v", f)
			}
			require.NotEmpty(t, f.Value, "%+v", f)
		}
		if !b.Usable {
			require.Positive(t, bad, b.Name)
		}
	}
}

func TestJudge(t *testing.T) {
	usable := func(name string) Backend { return Backend{Name: name, Usable: true} }
	loopback := Backend{Name: "loopback", Usable: true, Simulated: true}
	for what, c := range map[string]struct {
		asked    string
		simulate bool
		backends []Backend
		usable   bool
		verdict  string
	}{
		"a GPU that runs":            {"auto", false, []Backend{loopback, usable("rocm"), {Name: "cuda"}}, true, "rocm can run here"},
		"two":                        {"auto", false, []Backend{usable("rocm"), usable("cuda")}, true, "rocm and cuda can run here"},
		"no GPU":                     {"auto", true, []Backend{loopback, {Name: "rocm"}}, true, "no GPU here; the loopback can run, SIMULATED"},
		"a GPU that does not":        {"auto", false, []Backend{loopback, {Name: "rocm"}}, false, "no backend can run on the GPUs that are meant"},
		"asked for, and not there":   {"rocm", false, []Backend{{Name: "rocm"}}, false, "rocm cannot run here"},
		"asked for, there":           {"cuda", false, []Backend{usable("cuda")}, true, "cuda can run here"},
		"the loopback was asked for": {"loopback", true, []Backend{loopback}, true, "loopback can run here"},
	} {
		r := Report{Backends: c.backends}
		r.Judge(c.asked, c.simulate)
		require.Equal(t, c.usable, r.Usable, what)
		require.Equal(t, c.verdict, r.Verdict, what)
	}
}

// A compiler can say much about little.
func TestLogsOfManyLinesAreCut(t *testing.T) {
	c := Compiled{Arch: "gfx942", Errors: []string{strings.Repeat("a line\n", 100) + "the last", "short"}}
	value := c.finding().Value
	require.Contains(t, value, "… 89 more lines: --format json")
	require.NotContains(t, value, "the last")
	require.True(t, strings.HasSuffix(value, "\nshort"))
	require.Less(t, strings.Count(value, "\n"), 20)
}
