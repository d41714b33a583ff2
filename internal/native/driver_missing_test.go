package native_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"zbench/internal/native"
)

// cudaLibraries are NCCL and the CUDA runtime, whose count of devices fails so;
// the driver's library is named and not there.
func cudaLibraries(t *testing.T, fault string) native.Choice {
	dir := t.TempDir()
	vendorLibrary(t, filepath.Join(dir, "libnccl.so.2"), "COLLECTIVES", "CUDA")
	vendorLibrary(t, filepath.Join(dir, "libcudart.so.12"), "RUNTIME", "CUDA", "COUNT_FAULT="+fault)
	return native.Choice{Backend: "cuda", Named: map[string]string{
		"lib-path": dir, "cuda-driver-lib": filepath.Join(dir, "libcuda.so.1"),
	}}
}

func noDevices(t *testing.T, o native.Choice) *native.UnavailableError {
	p, err := native.Open(o)
	require.NoError(t, err)
	defer p.Close()
	_, err = p.Devices()
	require.ErrorIs(t, err, native.ErrUnavailable)
	var u *native.UnavailableError
	require.ErrorAs(t, err, &u)
	return u
}

// CUDA calls a driver that is missing one that is too old: what is wrong is told
// by whether its library was found.
func TestDriverMissing(t *testing.T) {
	o := cudaLibraries(t, "35")
	u := noDevices(t, o)
	require.Contains(t, u.What, "no driver library libcuda.so: tried "+o.Named["cuda-driver-lib"])
	require.Contains(t, u.What, "(code 35)")
	require.Contains(t, u.Remedy, "NVIDIA's kernel driver")
	require.Contains(t, u.Remedy, "--gpus all")
	require.Empty(t, searchOf(t, u.Searches, native.RoleDriver).Version, "no library was asked")

	vendorLibrary(t, o.Named["cuda-driver-lib"], "DRIVER", "CUDA")
	u = noDevices(t, o)
	require.Contains(t, u.What, "the driver is for 11.8, too old for libcudart.so 12.4")
	require.Contains(t, u.Remedy, "--cudart-lib")

	o = cudaLibraries(t, "802") // cudaErrorSystemNotReady
	vendorLibrary(t, o.Named["cuda-driver-lib"], "DRIVER", "CUDA")
	u = noDevices(t, o)
	require.Contains(t, u.What, "no usable device")
	require.Contains(t, u.Remedy, "nvidia-fabricmanager")
}

// A library that wants a newer C library is there: to install it again is no help.
// It is tried under one of its names alone.
func TestLibraryForNewerSystem(t *testing.T) {
	dir, o := vendorLibraries(t)
	system := filepath.Join(t.TempDir(), "libsystem.so")
	build := func(version string) {
		source := filepath.Join(t.TempDir(), "system.c")
		require.NoError(t, os.WriteFile(source, []byte("int asked(void) { return 0; }\n"), 0o600))
		require.NoError(t, os.WriteFile(source+".map", []byte(version+" { global: asked; };\n"), 0o600))
		compile(t, "-shared", "-fPIC", "-o", system, source, "-Wl,-soname,libsystem.so", "-Wl,--version-script="+source+".map")
	}
	build("SYSTEM_2")
	rccl := filepath.Join(dir, "librccl.so.1")
	compileVendor(t, rccl, "-DCOLLECTIVES", "-DASKS", system, "-Wl,-rpath,"+filepath.Dir(system))
	build("SYSTEM_1")
	require.NoError(t, os.Symlink("librccl.so.1", filepath.Join(dir, "librccl.so")))

	u := unavailable(t, o)
	require.Contains(t, u.What, "version `SYSTEM_2' not found (required by "+rccl+")")
	require.Contains(t, u.Remedy, "built for a newer system")
	var broken []string
	for _, a := range searchOf(t, u.Searches, native.RoleCollectives).Attempts {
		if !a.Absent {
			broken = append(broken, a.Path)
		}
	}
	require.Equal(t, []string{rccl}, broken)
}
