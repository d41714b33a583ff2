package advice

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"zbench/bench/base/exit"
	"zbench/bench/base/finding"
	"zbench/bench/base/plain"
	"zbench/bench/base/slice"
	"zbench/bench/base/unit"
	"zbench/bench/files/trace"
	"zbench/bench/job/trainer"
	"zbench/bench/run/spec"
)

// `alike` is the ratio of two pass times up to which the times do not contradict each other.
const alike = 1.01

// Traced completes a request from a trace: the gradients, the ranks that reduce them, their type, the time
// at which each gradient is ready, and the backward pass. files are the names of the trace's files. Data
// that contradict the request are an error. Errors carry exit codes and hints.
func Traced(want *spec.Advice, t *trace.Trace, files ...string) error {
	j := t.Job()
	if j == nil {
		return exit.With(exit.Want, fmt.Errorf("no gradient buckets in %s: no step repeats its reductions", strings.Join(files, ", ")), "trace three steps, or leave --trace out and give --params, --preset or --total-params, with --dp and --backward-ms")
	}
	want.Trace = files
	backward := 0.0
	if len(j.Ready) > 0 {
		backward = j.Ready[0]
	}
	if err := contradicts(want, j, backward); err != nil {
		return err
	}
	if j.Ranks == 0 && want.DP == 0 {
		return exit.With(exit.Want, fmt.Errorf("%s does not tell how many ranks are in %s", files[0], j.Group), "give --dp, the ranks that reduce a gradient together")
	}
	if want.DP == 0 {
		want.DP = j.Ranks
	}
	want.GradDtype = j.Dtype
	if want.Accum == 0 && j.Accum > 1 {
		want.Accum = j.Accum
	}
	if backward > 0 {
		want.Backward = backward
		want.Forward = cmp.Or(want.Forward, j.Outside/float64(max(want.Accum, 1))) // includes the optimizer, because step time is measured as a whole
	}
	err := traced(want, j, files[0])
	if err == nil && t.Simulated() {
		want.Model.Notes = append(want.Model.Notes, "SIMULATED (times of the trace): "+finding.NotHardware)
	}
	return err
}

// `contradicts` returns the error of a request that differs from the trace, with both values.
func contradicts(want *spec.Advice, j *trace.Job, backward float64) error {
	differ := func(flag, given, found string) error {
		return exit.Usagef("leave --"+flag+" out, or --trace", "--%s %s contradicts the trace, which has %s", flag, given, found)
	}
	found := unit.Number(float64(total(j.Elements))) + " elements of gradients"
	measured := "a backward of " + unit.Seconds(backward)
	switch {
	case want.DP != 0 && j.Ranks != 0 && want.DP != j.Ranks:
		return differ("dp", fmt.Sprint(want.DP), j.Group)
	case want.GradDtype != "" && want.GradDtype != j.Dtype:
		return differ("grad-dtype", want.GradDtype, "gradients of "+j.Dtype)
	case want.Accum != 0 && j.Accum != 0 && want.Accum != j.Accum:
		return differ("accum", fmt.Sprint(want.Accum), plain.Count(j.Accum, "backward pass")+" per step")
	case want.Preset != "":
		return differ("preset", want.Preset, found)
	case want.Total > 0:
		return differ("total-params", unit.Number(float64(want.Total)), found)
	case backward == 0:
		return nil
	case want.Backward > 0 && math.Max(want.Backward/backward, backward/want.Backward) > alike:
		return differ("backward-ms", unit.Seconds(want.Backward), measured)
	case want.Step > 0:
		return differ("step-ms", unit.Seconds(want.Step), measured)
	case want.Flops > 0:
		return differ("tflops", fmt.Sprintf("%g", want.Flops/1e12), measured)
	}
	return nil
}

// `traced` completes the request's model. Without --params it lists the tensors of the trace. A list whose
// total differs from the trace's tensors is an error.
func traced(want *spec.Advice, j *trace.Job, file string) error {
	m := want.Model
	switch {
	case m != nil && m.Total() != total(j.Elements) && j.Tensors:
		return exit.Usagef("give the list of the model that was traced, or leave --params out", "--params %s has %d elements that are trained, and the trace has %d", m.Name, m.Total(), total(j.Elements))
	case m == nil:
		name := "tensor"
		if !j.Tensors {
			name = "bucket"
		}
		var params []trainer.Param
		for i, n := range j.Elements {
			params = append(params, trainer.Param{Name: fmt.Sprint(name, i), Elements: n})
		}
		var err error
		if m, err = trainer.ModelOf(file, "the trace "+file, params); err != nil {
			return exit.UsageError(err, "give the model with --params")
		}
		if m.Listed = j.Tensors; !j.Tensors {
			m.Notes = append(m.Notes, "the trace does not tell the tensors: its buckets stand for them, and no smaller bucket is tried (record_shapes=True of the profiler tells them, or --params)")
		}
		want.Model = m
	}
	trained := slices.DeleteFunc(slices.Clone(m.Params), func(p trainer.Param) bool { return p.Elements == 0 })
	same := slices.EqualFunc(trained, j.Elements, func(p trainer.Param, n int64) bool { return p.Elements == n })
	at := 0
	for i := range m.Params {
		if p := &m.Params[i]; p.Elements > 0 && same && j.Ready != nil {
			p.Ready = j.Ready[at]
			at++
		}
	}
	switch {
	case j.Ready == nil && want.Backward == 0 && want.Step == 0 && want.Flops == 0:
		m.Notes = append(m.Notes, "the trace has no time of the backward pass: give --backward-ms")
	case j.Ready != nil && !same:
		m.Notes = append(m.Notes, "the list has other tensors than the trace, or in another order: when each gradient is ready is taken from their sizes")
	}
	for _, g := range j.Others {
		m.Notes = append(m.Notes, "the gradients that "+g+" reduces are left out: they are others than those of "+j.Group)
	}
	if err := m.Check(); err != nil {
		return exit.UsageError(err, "the trace's times are damaged: leave --trace out")
	}
	return nil
}

func total(list []int64) int64 { return slice.Sum(list, func(n int64) int64 { return n }) }
