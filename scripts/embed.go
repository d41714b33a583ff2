// Package scripts holds the files that `zbench loopback` needs on a machine without the sources:
// the script that builds its shared libraries, and the files that stand in for GPUs under PyTorch.
package scripts

import "embed"

// Loopback is loopback.sh. The script looks for its sources in ../internal/native; these files are
// native.Sources.
//
//go:embed loopback.sh
var Loopback []byte

// Torch has torch/*.py.
//
//go:embed torch/*.py
var Torch embed.FS
