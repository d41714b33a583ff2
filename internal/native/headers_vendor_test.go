package native

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// vendorHeaders are headers of a vendor: the variable that names their folder, and the file
// in testdata/headers that includes those that a test needs.
type vendorHeaders struct{ variable, file string }

// openHeaders are such headers on this machine.
type openHeaders struct {
	folder, file string
	// include is what a unit includes: the file, or the compiled form of it.
	include []string
	names   map[string]bool
}

// open skips the test if the headers are not on this machine.
func (v vendorHeaders) open(t *testing.T) *openHeaders {
	t.Helper()
	file, err := filepath.Abs(filepath.Join("testdata/headers", v.file))
	require.NoError(t, err)
	return &openHeaders{folder: headerFolder(t, v.variable), file: file, include: []string{"-include", file}}
}

// precompile parses the headers once for a test that compiles many units, until it ends. A
// compiled form that the compiler rejects is an error, not a slower test.
func (h *openHeaders) precompile(t *testing.T) {
	t.Helper()
	compiled := filepath.Join(t.TempDir(), filepath.Base(h.file))
	text := fmt.Sprintf("#include %q\n", h.file)
	require.NoError(t, os.WriteFile(compiled, []byte(text), 0o600))
	// After the host's own headers: the folder is a chroot's, which may have a C library, too.
	out, err := runCompiler("-std=c++17", "-idirafter", h.folder, "-x", "c++-header", compiled, "-o", compiled+".gch")
	require.NoError(t, err, "%s", out)
	h.include = []string{"-Winvalid-pch", "-Werror=invalid-pch", "-include", compiled}
}

// declared are the words of the headers, names of functions and values among them.
func (h *openHeaders) declared(t *testing.T) map[string]bool {
	t.Helper()
	if h.names == nil {
		out, err := compiler(t.TempDir(), fmt.Sprintf("#include %q\n", h.file), "-std=c++17", "-idirafter", h.folder, "-E", "-P", "-dD")
		require.NoError(t, err, "%s", out)
		h.names = map[string]bool{}
		for _, word := range regexp.MustCompile(`\w+`).FindAllString(out, -1) {
			h.names[word] = true
		}
	}
	return h.names
}

// compile checks a unit that begins with the headers.
func (h *openHeaders) compile(t *testing.T, text string, options ...string) (string, error) {
	t.Helper()
	options = append(options, "-std=c++17", "-idirafter", h.folder, "-fsyntax-only")
	return compiler(t.TempDir(), text, append(options, h.include...)...)
}

// headerFolder is the folder of headers that a variable names; without it the test is skipped.
func headerFolder(t *testing.T, variable string) string {
	t.Helper()
	folder := os.Getenv(variable)
	if folder == "" {
		if os.Getenv("ZBENCH_SYSTEM_TEST") != "" && variable != "ZBENCH_RCCL_INCLUDE" {
			t.Fatalf("%s is not set", variable)
		}
		t.Skipf("%s is not set: make system-test-headers sets it", variable)
	}
	return folder
}

// compiler runs the C++ compiler on a unit, which it writes into a folder.
func compiler(dir, unit string, options ...string) (string, error) {
	source := filepath.Join(dir, "unit.cc")
	if err := os.WriteFile(source, []byte(unit), 0o600); err != nil {
		return "", err
	}
	return runCompiler(append(options, source)...)
}

func runCompiler(args ...string) (string, error) {
	cxx := os.Getenv("CXX")
	if cxx == "" {
		cxx = "c++"
	}
	out, err := exec.Command(cxx, args...).CombinedOutput()
	return string(out), err
}

// edited is the text with a pattern replaced, which it must contain.
func edited(t *testing.T, text string, edit [2]string) string {
	t.Helper()
	wrong := regexp.MustCompile(edit[0]).ReplaceAllString(text, edit[1])
	require.NotEqual(t, text, wrong, "nothing was changed")
	return wrong
}

func firstError(out string, err error) string {
	for line := range strings.Lines(out) {
		if strings.Contains(line, "error:") {
			return line
		}
	}
	return err.Error()
}
