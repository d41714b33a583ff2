package native_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"zbench/internal/native"
	"zbench/test/longtest"
)

// constructed compiles ROCm's two libraries, both with a constructor that notes its
// process; the runtime's does what the defines say. It returns the options that
// find them and what reads the notes: lines of library, process and environment.
func constructed(t *testing.T, defines ...string) (o native.Choice, noted func() [][]string) {
	t.Helper()
	root := t.TempDir()
	lib := filepath.Join(root, "lib")
	require.NoError(t, os.MkdirAll(lib, 0o750))
	for name, what := range map[string][]string{
		"librccl.so.1": {"-DCOLLECTIVES", `-DNAME="rccl"`}, "libamdhip64.so.6": append([]string{"-DRUNTIME", `-DNAME="hip"`}, defines...),
	} {
		compileVendor(t, filepath.Join(lib, name), append([]string{"-pthread", "-Wl,-soname," + name, "testdata/constructor.c"}, what...)...)
	}
	notes := filepath.Join(root, "notes")
	t.Setenv("NOTED", notes)
	t.Setenv("NOTED_TOO", "of-this-process")
	return native.Choice{Backend: "rocm", Named: map[string]string{"rocm-path": root}}, func() [][]string {
		text, err := os.ReadFile(notes)
		require.NoError(t, err)
		var lines [][]string
		for line := range strings.Lines(string(text)) {
			lines = append(lines, strings.Fields(line))
		}
		return lines
	}
}

// gone waits until a process has ended; a zombie of another parent has.
func gone(t *testing.T, pid string) {
	t.Helper()
	require.Eventually(t, func() bool {
		stat, err := os.ReadFile(filepath.Join("/proc", pid, "stat"))
		return err != nil || strings.Contains(string(stat), ") Z ")
	}, 20*time.Second, 5*time.Millisecond, "process %s", pid)
}

// One child opens all libraries before this process does, with the same
// environment, and is gone when they are open. Threads that a library starts do not
// keep it.
func TestTrialOpensFirst(t *testing.T) {
	o, noted := constructed(t, "-DTHREADS")
	p, err := native.Open(o)
	require.NoError(t, err)
	defer p.Close()
	lines, own := noted(), fmt.Sprint(os.Getpid())
	require.Len(t, lines, 4)
	child := lines[0][1]
	require.NotEqual(t, own, child)
	require.Equal(t, [][]string{
		{"rccl", child, "of-this-process"},
		{"rccl", own, "of-this-process"},
		{"hip", child, "of-this-process"},
		{"hip", own, "of-this-process"},
	}, lines)
	gone(t, child)
	pid, err := strconv.Atoi(child)
	require.NoError(t, err)
	_, err = syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
	require.ErrorIs(t, err, syscall.ECHILD, "no zombie is left")
}

// A library that hangs costs its deadline, once, and what it started ends with it.
func TestTrialEndsWhatHangs(t *testing.T) {
	o, noted := constructed(t, "-DHELPER", "-DHANG")
	o.Within = 300 * time.Millisecond
	u := unavailable(t, o)
	file := filepath.Join(o.Named["rocm-path"], "lib/libamdhip64.so.6")
	require.ErrorContains(t, u, file+": opening it did not end within 0.3 s (--lib-timeout)")
	require.Contains(t, u.Remedy, "--hip-lib")
	require.NotEmpty(t, searchOf(t, u.Searches, native.RoleCollectives).Path, "the others are opened all the same")
	again := slices.IndexFunc(searchOf(t, u.Searches, native.RoleCompiler).Attempts, func(a native.Attempt) bool { return a.Path == file && a.Fatal })
	require.GreaterOrEqual(t, again, 0, "before ROCm 6 the runtime is the compiler, too")
	ended := 0
	for _, line := range noted() {
		require.False(t, line[0] == "hip" && line[1] == fmt.Sprint(os.Getpid()), "this process has not opened it")
		if line[0] != "rccl" {
			gone(t, line[1])
			ended++
		}
	}
	require.Equal(t, 2, ended, "the child and its helper, once: %v", noted())
}

// A library that opens slowly is told, once, and so is its end.
func TestTrialTellsWhatIsSlow(t *testing.T) {
	o, _ := constructed(t, "-DHANG")
	o.Within = time.Second
	var told []string
	o.Progress = func(task native.Task) { told = append(told, task.String()) }
	u := unavailable(t, o)
	require.ErrorContains(t, u, "opening it did not end within 1 s")
	file := filepath.Join(o.Named["rocm-path"], "lib/libamdhip64.so.6")
	require.Equal(t, []string{"opening " + file + " (1 s at most: --lib-timeout)", ""}, told)
}

// Libraries that open at once are not worth a line.
func TestTrialTellsNothingOfWhatIsFast(t *testing.T) {
	o, _ := constructed(t)
	o.Progress = func(task native.Task) { t.Error(task) }
	p, err := native.Open(o)
	require.NoError(t, err)
	p.Close()
}

// One that closes the child's descriptors is no more usable than one that ends it.
func TestLongTrialCutOff(t *testing.T) {
	longtest.OnlyOrDetected(t)
	o, noted := constructed(t, "-DCUTS_OFF")
	require.ErrorContains(t, unavailable(t, o), "opening it ends the process: it cut itself off")
	gone(t, noted()[2][1])
}

// Waiting ends with the context, long before the deadline.
func TestTrialIsGivenUp(t *testing.T) {
	o, noted := constructed(t, "-DHANG")
	asked := errors.New("asked to stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	o.Context, o.Within = ctx, time.Hour
	go func() {
		for {
			if text, _ := os.ReadFile(os.Getenv("NOTED")); strings.Contains(string(text), "hip ") {
				cancel(asked)
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
	_, err := native.Open(o)
	require.ErrorIs(t, err, asked)
	for _, line := range noted() {
		if line[1] != fmt.Sprint(os.Getpid()) {
			gone(t, line[1])
		}
	}
}

// The vendor's matrix products are tried as well: what is wrong with them costs
// the comparison alone.
func TestTrialOfProducts(t *testing.T) {
	dir := t.TempDir()
	compile(t, "-shared", "-fPIC", "-o", filepath.Join(dir, "libcublas.so.12"), "testdata/constructor.c", "-DHANG", `-DNAME="blas"`)
	_, o := vendorLibraries(t)
	p, err := native.Open(o)
	require.NoError(t, err)
	defer p.Close()
	_, err = p.FindBLAS(native.Choice{Backend: "cuda", Within: 300 * time.Millisecond, Named: map[string]string{"lib-path": dir}})
	require.ErrorIs(t, err, native.ErrUnavailable)
	require.ErrorContains(t, err, "libcublas.so.12: opening it did not end within 0.3 s")
}

// BenchmarkTrial is what opening two small libraries costs, child and all.
func BenchmarkTrial(b *testing.B) {
	root := b.TempDir()
	lib := filepath.Join(root, "lib")
	require.NoError(b, os.MkdirAll(lib, 0o750))
	for name, what := range map[string]string{"librccl.so.1": "COLLECTIVES", "libamdhip64.so.6": "RUNTIME"} {
		compileVendor(b, filepath.Join(lib, name), "-D"+what)
	}
	o := native.Choice{Backend: "rocm", Named: map[string]string{"rocm-path": root}}
	for b.Loop() {
		p, err := native.Open(o)
		require.NoError(b, err)
		p.Close()
	}
}
