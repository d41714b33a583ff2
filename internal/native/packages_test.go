package native_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/internal/native"
)

// cudaFiles compiles libraries with CUDA's names and returns their paths by name.
func cudaFiles(t *testing.T) map[string]string {
	t.Helper()
	dir, out := t.TempDir(), map[string]string{}
	for name, what := range map[string]string{"libnccl.so.2": "COLLECTIVES", "libcudart.so.12": "RUNTIME", "libcuda.so.1": "DRIVER"} {
		out[name] = filepath.Join(dir, name)
		vendorLibrary(t, out[name], what, "CUDA")
	}
	return out
}

// place copies a file to where a package has it.
func place(t *testing.T, file, at string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(at), 0o750))
	require.NoError(t, os.Link(file, at))
}

// python makes an interpreter that is found and never started.
func python(t *testing.T, at string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(at), 0o750))
	require.NoError(t, os.WriteFile(at, []byte("#!/bin/false\n"), 0o600))
}

// bare skips where the system has libraries of the backend: they come first.
func bare(t *testing.T, backend string) {
	t.Helper()
	p, err := native.Open(native.Choice{Backend: backend})
	var u *native.UnavailableError
	if err == nil {
		p.Close()
		t.Skip("this machine has the real libraries")
	}
	require.ErrorAs(t, err, &u)
	for _, s := range u.Searches {
		if s.Found() {
			t.Skip("this machine has the real " + s.Path)
		}
	}
}

// found opens a backend with the variables and returns where its libraries were.
func found(t *testing.T, backend string, needs []native.Role, variables map[string]string) map[native.Role]string {
	t.Helper()
	p, err := native.Open(native.Choice{Backend: backend, Needs: needs, Getenv: func(key string) string { return variables[key] }})
	require.NoError(t, err)
	defer p.Close()
	out := map[native.Role]string{}
	for _, s := range p.Searches() {
		out[s.Role] = s.Path
	}
	return out
}

// The libraries of Python's packages are found, in the layouts of CUDA 12 and 13,
// by every way to a Python.
func TestPackagesOfCUDA(t *testing.T) {
	bare(t, "cuda")
	files := cudaFiles(t)
	for layout, folder := range map[string]string{"CUDA 12": "nvidia/cuda_runtime/lib", "CUDA 13": "nvidia/cu13/lib"} {
		for way, at := range map[string]struct {
			site      string
			variables func(root string) map[string]string
		}{
			"a virtual environment that is active": {"lib/python3.12/site-packages", func(root string) map[string]string {
				return map[string]string{"VIRTUAL_ENV": root}
			}},
			"Conda": {"lib/python3.11/site-packages", func(root string) map[string]string {
				return map[string]string{"CONDA_PREFIX": root}
			}},
			"the Python on PATH": {"lib/python3.12/site-packages", func(root string) map[string]string {
				python(t, filepath.Join(root, "bin/python3"))
				return map[string]string{"PATH": t.TempDir() + ":" + filepath.Join(root, "bin")}
			}},
			"the Python behind a link": {"local/lib/python3.11/dist-packages", func(root string) map[string]string {
				python(t, filepath.Join(root, "bin/python3.11"))
				bin := t.TempDir()
				require.NoError(t, os.Symlink(filepath.Join(root, "bin/python3.11"), filepath.Join(bin, "python")))
				return map[string]string{"PATH": bin}
			}},
			"PYTHONPATH": {"packages [of mine]", func(root string) map[string]string {
				return map[string]string{"PYTHONPATH": "/none:" + filepath.Join(root, "packages [of mine]")}
			}},
			"the user's own": {".local/lib/python3.12/site-packages", func(root string) map[string]string {
				return map[string]string{"HOME": root}
			}},
		} {
			t.Run(layout+", "+way, func(t *testing.T) {
				root := t.TempDir()
				site := filepath.Join(root, at.site)
				place(t, files["libnccl.so.2"], filepath.Join(site, "nvidia/nccl/lib/libnccl.so.2"))
				place(t, files["libcudart.so.12"], filepath.Join(site, folder, "libcudart.so.12"))
				got := found(t, "cuda", nil, at.variables(root))
				require.Equal(t, filepath.Join(site, "nvidia/nccl/lib/libnccl.so.2"), got[native.RoleCollectives])
				require.Equal(t, filepath.Join(site, folder, "libcudart.so.12"), got[native.RoleRuntime])
			})
		}
	}
}

// ROCm's own packages, and the libraries in PyTorch's.
func TestPackagesOfROCm(t *testing.T) {
	bare(t, "rocm")
	dir, _ := vendorLibraries(t)
	for name, folders := range map[string][2]string{
		"ROCm's packages":   {"_rocm_sdk_libraries_gfx94X_dcgpu/lib", "_rocm_sdk_core/lib"},
		"all architectures": {"_rocm_sdk_libraries/lib", "_rocm_sdk_core/lib"},
		"PyTorch's":         {"torch/lib", "torch/lib"},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			rccl := filepath.Join(root, "lib/python3.12/site-packages", folders[0], "librccl.so")
			hip := filepath.Join(root, "lib/python3.12/site-packages", folders[1], "libamdhip64.so")
			place(t, filepath.Join(dir, "librccl.so.1"), rccl)
			place(t, filepath.Join(dir, "libamdhip64.so.6"), hip)
			got := found(t, "rocm", nil, map[string]string{"VIRTUAL_ENV": root})
			require.Equal(t, rccl, got[native.RoleCollectives])
			require.Equal(t, hip, got[native.RoleRuntime])
		})
	}
}

// What is installed comes before packages; where nothing is found the folders that
// were searched are among the attempts.
func TestPackagesComeLast(t *testing.T) {
	bare(t, "cuda")
	files := cudaFiles(t)
	root, system := t.TempDir(), t.TempDir()
	site := filepath.Join(root, "lib/python3.12/site-packages")
	for _, name := range []string{"libnccl.so.2", "libcudart.so.12"} {
		place(t, files[name], filepath.Join(site, "nvidia/nccl/lib", name))
		place(t, files[name], filepath.Join(system, name))
	}
	variables := map[string]string{"VIRTUAL_ENV": root, "LD_LIBRARY_PATH": system}
	require.Equal(t, filepath.Join(system, "libnccl.so.2"), found(t, "cuda", nil, variables)[native.RoleCollectives])
	delete(variables, "LD_LIBRARY_PATH")
	require.Equal(t, filepath.Join(site, "nvidia/nccl/lib/libnccl.so.2"), found(t, "cuda", nil, variables)[native.RoleCollectives])

	require.NoError(t, os.Remove(filepath.Join(site, "nvidia/nccl/lib/libcudart.so.12")))
	u := unavailable(t, native.Choice{Backend: "cuda", Getenv: func(key string) string { return variables[key] }})
	require.ErrorContains(t, u, filepath.Join(site, "nvidia/nccl/lib/libcudart.so.12"))
}
