package trainers

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/base/stat"
	"zbench/test/project"
)

// few are the recordings that the test takes without -full: one of each number of ranks, with copied
// gradients, several microbatches, unused parameters.
var few = []string{"even-8", "even-unused", "gpt-2-copied", "even-accumulated"}

// stepsOfASetting are those that recorded.py makes; the last one counts.
const stepsOfASetting = 4

// The loopback, given the measured curve of all_reduce and the recorded computation, makes the steps that
// gloo made over real links: what is sent, and when, PyTorch decides on both sides. Some repeats were slowed by the
// links: without those, by the fastest on both sides, no setting is far off.
func TestSimulatedStepsAreReal(t *testing.T) {
	in := enter(t, "")
	var all, decided, within int
	var medians, fastest []float64
	for _, r := range recordings(t) {
		if !*full && !slices.Contains(few, r.name) {
			continue
		}
		cells, errors := in.beside(t, r, median)
		_, least := in.beside(t, r, slices.Min)
		var beyond []string
		for i, e := range errors {
			if e = math.Abs(e); e > 0.03 {
				beyond = append(beyond, fmt.Sprintf("%s: %+.1f", cells[i].name(), 100*errors[i]))
			}
			errors[i] = e
		}
		all, decided, within = all+len(r.Steps)-1, decided+len(errors), within+len(errors)-len(beyond)
		medians, fastest = append(medians, errors...), append(fastest, least...)
		documented(t, "testdata/ddp/README.md", fmt.Sprintf("| %s | %d | %.0f | %d of %d | %.1f | %.1f | %s |", r.title(), r.Ranks, r.Link*8/1e6, len(errors), len(r.Steps)-1,
			100*median(append(errors, 0)), 100*slices.Max(append(errors, 0)), strings.Join(beyond, ", ")))
	}
	largest := slices.Max(medians)
	summary := fmt.Sprintf("%d of the %d settings are decided: %d are within 3 %%, all within %.1f %%.", decided, all, within, 100*largest)
	for i := range fastest {
		fastest[i] = math.Abs(fastest[i])
	}
	without := fmt.Sprintf("By the fastest repeat of each size of the curve and of each setting, all are within %.1f %%.", 100*slices.Max(fastest))
	t.Log(summary, without)
	if *full {
		documented(t, "docs/LOOPBACK.md", summary)
		documented(t, "docs/LOOPBACK.md", without)
	}
	require.GreaterOrEqual(t, float64(within), 0.95*float64(decided))
	require.LessOrEqual(t, largest, 0.08)
	require.LessOrEqual(t, slices.Max(fastest), 0.03)
}

func median(seconds []float64) float64 { return stat.Quantile(seconds, 0.5) }

// beside are the decided settings of a recording, simulated, and the errors as shares. Of repeats it takes of.
func (in inside) beside(t *testing.T, r recording, of func([]float64) float64) (decided []cell, errors []float64) {
	t.Helper()
	cells, _ := r.cells(t)
	for i, simulated := range in.simulated(t, r, of)[1:] {
		c, repeats := cells[i], r.Steps[1:][i].Seconds
		c.predicted, c.real = simulated, of(slices.Concat(repeats[0], repeats[1]))
		t.Log(r.name, c)
		if c.decided() {
			decided, errors = append(decided, c), append(errors, c.error())
		}
	}
	return decided, errors
}

// simulated are the steps of a recording's settings on the loopback with the curve of those repeats, in seconds.
func (in inside) simulated(t *testing.T, r recording, of func([]float64) float64) []float64 {
	t.Helper()
	write := func(name string, text []byte) {
		require.NoError(t, os.WriteFile(filepath.Join(in.root, in.at, name), text, 0o644)) //nolint:gosec // Python reads it
	}
	text, err := os.ReadFile(r.file)
	require.NoError(t, err)
	write("recorded.py", []byte(project.Read(t, "testdata/torch/recorded.py")))
	write(r.name+".json", text)
	write(r.name+".log", r.log(of))
	cmd := in.zbench(fmt.Sprintf("--sizes --nodes %d --gpus-per-node 1 --fault noise:sigma=0 --tflops 1 --curve %s/%s.log --trace %s/%s.trace", r.Ranks, in.at, r.name, in.at, r.name),
		"recorded.py", in.at+"/"+r.name+".json")
	require.NoError(t, cmd.Run(), "%s", cmd.Stdout)
	require.Contains(t, fmt.Sprint(cmd.Stdout), fmt.Sprintf("lacks these, which took the fabric's times: all_gather of %d ranks", r.Ranks))
	for _, s := range r.Steps { // what is compared sent what was recorded
		sent := strings.Trim(strings.ReplaceAll(fmt.Sprint(s.Buckets), " ", ", "), "[]")
		require.Contains(t, fmt.Sprint(cmd.Stdout), " "+sent+"\n", r.name)
	}
	var trace struct {
		Events []struct {
			Name string  `json:"name"`
			Dur  float64 `json:"dur"`
		} `json:"traceEvents"`
	}
	text, err = os.ReadFile(filepath.Join(in.root, in.at, r.name+".trace"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &trace))
	steps := make([]float64, stepsOfASetting*len(r.Steps))
	for _, e := range trace.Events {
		if number, is := strings.CutPrefix(e.Name, "ProfilerStep#"); is {
			i, err := strconv.Atoi(number)
			require.NoError(t, err)
			steps[i] = e.Dur * 1e-6
		}
	}
	var last []float64
	for i := range r.Steps {
		last = append(last, steps[stepsOfASetting*(i+1)-1])
	}
	return last
}

// log is the recording's curve as rccl-tests prints one, of each size's repeats what of takes.
func (r recording) log(of func([]float64) float64) []byte {
	var b strings.Builder
	for rank := range r.Ranks {
		fmt.Fprintf(&b, "#  Rank  %d Group  0 Pid   %d on     host%d device  0 [0000:00:00] gloo\n", rank, rank+1, rank)
	}
	b.WriteString("# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n# (B) (elements) (us) (GB/s) (GB/s) (us) (GB/s) (GB/s)\n")
	for _, p := range r.Curve {
		took := of(p.Seconds)
		rate := float64(p.Bytes) / took / 1e9
		side := fmt.Sprintf("%.1f %.4f %.4f 0", 1e6*took, rate, rate*2*float64(r.Ranks-1)/float64(r.Ranks))
		fmt.Fprintf(&b, "%d %d float sum -1 %s %s\n", p.Bytes, p.Bytes/4, side, side)
	}
	return []byte(b.String())
}
