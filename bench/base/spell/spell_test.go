package spell_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"zbench/bench/base/spell"
	"zbench/bench/hardware/collective"
	"zbench/bench/job/trainer"
	"zbench/bench/work/fabric"
)

// tables are the names that users write, with their aliases.
func tables() map[string][]string {
	all := map[string][]string{
		"fabrics": fabric.Names(), "presets": slices.Concat(trainer.PresetNames(), []string{"zaya1", "zaya1-8b", "moonlight"}),
		"flags": {"nodes", "ngpus", "minbytes", "maxbytes", "max-time", "mem-budget", "out", "op", "seed", "force", "format"},
	}
	for _, c := range collective.All() {
		all["collectives"] = append(append(all["collectives"], c.Name), c.Aliases...)
	}
	for _, d := range collective.Dtypes() {
		all["dtypes"] = append(append(all["dtypes"], d.Name), d.Aliases...)
	}
	for _, o := range collective.Ops() {
		all["ops"] = append(all["ops"], o.Name)
	}
	for _, f := range fabric.Faults() {
		all["faults"] = append(all["faults"], f.Name)
	}
	for _, name := range trainer.Names() {
		t, err := trainer.ByName(name)
		if err != nil {
			panic(err)
		}
		all["trainers"] = append(append(all["trainers"], name), t.Aliases...)
	}
	return all
}

func TestNear(t *testing.T) {
	for _, one := range []struct{ table, given, want string }{
		{"flags", "nodess", "nodes"},
		{"flags", "nodez", "nodes"},
		{"flags", "ndoes", "nodes"},
		{"flags", "NODES", "nodes"},
		{"flags", "max_time", "max-time"},
		{"flags", "maxbites", "maxbytes"},
		{"flags", "form", "format"},
		{"flags", "ot", "out"},
		{"flags", "gremlins", ""},
		{"flags", "m", ""},
		{"flags", "", ""},
		{"collectives", "all_redcue", "all_reduce"},
		{"collectives", "alreduce", "all_reduce"},
		{"collectives", "all-gahter", "all_gather"},
		{"collectives", "reduce_scater", "reduce_scatter"},
		{"collectives", "all_to_some", ""},
		{"collectives", "barrier", ""},
		{"dtypes", "bfloat", "float bfloat16"},
		{"dtypes", "bf61", "bf16"},
		{"dtypes", "flaot", "float"},
		{"dtypes", "fp7", ""},
		{"dtypes", "posit", ""},
		{"ops", "summ", "sum"},
		{"ops", "mean", ""},
		{"ops", "xor", ""},
		{"fabrics", "mi300-8gpu", "mi300x-8gpu"},
		{"fabrics", "mi300x-polara", "mi300x-pollara"},
		{"fabrics", "mi300x", "mi300x-pollara mi300x-8gpu"},
		{"fabrics", "h100", ""},
		{"faults", "slow_lnik", "slow_link"},
		{"faults", "lategpus", "late_gpu"},
		{"faults", "gremlin", ""},
		{"presets", "llama38b", "llama3-8b"},
		{"presets", "llama3-7b", "llama3-8b llama3-70b"},
		{"presets", "llama3", "llama3-8b llama3-70b"},
		{"presets", "Lama-3-70B", "llama3-70b"},
		{"presets", "moonlite", "moonlight"},
		{"presets", "gpt", ""},
		{"trainers", "megatorn", "megatron"}, //nolint:misspell // that is the test
		{"trainers", "deep-sped", "deepspeed"},
		{"trainers", "caffe", ""},
	} {
		got := strings.Join(spell.Near(one.given, tables()[one.table]), " ")
		require.Equal(t, one.want, got, "%s %q", one.table, one.given)
	}
}

func TestKey(t *testing.T) {
	for given, want := range map[string]string{
		"all_reduce": "allreduce", "All-Reduce": "allreduce", " AllReduce ": "allreduce",
		"llama3-8b": "llama3-8b", "Llama-3-8B": "llama3-8b", "llama 3 8b": "llama3-8b", "llama_3__8b": "llama3-8b",
		"llama-38b": "llama38b", "-_ ": "", "": "",
	} {
		require.Equal(t, want, spell.Key(given), given)
	}
}

// A table in which two rows had one key would give the wrong one without a word.
func TestKeysTellNamesApart(t *testing.T) {
	for table, names := range tables() {
		seen := map[string]string{}
		for _, name := range names {
			before, twice := seen[spell.Key(name)]
			require.True(t, !twice || same(table, before, name), "%s: %s and %s", table, before, name)
			seen[spell.Key(name)] = name
		}
	}
}

// same tells whether two spellings are of one row.
func same(table, a, b string) bool {
	switch table {
	case "collectives":
		x, _ := collective.ByName(a)
		y, _ := collective.ByName(b)
		return x.Name == y.Name
	case "dtypes":
		x, _ := collective.DtypeByName(a)
		y, _ := collective.DtypeByName(b)
		return x.Name == y.Name
	case "trainers":
		x, _ := trainer.ByName(a)
		y, _ := trainer.ByName(b)
		return x.Name == y.Name
	}
	return a == b
}

// One slip in a name of four characters or more leads back to it, unless another
// name is as near.
func TestOneSlipIsFound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := tables()[rapid.SampledFrom([]string{"flags", "faults", "presets", "trainers", "fabrics"}).Draw(t, "table")]
		name := rapid.SampledFrom(names).Filter(func(n string) bool { return len(n) > 3 }).Draw(t, "name")
		at := rapid.IntRange(0, len(name)-2).Draw(t, "at")
		var slip string
		switch rapid.IntRange(0, 3).Draw(t, "slip") {
		case 0:
			slip = name[:at] + name[at+1:]
		case 1:
			slip = name[:at] + name[at+1:at+2] + name[at:at+1] + name[at+2:]
		case 2:
			slip = name[:at] + "q" + name[at+1:]
		default:
			slip = name[:at] + "q" + name[at:]
		}
		near := spell.Near(slip, names)
		if !slices.Contains(near, name) {
			require.NotEmpty(t, near, "%s for %s", slip, name)
			require.LessOrEqual(t, slow([]rune(spell.Key(slip)), []rune(spell.Key(near[0]))), 2)
		}
	})
}

// slow is the same distance by its definition.
func slow(a, b []rune) int {
	if len(a) == 0 || len(b) == 0 {
		return len(a) + len(b)
	}
	x, y := a[:len(a)-1], b[:len(b)-1]
	least := min(slow(x, b), slow(a, y)) + 1
	cost := 1
	if a[len(x)] == b[len(y)] {
		cost = 0
	}
	least = min(least, slow(x, y)+cost)
	if len(x) > 0 && len(y) > 0 && a[len(x)] == b[len(y)-1] && a[len(x)-1] == b[len(y)] {
		least = min(least, slow(a[:len(a)-2], b[:len(b)-2])+1)
	}
	return least
}

// A suggestion is as near as the definition says, and none is nearer.
func TestNearestByDefinition(t *testing.T) {
	word := rapid.StringOfN(rapid.SampledFrom([]rune("abc")), 0, 6, -1)
	rapid.Check(t, func(t *rapid.T) {
		given, names := word.Draw(t, "given"), rapid.SliceOfN(word, 1, 3).Draw(t, "names")
		least := 100
		for _, name := range names {
			if d := slow([]rune(given), []rune(name)); d <= min(len(name)/3, 3) {
				least = min(least, d)
			}
		}
		near := spell.Near(given, names)
		for _, name := range near {
			if !strings.HasPrefix(name, given) {
				require.Equal(t, least, slow([]rune(given), []rune(name)))
			}
		}
		require.True(t, least == 100 || len(near) > 0)
	})
}

func TestHint(t *testing.T) {
	require.Equal(t, "otherwise", spell.Hint(nil, "otherwise"))
	require.Equal(t, "did you mean a? otherwise", spell.Hint([]string{"a"}, "otherwise"))
	require.Equal(t, "did you mean a, b or c?", spell.Hint([]string{"a", "b", "c"}, ""))
}

func TestUnknown(t *testing.T) {
	err := &spell.Unknown{Kind: "trainer", Given: "torhc", Valid: []string{"ddp", "xla"}, Aliases: []string{"torch"}}
	require.EqualError(t, err, `unknown trainer "torhc": valid are ddp, xla`)
	require.Equal(t, []string{"torch"}, err.Near())
}

func BenchmarkNear(b *testing.B) {
	names := slices.Concat(tables()["flags"], tables()["collectives"], tables()["faults"])
	for b.Loop() {
		spell.Near("all_redcue", names)
	}
}
