package gpu

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"zbench/bench/base/unit"
	"zbench/bench/files/peers"
	"zbench/bench/run/record"
)

// library is what nccl-tests says that it ran on.
var library = regexp.MustCompile(`nccl-library=\d+|[nr]ccl version [\d.+\w]+`)

// sizes are rccl-tests' flags, which are zbench's, for both sides alike. nccl-tests times one burst: with 20
// launches of a few microseconds its figures were off by a factor of two.
var sizes = append(strings.Fields(setting("SIZES", "-b 1K -e 1G -f 4")), "-n", "200", "-w", "5")

// The burst timing against nccl-tests: one rank, and all GPUs where there are more.
func TestGPUBurst(t *testing.T) {
	zbenchHere(t)
	gpus, err := strconv.Atoi(setting("GPUS", "1"))
	if err != nil || gpus < 1 {
		t.Fatalf("GPUS=%s: want a count", os.Getenv("GPUS"))
	}
	for _, ranks := range slices.Compact([]int{1, gpus}) {
		for _, c := range []string{"all_reduce", "all_gather"} {
			ctx, g := within(t), slices.Clip([]string{"-g", strconv.Itoa(ranks)})
			all := alternate(
				ctx, alternations(t),
				side{ourName, verifiedOnce(func(check string) (figures, error) { return burst(ctx, t, c, append(g, "-c", check)) })},
				side{"nccl-tests", verifiedOnce(func(check string) (figures, error) { return ncclTests(ctx, t, c, append(g, "-c", check)) })},
			)
			add(t, bursts(fmt.Sprintf("burst, -g %d", ranks), c+alone(ranks), all[ourName], all["nccl-tests"]))
		}
	}
	add(t, finding{row: "burst, several ranks a GPU", missing: "NCCL has it from 2.30 on, and nccl-tests gives each rank of a process a GPU of its own"})
}

// verifiedOnce has the results of the first turn verified: the flag -c of both sides.
func verifiedOnce(run func(check string) (figures, error)) func(map[string]string) (figures, error) {
	check := "1"
	return func(map[string]string) (figures, error) {
		defer func() { check = "0" }()
		return run(check)
	}
}

// alone says what one rank's bursts show.
func alone(ranks int) string {
	if ranks > 1 {
		return ""
	}
	return " (a copy, and in place nothing: it is the loops that are compared)"
}

func burst(ctx context.Context, t *testing.T, name string, more []string) (figures, error) {
	t.Helper()
	text, err := zbench(ctx, kept(t), slices.Concat([]string{"collectives", name, "--max-time", "0.2"}, sizes, more)...)
	if err != nil {
		return nil, err
	}
	rec, err := record.Decode(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	if rec.Source.Kind != record.Measured && os.Getenv("ALLOW_SIMULATED") == "" {
		return nil, fmt.Errorf("not measured on a GPU, but %s", rec.Source.Kind)
	}
	for _, l := range rec.Source.Libraries {
		ranWith("zbench: " + l.Name + " " + l.Version)
	}
	return burstSeconds(rec)
}

func ncclTests(ctx context.Context, t *testing.T, name string, more []string) (figures, error) {
	t.Helper()
	folder := os.Getenv("NCCL_TESTS")
	if folder == "" {
		return nil, fmt.Errorf("%w: NCCL_TESTS names no folder", errAbsent)
	}
	out, err := output(ctx, nil, filepath.Join(folder, name+"_perf"), slices.Concat(sizes, more)...)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(kept(t), name+"_perf.txt"), out, 0o600); err != nil {
		return nil, err
	}
	ranWith("nccl-tests: " + string(library.Find(out)))
	rec, err := peers.Parse(bytes.NewReader(out), peers.Hints{Collective: name})
	if err != nil {
		return nil, err
	}
	return burstSeconds(rec)
}

// burstSeconds are the medians of a burst by size and place.
func burstSeconds(rec *record.Record) (figures, error) {
	f := figures{}
	for _, r := range rec.Results {
		if r.Status != record.OK || r.Burst == nil || r.Burst.MeanOfRanks == nil {
			return nil, fmt.Errorf("%s: %s %s", r.Key, r.Status, r.Reason)
		}
		place := "out of place"
		if r.InPlace {
			place = "in place"
		}
		f[fmt.Sprintf("%s %s", unit.Bytes(r.Bytes), place)] = r.Burst.MeanOfRanks.Median
	}
	return f, nil
}

// bursts is one finding of all sizes: each median of the turns must be within 2 %
// or 1 µs of the peer's. The ratios are of the sizes.
func bursts(row, name string, ours, peer *turns) finding {
	f := finding{row: row, what: name, within: "max(2 %, 1 µs)"}
	names := make([]string, 0, len(ours.of))
	for n := range ours.of {
		names = append(names, n)
	}
	slices.Sort(names)
	if len(names) == 0 {
		_, why := ours.have("")
		f.failed = "zbench: " + why
	}
	worst := 0.0
	for _, n := range names {
		mine, why := ours.have(n)
		if why != "" {
			f.failed = "zbench: " + n + ": " + why
			continue
		}
		theirs, why := peer.have(n)
		if len(theirs) == 0 {
			f.missing = n + ": " + why
			continue
		}
		o, p := median(mine), median(theirs)
		f.ratios = append(f.ratios, p/o)
		if beyond := math.Abs(o-p) / max(0.02*p, 1e-6); beyond > max(1, worst) {
			worst = beyond
			f.failed = fmt.Sprintf("%s: %.4g µs against %.4g µs, medians of %d and %d turns", n, o*1e6, p*1e6, len(mine), len(theirs))
		}
	}
	return f
}
