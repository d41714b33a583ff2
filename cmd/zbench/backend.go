package main

import (
	"fmt"
	"slices"

	"zbench/bench/exit"
	"zbench/bench/spell"
	"zbench/internal/native"
)

// gpuNodes maps the device nodes of GPUs to backends.
var gpuNodes = []struct{ path, backend string }{
	{"/dev/kfd", "rocm"},
	{"/dev/nvidia0", "cuda"},
}

// launcherVariables are set if a launcher started this process as a rank: then a loopback
// in this process alone is a mistake.
var launcherVariables = []string{"ZBENCH_RANK", "OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS", "WORLD_SIZE"}

func unknownBackend(name string) error {
	return &spell.Unknown{Kind: "backend", Given: name, Valid: append([]string{"auto"}, native.Backends()...)}
}

// chooseBackend resolves auto: the GPU's library where there is a GPU, the
// loopback only where there is neither a GPU nor a launcher.
func chooseBackend(s State, asked string) (string, error) {
	if asked != "auto" {
		if !slices.Contains(native.Backends(), asked) {
			return "", usage(unknownBackend(asked), "--backend loopback needs no GPU")
		}
		return asked, nil
	}
	for _, n := range gpuNodes {
		if _, err := s.FS.Stat(n.path); err == nil {
			return n.backend, nil
		}
	}
	for _, v := range launcherVariables {
		if value := s.Getenv(v); value != "" && value != "1" && value != "0" || v == "ZBENCH_RANK" && value != "" {
			return "", exit.With(exit.Unavailable,
				fmt.Errorf("a launcher started this process (%s=%s), but this machine has no GPU (no /dev/kfd, no /dev/nvidia0)", v, value),
				"run it on the GPU nodes, or simulate in this process with --backend loopback")
		}
	}
	return "loopback", nil
}
