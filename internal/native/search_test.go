package native_test

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/bench/hardware/backend"
	"zbench/internal/native"
)

// vendorLibraries compiles the two libraries that a ROCm backend needs, and
// returns their folder and the options that find it.
func vendorLibraries(t *testing.T, defines ...string) (dir string, o native.Choice) {
	t.Helper()
	root := t.TempDir()
	dir = filepath.Join(root, "lib")
	require.NoError(t, os.MkdirAll(dir, 0o755))
	vendorLibrary(t, filepath.Join(dir, "librccl.so.1"), "COLLECTIVES", defines...)
	vendorLibrary(t, filepath.Join(dir, "libamdhip64.so.6"), "RUNTIME", defines...)
	return dir, native.Choice{Backend: "rocm", Named: map[string]string{"rocm-path": root}}
}

func vendorLibrary(t *testing.T, path, what string, defines ...string) {
	t.Helper()
	args := []string{"-D" + what, "-Wl,-soname," + filepath.Base(path)}
	for _, d := range defines {
		args = append(args, "-D"+d)
	}
	compileVendor(t, path, args...)
}

// unavailable opens what must not open, and returns why.
func unavailable(t *testing.T, o native.Choice) *native.UnavailableError {
	t.Helper()
	p, err := native.Open(o)
	if err == nil {
		p.Close()
	}
	require.ErrorIs(t, err, native.ErrUnavailable)
	require.ErrorContains(t, err, "--backend loopback", "what to do next")
	var u *native.UnavailableError
	require.ErrorAs(t, err, &u)
	return u
}

func searchOf(t *testing.T, all []*native.Library, role native.Role) *native.Library {
	t.Helper()
	for _, s := range all {
		if s.Role == role {
			return s
		}
	}
	require.Fail(t, "no search", "%s among %v", role, all)
	return nil
}

// A library that is nowhere is a fact with all that was searched.
func TestLibraryMissing(t *testing.T) {
	root := t.TempDir()
	for backend, c := range map[string]struct{ flag, variable, library string }{
		"rocm": {"rocm-path", "ROCM_PATH", "librccl.so.1"}, "cuda": {"cuda-path", "CUDA_HOME", "libnccl.so.2"},
	} {
		for _, o := range []native.Choice{
			{Backend: backend, Named: map[string]string{c.flag: root}},
			{Backend: backend, Getenv: func(key string) string { return map[string]string{c.variable: root}[key] }},
		} {
			p, err := native.Open(o)
			if err == nil {
				p.Close()
				t.Skip("this machine has the real libraries") // then the system tests cover it
			}
			u := unavailable(t, o)
			require.ErrorContains(t, u, filepath.Join(root, "lib", c.library))
			require.Contains(t, u.Remedy, "--"+c.flag)
			s := searchOf(t, u.Searches, native.RoleCollectives)
			require.False(t, s.Found())
			require.True(t, s.Required)
			for _, a := range s.Attempts {
				require.True(t, a.Absent, "%+v", a)
			}
			require.NotEmpty(t, searchOf(t, u.Searches, native.RoleCompiler).Attempts, "the others are looked for as well")
			require.NotEmpty(t, searchOf(t, u.Searches, native.RoleCompiler).Lost)
		}
	}
}

// A file that is no library of this machine is refused by its headers, before
// the loader maps it.
func TestLibraryBroken(t *testing.T) {
	dir, o := vendorLibraries(t)
	path := filepath.Join(dir, "librccl.so.1")
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	other := append([]byte(nil), whole...)
	binary.LittleEndian.PutUint16(other[18:], 183) // e_machine: EM_AARCH64
	narrow := append([]byte(nil), whole...)
	narrow[4] = 1 // ELFCLASS32
	for name, c := range map[string]struct {
		data []byte
		why  string
	}{
		"cut in the header":  {whole[:30], "the file is cut short"},
		"cut in the code":    {whole[:len(whole)/2], "the file is cut short"},
		"a script":           {[]byte("INPUT(librccl.so.1)\n"), "it is no library"},
		"empty":              {nil, "it is no library"},
		"other architecture": {other, "it is for arm64, this program for x86-64"},
		"32 bits":            {narrow, "it is for a 32-bit machine"},
	} {
		require.NoError(t, os.WriteFile(path, c.data, 0o600), name)
		o.Named["rccl-lib"] = path
		u := unavailable(t, o)
		require.ErrorContains(t, u, path+": "+c.why, name)
		require.Contains(t, u.Remedy, "--rccl-lib")
		require.Equal(t, "--rccl-lib", searchOf(t, u.Searches, native.RoleCollectives).By)
	}
	require.NoError(t, os.WriteFile(path, whole, 0o600))
	p, err := native.Open(o)
	require.NoError(t, err, "the whole file opens")
	p.Close()
}

// A library that lacks a required symbol is refused by its name; one that has
// them all is used through dlopen like the real thing, and what it lacks of the
// others is told with what is lost.
func TestLibrarySymbols(t *testing.T) {
	_, o := vendorLibraries(t, "LACKS_QUERY")
	require.ErrorContains(t, unavailable(t, o), "lacks hipStreamQuery")

	dir, o := vendorLibraries(t)
	p, err := native.Open(o)
	require.NoError(t, err)
	defer p.Close()
	require.Equal(t, []backend.Loaded{
		{Name: "libamdhip64.so", Version: "6.0.0", Path: filepath.Join(dir, "libamdhip64.so.6")},
		{Name: "librccl.so", Version: "2.22.3", Path: filepath.Join(dir, "librccl.so.1")},
	}, p.Libraries)
	require.False(t, p.Has("commAbort"), "optional, and this library has none")
	require.False(t, p.Simulated)
	s := searchOf(t, p.Searches(), native.RoleCollectives)
	require.Contains(t, s.Missing, native.Symbol{Field: "commAbort", Name: "ncclCommAbort", Lost: "giving up a communicator that failed"})
	for _, m := range s.Missing {
		require.NotEmpty(t, m.Lost, m.Name)
	}
	_, err = p.Devices()
	require.ErrorIs(t, err, native.ErrUnavailable)
	_, err = p.LoadFunctions([]int{0})
	require.Error(t, err)
}

// Folders are searched in their order, a file that is named before all.
func TestLibraryOrder(t *testing.T) {
	first, o := vendorLibraries(t)
	second, _ := vendorLibraries(t)
	path := func(o native.Choice) string {
		p, err := native.Open(o)
		require.NoError(t, err)
		defer p.Close()
		return searchOf(t, p.Searches(), native.RoleCollectives).Path
	}
	in := func(dir string) string { return filepath.Join(dir, "librccl.so.1") }
	require.Equal(t, in(first), path(o))
	variables := map[string]string{"LD_LIBRARY_PATH": second}
	o.Getenv = func(key string) string { return variables[key] }
	require.Equal(t, in(first), path(o), "the installation that is named comes before the loader's path")
	variables["ZBENCH_LIB_PATH"] = t.TempDir() + ":" + second
	require.Equal(t, in(second), path(o), "added folders before the installation")
	o.Named["rccl-lib"] = in(first)
	require.Equal(t, in(first), path(o))
	link := filepath.Join(t.TempDir(), "librccl.so.1")
	require.NoError(t, os.Symlink(in(second), link))
	o.Named["rccl-lib"] = link
	require.Equal(t, in(second), path(o), "the path is the real one")
}

// The collectives library decides the runtime. Another one beside it is an error
// that names both.
func TestTwoRuntimes(t *testing.T) {
	dir, o := vendorLibraries(t)
	own := filepath.Join(t.TempDir(), "libamdhip64.so.5")
	vendorLibrary(t, own, "RUNTIME")
	rccl := filepath.Join(dir, "librccl.so.1")
	compileVendor(t, rccl, "-DCOLLECTIVES", "-Wl,--no-as-needed", own, "-Wl,-rpath,"+filepath.Dir(own))
	p, err := native.Open(o)
	require.NoError(t, err)
	require.Equal(t, own, searchOf(t, p.Searches(), native.RoleRuntime).Path, "the one that RCCL brought along, not the one in the folder")
	p.Close()

	o.Named["hip-lib"] = filepath.Join(dir, "libamdhip64.so.6")
	u := unavailable(t, o)
	require.ErrorContains(t, u, own)
	require.ErrorContains(t, u, o.Named["hip-lib"])
	require.ErrorContains(t, u, "this process has 2 of libamdhip64.so")

	// One of the same name is taken by RCCL in place of its own.
	o.Named["hip-lib"] = filepath.Join(t.TempDir(), "libamdhip64.so.5")
	vendorLibrary(t, o.Named["hip-lib"], "RUNTIME")
	p, err = native.Open(o)
	require.NoError(t, err)
	require.Equal(t, o.Named["hip-lib"], searchOf(t, p.Searches(), native.RoleRuntime).Path)
	p.Close()
}
