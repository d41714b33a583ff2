package main

import (
	"errors"
	"fmt"
	"slices"

	"zbench/bench/exit"
	"zbench/bench/spell"
	"zbench/internal/launch"
	"zbench/internal/native"
)

// gpuNodes maps the device nodes of GPUs to backends.
var gpuNodes = []struct{ path, backend string }{
	{"/dev/kfd", "rocm"},
	{"/dev/nvidia0", "cuda"},
}

func unknownBackend(name string) error {
	return &spell.Unknown{Kind: "backend", Given: name, Valid: append([]string{"auto"}, native.Backends()...)}
}

// chooseBackend resolves auto: the GPU's library where there is a GPU, the loopback only
// where there is neither a GPU nor a launcher. In an allocation simulated figures would be
// taken for the cluster's.
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
	role, err := launch.Detect(s.Getenv)
	if err == nil && role.Kind != launch.Alone {
		err = errors.New(role.Text())
	}
	if err != nil {
		return "", exit.With(exit.Unavailable, fmt.Errorf("%w; this machine has no GPU (no /dev/kfd, no /dev/nvidia0), and under a launcher nothing is simulated unasked", err),
			"run it on the GPU nodes, or simulate with --backend loopback")
	}
	return "loopback", nil
}
