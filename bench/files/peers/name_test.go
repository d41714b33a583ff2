package peers

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/slice"
	"zbench/bench/hardware/collective"
	"zbench/test/project"
)

// shownAs is what a program prints of its collective beside the values: operator,
// root, and the number of ranks that share its size. It is written after the
// programs' sources (TimeTest in nccl-tests 2.19.6), not after the table of
// collectives.
var shownAs = map[string]struct {
	op, root string
	shared   bool
	factor   func(n float64) float64
	// inPlace is false where data are not checked in place.
	inPlace bool
}{
	"all_reduce":     {"sum", "-1", false, func(n float64) float64 { return 2 * (n - 1) / n }, true},
	"reduce_scatter": {"sum", "-1", true, func(n float64) float64 { return (n - 1) / n }, true},
	"all_gather":     {"none", "-1", true, func(n float64) float64 { return (n - 1) / n }, true},
	"broadcast":      {"none", "0", false, func(float64) float64 { return 1 }, true},
	"reduce":         {"sum", "0", false, func(float64) float64 { return 1 }, true},
	"all_to_all":     {"none", "-1", true, func(n float64) float64 { return (n - 1) / n }, false},
	"send_recv":      {"sum", "-1", false, func(float64) float64 { return 1 }, false},
	"gather":         {"none", "0", true, func(n float64) float64 { return (n - 1) / n }, true},
	"scatter":        {"none", "0", true, func(n float64) float64 { return (n - 1) / n }, true},
}

const bothPlaces = `#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
`

// rowsOf prints the rows of a collective at the given sizes; slow multiplies the
// times.
func rowsOf(name string, ranks int, slow float64, sizes ...int64) string {
	is := shownAs[name]
	var b strings.Builder
	for _, size := range sizes {
		count := size / 4
		if is.shared {
			count /= int64(ranks)
		}
		fmt.Fprintf(&b, "%12d  %12d  %8s  %6s  %6s", size, count, "float", is.op, is.root)
		for place := range 2 {
			us := slow * (20 + float64(size)/(2e5+1e3*float64(place)))
			alg := float64(size) / us / 1e3
			wrong := "0"
			if place == 1 && !is.inPlace {
				wrong = "N/A"
			}
			fmt.Fprintf(&b, "  %7s  %6.2f  %6.2f  %5s", field(us, 7), alg, alg*is.factor(float64(ranks)), wrong)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// largeSizes are sizes whose bandwidths are printed with digits that tell.
var largeSizes = []int64{1 << 20, 16 << 20, 256 << 20, 4 << 30}

// alike reports whether the rows of two collectives look the same.
func alike(a, b string, ranks int) bool {
	x, y := shownAs[a], shownAs[b]
	return x.op == y.op && x.root == y.root && x.factor(float64(ranks)) == y.factor(float64(ranks))
}

// Whoever names a collective, and however wrongly, rows are recorded as what they
// are or not at all.
func TestRowsVetoNames(t *testing.T) {
	program := func(name string) string { return name + "_perf -b 1M -e 4G" }
	for truth := range shownAs {
		for claimed := range shownAs {
			for _, ranks := range []int{2, 8, 64} {
				rows := bothPlaces + rowsOf(truth, ranks, 1, largeSizes...)
				for by, log := range map[string]string{
					"a command": program(claimed) + "\n" + rows,
					"a start":   "# Collective test starting: " + claimed + "_perf\n" + rows,
					"an end":    rows + "# Collective test concluded: " + claimed + "_perf\n",
					"option":    rows,
					"file":      rows,
				} {
					o := Hints{}
					switch by {
					case "option":
						o.Collective = claimed
					case "file":
						o.File = claimed + ".log"
					}
					rec, err := Parse(strings.NewReader(log), o)
					if err != nil {
						require.ErrorIs(t, err, ErrCollective, log)
						require.NotEqual(t, truth, claimed, "%s by %s on %d ranks: %v", claimed, by, ranks, err)
						continue
					}
					for _, r := range rec.Results {
						require.True(t, r.Collective == truth || r.Collective == claimed && alike(truth, claimed, ranks),
							"%s of %d ranks, called %s by %s, is read as %s", truth, ranks, claimed, by, r.Collective)
						require.Contains(t, []int{0, ranks}, r.Ranks)
					}
					require.Len(t, rec.Results, 2*len(largeSizes))
				}
			}
		}
	}
}

// A name is that of the table whose header follows it, and of no later one, where
// the first table lacks its footer, too.
func TestNoNameCrossesAHeader(t *testing.T) {
	for first := range shownAs {
		for second := range shownAs {
			log := first + "_perf -b 1M\n" + bothPlaces + rowsOf(first, 8, 1, largeSizes...) + bothPlaces + rowsOf(second, 8, 1, 2<<20, 32<<20, 512<<20)
			rec, err := Parse(strings.NewReader(log), Hints{})
			require.NoError(t, err, log)
			sizes := map[string]int{}
			for _, r := range rec.Results {
				sizes[r.Collective]++
			}
			require.Contains(t, []int{8, 14}, len(rec.Results))
			if first != second {
				require.Equal(t, 8, sizes[first], "%s then %s", first, second)
				require.Contains(t, []int{0, 6}, sizes[second], "%s then %s: %v", first, second, sizes)
			}
			if len(rec.Results) == 8 {
				require.Contains(t, rec.Source.Imports[0].Skipped[0].Reason, "pass --collective")
			}
		}
	}
}

// Where rows of two collectives look alike, the option decides, and only between
// those.
func TestTheOptionDecidesBetweenLookalikes(t *testing.T) {
	log := strings.ReplaceAll(bothPlaces+rowsOf("all_gather", 8, 1, largeSizes...), "      0", "    N/A")
	alike := slice.Where(collective.All(), func(c collective.Collective) bool {
		return !c.Reduces && !c.Rooted && divides(c) && c.BusFactor(8) == 7.0/8
	})
	names := slice.Map(alike, func(c collective.Collective) string { return c.Name })
	require.Subset(t, names, []string{"all_gather", "all_to_all"})
	_, err := Parse(strings.NewReader(log), Hints{})
	require.ErrorIs(t, err, ErrCollective)
	require.ErrorContains(t, err, strings.Join(names, " or ")+"; pass --collective")
	for _, c := range collective.Names() {
		rec, err := Parse(strings.NewReader(log), Hints{Collective: c})
		if slices.Contains(names, c) {
			require.NoError(t, err)
			require.Equal(t, c, rec.Results[0].Collective)
			require.Equal(t, 8, rec.Results[0].Ranks)
			continue
		}
		require.ErrorIs(t, err, ErrCollective, c)
	}
}

// sharedCase returns one of the published inputs that were read wrongly.
func sharedCase(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(project.Published(t, "cases"), name))
	require.NoError(t, err)
	return string(data)
}

// A published table of an all_gather below the command of an all_reduce.
func TestDataNoneIsNotAllReduce(t *testing.T) {
	log := sharedCase(t, "none_is_not_all_reduce.log")
	_, err := Parse(strings.NewReader(log), Hints{File: "none_is_not_all_reduce.log"})
	require.ErrorIs(t, err, ErrCollective)
	require.ErrorContains(t, err, "redop is none")
	_, err = Parse(strings.NewReader(log), Hints{Collective: "all_reduce"})
	require.ErrorIs(t, err, ErrCollective)
	for _, o := range []Hints{{File: "kestrel.log"}, {File: "none_is_not_all_reduce.log", Collective: "all_gather"}} {
		rec := parseText(t, log, o)
		require.Len(t, rec.Results, 12)
		require.Equal(t, "all_gather/float/none/4294967296/r64/g0/ip 92619 x1 46.37 45.65 ok", brief(rec.Results[11]))
	}
	require.Contains(t, codes(parseText(t, log, Hints{File: "kestrel.log"})), "collective_contradicted")
}
