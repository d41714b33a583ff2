package gpu

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"zbench/bench/base/unit"
	"zbench/bench/run/record"
)

const ourName = "zbench"

// kinds are the data in our arrays: zeros let some GPUs clock higher. BabelStream's are
// its own constants.
var kinds = []string{"random", "zeros"}

// Memory: read against the published peak, the others against BabelStream's best.
func TestGPUMemory(t *testing.T) {
	zbenchHere(t)
	array, ctx, peaks := sizeOfArray(t), within(t), map[string][]float64{}
	sides := []side{{"BabelStream", func(map[string]string) (figures, error) { return babelStream(ctx, array) }}}
	for _, data := range kinds {
		sides = append(sides, side{data, func(map[string]string) (figures, error) {
			s, err := streams(ctx, t, array, "read,copy,triad,dot", "--data", data)
			if err == nil {
				peaks[data] = append(peaks[data], s.readOfPeak)
			}
			return s.fastest, err
		}})
	}
	all := alternate(ctx, alternations(t), sides...)
	for _, data := range kinds {
		row := "memory, " + data
		add(t, ratios(row, "read float64, its median of the published peak", all[data], "read", peaks[data], 0.9, 0).doing(float64(array), "B/s"))
		for i, k := range []string{"copy", "triad", "dot"} {
			f := against(row, k+" float64, the fastest launch of both, theirs with launching and waiting", all[data], all["BabelStream"], k, k, 0.98, 0)
			add(t, f.doing(float64([]int64{2, 3, 2}[i]*array), "B/s"))
		}
	}
}

// sizeOfArray in bytes: far beyond any cache, unless SIZE says otherwise.
func sizeOfArray(t *testing.T) int64 {
	t.Helper()
	n, err := unit.ParseBytes(setting("SIZE", "2G"))
	if err != nil {
		t.Fatal("SIZE:", err)
	}
	return n
}

// streamed is what a run of hbm gave: the shortest time of each stream, the better
// of both configurations; and of the medians, read over the peak and copy's bytes
// per second.
type streamed struct {
	fastest          figures
	readOfPeak, copy float64
}

func streams(ctx context.Context, t *testing.T, array int64, kernels string, more ...string) (streamed, error) {
	t.Helper()
	s := streamed{fastest: figures{}}
	args := []string{"hbm", "--dtype", "float64", "--kernels", kernels, "--size", fmt.Sprint(array), "--max-time", "0.2"}
	rec, err := measured(ctx, t, append(args, more...)...)
	if err != nil {
		return s, err
	}
	for _, r := range rec.Kernels {
		if r.Timing == nil || r.Metrics.Rate == nil || r.Status != record.OK {
			return s, fmt.Errorf("%s: %s %s", r.Key, r.Status, r.Reason)
		}
		if best, ok := s.fastest[r.Kernel]; !ok || r.Timing.Seconds.Min < best {
			s.fastest[r.Kernel] = r.Timing.Seconds.Min
		}
		switch {
		case r.Kernel == "copy":
			s.copy = max(s.copy, *r.Metrics.Rate)
		case r.Kernel == "read" && r.Metrics.OfPeak == nil:
			return s, fmt.Errorf("the peak of %s is not known (--peak)", rec.World.Devices[0].Name)
		case r.Kernel == "read":
			s.readOfPeak = max(s.readOfPeak, *r.Metrics.OfPeak)
		}
	}
	return s, nil
}

// verified are the runs whose results were verified, by their arguments.
var verified = map[string]bool{}

// measured is the record of a run of zbench on a GPU. Results are verified in the first of equal runs.
func measured(ctx context.Context, t *testing.T, args ...string) (*record.Record, error) {
	t.Helper()
	key, check := strings.Join(args, " "), "1"
	if verified[key] {
		check = "0"
	}
	text, err := zbench(ctx, kept(t), append(args, "-c", check)...)
	if err != nil {
		return nil, err
	}
	rec, err := record.Decode(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	if check == "1" && !slices.ContainsFunc(rec.Kernels, func(k record.Kernel) bool { return k.Verified.State == record.VerifiedOK }) {
		return nil, fmt.Errorf("no result was verified")
	}
	verified[key] = true
	return rec, onGPU(rec)
}

// onGPU refuses what no GPU did, and notes which one it was.
func onGPU(rec *record.Record) error {
	if len(rec.World.Devices) == 0 {
		return fmt.Errorf("a record of no device")
	}
	if (rec.Source.Kind != record.Measured || rec.World.Devices[0].Kind != record.GPU) && os.Getenv("ALLOW_SIMULATED") == "" {
		return fmt.Errorf("not measured on a GPU, but %s on %s", rec.Source.Kind, rec.World.Devices[0].Kind)
	}
	names := []string{rec.World.Devices[0].Name, rec.Created.Format("2006-01-02")}
	for _, l := range rec.Source.Libraries {
		names = append(names, strings.TrimSpace(l.Name+" "+l.Version))
	}
	ranWith(strings.Join(names, ", "))
	return nil
}

// The fused norms: against our copy, torch compiled and Liger's Triton kernel.
func TestGPUNorm(t *testing.T) {
	zbenchHere(t)
	shapes := []string{"32768x2048", "32768x4096", "32768x8192"}
	var cases []string
	for _, s := range shapes {
		cases = append(cases, "norm:"+s)
	}
	ctx, ofCopy := within(t), map[string][]float64{}
	all := alternate(
		ctx, alternations(t),
		side{ourName, func(map[string]string) (figures, error) { return norms(ctx, t, ofCopy) }},
		torch(ctx, t, cases...),
	)
	for i, s := range shapes {
		least := 8 * 32768 * math.Ldexp(2048, i) // bytes: two matrices in, two out
		add(t, ratios("RMSNorm bf16 "+s, "of our copy's rate", all[ourName], s, ofCopy[s], 0.9, 0).doing(least, "B/s"))
		for _, p := range []struct {
			peer        string
			bar, target float64
		}{{"torch compiled", 0.98, 1}, {"torch compiled, max-autotune", 0.98, 1}, {"Liger", 0.98, 1}, {"torch eager", 0, 0}} {
			add(t, against("RMSNorm bf16 "+s, p.peer, all[ourName], all["torch"], s, p.peer+" "+cases[i], p.bar, p.target).doing(least, "B/s"))
		}
	}
}

// norms are the fused kernels' seconds by shape; ofCopy gets their rates over that
// of the fastest of our copies, beside them and of hbm.
func norms(ctx context.Context, t *testing.T, ofCopy map[string][]float64) (figures, error) {
	t.Helper()
	rec, err := measured(ctx, t, "kernels", "rmsnorm", "--rows", "32768", "--hidden", "2048,4096,8192", "--dtype", "bfloat16", "--max-time", "0.2")
	if err != nil {
		return nil, err
	}
	plain, err := streams(ctx, t, sizeOfArray(t), "copy")
	if err != nil {
		return nil, err
	}
	f := figures{}
	for _, k := range rec.Kernels {
		if k.Role != record.Fused {
			continue
		}
		shape := fmt.Sprintf("%dx%d", k.Shape.Rows, k.Shape.Cols)
		if k.Metrics.OfCopy == nil || k.Timing == nil || k.Status != record.OK {
			return nil, fmt.Errorf("%s: %s", k.Key, k.Status)
		}
		f[shape] = k.Timing.Seconds.Median
		ofCopy[shape] = append(ofCopy[shape], min(*k.Metrics.OfCopy, *k.Metrics.Rate/plain.copy))
	}
	return f, nil
}
