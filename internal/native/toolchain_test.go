package native

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// Toolchain leaves out a test that is mostly the work of compilers, unless
// `make check-toolchain` asks for it: such tests take longer than all others
// together.
func Toolchain(t *testing.T) {
	t.Helper()
	if !strings.HasPrefix(t.Name(), "TestToolchain") {
		t.Fatal("make check-toolchain goes by the name: begin it with TestToolchain")
	}
	if os.Getenv("ZBENCH_TOOLCHAIN") == "" {
		t.Skip("a test of the toolchain: make check-toolchain runs it")
	}
}

// Compile runs a compiler, such as cc, in a folder; "" is the package's. Sources are named from there: with
// a path of one run, ccache would find nothing of another. It keeps what a source alone is compiled to, so
// sources that are to be linked are compiled by themselves first.
func Compile(t testing.TB, dir, compiler string, args ...string) {
	t.Helper()
	isSource := func(arg string) bool { return slices.Contains([]string{".c", ".cc"}, filepath.Ext(arg)) }
	if slices.Contains(args, "-c") || slices.Contains(args, "-S") {
		compileOnce(t, dir, compiler, args)
		return
	}
	out := slices.Index(args, "-o")
	options := slices.DeleteFunc(slices.Concat(args[:out], args[out+2:]), func(arg string) bool {
		return isSource(arg) || strings.HasPrefix(arg, "-l") || strings.HasPrefix(arg, "-Wl,") || slices.Contains([]string{".o", ".so", ".1"}, filepath.Ext(arg))
	})
	link := slices.Clone(args)
	for i, arg := range args {
		if isSource(arg) {
			link[i] = fmt.Sprintf("%s.%d.o", args[out+1], i)
			compileOnce(t, dir, compiler, slices.Concat(options, []string{"-c", arg, "-o", link[i]}))
		}
	}
	call(t, dir, compiler, link)
}

var compiling sync.Map // to each call, without its output, a lock

// compileOnce compiles one source. Of two equal calls the second waits, and takes what ccache has of the first.
func compileOnce(t testing.TB, dir, compiler string, args []string) {
	t.Helper()
	out := slices.Index(args, "-o")
	key := fmt.Sprint(compiler, args[:out], args[out+2:])
	lock, _ := compiling.LoadOrStore(key, new(sync.Mutex))
	lock.(*sync.Mutex).Lock()
	defer lock.(*sync.Mutex).Unlock()
	if _, err := exec.LookPath("ccache"); err == nil && os.Getenv("CCACHE_DIR") != "" { // as make has it
		compiler, args = "ccache", append([]string{compiler}, args...)
	}
	call(t, dir, compiler, args)
}

func call(t testing.TB, dir, compiler string, args []string) {
	t.Helper()
	cmd := exec.Command(compiler, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
}
