package native

import "embed"

// sources makes the build depend on every file under c/: the go command tracks
// embedded files, but not C headers in subfolders, and a stale object crashes.
// The variable is never read, so the linker leaves the files out of the binary.
//
//go:embed c
var sources embed.FS //nolint:unused // see above
