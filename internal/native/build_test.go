package native_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/internal/native"
)

// An edit of any C file rebuilds the package: Go itself does not see headers in
// subfolders, the embedding makes it look. Tried on a copy of the module.
func TestToolchainRebuildsEditedHeaders(t *testing.T) {
	native.Toolchain(t)
	t.Parallel()
	dir := t.TempDir()
	in := func(dir, name string, args ...string) string {
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		return strings.TrimSpace(string(out))
	}
	packages := in("../..", "go", "list", "-deps", "-f", "{{with .Module}}{{if .Main}}{{$.ImportPath}}{{end}}{{end}}", "./internal/native")
	for _, part := range append(strings.Fields(packages), "go.mod", "go.sum") {
		in("../..", "cp", "-r", "--parents", strings.TrimPrefix(part, "zbench/"), dir)
	}
	run := func(args ...string) string { return in(dir, "go", args...) }
	kernels := filepath.Join(dir, "internal/native/kernels.go")
	text, err := os.ReadFile(kernels)
	require.NoError(t, err)
	quick := bytes.Replace(text, []byte("-O2"), []byte("-O0"), 1)
	require.NotEqual(t, text, quick)
	require.NoError(t, os.WriteFile(kernels, quick, 0o644))
	run("build", "./internal/native")
	stale := func() string { return run("list", "-f", "{{.Stale}}", "./internal/native") }
	require.Equal(t, "false", stale(), "an unchanged package must not be built again")
	for _, header := range []string{"c/abi.h", "c/fake/comm.h", "c/fake/clock.c", "kernels/verify_value.h"} {
		path := filepath.Join(dir, "internal/native", header)
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, append(slices.Clone(text), "/* edited */\n"...), 0o644))
		require.Equal(t, "true", stale(), header)
		require.NoError(t, os.WriteFile(path, text, 0o644))
		require.Equal(t, "false", stale(), "the edit is taken back")
	}
}

// A public hip* or nccl* name in the executable would be bound by a real
// librccl in place of the real HIP's.
func TestToolchainNoPublicVendorNames(t *testing.T) {
	native.Toolchain(t)
	t.Parallel()
	binary := filepath.Join(t.TempDir(), "zbench")
	cmd := exec.Command("go", "build", "-o", binary, "./cmd/zbench")
	cmd.Dir = "../.."
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	for _, args := range [][]string{{"-g", binary}, {"-D", binary}} {
		out, err := exec.Command("nm", args...).CombinedOutput()
		require.NoError(t, err, "%s", out)
		vendor := regexp.MustCompile(`(?i)^(hip|nccl|cuda|rccl|pnccl)`)
		names := 0
		for line := range strings.Lines(string(out)) {
			fields := strings.Fields(line)
			if len(fields) == 0 {
				continue
			}
			names++
			require.False(t, vendor.MatchString(fields[len(fields)-1]), "public name %q", line)
		}
		require.Positive(t, names, "nm %v listed nothing", args)
	}
}
