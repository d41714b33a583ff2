package readers

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"zbench/bench/answers/advice"
	"zbench/bench/answers/bisect"
	"zbench/bench/answers/compare"
	"zbench/bench/answers/fleet/history"
	"zbench/bench/answers/fleet/nodescreen"
	"zbench/bench/answers/gate"
	"zbench/bench/answers/soak"
	"zbench/bench/base/jsonfile"
	"zbench/bench/base/plain"
	"zbench/bench/base/spell"
	"zbench/bench/base/unit"
	"zbench/bench/hardware/signs"
	"zbench/bench/job/shell"
	"zbench/bench/job/trainer"
	"zbench/bench/run/record"
	"zbench/bench/run/spec"
	"zbench/bench/show/document"
	"zbench/bench/work/fabric"
	"zbench/bench/work/gemm"
	"zbench/bench/work/muon"
	"zbench/internal/codeobject"
	"zbench/internal/launch"
	"zbench/internal/linux"
	"zbench/internal/ras"
	"zbench/internal/topo"
	"zbench/report"
	"zbench/test/mutate"
	"zbench/test/recordtest"
	"zbench/test/rendertest"
	"zbench/test/seal"
)

var errNone = errors.New("none")

func errorIs(err, is error) bool { return errors.Is(err, is) }

// described are readers of what others have set up: jobs, machines, programs.
var described = []reader{
	{name: "config", files: []string{"bench/job/trainer/testdata/snippet-*.txt"}, read: readConfig},
	{name: "model", read: readModel, rows: regexp.MustCompile(`^[\w."].*\d`)},
	{name: "shell", read: func(t *testing.T, text string) *reading {
		got, err := shell.Read(text, shell.Given{Args: []string{"1", "x"}, Set: map[string]string{"A": "1"}})
		require.LessOrEqual(t, len(got.Commands), 10_000)
		if err != nil {
			return known(t, err, shell.ErrLimit, shell.ErrSyntax)
		}
		return &reading{figures: got.Commands}
	}},
	{name: "signs", read: func(t *testing.T, text string) *reading {
		var r signs.Reader
		for i, line := range strings.Split(text, "\n") {
			r.Take(i+1, line)
		}
		for _, x := range r.Found(true) {
			require.NotEmpty(t, x.Code)
			require.Positive(t, x.Line)
		}
		return &reading{}
	}},
	{name: "fabric", files: []string{"bench/work/fabric/data/mi300x-*.yaml"}, read: readFabric, rows: regexp.MustCompile(`^  [a-z_]+: *\d`), figure: regexp.MustCompile(`^  [a-z_]+: *(\d[^\s#]*)`), blind: map[mutate.Wound]string{
		mutate.Glued: "what goes on behind a comment is a comment",
	}},
	{name: "launcher", files: []string{"testdata/launchers/*"}, read: readLauncher},
	{name: "hostfile", read: func(t *testing.T, text string) *reading {
		hosts, err := launch.ReadHosts(text)
		if err != nil {
			return nil
		}
		require.NotEmpty(t, hosts)
		return &reading{figures: hosts}
	}, rows: regexp.MustCompile(`slots=\d`)},
	{name: "host-list", read: func(t *testing.T, text string) *reading {
		require.Positive(t, launch.Port(text, text, nil))
		hosts, err := launch.HostsOf(text)
		if err != nil {
			return nil
		}
		for _, name := range hosts {
			require.NotEmpty(t, name)
			require.NotContains(t, name, ",")
		}
		return &reading{figures: hosts}
	}},
	{name: "linux", read: readLinux},
	{name: "ras", files: []string{"internal/ras/testdata/*"}, read: func(t *testing.T, text string) *reading {
		w, err := ras.Parse([]byte(text))
		if err != nil {
			return nil
		}
		require.NotContains(t, w.Text(), "\n")
		require.LessOrEqual(t, len(w.Ranks), record.MostWitnessed)
		require.Equal(t, w.State == record.WitnessHealthy, len(w.Ranks) == 0 && w.State != record.WitnessDegraded)
		return &reading{figures: w}
	}},
	{name: "topology", read: func(t *testing.T, text string) *reading {
		n, err := topo.Read(fstest.MapFS{}, topo.Inputs{XML: []byte(text)})
		if err != nil {
			return nil
		}
		showNode(t, n)
		return &reading{}
	}},
	{name: "code-object", files: []string{"internal/codeobject/testdata/hiprtc-5.7.gfx90a", "internal/codeobject/testdata/nvrtc-11.8.sm_90"}, read: func(t *testing.T, text string) *reading {
		object, err := codeobject.Read([]byte(text))
		if err != nil {
			require.Zero(t, object)
			return nil
		}
		return &reading{figures: object}
	}},
}

func readConfig(t *testing.T, text string) *reading {
	c, err := trainer.ReadConfig(text, "")
	if err != nil {
		return known(t, err, trainer.ErrConfig)
	}
	require.Contains(t, trainer.Names(), c.Trainer)
	if n, set := c.Setting([]trainer.Param{{Name: "w", Elements: 1 << 20}}, trainer.Run{DP: 8, GradDtype: "float", ParamDtype: "float"}); set {
		require.GreaterOrEqual(t, n, int64(0))
	}
	return &reading{figures: c}
}

func readModel(t *testing.T, text string) *reading {
	m, err := trainer.ReadModel("p", strings.NewReader(text), nil)
	if err != nil {
		return known(t, err, trainer.ErrParams)
	}
	require.NotEmpty(t, m.Params)
	require.NoError(t, m.Check())
	total, seen := int64(0), map[string]bool{}
	for _, p := range m.Params {
		require.Positive(t, p.Elements+p.Frozen)
		require.False(t, seen[p.Name])
		seen[p.Name] = true
		total += p.Elements
	}
	require.Equal(t, total, m.Total())
	require.LessOrEqual(t, total, int64(trainer.MaxElements))
	return &reading{m.Params, m.Notes}
}

func readFabric(t *testing.T, text string) *reading {
	fab, err := fabric.Parse([]byte(text))
	if err != nil {
		return nil
	}
	m, err := fab.Resolve(spec.World{Nodes: 1, GPUsPerNode: 1, GPUsPerProcess: 1}, fabric.Conditions{Seed: 1})
	require.NoError(t, err)
	require.NotEmpty(t, m.Text())
	return &reading{figures: fab}
}

func readLauncher(t *testing.T, text string) *reading {
	vars := map[string]string{}
	for line := range strings.SplitSeq(text, "\n") {
		if name, value, ok := strings.Cut(line, "="); ok {
			vars[name] = value
		}
	}
	before := maps.Clone(vars)
	r, err := launch.Detect(func(name string) string { return vars[name] })
	require.Equal(t, before, vars)
	switch {
	case err != nil:
		require.Empty(t, r.Kind)
		return nil
	case r.Kind == launch.Rank:
		require.True(t, 0 <= r.Rank && r.Rank < r.Size && r.Local <= r.Rank, "%+v", r)
		require.Positive(t, r.Leader.Port)
	case r.Kind == launch.Parent:
		require.Contains(t, []launch.Method{launch.Slurm, launch.Local}, r.Start)
	default:
		require.Equal(t, launch.Role{Kind: launch.Alone}, r)
	}
	return &reading{figures: r}
}

func readLinux(t *testing.T, text string) *reading {
	if r, ok := linux.ParsePortRange(text); ok {
		require.True(t, 1 <= r.Low && r.Low <= r.High && r.High <= 65535 && r.Count() >= 1, "%+v", r)
	}
	if n, ok := linux.CountCPUs(text); ok {
		require.Positive(t, n)
	}
	if q, ok := linux.Quota(text); ok {
		require.Positive(t, q)
	}
	for _, name := range []string{linux.LockedMemory, linux.OpenFiles} {
		if n, ok := linux.Limit(text, name); ok {
			require.GreaterOrEqual(t, n, int64(-1))
		}
	}
	if a := linux.ParseGID(text); a.IsValid() {
		require.True(t, a.Is6() && a.Zone() == "")
		require.Equal(t, a, linux.ParseGID(a.StringExpanded()))
	}
	require.Contains(t, []int{0, 1, 2}, linux.ParseGIDType(text))
	require.False(t, strings.ContainsAny(linux.StatusField(text, "Name"), "\n"))
	linux.LocksFreely(text)
	if gpu, ok := linux.ParseKFD(text); ok {
		require.True(t, strings.HasPrefix(gpu.Arch, "gfx"))
	}
	return &reading{}
}

func showNode(t *testing.T, n *topo.Node) {
	t.Helper()
	text, err := json.Marshal(n)
	require.NoError(t, err)
	require.True(t, utf8.Valid(text))
	require.NotEmpty(t, n.Verdict)
	for _, g := range n.GPUs {
		a, ok := topo.ParseAddress(g.PCI)
		require.True(t, ok)
		require.Equal(t, g.PCI, a.String())
		require.GreaterOrEqual(t, g.CUs, 0)
	}
	for _, f := range n.Findings {
		require.NotEmpty(t, f.Subject)
		require.True(t, f.Mark == topo.Note || f.Hint != "", f.Code)
	}
	rendertest.Text(t, n.Shown(), 40, true)
}

// own are readers of zbench's own files, which a person may have edited and a disk damaged.
var own = []reader{
	{name: "record", read: readRecord},
	{name: "journal", read: readJournal},
	{name: "spec", read: readSpec},
	{name: "bisect", read: func(t *testing.T, text string) *reading {
		h, entries, err := bisect.ReadJournal([]byte(text))
		if err != nil {
			return nil
		}
		require.NotEmpty(t, h.Cases)
		return &reading{figures: []any{h, entries}}
	}, rows: regexp.MustCompile(`\d`)},
	{name: "soak", read: func(t *testing.T, text string) *reading {
		h, attempts, err := soak.ReadJournal([]byte(text))
		if err != nil {
			return nil
		}
		require.NotNil(t, h.Spec.Sweep)
		return &reading{figures: []any{h, attempts}}
	}, rows: regexp.MustCompile(`\d`)},
	{name: "advice", read: func(t *testing.T, text string) *reading {
		d, err := advice.Read(strings.NewReader(text))
		if err != nil {
			return nil
		}
		for _, write := range []func() error{
			func() error { return report.WriteText(&bytes.Buffer{}, adviceShown(d), report.Screen{Width: 112}) },
			func() error { return report.WriteMarkdown(&bytes.Buffer{}, adviceShown(d)) },
		} {
			require.NoError(t, write())
		}
		_ = d.Floor()
		return &reading{figures: d}
	}},
	{name: "node", read: func(t *testing.T, text string) *reading {
		n, err := nodescreen.ReadNode([]byte(text))
		if err != nil {
			return nil
		}
		figures := facts(t, n)
		d := nodescreen.Judge(nodescreen.Fleet{Nodes: []*nodescreen.Node{n}})
		require.Equal(t, 1, len(d.Pass)+len(d.Fail)+len(d.Unclear))
		require.NoError(t, d.WriteJSON(&bytes.Buffer{}))
		rendertest.Text(t, d.Shown("v1"), 80, true)
		return &reading{figures: figures}
	}},
	{name: "topo-node", read: readDrift},
	{name: "history", read: readHistory},
}

// readHistory seals a text again: else its checksum would refuse all changes before anything is read.
func readHistory(t *testing.T, text string) *reading {
	var fields map[string]any
	if json.Unmarshal([]byte(text), &fields) == nil && len(fields) > 1 {
		delete(fields, "sha256")
		var sealed bytes.Buffer
		require.NoError(t, jsonfile.Write(&sealed, "history", fields))
		text = sealed.String()
	}
	m, err := history.Read([]byte(text), "a")
	if err != nil {
		return nil
	}
	figures := facts(t, m)
	m.Begin(m.Last, map[string]string{"amdgpu": "6.12"})
	m.Add(m.Last, []history.Figure{{Kind: "memory", Subject: "GPU 0", Rate: 1}})
	m.Grown("boot", []history.Counter{{Subject: "GPU 0", Name: "ras/umc/ce", Value: 1}})
	for range 2 * history.Separate {
		require.LessOrEqual(t, m.Again("x"), history.Separate)
	}
	m.Declines()
	once := &bytes.Buffer{}
	require.NoError(t, m.WriteJSON(once))
	_, err = history.Read(once.Bytes(), "a")
	require.NoError(t, err)
	return &reading{figures: figures}
}

func readRecord(t *testing.T, text string) *reading {
	rec, err := record.Decode(strings.NewReader(text))
	if err != nil {
		return nil
	}
	once := encoded(t, rec)
	back, err := record.Decode(strings.NewReader(once))
	require.NoError(t, err)
	require.Equal(t, once, encoded(t, back))
	return &reading{figures: once}
}

func encoded(t *testing.T, rec *record.Record) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, rec.WriteJSON(&b))
	return b.String()
}

func readJournal(t *testing.T, text string) *reading {
	j, err := record.ReadJournal([]byte(seal.Of(text))) // else no change gets behind the checksums
	if err != nil {
		return nil
	}
	rec := j.Record()
	_, err = record.Decode(strings.NewReader(encoded(t, rec)))
	require.NoError(t, err)
	lines, err := j.Text()
	require.NoError(t, err)
	again, err := record.ReadJournal(lines)
	require.NoError(t, err)
	again.Truncated = j.Truncated
	require.Equal(t, encoded(t, rec), encoded(t, again.Record()))
	require.NoError(t, record.WriteSamples(&bytes.Buffer{}, &bytes.Buffer{}, rec, j.Parts))
	return &reading{figures: encoded(t, rec)}
}

func readSpec(t *testing.T, text string) *reading {
	s, err := spec.Read([]byte(text))
	if err != nil {
		return nil
	}
	_ = s.Advice.Line()
	once := facts(t, s)
	back, err := spec.Read([]byte(once))
	require.NoError(t, err)
	require.Equal(t, once, facts(t, back))
	return &reading{figures: once}
}

// readDrift reads the files of two nodes and compares them.
func readDrift(t *testing.T, text string) *reading {
	p := parts(text, 2)
	x, errX := topo.Load([]byte(p[0]))
	y, errY := topo.Load([]byte(p[1]))
	if errX != nil || errY != nil {
		return nil
	}
	x.Host, y.Host = "a", "b"
	z := *y
	z.Host = "c"
	d, err := topo.Compare([]*topo.Node{x, y, &z})
	require.NoError(t, err)
	rendertest.Text(t, d.Shown(), 40, true)
	rendertest.Markdown(t, d.Shown())
	rendertest.Text(t, x.Shown(), 40, true)
	return &reading{figures: x}
}

// words are readers of what a user types: a size, a shape, a threshold.
var words = []reader{
	word("bytes", unit.ParseBytes, unit.ErrSize, func(t *testing.T, text string, n int64) int64 {
		require.GreaterOrEqual(t, n, int64(0))
		require.LessOrEqual(t, n, int64(math.MaxInt64/2))
		require.NotContains(t, text, "-")
		again, err := unit.ParseBytes(strconv.FormatInt(n, 10))
		require.NoError(t, err)
		return again
	}),
	word("count", unit.ParseCount, unit.ErrCount, func(t *testing.T, _ string, n int64) int64 {
		require.GreaterOrEqual(t, n, int64(0))
		again, err := unit.ParseCount(strconv.FormatInt(n, 10))
		require.NoError(t, err)
		return again
	}),
	word("gemm-shape", gemm.ParseShape, nil, func(t *testing.T, _ string, s gemm.Shape) gemm.Shape {
		gemm.Best(s, 304)
		again, err := gemm.ParseShape(s.String())
		require.NoError(t, err)
		return again
	}),
	word("muon-shape", muon.ParseShape, nil, func(t *testing.T, _ string, s muon.Shape) muon.Shape {
		require.NoError(t, s.Check())
		again, err := muon.ParseShape(s.String())
		require.NoError(t, err)
		return again
	}),
	word("contention", spec.ParseContention, nil, func(t *testing.T, text string, c *spec.Contention) *spec.Contention {
		require.True(t, c.Compute >= 0 && c.Compute <= 10 && c.Messages >= 0.5 && c.Messages <= 10, text)
		return c
	}),
	word("fail-on", compare.ParseFailOn, nil, func(t *testing.T, text string, x *compare.FailOn) *compare.FailOn {
		require.True(t, x.Least >= 0 && x.Least <= 10, text)
		again, err := compare.ParseFailOn(x.Text)
		require.NoError(t, err)
		return again
	}),
	word("threshold", func(text string) (*gate.Threshold, error) { return gate.Parse(text, "triad") }, nil, func(t *testing.T, _ string, th *gate.Threshold) *gate.Threshold {
		again, err := gate.Parse(th.Text, "triad")
		require.NoError(t, err)
		r := recordtest.Sweep(4)
		require.Equal(t, gate.Evaluate(r, []*gate.Threshold{th}), gate.Evaluate(r, []*gate.Threshold{again}))
		require.Equal(t, th.Text, again.Text)
		return th
	}),
	word("address", func(text string) (topo.Address, error) {
		a, ok := topo.ParseAddress(text)
		if !ok {
			return a, errNone
		}
		return a, nil
	}, nil, func(t *testing.T, _ string, a topo.Address) topo.Address {
		again, ok := topo.ParseAddress(a.String())
		require.True(t, ok)
		return again
	}),
	{name: "spell", read: func(t *testing.T, text string) *reading {
		for _, names := range [][]string{fabric.Names(), trainer.PresetNames(), {"nodes", "ngpus", "minbytes", "maxbytes", "out", "op", "seed"}} {
			near := spell.Near(text, names)
			require.LessOrEqual(t, len(near), 3)
			require.Subset(t, names, near)
			if name, ok := spell.Match(names, text); ok {
				require.Equal(t, spell.Key(text), spell.Key(name))
			}
		}
		require.True(t, utf8.ValidString(spell.Key(text)))
		return &reading{}
	}},
	{name: "plain", read: readPlain},
}

// word is a reader whose value is the same when it is written and read again.
func word[T any](name string, read func(string) (T, error), refusal error, again func(t *testing.T, text string, v T) T) reader {
	return reader{name: name, read: func(t *testing.T, text string) *reading {
		v, err := read(text)
		if err != nil {
			if refusal != nil {
				require.ErrorIs(t, err, refusal)
				require.Zero(t, v)
			}
			return nil
		}
		require.Equal(t, v, again(t, text, v))
		return &reading{figures: v}
	}}
}

func readPlain(t *testing.T, s string) *reading {
	out := plain.Text(s)
	require.True(t, utf8.ValidString(out))
	for _, r := range out {
		require.False(t, unicode.IsControl(r) && r != '\n' && r != '\t', "%q", out)
		require.False(t, unicode.Is(unicode.Bidi_Control, r), "%q", out)
	}
	require.Equal(t, out, plain.Text(out))
	doc, err := json.Marshal(s)
	require.NoError(t, err)
	var was, is string
	require.NoError(t, json.Unmarshal(doc, &was))
	require.NoError(t, json.Unmarshal([]byte(plain.Text(string(doc))), &is))
	require.Equal(t, was, is)
	cell := plain.Cell(s)
	require.True(t, strings.HasSuffix(cell, s))
	require.False(t, cell != "" && strings.ContainsAny(cell[:1], "=@\t\r\n"), "%q", cell)
	return &reading{}
}

func adviceShown(d *advice.Document) *document.Document {
	out := &document.Document{Beneath: true}
	out.Add("advice", "", advice.Blocks(d, "")...).Show(document.Everywhere)
	return out
}
