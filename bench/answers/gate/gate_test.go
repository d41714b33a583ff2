package gate

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/exit"
	"zbench/bench/base/finding"
	"zbench/bench/base/stat"
	"zbench/bench/run/record"
	"zbench/bench/run/spec"
	"zbench/bench/show/document"
	"zbench/test/rendertest"
)

// rec has all_reduce at two sizes, 302 and 340 GB/s, and a broadcast that failed.
func rec() *record.Record {
	result := func(name string, bytes int64, inPlace bool, busbw float64) record.Result {
		seconds := float64(bytes) * 1.75 / busbw
		r := record.Result{
			Case: record.Case{Key: record.Key(name, "float", "sum", bytes, 8, 1, inPlace), Status: record.OK}, Collective: name, Dtype: "float", Op: "sum", Bytes: bytes, BytesRequested: bytes,
			Ranks: 8, Nodes: 1, GPUsPerProcess: 1, InPlace: inPlace, Burst: &record.Timing{MeanOfRanks: stat.Summarize([]float64{seconds})},
		}
		r.SetHeadline(1.75)
		return r
	}
	failed := result("broadcast", 8<<30, false, 1e11)
	failed.Status, failed.Reason = record.Failed, "rank 3 did not finish"
	return &record.Record{
		Schema: record.Schema, Source: record.Source{Kind: record.Measured, Libraries: []record.Library{{Name: "librccl", Version: "2.27.7"}}},
		World:   record.World{World: spec.World{Nodes: 1, GPUsPerNode: 8}, Ranks: 8, GPU: "AMD Instinct MI300X"},
		Results: []record.Result{result("all_reduce", 1<<30, true, 302e9), result("all_reduce", 8<<30, true, 340e9), failed},
	}
}

func parsed(t *testing.T, text string) *Threshold {
	t.Helper()
	out, err := Parse(text, "triad", "read")
	require.NoError(t, err)
	return out
}

func TestThresholds(t *testing.T) {
	for text, want := range map[string]finding.State{
		"all_reduce busbw>=300GB/s":                                  finding.Pass,
		"AllReduce busbw>=300GB/s":                                   finding.Pass,
		"all_reduce bytes>=8GiB busbw>=330GB/s":                      finding.Pass,
		"all_reduce busbw>=330GB/s":                                  finding.Fail,
		"all_reduce bytes=1GiB busbw>=330GB/s":                       finding.Fail,
		"all_reduce bytes=1GiB busbw<330GB/s":                        finding.Pass,
		"all_reduce bytes!=1GiB busbw>=330GB/s":                      finding.Pass,
		"all_reduce bytes=2GiB busbw>=1GB/s":                         finding.NotChecked, // no such size
		"all_reduce dtype=fp32 busbw>=300GB/s":                       finding.Pass,
		"all_reduce dtype=bf16 busbw>=300GB/s":                       finding.NotChecked,
		"all_reduce place=out busbw>=1GB/s":                          finding.NotChecked,
		"all_reduce place=in dtype=float op=sum ranks=8 time<=1s":    finding.Pass,
		"all_reduce isolated<=1s":                                    finding.NotChecked, // not measured
		"broadcast busbw>=1GB/s":                                     finding.NotChecked, // failed
		"any busbw>=1GB/s":                                           finding.NotChecked, // broadcast is among them
		"any busbw>=330GB/s":                                         finding.Fail,       // a miss outweighs what is not checked
		"all_gather busbw>=1GB/s":                                    finding.NotChecked,
		"triad rate>=1GB/s":                                          finding.NotChecked,
		"all_reduce bytes>=1GiB bytes<=2GiB busbw>=302GB/s":          finding.Pass, // the bound itself passes
		"all_reduce bytes=8GiB busbw>=330GB/s time<=1us":             finding.Fail,
		"all_reduce  bytes>=1GiB   busbw>=300GB/s algbw>=100.5e9B/s": finding.Pass,
	} {
		c := Evaluate(rec(), []*Threshold{parsed(t, text)})[0]
		require.Equal(t, want, c.State, "%s: %s", text, c.Reason)
		require.NotEmpty(t, c.Reason, text)
	}
	c := Evaluate(&record.Record{}, []*Threshold{parsed(t, "any busbw>=1B/s")})[0]
	require.Equal(t, finding.NotChecked, c.State, "an empty record passes nothing")
	require.Contains(t, c.Reason, "no case at all")
}

// A check is one line: a sign and a word, the condition as it was given, then the worst figure.
func TestACheckIsALineWithItsFigure(t *testing.T) {
	for text, want := range map[string]string{
		"all_reduce busbw>=330GB/s":                      "✗ FAIL: all_reduce busbw>=330GB/s: lowest busbw 302 GB/s (all_reduce, 1 GiB); missed by 1 of 2 cases",
		"all_reduce busbw>=300GB/s":                      "✓ PASS: all_reduce busbw>=300GB/s: lowest busbw 302 GB/s (all_reduce, 1 GiB)",
		"all_reduce busbw>=300GB/s time<=1us":            "✗ FAIL: all_reduce busbw>=300GB/s time<=1us: lowest busbw 302 GB/s (all_reduce, 1 GiB), highest time 44.2 ms (all_reduce, 8 GiB); missed by 2 of 2 cases",
		"all_reduce bytes=8GiB busbw>=330GB/s time<=1us": "✗ FAIL: all_reduce bytes=8GiB busbw>=330GB/s time<=1us: busbw 340 GB/s (all_reduce, 8 GiB), time 44.2 ms (all_reduce, 8 GiB)",
		"all_reduce busbw!=340GB/s":                      "✗ FAIL: all_reduce busbw!=340GB/s: busbw 340 GB/s (all_reduce, 8 GiB); missed by 1 of 2 cases",
		"broadcast busbw>=1GB/s":                         "? NOT CHECKED: broadcast busbw>=1GB/s: broadcast, 8 GiB is failed: rank 3 did not finish",
	} {
		r := NewReport(false, "", Evaluate(rec(), []*Threshold{parsed(t, text)}))
		require.Equal(t, want, r.Findings()[0].Text)
		word, _ := r.Findings()[0].Word()
		require.Equal(t, r.State.Marked(), word)
		r.Simulated = true
		require.Contains(t, r.Findings()[0].Text, r.State.Marked()+" (SIMULATED times): "+text)
	}
}

func TestThresholdsOfKernels(t *testing.T) {
	rate, share, flops, gain := 3.5e12, 0.66, 612e12, 1.58
	r := &record.Record{Kernels: []record.Kernel{{Case: record.Case{Key: "triad", Status: record.OK}, Kernel: "triad", Dtype: "float64", Role: record.Preset, Shape: record.Shape{Array: 1 << 30}, Metrics: record.Metrics{Rate: &rate, OfPeak: &share, Effective: &flops, ToUnfused: &gain}}}}
	for text, want := range map[string]finding.State{
		"triad rate>=3.4TB/s": finding.Pass, "triad rate>=3.6TB/s": finding.Fail, "triad of_peak>=65%": finding.Pass, "triad of_peak>=0.67": finding.Fail,
		"triad role=preset bytes=1GiB rate>=1TB/s": finding.Pass, "triad role=best rate>=1TB/s": finding.NotChecked, "triad busbw>=1GB/s": finding.NotChecked, "any rate>=1TB/s": finding.Pass,
		"triad effective_flops>=0.6PFLOP/s": finding.Pass, "triad effective_flops>=613TFLOP/s": finding.Fail, "triad times_vendor>=1": finding.NotChecked,
		"triad times_unfused>=1.5": finding.Pass, "triad times_unfused>=1.6x": finding.Fail,
		"triad device=0 rate>=1TB/s": finding.Pass, "triad device=1 rate>=1TB/s": finding.NotChecked,
	} {
		require.Equal(t, want, Evaluate(r, []*Threshold{parsed(t, text)})[0].State, text)
	}
}

func TestBadThresholds(t *testing.T) {
	for text, want := range map[string]string{
		"":                                   "is empty",
		"all_reduce":                         "has no metric to check",
		"all_reduce bytes>=1GiB":             "has no metric to check",
		"all_reduc busbw>=1GB/s":             `unknown collective or kernel "all_reduc"`,
		"busbw>=300GB/s":                     "begins with a condition",
		"all_reduce busbw":                   "is not FIELD, a comparison and VALUE",
		"all_reduce busbw >= 300GB/s":        "is not FIELD, a comparison and VALUE",
		"all_reduce busbw>=":                 "no comparison with a value",
		"all_reduce busbw=>300GB/s":          "no comparison with a value",
		"all_reduce busbw>=300":              `"300" is not a rate, such as 300GB/s`,
		"all_reduce busbw>=300Gb/s":          "is not a rate",
		"all_reduce busbw>=-1GB/s":           "is not a rate",
		"all_reduce busbw>=NaNGB/s":          "is not a rate",
		"all_reduce busbw>=InfGB/s":          "is not a rate",
		"all_reduce busbw>=1e300GB/s":        "is not a rate",
		"all_reduce speed>=1GB/s":            `unknown field "speed"`,
		"all_reduce bytes>=much busbw>1GB/s": "not a size",
		"all_reduce place>in busbw>1GB/s":    "place is a word",
		"all_reduce ranks=8.5 busbw>1GB/s":   "not a whole number",
		"all_reduce time<=5":                 "is not a time, such as 39.2us",
	} {
		_, err := Parse(text, "triad")
		require.ErrorContains(t, err, want, "%q", text)
	}
}

// Every profile can be evaluated, each figure has a source, and none is of a size at
// which a library changed its algorithm without saying which side of that it is of.
func TestProfilesAreWhole(t *testing.T) {
	require.NotEmpty(t, Profiles())
	for _, p := range Profiles() {
		require.NotEmpty(t, p.Title)
		require.NotEmpty(t, p.GPU)
		for _, x := range p.Thresholds {
			th, err := Parse(x.Require)
			require.NoError(t, err)
			require.Equal(t, x.Require, th.Text)
			require.NotEmpty(t, x.Source, x.Require)
			for _, e := range Eras() {
				if x.From == "" && x.Before == "" {
					require.False(t, e.holds(&p, th), "%s: %s is of %s: give from or before", p.Name, x.Require, e.Name)
				}
			}
		}
		own, err := ProfileByName(strings.ToUpper(p.Name))
		require.NoError(t, err)
		require.Equal(t, p.Name, own.Name)
	}
	for _, e := range Eras() {
		require.NotEmpty(t, e.Source)
		require.True(t, e.From != "" || len(e.Variables) > 0, e.Name)
	}
	_, err := ProfileByName("mi300x-1nod")
	require.ErrorContains(t, err, "acceptance profile")
}

// holds tells whether a threshold without a library's version is about cases of the era.
func (e *Era) holds(p *Profile, th *Threshold) bool {
	on := false
	for _, gpu := range e.GPUs {
		on = on || gpu == p.GPU
	}
	of := record.Result{Collective: e.Collective, Ranks: p.Ranks, Nodes: p.Nodes, Dtype: "float", InPlace: true, Bytes: e.BytesTo, BytesRequested: e.BytesTo}
	return on && p.Nodes >= e.NodesFrom && (e.NodesTo == 0 || p.Nodes <= e.NodesTo) && th.about(&row{Row: of.Row()})
}

func TestProfiles(t *testing.T) {
	state := func(name string, change func(*record.Record)) Check {
		r := rec()
		if change != nil {
			change(r)
		}
		p, err := ProfileByName(name)
		require.NoError(t, err)
		return p.Evaluate(r)[0]
	}
	require.Equal(t, finding.Pass, state("mi300x-1node", nil).State)
	require.Equal(t, finding.NotChecked, state("azure-nd-mi300x-v5", nil).State, "no 16 GiB")
	slow := state("mi300x-1node", func(r *record.Record) { *r.Results[1].BusBW = 290e9 })
	require.Equal(t, finding.Fail, slow.State)
	require.Contains(t, slow.Source, "ROCm/cvs")
	for want, change := range map[string]func(*record.Record){
		"a simulation accepts no hardware":  func(r *record.Record) { r.Simulated = true },
		"the record of AMD Instinct MI300A": func(r *record.Record) { r.World.GPU = "AMD Instinct MI300A" },
		"does not name its GPU":             func(r *record.Record) { r.World.GPU = "" },
		"the record of 2 nodes":             func(r *record.Record) { r.World.Nodes = 2 },
		"an unknown number of nodes":        func(r *record.Record) { r.World.Nodes = 0 },
		"the record of 4 ranks":             func(r *record.Record) { r.World.Ranks = 4 },
	} {
		c := state("mi300x-1node", change)
		require.Equal(t, finding.NotChecked, c.State, want)
		require.Contains(t, c.Reason, want)
	}
}

// A figure of a library's era holds for no other.
func TestEras(t *testing.T) {
	x := Published{From: "2.28.3", Before: "2.30.4"}
	for version, want := range map[string]string{"2.27.7": "holds from RCCL 2.28.3 on", "2.28.3": "", "2.29": "", "2.30.4": "holds before RCCL 2.30.4", "2.31.2-abc": "holds before", "": "does not name its RCCL version"} {
		r := rec()
		r.Source.Libraries[0].Version = version
		if version == "" {
			r.Source.Libraries = nil
		}
		got := x.outside(r)
		require.Equal(t, want == "", got == "", version)
		require.Contains(t, got, want)
	}
}

// Two records of different eras are mixed where both have cases of it and both tell their state.
func TestMixed(t *testing.T) {
	type change = func(*record.Record)
	of := func(changes ...change) *record.Record {
		r := &record.Record{
			Source: record.Source{Kind: record.Measured, Libraries: []record.Library{{Name: "librccl.so.1", Version: "2.30.4"}}, Environment: map[string]string{}},
			World:  record.World{World: spec.World{Nodes: 8}, Ranks: 64, GPU: "AMD Instinct MI355X", NICs: []record.NICKind{{Driver: "ionic"}}},
			Results: []record.Result{
				{Collective: "all_reduce", Nodes: 8, Bytes: 1 << 30, Case: record.Case{Status: record.OK}}, {Collective: "all_gather", Nodes: 8, Bytes: 1 << 20, Case: record.Case{Status: record.OK}},
			},
		}
		for _, c := range changes {
			c(r)
		}
		return r
	}
	set := func(name, value string) change { return func(r *record.Record) { r.Source.Environment[name] = value } }
	version := func(v string) change { return func(r *record.Record) { r.Source.Libraries[0].Version = v } }
	nodes := func(n int) change {
		return func(r *record.Record) {
			r.World.Nodes = n
			for i := range r.Results {
				r.Results[i].Nodes = n
			}
		}
	}
	imported := func(r *record.Record) { r.Source.Kind, r.Source.Environment, r.World.NICs = record.Imported, nil, nil }
	simulated := func(r *record.Record) { r.Simulated, r.Source.Kind = true, record.Simulated }
	thor := func(r *record.Record) { r.World.NICs[0].Driver = "bnxt_en" }
	const flush, order = "NCCL_GDR_FLUSH_DISABLE", "RCCL_GDR_FLUSH_GPU_MEM_NO_RELAXED_ORDERING"
	for name, c := range map[string]struct {
		a, b []change
		want string // empty: one era; of defaults alone it begins with "default:"
	}{
		"nothing set":                  {nil, nil, ""},
		"the default, in words":        {nil, []change{set(flush, "1")}, ""},
		"flush":                        {nil, []change{set(flush, "0")}, "the GDR flush (NCCL_GDR_FLUSH_DISABLE): off, on"},
		"flush, not honoured":          {[]change{version("2.28.3"), set("NCCL_NET", "IB-CAST")}, []change{version("2.28.3"), set("NCCL_NET", "IB-CAST"), set(flush, "0")}, ""},
		"what the flush reads":         {[]change{set(flush, "0")}, []change{set(flush, "0"), set(order, "0")}, "the GDR flush (NCCL_GDR_FLUSH_DISABLE): on, on, with " + order + "=0"},
		"what no flush reads":          {nil, []change{set(order, "0")}, ""},
		"another transport":            {nil, []change{set("NCCL_NET_PLUGIN", "librccl-anp.so")}, "the GDR flush (NCCL_GDR_FLUSH_DISABLE): off, on"},
		"transport not known":          {[]change{thor, set(flush, "0")}, []change{thor, set(flush, "1")}, "the GDR flush (NCCL_GDR_FLUSH_DISABLE): on, off"},
		"NICs not known":               {[]change{thor, set(flush, "0")}, []change{set(flush, "0")}, ""},
		"other NICs, nothing set":      {[]change{thor}, nil, ""},
		"sockets, nothing set":         {[]change{set("NCCL_IB_DISABLE", "1")}, nil, ""},
		"nothing known":                {[]change{thor}, []change{set(flush, "0")}, ""},
		"flush within a node":          {[]change{nodes(1)}, []change{nodes(1), set(flush, "0")}, ""},
		"sockets":                      {[]change{set("NCCL_IB_DISABLE", "1"), set(flush, "0")}, []change{set(flush, "0")}, ""},
		"fence":                        {nil, []change{set("RCCL_CHEAP_POST_SEND_FENCE_OFF", "1")}, "the fence behind a send (RCCL_CHEAP_POST_SEND_FENCE_OFF, RCCL_GFX9_CHEAP_FENCE_OFF): not set, 1"},
		"fence by its older name":      {[]change{set("RCCL_CHEAP_POST_SEND_FENCE_OFF", "1")}, []change{set("RCCL_GFX9_CHEAP_FENCE_OFF", "1")}, ""},
		"all_gather by the variable":   {nil, []change{set("RCCL_HIERARCHICAL_ALLGATHER", "0")}, "hierarchical all_gather (default from RCCL 2.28.3 on, up to 128 MiB, RCCL_HIERARCHICAL_ALLGATHER): on, off"},
		"all_gather by the version":    {[]change{set(flush, "1")}, []change{set(flush, "1"), version("2.27.7")}, "default:hierarchical all_gather (default from RCCL 2.28.3 on, up to 128 MiB, RCCL_HIERARCHICAL_ALLGATHER): on, off"},
		"all_gather on fewer nodes":    {[]change{nodes(7)}, []change{nodes(7), set("RCCL_HIERARCHICAL_ALLGATHER", "0")}, ""},
		"all_gather of another GPU":    {[]change{func(r *record.Record) { r.World.GPU = "MI300X" }}, []change{set("RCCL_HIERARCHICAL_ALLGATHER", "0")}, ""},
		"a log has no variables":       {[]change{imported}, []change{set(flush, "0"), set("RCCL_CHEAP_POST_SEND_FENCE_OFF", "1")}, ""},
		"logs have versions":           {[]change{imported}, []change{imported, version("2.27.7")}, "default:hierarchical all_gather (default from RCCL 2.28.3 on, up to 128 MiB, RCCL_HIERARCHICAL_ALLGATHER): on, off"},
		"a simulation has no settings": {[]change{simulated}, []change{set(flush, "0")}, ""},
		"simulations of two versions":  {[]change{simulated}, []change{simulated, version("2.27.7")}, ""},
		"a library that is not known":  {nil, []change{set(flush, "0"), func(r *record.Record) { r.Source.Libraries = nil }}, ""},
		"cases without times": {nil, []change{set(flush, "0"), func(r *record.Record) {
			r.Results[0].Status, r.Results[1].Status = record.Failed, record.Failed
		}}, ""},
	} {
		settings, defaults := Mixed([]string{"A", "B"}, []*record.Record{of(c.a...), of(c.b...)})
		got, none := settings, defaults
		want, byVersion := strings.CutPrefix(c.want, "default:")
		if byVersion {
			got, none = defaults, settings
		}
		require.Empty(t, none, name)
		if want == "" {
			require.Empty(t, got, name)
			continue
		}
		require.Equal(t, []string{"A and B differ in " + want}, got, name)
	}
}

func TestReports(t *testing.T) {
	of := func(states ...finding.State) *Report {
		var list []Check
		for i, s := range states {
			list = append(list, Check{Check: finding.Check{Name: fmt.Sprintf("any busbw>=%dGB/s", i), State: s, Reason: "because <of \x1b> this"}})
		}
		return NewReport(true, "", list)
	}
	for _, x := range []struct {
		of            []finding.State
		want          finding.State
		code, allowed int
		says          string
	}{
		{nil, finding.NotChecked, exit.Want, exit.OK, "nothing was checked"},
		{[]finding.State{finding.Pass, finding.Pass}, finding.Pass, exit.OK, exit.OK, ""},
		{[]finding.State{finding.Pass, finding.NotChecked}, finding.NotChecked, exit.Want, exit.OK, "1 threshold not checked: any busbw>=1GB/s"},
		{[]finding.State{finding.Fail, finding.NotChecked, finding.Fail}, finding.Fail, exit.Regression, exit.Regression, "2 thresholds missed: any busbw>=0GB/s; any busbw>=2GB/s; 1 threshold not checked: any busbw>=1GB/s"},
		{slices.Repeat([]finding.State{finding.Fail}, namedMost+2), finding.Fail, exit.Regression, exit.Regression, "any busbw>=3GB/s; and 2 more"},
	} {
		r := of(x.of...)
		require.Equal(t, x.want, r.State)
		for allow, want := range map[bool]int{false: x.code, true: x.allowed} {
			code := exit.OK
			if e, ok := errors.AsType[*exit.Error](r.Err(allow)); ok {
				code = e.Code
				require.Contains(t, e.Error(), x.says)
			}
			require.Equal(t, want, code)
		}
		var b bytes.Buffer
		require.NoError(t, r.WriteJSON(&b))
		for _, allow := range []bool{false, true} {
			d := &document.Document{Command: "report", Simulated: true}
			r.AddTo(d, allow)
			text := rendertest.JUnit(t, d)
			var back struct {
				Tests    int `xml:"tests,attr"`
				Failures int `xml:"failures,attr"`
			}
			require.NoError(t, xml.Unmarshal([]byte(text), &back))
			require.Equal(t, len(x.of), back.Tests)
			require.Equal(t, len(x.of) > 0 && r.Err(allow) != nil, back.Failures > 0)
			require.NotContains(t, text, "\x1b")
		}
	}
	require.NoError(t, (*Report)(nil).Err(false))
}
