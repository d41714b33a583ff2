package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"

	"github.com/spf13/pflag"

	"zbench/bench/fabric"
	"zbench/bench/unit"
	"zbench/internal/launch"
	"zbench/scripts"
)

// torchOptions are the options of a trainer of PyTorch on the loopback.
type torchOptions struct {
	on, sizes bool
	// tflops is what a GPU reaches in products of matrices, in 1e12 operations per second.
	tflops float64
	trace  string
}

// reachedTFLOPs is bf16 on an MI300X: AMD's own figure of the maximum that a product of matrices
// reaches (rocm.blogs.amd.com, "maximum achievable FLOPS", part 2, 2025).
const reachedTFLOPs = 708

func (o *torchOptions) addFlags(f *pflag.FlagSet) {
	f.BoolVar(&o.on, "torch", false, "run a trainer of PyTorch for CPUs as rank 0 of all GPUs of the cluster")
	f.BoolVar(&o.sizes, "sizes", false, "with --torch: leave out what tensors over 64 KiB hold, for models that do not fit this host")
	f.Float64Var(&o.tflops, "tflops", reachedTFLOPs, "with --torch: 1e12 floating-point operations per second of a GPU")
	f.StringVar(&o.trace, "trace", "", "with --torch: file for the trace of rank 0, which zbench trace reads")
}

// given tells whether any option needs --torch.
func (o *torchOptions) given() bool { return o.sizes || o.trace != "" || o.tflops != reachedTFLOPs }

func (o *torchOptions) text(m *fabric.Machine) string {
	return fmt.Sprintf("computation at %g TFLOP/s and %s", o.tflops, unit.Rate(m.HBMRate))
}

// environment is what the trainer gets: the files that stand in for GPUs, the rates of one, and
// what torchrun sets for rank 0.
func (o *torchOptions) environment(s State, cache string, m *fabric.Machine) ([]launch.Var, error) {
	if m.HBMRate <= 0 {
		return nil, usagef("choose a fabric whose node.hbm_rate is known", "the fabric has no rate of a GPU's memory, which operators would take their time of")
	}
	python, err := keepPython(s, cache)
	if err != nil {
		return nil, err
	}
	ranks := strconv.Itoa(m.Size())
	set := []launch.Var{
		{Name: "PYTHONPATH", Value: before(python, s.Getenv("PYTHONPATH"))},
		{Name: "ZBENCH_TORCH_RANKS", Value: ranks},
		{Name: "ZBENCH_TORCH_FLOPS", Value: strconv.FormatFloat(o.tflops*1e12, 'g', -1, 64)},
		{Name: "ZBENCH_TORCH_BANDWIDTH", Value: strconv.FormatFloat(m.HBMRate, 'g', -1, 64)},
		{Name: "ZBENCH_TORCH_GPU", Value: m.GPU},
		{Name: "RANK", Value: "0"},
		{Name: "LOCAL_RANK", Value: "0"},
		{Name: "WORLD_SIZE", Value: ranks},
	}
	if o.sizes {
		set = append(set, launch.Var{Name: "ZBENCH_TORCH_SIZES", Value: "1"})
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

// keepPython writes the files that Python reads, in a folder named by their content.
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
	for name, text := range texts {
		if have, err := s.FS.ReadFile(filepath.Join(folder, name)); err == nil && string(have) == string(text) {
			continue
		}
		if err := s.FS.MkdirAll(folder); err != nil {
			return "", err
		}
		if err := s.FS.WriteFile(filepath.Join(folder, name), text); err != nil {
			return "", err
		}
	}
	return folder, nil
}
