package native

import (
	"embed"
	"io/fs"
)

// sources makes the build depend on every file under c/: the go command tracks
// embedded files, but not C headers in subfolders, and a stale object crashes.
//
//go:embed c kernels unity.cc
var sources embed.FS

// Sources returns the source files from which `zbench loopback` builds the loopback's
// shared libraries. Paths begin at this package's folder.
func Sources() fs.FS { return sources }
