package trainer_test

import (
	"encoding/json"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/job/trainer"
)

// snippets is a file to write every printed text to; scripts/trainer-snippets.py feeds it
// to the trainers' own parsers and rewrites testdata/parsers.json.
var snippets = flag.String("snippets", "", "write every printed text to this file")

// printed is a text that zbench can print.
type printed struct {
	Trainer string `json:"trainer"`
	trainer.Snippet
}

// everyText is what zbench prints, over all that a form depends on.
func everyText(t *testing.T) []printed {
	t.Helper()
	var all []printed
	seen := map[string]bool{}
	for _, name := range trainer.Names() {
		tr, err := trainer.ByName(name)
		require.NoError(t, err)
		for _, run := range everyRun(tr) {
			s := trainer.Spelling{Setting: 3 << 20 / tr.Step(3<<20, run) * tr.Step(3<<20, run), Params: blocksOf(4), Run: run, Curve: "0123456789abcdef"}
			for _, n := range tr.Snippets(s) {
				if !seen[n.Title+n.Text] {
					seen[n.Title+n.Text] = true
					all = append(all, printed{name, n})
				}
			}
		}
	}
	return all
}

// everyRun is a run for each stage, pair of types and set of switches.
func everyRun(tr trainer.Trainer) []trainer.Run {
	var all []trainer.Run
	for _, zero := range tr.Stages {
		for _, types := range [][2]string{{"bfloat16", "float"}, {"bfloat16", "bfloat16"}, {"half", "half"}, {"half", "float"}} {
			for bits := range 64 {
				on := func(bit int) bool { return bits>>bit&1 == 1 }
				r := trainer.Run{
					DP: 16, Zero: zero, ParamDtype: types[0], GradDtype: types[1],
					NoOverlap: on(0), NoGatherOverlap: on(1), PadBuckets: on(2), KeepParams: on(3), RootUnit: on(4),
				}
				if on(5) {
					r.EP, r.Accum = 2, 2
					r.FP8Gather, r.FP32Accumulation = on(3), on(4)
				}
				if on(4) && !on(5) && zero == 1 {
					r.LayerWise, r.LegacyLayout = tr.LayerWise, tr.LayerWise && on(3)
				}
				if tr.Check(r) == nil {
					all = append(all, r)
				}
			}
		}
	}
	return all
}

// taken is how the keys of a form stand in its text.
var taken = map[string]*regexp.Regexp{
	"Megatron-LM arguments":     regexp.MustCompile(`(?m)^    --([a-z0-9-]+)`),
	"Primus YAML":               regexp.MustCompile(`(?m)^      ([a-z0-9_]+):`),
	"Megatron-Bridge overrides": regexp.MustCompile(`(?m)^([a-z0-9_.]+)=`),
	"DeepSpeed JSON":            regexp.MustCompile(`"([a-z0-9_]+)":`),
	"PyTorch DDP":               regexp.MustCompile(`(?m)^    ([a-z_]+)=`),
	"Accelerate":                regexp.MustCompile(`[(, ]([a-z_]+)=[0-9T]`),
	"Hugging Face Trainer":      regexp.MustCompile(`[(, ]([a-z_]+)=[0-9]`),
	"Lightning":                 regexp.MustCompile(`[(, ]([a-z_]+)=[0-9T]`),
	"PyTorch FSDP2":             regexp.MustCompile(`[(, ](mesh|mp_policy|reshard_after_forward)=`),
	"torchtitan":                regexp.MustCompile(`[(, ](reshard_after_forward)=`),
	"XLA_FLAGS":                 regexp.MustCompile(`--(xla_gpu_[a-z_]+)=`),
}

// typeOf is the type of the value that stands behind a key, as parsers.json names it. Any is empty.
func typeOf(behind string) string {
	value, _, _ := strings.Cut(strings.TrimLeft(behind, "\":= "), "\n")
	switch {
	case strings.HasPrefix(behind, "\n"):
		return "flag"
	case regexp.MustCompile(`^[0-9]+([^0-9.]|$)`).MatchString(value):
		return "int"
	case regexp.MustCompile(`^(?i)(true|false)\b`).MatchString(value):
		return "bool"
	case strings.HasPrefix(value, "{"):
		return "dict"
	}
	return ""
}

// Every key that is printed is one that the trainer's own parser took, at the commit that
// testdata/parsers.json names; it was recorded by scripts/trainer-snippets.py.
func TestPrintedKeysAreTheParsers(t *testing.T) {
	texts := everyText(t)
	if *snippets != "" {
		file, err := json.Marshal(texts)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(*snippets, file, 0o600))
	}
	recorded := map[string]struct {
		Source string            `json:"source"`
		Keys   map[string]string `json:"keys"`
	}{}
	file, err := os.ReadFile(filepath.Join("testdata", "parsers.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(file, &recorded))
	printedKeys := map[string]map[string]bool{}
	for _, x := range texts {
		require.Contains(t, taken, x.Title)
		known, has := recorded[x.Title]
		require.True(t, has, "%s: run scripts/trainer-snippets.py", x.Title)
		require.NotEmpty(t, known.Source)
		var code []string
		for line := range strings.Lines(x.Text) {
			if !strings.HasPrefix(strings.TrimSpace(line), "#") {
				code = append(code, line)
			}
		}
		body := strings.Join(code, "")
		found := taken[x.Title].FindAllStringSubmatchIndex(body, -1)
		require.NotEmpty(t, found, x.Text)
		for _, m := range found {
			key := body[m[2]:m[3]]
			require.Contains(t, known.Keys, key, "%s does not take it:\n%s", x.Title, x.Text)
			if kind := typeOf(body[m[3]:]); kind != "" && known.Keys[key] != "object" {
				require.Equal(t, known.Keys[key], kind, "%s: the type of %s:\n%s", x.Title, key, x.Text)
			}
			if printedKeys[x.Title] == nil {
				printedKeys[x.Title] = map[string]bool{}
			}
			printedKeys[x.Title][key] = true
		}
	}
	for title, known := range recorded {
		require.ElementsMatch(t, slices.Collect(maps.Keys(known.Keys)), slices.Collect(maps.Keys(printedKeys[title])), "%s: keys that are no longer printed, or new ones", title)
	}
}
