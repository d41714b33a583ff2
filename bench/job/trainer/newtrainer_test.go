package trainer_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"zbench/bench/answers/advice"
	"zbench/bench/answers/recommend"
	"zbench/bench/base/stat"
	"zbench/bench/job/trainer"
	"zbench/bench/run/record"
)

// measured is a curve of all_reduce of so many ranks: 0.2 ms and 300 GB/s.
func measured(ranks int) *record.Record {
	rec := &record.Record{Schema: record.Schema, Created: time.Unix(0, 0), Source: record.Source{Kind: record.Measured}}
	for size := int64(64 << 10); size <= 16<<30; size *= 2 {
		samples := make([]float64, 12)
		for i := range samples {
			samples[i] = (2e-4 + float64(size)/300e9) * (1 + 0.002*float64(i%3))
		}
		rec.Results = append(rec.Results, record.Result{
			Case: record.Case{Key: record.Key("all_reduce", "float", "sum", size, ranks, 1, true), Status: record.OK}, Collective: "all_reduce", Dtype: "float", Op: "sum", InPlace: true,
			Bytes: size, BytesRequested: size, Ranks: ranks, Nodes: ranks / 8, GPUsPerProcess: 1, Groups: 1,
			Isolated: &record.Timing{Iterations: 1, MaxOfRanks: stat.Summarize(samples)},
		})
	}
	return rec
}

// A trainer that is registered by one file goes the whole way: it is listed and found,
// its rule cuts, its settings are read, an answer is written in its own words, and
// what is written reads back to that answer.
func TestANewTrainerIsOneFile(t *testing.T) {
	trainer.Register(t, trainer.MadeUp)
	require.Equal(t, "madeup", trainer.Names()[len(trainer.Names())-1])
	x, err := trainer.ByName("MU")
	require.NoError(t, err)
	require.Contains(t, trainer.Reads(), "Made-Up YAML")
	_, err = trainer.ReadConfig("just some words", "")
	require.ErrorContains(t, err, ", nor Made-Up's fuse_mib")
	require.Contains(t, needs(), "|madeup, ")

	run := trainer.Run{DP: 64, GradDtype: "bfloat16", ParamDtype: "bfloat16"}
	require.Len(t, x.Plan(blocksOf(8), 1<<23, run).Buckets, 5)

	ask := func(text string) *advice.Document {
		c, err := trainer.ReadConfig(text, "")
		require.NoError(t, err)
		require.Equal(t, "madeup", c.Trainer)
		in := advice.Input{Sources: []recommend.Source{{Record: measured(64)}}, Framework: "mu", Config: c, ConfigFile: "mu.yaml", Run: run}
		c.Apply(&in.Run)
		in.Model, err = trainer.Preset("llama3-8b")
		require.NoError(t, err)
		in.Compute, err = trainer.ComputeTimed(0.1, 0.05)
		require.NoError(t, err)
		d, err := advice.Recommend(in)
		require.NoError(t, err)
		require.Equal(t, recommend.Recommended, d.Answer.Verdict)
		return d
	}
	d := ask("fuse_mib: 4\nfuse_quietly: true\n")
	require.Regexp(t, `^Set fuse_mib to \d+ MiB \(178 M elements\) and set fuse_overlap\. `, d.Sentence)
	require.Equal(t, []string{"quietly"}, d.Config.Notes)
	require.Equal(t, "fuse_overlap", d.Answer.Changes[1].Name)
	require.True(t, slices.ContainsFunc(d.Answer.WouldHelp, func(h recommend.Help) bool { return h.Code == "fewer_tokens" }))
	require.Len(t, d.Snippets, 1)
	require.Contains(t, d.Snippets[0].Text, "# new or changed against mu.yaml: fuse_mib, fuse_overlap\n")

	again := ask(d.Snippets[0].Text)
	require.Equal(t, d.Answer.Elements, again.Answer.Current.Elements)
	require.InEpsilon(t, d.Answer.Best.Step, again.Answer.Current.Step, 1e-9)
	require.True(t, strings.HasPrefix(again.Sentence, "Keep "), again.Sentence)
	require.Contains(t, again.Snippets[0].Text, "# nothing new: mu.yaml has all of this\n")
}

// needs is what a bucket size is said to take.
func needs() string {
	var all []string
	for _, n := range recommend.KneesOf(measured(64)).Needs {
		all = append(all, n.How)
	}
	return strings.Join(all, "\n")
}

// No file names a trainer but its own: those of this package that begin with its name.
// The experiments ask about trainers of their choice.
func TestNoOtherFileNamesATrainer(t *testing.T) {
	names := trainer.Names()
	listed := regexp.MustCompile(`\b(` + strings.Join(names, "|") + `)\b`)
	files := 0
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		switch rel := filepath.ToSlash(strings.TrimPrefix(path, "../../")); {
		case err != nil:
			return err
		case d.IsDir() && (rel == "test/experiments" || d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".git")):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(rel, ".go") || strings.HasSuffix(rel, "_test.go"):
			return nil
		}
		files++
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		own := func(name string) bool {
			return filepath.Base(filepath.Dir(path)) == "trainer" && strings.HasPrefix(d.Name(), name)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if lit, is := n.(*ast.BasicLit); is && lit.Kind == token.STRING {
				text, err := strconv.Unquote(lit.Value)
				require.NoError(t, err)
				require.False(t, slices.Contains(names, text) && !own(text), "%s: %s", path, lit.Value)
				found := listed.FindAllString(text, -1)
				slices.Sort(found)
				require.Less(t, len(slices.Compact(found)), 3, "%s lists trainers: %s", path, lit.Value)
			}
			return true
		})
		return nil
	})
	require.NoError(t, err)
	require.Greater(t, files, 100)
}
