package gpu

import (
	"bufio"
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"zbench/bench/base/slice"
	"zbench/bench/run/record"
)

// Matrix products as PyTorch asks for them, against PyTorch; and the clock that zbench counts beside
// the driver's. At the power limit the driver tells a higher clock than the units have: there the ratio
// is stated.
func TestGPUGemm(t *testing.T) {
	zbenchHere(t)
	shapes := []string{"4096x4096x4096", "8192x8192x8192"}
	ctx, limited, free := within(t), &clocks{}, &clocks{}
	all := alternate(
		ctx, alternations(t),
		side{ourName, func(map[string]string) (figures, error) { return products(ctx, t, shapes, limited) }},
		torch(ctx, t, slice.Map(shapes, func(s string) string { return "gemm:" + s })...),
		side{"read", func(map[string]string) (figures, error) {
			_, err := free.of(ctx, t, "hbm", "--dtype", "float64", "--kernels", "read", "--size", fmt.Sprint(sizeOfArray(t)), "--max-time", "1", "--precision", "0.0001")
			return nil, err
		}},
	)
	for _, s := range shapes {
		var m, n, k float64
		if _, err := fmt.Sscanf(s, "%gx%gx%g", &m, &n, &k); err != nil {
			t.Fatal(err)
		}
		f := near(against("gemm bf16 "+s, "torch mm", all[ourName], all["torch"], s, "mm gemm:"+s, 0, 0), 0.02)
		add(t, f.doing(2*m*n*k, "FLOP/s"))
	}
	add(t, near(free.beside("while memory is read", all["read"]), 0.02), limited.beside("during the products", all[ourName]))
}

// clocks are those of runs, in hertz: as zbench counted them, and as the driver told them.
type clocks struct{ counted, told []float64 }

// of runs zbench, adds the median clock of its rows and of the driver's samples, and returns the record.
func (c *clocks) of(ctx context.Context, t *testing.T, args ...string) (*record.Record, error) {
	t.Helper()
	told := sampled(ctx)
	rec, err := measured(ctx, t, args...)
	driver := atWork(told())
	if err != nil {
		return nil, err
	}
	var counted []float64
	for _, k := range rec.Kernels {
		if k.Status != record.OK || k.Timing == nil {
			return nil, fmt.Errorf("%s: %s: %s", k.Key, k.Status, k.Reason)
		}
		if hz, _ := k.Timing.Clock(); hz > 0 {
			counted = append(counted, hz)
		}
	}
	if driver > 0 && len(counted) > 0 {
		c.counted, c.told = append(c.counted, median(counted)), append(c.told, driver)
	}
	return rec, nil
}

// beside is what was counted over what the driver told.
func (c *clocks) beside(when string, by *turns) finding {
	f := finding{row: "clock", what: "counted beside the driver's, " + when, asked: by.asked}
	for i := range c.told {
		f.ratios = append(f.ratios, c.counted[i]/c.told[i])
	}
	switch {
	case len(f.ratios) > 0:
		f.what += fmt.Sprintf(" (%.4g and %.4g MHz)", median(c.counted)/1e6, median(c.told)/1e6)
	case by.missing != nil:
		f.failed = "zbench: " + by.why()
	default:
		f.missing = "nvidia-smi gave no clock"
	}
	return f
}

// near demands a ratio so close to 1.
func near(f finding, share float64) finding {
	f.within = fmt.Sprintf("%g %%", 100*share)
	if f.failed == "" && f.missing == "" && math.Abs(f.ratio()-1) > share {
		f.failed = "the ratio is not near 1"
	}
	return f
}

// products are the seconds of each shape as PyTorch asks for it.
func products(ctx context.Context, t *testing.T, shapes []string, c *clocks) (figures, error) {
	t.Helper()
	rec, err := c.of(ctx, t, "gemm", "--mnk", strings.Join(shapes, ","), "--choices", "1", "--max-time", "0.3", "--precision", "0.0001")
	if err != nil {
		return nil, err
	}
	f := figures{}
	for _, k := range rec.Kernels {
		if k.Role == record.Torch {
			f[fmt.Sprintf("%dx%dx%d", k.Shape.Rows, k.Shape.Cols, k.Shape.Depth)] = k.Timing.Seconds.Median
		}
	}
	return f, nil
}

// sampled has nvidia-smi tell clocks and power until its result is called, which returns what it
// told; nothing where there is none. It tells already when sampled returns.
func sampled(ctx context.Context) func() string {
	c := exec.CommandContext(ctx, "nvidia-smi", "--query-gpu=clocks.sm,power.draw.instant", "--format=csv,noheader,nounits", "-lms", "20")
	c.WaitDelay = time.Second
	out, err := c.StdoutPipe()
	if err != nil || c.Start() != nil {
		return func() string { return "" }
	}
	told := bufio.NewReader(out)
	first, _ := told.ReadString('\n')
	rest := make(chan []byte, 1)
	go func() {
		text, _ := io.ReadAll(told)
		rest <- text
	}()
	return func() string {
		_ = c.Process.Kill()
		text := <-rest
		_ = c.Wait()
		return first + string(text)
	}
}

// atWork is the median clock, in hertz, of the samples that drew at least nine tenths of the most
// power: what lies between launches is left out.
func atWork(text string) float64 {
	var clocks, powers []float64
	for line := range strings.Lines(text) {
		cells, err := csv.NewReader(strings.NewReader(strings.ReplaceAll(line, " ", ""))).Read()
		if err != nil || len(cells) != 2 {
			continue // the last line was cut short
		}
		mhz, err := strconv.ParseFloat(cells[0], 64)
		watts, wrong := strconv.ParseFloat(cells[1], 64)
		if err == nil && wrong == nil {
			clocks, powers = append(clocks, 1e6*mhz), append(powers, watts)
		}
	}
	if len(clocks) == 0 {
		return 0
	}
	var busy []float64
	for i, w := range powers {
		if w >= 0.9*slices.Max(powers) {
			busy = append(busy, clocks[i])
		}
	}
	return median(busy)
}
