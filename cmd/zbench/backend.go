package main

import (
	"errors"
	"fmt"
	"slices"

	"zbench/bench/backend"
	"zbench/bench/exit"
	"zbench/bench/spell"
	"zbench/internal/launch"
	"zbench/internal/native"
)

// noNodes names the device nodes of GPUs, of which there is none.
func noNodes() string {
	return "(" + backend.Text(", ", func(v backend.Vendor) string { return "no " + v.Node }) + ")"
}

// backendNames lists the vendors' backends.
func backendNames(by string) string {
	return backend.Text(by, func(v backend.Vendor) string { return v.Backend })
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
	for _, v := range backend.Vendors() {
		if _, err := s.FS.Stat(v.Node); err == nil {
			return v.Backend, nil
		}
	}
	role, err := launch.Detect(s.Getenv)
	if err == nil && role.Kind != launch.Alone {
		err = errors.New(role.Text())
	}
	if err != nil {
		return "", exit.With(exit.Unavailable, fmt.Errorf("%w; this machine has no GPU %s, and under a launcher nothing is simulated unasked", err, noNodes()),
			"run it on the GPU nodes, or simulate with --backend loopback")
	}
	return "loopback", nil
}
