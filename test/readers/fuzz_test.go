package readers

import (
	"flag"
	"hash/fnv"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/test/mutate"
)

var (
	only   = flag.String("reader", "", "fuzz this reader alone (scripts/fuzz.sh)")
	inputs = flag.Int("inputs", 20, "how many changed texts each reader gets")
	seed   = flag.Uint64("seed", 1, "the seed of the changes")
)

// FuzzReaders holds each reader to what its row says: whatever the text, and whatever happens to a row of a file.
func FuzzReaders(f *testing.F) {
	for _, r := range registry() {
		if *only != "" && r.name != *only {
			continue
		}
		for _, text := range r.seeds(f) {
			f.Add(r.name, text)
		}
	}
	f.Fuzz(func(t *testing.T, name, text string) {
		r, found := named(t, name)
		if !found || *only != "" && name != *only {
			return
		}
		h := fnv.New64a()
		_, _ = h.Write([]byte(text)) // it never fails
		r.hold(t, text, h.Sum64())
	})
}

// hold reads a text, and again with a row wounded, as the draw says.
func (r reader) hold(t *testing.T, text string, draw uint64) string {
	t.Helper()
	whole := r.read(t, text)
	if whole == nil || r.rows == nil {
		return noWound
	}
	rng := mutate.New(draw)
	how := mutate.Wounds()[rng.IntN(len(mutate.Wounds()))]
	if _, blind := r.blind[how]; blind {
		return noWound
	}
	wounded, ok := mutate.Row(rng, text, r.rows, r.figure, how)
	if !ok {
		return noWound
	}
	return r.becomes(t, whole, text, wounded, how)
}

// What became of a wounded row.
const (
	refused = "refused"
	equal   = "equal"
	toldOf  = "named"
	silent  = "silent"
	noWound = "without a row to wound"
)

// becomes fails where figures are others than those of the whole file and nothing says so.
func (r reader) becomes(t *testing.T, whole *reading, text, wounded string, how mutate.Wound) string {
	t.Helper()
	got := r.read(t, wounded)
	switch {
	case got == nil:
		return refused
	case slices.ContainsFunc(got.named, func(name string) bool { return !slices.Contains(whole.named, name) }):
		return toldOf
	}
	if was, is := facts(t, whole.figures), facts(t, got.figures); was != is {
		from, to := differ(text, wounded)
		before, after := differ(was, is)
		t.Errorf("%s, %s: silent nonsense\n  was  %q\n  is   %q\n  read %q\n  read %q\n  named %q, %q", r.name, how, from, to, before, after, whole.named, got.named)
		return silent
	}
	return equal
}

// differ are the first lines that differ, with a part of what follows.
func differ(a, b string) (ofA, ofB string) {
	at := 0
	for at < min(len(a), len(b)) && a[at] == b[at] { // to the first difference
		at++
	}
	at = strings.LastIndexByte(a[:at], '\n') + 1
	return a[at:min(at+300, len(a))], b[at:min(at+300, len(b))]
}

// All readers, on texts that are changed by a seed, and on whole files one of whose rows is wounded: -inputs 20000 by hand.
func TestChangedTexts(t *testing.T) {
	total, count := 0, map[string]int{}
	for _, r := range registry() {
		t.Run(r.name, func(t *testing.T) {
			seeds, rng := r.seeds(t), mutate.New(*seed)
			text := ""
			defer func() {
				if broke := recover(); broke != nil {
					t.Errorf("%v\n%s", broke, debug.Stack())
				}
				if t.Failed() {
					t.Logf("-seed %d, the text %q", *seed, text)
				}
			}()
			for i := range *inputs {
				became := refused
				text = seeds[rng.IntN(len(seeds))]
				if r.rows != nil && i%2 == 0 {
					became = r.hold(t, text, rng.Uint64())
				} else if text = mutate.Bytes(rng, text); r.read(t, text) != nil {
					became = "read"
				}
				count[became]++
				total++
				if t.Failed() {
					return
				}
			}
		})
	}
	for _, what := range slices.Sorted(maps.Keys(count)) {
		t.Logf("%s: %d of %d", what, count[what], total)
	}
}

// Every wound of every row of every seed that is read, by turns: the small files of the registry, whole.
func TestWoundedRows(t *testing.T) {
	for _, r := range registry() {
		if r.rows == nil {
			continue
		}
		t.Run(r.name, func(t *testing.T) {
			wounds, whole := map[mutate.Wound]bool{}, 0
			for i, text := range r.seeds(t) {
				was := r.read(t, text)
				if was == nil {
					continue
				}
				whole++
				for k, how := range mutate.Wounds() {
					if _, blind := r.blind[how]; blind {
						continue
					}
					if wounded, ok := mutate.Row(mutate.New(uint64(100*i+k)), text, r.rows, r.figure, how); ok {
						wounds[how] = true
						r.becomes(t, was, text, wounded, how)
					}
				}
			}
			require.Positive(t, whole, "no seed is read whole: is its format an old one?")
			require.NotEmpty(t, wounds)
		})
	}
}

// A seed of each reader is read, else its changes end at the first look.
func TestSeedsAreRead(t *testing.T) {
	for _, r := range registry() {
		require.True(t, slices.ContainsFunc(r.seeds(t), func(text string) bool { return r.read(t, text) != nil }), r.name)
	}
}
