package libraries

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// layouts are the folders of NVIDIA's Python packages: those of CUDA 12 have one
// each, those of CUDA 13 share one, and NCCL's is its own.
var layouts = map[string]map[string]string{
	"cuda_12": {"libcudart.so.12": "cuda_runtime", "libnvrtc.so.12": "cuda_nvrtc", "libnvrtc-builtins.so.12.4": "cuda_nvrtc", "libnccl.so.2": "nccl"},
	"cuda_13": {"libcudart.so.12": "cu13", "libnvrtc.so.12": "cu13", "libnvrtc-builtins.so.12.4": "cu13", "libnccl.so.2": "nccl"},
}

// system has the C and C++ libraries that a place's own want, and nothing else: what
// is not found in packages is not found.
func (p place) system(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, pattern := range []string{
		"ld-linux-x86-64.so.2", "libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "libstdc++.so.6", "libgcc_s.so.1", "libresolv.so.2",
	} {
		file := filepath.Join(p.libraries(), pattern)
		require.True(t, exists(file), file)
		require.NoError(t, os.Symlink(file, filepath.Join(dir, pattern)))
	}
	return dir
}

// The real libraries are found in Python's packages with nothing named, and the
// compiler finds its builtins there.
func TestPackagesOnCUDA(t *testing.T) {
	p := at(t, "ZBENCH_CUDA12")
	system, two := p.system(t), planted(t)
	for layout, files := range layouts {
		t.Run(layout, func(t *testing.T) {
			venv, err := os.MkdirTemp(filepath.Dir(p.folder), "packages") //nolint:usetesting // where files can be linked
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, os.RemoveAll(venv)) })
			site := filepath.Join(venv, "lib/python3.12/site-packages")
			for name, folder := range files {
				to := filepath.Join(site, "nvidia", folder, "lib", name)
				require.NoError(t, os.MkdirAll(filepath.Dir(to), 0o750))
				file, err := filepath.EvalSymlinks(filepath.Join(p.libraries(), name))
				require.NoError(t, err)
				require.NoError(t, os.Link(file, to))
			}
			python := filepath.Join(venv, "bin/python3")
			require.NoError(t, os.MkdirAll(filepath.Dir(python), 0o750))
			require.NoError(t, os.WriteFile(python, nil, 0o600))
			run := func(zbench string, args ...string) (int, string) {
				c := exec.Command(filepath.Join(system, "ld-linux-x86-64.so.2"), append([]string{"--library-path", system, zbench}, args...)...)
				c.Env = []string{"PATH=" + filepath.Dir(python), "HOME=/none"}
				out, _ := c.CombinedOutput()
				return c.ProcessState.ExitCode(), string(out)
			}
			code, out := run(built(t), "doctor", "--backend", "cuda", "--format", "json")
			require.Equal(t, 5, code, "no driver is here: %s", out)
			for name, folder := range files {
				if !strings.Contains(name, "builtins") {
					require.Contains(t, out, `"path": "`+filepath.Join(site, "nvidia", folder, "lib", name)+`",`+"\n"+`          "version": "`)
				}
			}
			code, out = run(two, "doctor", "--compile", "sm_90")
			require.Equal(t, 0, code, out)
			require.Contains(t, out, "every kernel compiles for sm_90")
		})
	}
}
