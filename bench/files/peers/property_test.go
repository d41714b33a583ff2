package peers

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/hardware/collective"
)

// printed is a random table in the printed format and what it says.
type printed struct {
	log  string
	coll collective.Collective
	n    int
	// times are the printed times by size and place.
	times map[string]string
}

// field prints a value into a field of a width, as the tools do: with two
// decimals, or one, or none, or as a power of ten.
func field(v float64, width int) string {
	for _, decimals := range []int{2, 1, 0} {
		if s := strconv.FormatFloat(v, 'f', decimals, 64); len(s) <= width {
			return s
		}
	}
	return strconv.FormatFloat(v, 'e', 0, 64)
}

// randomTable prints random times under one of several headers.
func randomTable(r *rand.Rand) printed {
	c := collective.All()[r.IntN(3)]
	p := printed{coll: c, n: []int{2, 3, 8, 16, 24, 512}[r.IntN(6)], times: map[string]string{}}
	extra, blank, old := r.IntN(2) == 0, r.IntN(2) == 0, r.IntN(2) == 0
	var b strings.Builder
	fmt.Fprintf(&b, "# Collective test starting: %s_perf\n", c.Name)
	fmt.Fprintf(&b, "# nThread 1 nGpus 1 minBytes 8 maxBytes 8 step: 2(factor) warmup iters: 5 iters: %d agg iters: 1 validation: 1 graph: 0\n", 20)
	for i := range p.n {
		fmt.Fprintf(&b, "#  Rank %2d Group  0 Pid %6d on host-%d device %2d [0000:05:00] AMD Instinct MI300X\n", i, 100+i, i/8, i%8)
	}
	side := fmt.Sprintf("  %7s  %6s  %6s %6s", "time", "algbw", "busbw", "#wrong")
	units := fmt.Sprintf("  %7s  %6s  %6s  %5s", "(us)", "(GB/s)", "(GB/s)", "")
	if extra {
		side, units = side+fmt.Sprintf("  %7s", "hipevt"), units+fmt.Sprintf("  %7s", "(us)")
	}
	fmt.Fprintf(&b, "#\n# %10s  %12s  %8s  %6s  %6s%s%s\n", "size", "count", "type", "redop", "root", side, side)
	fmt.Fprintf(&b, "# %10s  %12s  %8s  %6s  %6s%s%s\n", "(B)", "(elements)", "", "", "", units, units)
	op, root := "sum", "-1"
	if !c.Reduces {
		if op = "none"; blank {
			op, root = "", ""
		}
	}
	for size := int64(1024); size <= 16<<30; size *= 1 + r.Int64N(16) {
		bytes := c.Layout(size, p.n, 4)
		if bytes.Bytes == 0 || p.times[key(bytes.Bytes, false)] != "" {
			continue
		}
		row := fmt.Sprintf("%12d  %12d  %8s  %6s  %6s", bytes.Bytes, bytes.Count, "float", op, root)
		for _, inPlace := range []bool{false, true} {
			us := (5 + 300*r.Float64()) + float64(size)/(1e3*(1+400*r.Float64()))
			time := field(us, 7)
			if old && us >= 10000 {
				time = strconv.FormatFloat(us, 'f', 0, 64)
			}
			alg := float64(bytes.Bytes) / us / 1e3
			row += fmt.Sprintf("  %7s  %6s  %6s  %5d", time, field(alg, 6), field(alg*c.BusFactor(p.n), 6), 0)
			if extra {
				row += fmt.Sprintf("  %7s", field(us*r.Float64(), 7))
			}
			p.times[key(bytes.Bytes, inPlace)] = time
		}
		b.WriteString(row + "\n")
		if r.IntN(8) == 0 {
			b.WriteString("host-0:1:1 [0] NCCL INFO Launch mode Parallel\n")
		}
	}
	b.WriteString("# Out of bounds values : 0 OK\n# Avg bus bandwidth    : nan\n#\n")
	p.log = b.String()
	return p
}

func key(size int64, inPlace bool) string { return fmt.Sprint(size, inPlace) }

// Whatever the times, a printed table reads back as it was printed.
func TestRandomTablesReadBack(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 300 {
		p := randomTable(r)
		rec, err := Parse(strings.NewReader(p.log), Hints{})
		require.NoError(t, err, "table %d:\n%s", i, p.log)
		require.Empty(t, rec.Source.Imports[0].Skipped, p.log)
		require.Len(t, rec.Results, len(p.times), p.log)
		require.Equal(t, p.n, rec.World.Ranks)
		for _, res := range rec.Results {
			want, err := strconv.ParseFloat(p.times[key(res.Bytes, res.InPlace)], 64)
			require.NoError(t, err)
			require.InEpsilon(t, want, res.Burst.MeanOfRanks.Median*1e6, 1e-12)
			require.Equal(t, p.coll.Name, res.Collective)
			require.InEpsilon(t, *res.AlgBW*p.coll.BusFactor(p.n), *res.BusBW, 1e-12)
		}
	}
}

// A row from which any character of a measured cell is lost is never read as
// another number, as long as algbw is printed with digits that tell.
func TestLostCharactersAreNoticed(t *testing.T) {
	log := text(t, "nccl219.log")
	rows := strings.Split(log, "\n")
	at := -1
	for i, l := range rows {
		if strings.HasPrefix(strings.TrimSpace(l), "1073741824") {
			at = i
		}
	}
	row := rows[at]
	want := parseText(t, log, Hints{})
	seconds := map[string]float64{}
	for _, r := range want.Results {
		seconds[r.Key] = r.Burst.MeanOfRanks.Median
	}
	first := strings.Index(row, "-1") + 2
	for i := first; i < len(row); i++ {
		if row[i] == ' ' {
			continue
		}
		rows[at] = row[:i] + row[i+1:]
		rec := parseText(t, strings.Join(rows, "\n"), Hints{})
		for _, r := range rec.Results {
			// The slack on algbw is 1 %, so a lost last decimal may pass.
			require.InEpsilon(t, seconds[r.Key], r.Burst.MeanOfRanks.Median, 0.01, "%q as %s", rows[at], r.Key)
		}
	}
}
