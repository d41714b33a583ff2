package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/spf13/pflag"

	"zbench/bench/base/folder"
	"zbench/bench/base/plain"
	"zbench/bench/base/unit"
	"zbench/bench/files/formats"
	"zbench/bench/work/fabric"
	"zbench/internal/launch"
	"zbench/scripts"
)

// torchOptions are the options for a PyTorch trainer on the loopback.
type torchOptions struct {
	on, sizes bool
	// tflops is the rate of a GPU's matrix products, in 1e12 operations per second.
	tflops float64
	trace  string
	// steps is the number of optimizer steps after which the program is ended; 0 means no limit.
	steps int
	// times is a profile with the times of operators; measured has its content.
	times    string
	measured *formats.Operators
	// real lists the ranks that run as processes of their own. whatIf lists changes for further
	// runs.
	real   string
	whatIf []string
}

// reachedTFLOPs is the rate of bf16 matrix products on an MI300X, as AMD measured it
// (rocm.blogs.amd.com, "maximum achievable FLOPS", part 2, 2025).
const reachedTFLOPs = 708

func (o *torchOptions) addFlags(f *pflag.FlagSet) {
	f.BoolVar(&o.on, "torch", false, "run a trainer of PyTorch for CPUs as rank 0 of all GPUs of the cluster")
	f.BoolVar(&o.sizes, "sizes", false, "with --torch: leave out what tensors over 64 KiB hold, for models that do not fit this host")
	f.Float64Var(&o.tflops, "tflops", reachedTFLOPs, "with --torch: 1e12 floating-point operations per second of a GPU")
	f.StringVar(&o.times, "times", "", "with --torch: profile of PyTorch with shapes whose times operators take, where it has them")
	f.IntVar(&o.steps, "steps", 0, "with --torch: end the program after so many steps of its optimizer (default its own end)")
	f.StringVar(&o.trace, "trace", "", "with --torch: file for the trace of rank 0, which zbench trace reads")
	f.StringVar(&o.real, "real", "0", "with --torch: ranks that are processes; each stands for those up to the next (one for each role)")
	f.StringArrayVar(&o.whatIf, "what-if", nil, "with --torch: run again with one thing changed, such as 'no skew', 'rail 3 healthy', 'bucket 200M', or all (repeatable)")
}

// given returns true if an option is used that needs --torch.
func (o *torchOptions) given() bool {
	return o.sizes || o.times != "" || o.trace != "" || o.steps != 0 || o.tflops != reachedTFLOPs || o.real != "0" || len(o.whatIf) > 0
}

// several returns true if zbench starts processes instead of being replaced by the program.
func (o *torchOptions) several() bool { return o.real != "0" || len(o.whatIf) > 0 }

func (o *torchOptions) text(m *fabric.Machine) string {
	rates := fmt.Sprintf("computation at %g TFLOP/s and %s", o.tflops, unit.Rate(m.HBMRate))
	if o.measured == nil {
		return rates
	}
	how := "as the host ran them there"
	if m := o.measured; m.Computing > 0 {
		how = fmt.Sprintf("as measured there on %s (%.0f %% of its kernels' time)", cmp.Or(plain.Line(m.Device), "a GPU"), 100*m.Known/m.Computing)
	}
	if n := o.measured.Damaged; n > 0 {
		how += ", " + plain.Count(n, "event") + " that cannot be read left out"
	}
	return fmt.Sprintf("operators in %s %s, other %s", plain.Line(o.times), how, rates)
}

// readTimes reads the profile of --times.
func (o *torchOptions) readTimes(s State) error {
	if o.times == "" {
		return nil
	}
	file, err := s.FS.Open(o.times)
	if err != nil {
		return folder.Unreadable(s.FS, o.times, err, "give a profile of PyTorch")
	}
	defer func() { _ = file.Close() }()
	if o.measured, err = formats.ReadOperators(filepath.Base(o.times), file); err == nil {
		return nil
	}
	return usage(err, "profile some steps of the trainer with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], record_shapes=True), and give what export_chrome_trace writes")
}

// timesText returns one line per measured operator, with its seconds.
func (o *torchOptions) timesText() []byte {
	var b bytes.Buffer
	for _, key := range slices.Sorted(maps.Keys(o.measured.Seconds)) {
		_, _ = fmt.Fprintf(&b, "%g %s\n", o.measured.Seconds[key], key)
	}
	return b.Bytes()
}

// environment returns the trainer's variables: the files that stand in for GPUs, the rates of a
// GPU, and the variables that torchrun sets for rank 0.
func (o *torchOptions) environment(s State, cache string, m *fabric.Machine) ([]launch.Var, error) {
	if m.HBMRate <= 0 {
		return nil, usagef("choose a fabric whose node.hbm_rate is known", "the fabric has no rate of a GPU's memory, which operators would take their time of")
	}
	python, err := keepPython(s, cache)
	if err != nil {
		return nil, err
	}
	set := []launch.Var{
		{Name: "PYTHONPATH", Value: before(python, s.Getenv("PYTHONPATH"))},
		launch.Number("ZBENCH_TORCH_PROGRAM", s.PID), // zbench becomes that program
		launch.Number("ZBENCH_TORCH_RANKS", m.Size()),
		{Name: "ZBENCH_TORCH_FLOPS", Value: strconv.FormatFloat(o.tflops*1e12, 'g', -1, 64)},
		{Name: "ZBENCH_TORCH_BANDWIDTH", Value: strconv.FormatFloat(m.HBMRate, 'g', -1, 64)},
		{Name: "ZBENCH_TORCH_GPU", Value: m.GPU},
		{Name: "ZBENCH_TORCH_REAL", Value: o.real},
		{Name: "RANK", Value: "0"},
		{Name: "LOCAL_RANK", Value: "0"},
		launch.Number("WORLD_SIZE", m.Size()),
		launch.Number("LOCAL_WORLD_SIZE", m.GPUsPerNode),
		{Name: "GROUP_RANK", Value: "0"},
		{Name: "MASTER_ADDR", Value: "127.0.0.1"},
		{Name: "MASTER_PORT", Value: "29500"},
		{Name: "TORCHELASTIC_RUN_ID", Value: "zbench"},
	}
	if o.steps > 0 {
		set = append(set, launch.Number("ZBENCH_TORCH_STEPS", o.steps))
	}
	if o.sizes {
		set = append(set, launch.Var{Name: "ZBENCH_TORCH_SIZES", Value: "1"})
	}
	if o.measured != nil {
		file, err := keepFile(s, cache, "times", o.timesText())
		if err != nil {
			return nil, err
		}
		set = append(set, launch.Var{Name: "ZBENCH_TORCH_TIMES", Value: file})
	}
	if o.trace != "" {
		file, err := filepath.Abs(o.trace)
		if err != nil {
			return nil, err
		}
		set = append(set, launch.Var{Name: "ZBENCH_TORCH_TRACE", Value: file})
	}
	return set, nil
}

// runTrainers runs the trainer with its real ranks, and again with each of the changes.
func (o *loopbackOptions) runTrainers(ctx context.Context, s State, program string, args []string) error {
	changes, err := changesOf(o.torch.whatIf, o.want.Faults)
	if err != nil {
		return err
	}
	base, err := o.runTrainer(ctx, s, trainers{program: program, args: args, summed: len(changes) > 0}, change{faults: o.want.Faults})
	if err != nil || len(changes) == 0 {
		return err
	}
	o.torch.trace = ""
	var runs []torchSummary
	for _, c := range changes {
		var out bytes.Buffer // printed if the run fails
		sum, err := o.runTrainer(ctx, s, trainers{program: program, args: args, summed: true, output: &out}, c)
		if ctx.Err() != nil && len(runs) > 0 {
			why(s, base, changes, runs)
			return err
		}
		if err != nil {
			_, _ = io.Copy(s.Stderr, &out)
			return err
		}
		runs = append(runs, sum)
	}
	why(s, base, changes, runs)
	return nil
}

// runTrainer runs the trainer once, on the simulated cluster after a change.
func (o *loopbackOptions) runTrainer(ctx context.Context, s State, t trainers, c change) (sum torchSummary, err error) {
	with := *o
	with.want.Faults = c.faults
	m, err := with.machine(s)
	if err != nil {
		return sum, err
	}
	if t.real, err = realRanks(o.torch.real, m.Size()); err != nil {
		return sum, err
	}
	if t.set, err = with.environment(ctx, s, m, launch.Role{}); err != nil {
		return sum, err
	}
	t.ranks, t.onNode = m.Size(), m.GPUsPerNode
	t.arena = t.set[slices.IndexFunc(t.set, func(v launch.Var) bool { return v.Name == arenaVariable })].Value
	t.set = append(t.set, launch.Var{Name: "ZBENCH_TORCH_RESULT", Value: t.arena + ".result"})
	if c.bucket > 0 {
		t.set = append(t.set, launch.Var{Name: "ZBENCH_TORCH_BUCKET", Value: strconv.FormatInt(c.bucket, 10)})
	}
	return t.run(ctx, s)
}

// keepPython writes the Python files into a folder whose name is made from their content.
func keepPython(s State, cache string) (string, error) {
	h := sha256.New()
	texts := map[string][]byte{}
	names, err := fs.Glob(scripts.Torch, "torch/*.py")
	if err != nil {
		return "", err
	}
	for _, name := range names {
		text, err := scripts.Torch.ReadFile(name)
		if err != nil {
			return "", err
		}
		texts[filepath.Base(name)] = text
		_, _ = fmt.Fprintf(h, "%s %d\n%s\n", name, len(text), text)
	}
	folder := filepath.Join(cache, "torch-"+hex.EncodeToString(h.Sum(nil)[:8]))
	return folder, keepFiles(s, folder, texts)
}
