package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/exit"
	"zbench/bench/engine"
	"zbench/test/longtest"
	"zbench/test/project"
	"zbench/test/schema"
)

// schemaCheck is the executable of test/fits.
type schemaCheck string

func newSchemaCheck(t *testing.T) schemaCheck {
	t.Helper()
	dir := t.TempDir()
	out, err := exec.Command("go", "build", "-o", dir, "zbench/test/fits").CombinedOutput() //nolint:gosec // its own folder
	require.NoError(t, err, "%s", out)
	return schemaCheck(filepath.Join(dir, "fits"))
}

// fits holds a document to the schema of a file.
func (c schemaCheck) fits(t *testing.T, schema, document, about string) {
	t.Helper()
	c.all(t, 1, schema, document, about)
}

// lines holds each line, which is a document, to the schema of a file.
func (c schemaCheck) lines(t *testing.T, schema, documents, about string) {
	t.Helper()
	c.all(t, strings.Count(documents, "\n"), schema, documents, about)
}

func (c schemaCheck) all(t *testing.T, n int, schema, documents, about string) {
	t.Helper()
	cmd := exec.Command(string(c), schema, strconv.Itoa(n)) //nolint:gosec // the test built it
	cmd.Stdin = strings.NewReader(documents)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s: %s", about, out)
}

// committed are the files of the schemas by the version that they state; those of a
// journal's lines, which state none, have the name of the journal.
func committed(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, d := range schema.Documents {
		file := filepath.Join("../..", d.File)
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		var s struct {
			Properties struct {
				Schema struct{ Const string }
			}
		}
		require.NoError(t, json.Unmarshal(text, &s))
		name := s.Properties.Schema.Const
		if d.Journal {
			name = map[string]string{"bench/run/record/schema/journal-v3.json": engine.JournalFile, "bench/answers/bisect/schema/journal-v1.json": bisectJournalFile, "bench/answers/soak/schema/journal-v1.json": soakJournal, "bench/answers/suite/schema/journal-v1.json": suiteJournal}[d.File]
		}
		require.NotEmpty(t, name, d.File)
		all[name] = file
	}
	return all
}

// Whatever a command writes as JSON states a version, and fits its schema.
func TestLongWrittenFilesFitTheirSchemas(t *testing.T) {
	longtest.OnlyOrDetected(t)
	besideScripts(t)
	check, schemas, met, before := newSchemaCheck(t), committed(t), map[string]bool{}, ""
	fits := func(line, text string) {
		t.Helper()
		var head struct{ Schema string }
		require.NoError(t, json.Unmarshal([]byte(text), &head), line)
		require.NotEmpty(t, schemas[head.Schema], "%s: %q has no schema: add it to schema.Documents", line, head.Schema)
		check.fits(t, schemas[head.Schema], text, line)
		met[head.Schema] = true
	}
	lines := func(folder, journal string) {
		t.Helper()
		check.lines(t, schemas[journal], readBytes(t, folder, journal), journal)
		met[journal] = true
	}
	for _, line := range []string{
		"collectives --nodes 2 --gpus-per-node 4 -b 64K -e 4G -f 16 --keep-samples --groups 4 --framework ddp --preset llama3-8b --step-ms 300 --accept mi300x-1node --allow-unchecked -q",
		"collectives all_reduce --nodes 2 --gpus-per-node 4 -b 1M -e 1M --seed 2 -q",
		"collectives all_reduce --nodes 2 --fault hang:node=1,gpu=3,bytes=1e6,launch=2 -b 1M -e 1M -q",
		"hbm --backend loopback --size 64K --max-time 0.005 --kernels copy --dtype float32 --peak 100",
		"hbm --backend loopback --size 64K --max-time 0.005 --kernels dot --dtype float32 --tune",
		"kernels rmsnorm --backend loopback --rows 2 --hidden 64",
		"kernels muon --backend loopback --shape 20x30",
		"gemm --backend loopback --mnk 300x200x100,64x64x64/NT --dtype bf16,fp8",
		"rails --nodes 4 --gpus-per-node 4 -q",
		"soak --nodes 2 --gpus-per-node 2 --sizes 64K --attempts 20 -q",
		"screen --backend loopback --nodes 2 -q",
		"suite testdata/suite.yaml --backend loopback --nodes 2 -q",
		"watch --root " + t.TempDir() + " --state " + t.TempDir() + " -q",
	} {
		code := exit.OK
		switch {
		case strings.Contains(line, "hang"):
			code = exit.Run
		case strings.HasPrefix(line, "suite"): // there is no earlier one to compare with
			code = exit.Want
		}
		_, _, folder := onHost(t, hosts[0], 0, code, line)
		files, err := filepath.Glob(filepath.Join(folder, "*.json"))
		require.NoError(t, err)
		require.NotEmpty(t, files)
		nodes, err := filepath.Glob(filepath.Join(folder, "nodes", "*.json"))
		require.NoError(t, err)
		for _, file := range append(files, nodes...) {
			fits(line+": "+filepath.Base(file), readBytes(t, file))
		}
		if strings.HasPrefix(line, "soak") {
			lines(folder, soakJournal)
		}
		if strings.HasPrefix(line, "suite") {
			lines(folder, suiteJournal)
		}
		if strings.HasPrefix(line, "collectives") {
			lines(folder, engine.JournalFile)
			if code == exit.OK && before != "" {
				out, _, _ := onHost(t, hosts[0], 0, exit.OK, "compare "+before+" "+folder+" --format json")
				fits("compare", out)
			}
			if before == "" {
				out, _, _ := onHost(t, hosts[0], 0, exit.OK, "replay "+folder+" --framework ddp --preset llama3-8b --step-ms 300 --compute triad -q --format json")
				fits("replay", out)
			}
			before = folder
		}
	}
	for _, line := range []string{"doctor --backend loopback --format json", "import " + project.File(t, "testdata/logs/algo_proto.log") + " --format json --out " + t.TempDir(), "trace testdata/rank0.json --format json"} {
		out, _, _ := onHost(t, hosts[0], 0, exit.OK, line)
		fits(line, out)
	}
	out, _, _ := onHost(t, hosts[0], 0, exit.Unavailable, "topo --format json")
	fits("topo", out)
	other, _, _ := onHost(t, hosts[1], 0, exit.Unavailable, "topo --format json")
	nodes := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(nodes, "a.json"), []byte(out), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(nodes, "b.json"), []byte(other), 0o644))
	drift, _, _ := onHost(t, hosts[0], 0, exit.OK, "topo "+filepath.Join(nodes, "a.json")+" "+filepath.Join(nodes, "b.json")+" --format json")
	fits("topo of two nodes", drift)
	folder := filepath.Join(t.TempDir(), "bisect")
	s, found, _, _ := bisectState(t, nil, bisected(folder, "--format", "json", "--fail-on", "slower")...)
	require.Equal(t, exit.Regression, Main(t.Context(), s))
	fits("bisect", found.String())
	lines(folder, bisectJournalFile)
	for name := range schemas {
		require.True(t, met[name], "no command wrote %q", name)
	}
	require.Len(t, schemas, len(schema.Documents), "two documents state one version")
}
