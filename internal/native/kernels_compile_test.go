package native

import (
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// What hiprtc and nvrtc bring along, as far as the kernels use it.
const deviceShim = `
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __forceinline__ inline __attribute__((always_inline))
struct shim_dim3 { unsigned x, y, z; };
#ifdef __HIP__
#define threadIdx (shim_dim3{__builtin_amdgcn_workitem_id_x(), 0, 0})
#define blockIdx (shim_dim3{__builtin_amdgcn_workgroup_id_x(), 0, 0})
#define blockDim (shim_dim3{__builtin_amdgcn_workgroup_size_x(), 1, 1})
#define gridDim (shim_dim3{__builtin_amdgcn_grid_size_x() / __builtin_amdgcn_workgroup_size_x(), 1, 1})
#else
#define threadIdx (shim_dim3{(unsigned)__nvvm_read_ptx_sreg_tid_x(), 0, 0})
#define blockIdx (shim_dim3{(unsigned)__nvvm_read_ptx_sreg_ctaid_x(), 0, 0})
#define blockDim (shim_dim3{(unsigned)__nvvm_read_ptx_sreg_ntid_x(), 1, 1})
#define gridDim (shim_dim3{(unsigned)__nvvm_read_ptx_sreg_nctaid_x(), 1, 1})
#endif
__device__ inline unsigned long long atomicAdd(unsigned long long *p, unsigned long long v) {
  return __atomic_fetch_add(p, v, __ATOMIC_RELAXED);
}
__device__ inline unsigned long long atomicMin(unsigned long long *p, unsigned long long v) {
  return __atomic_fetch_min(p, v, __ATOMIC_RELAXED);
}
#line 1
`

// The sources that a GPU's compiler gets compile for one of AMD and one of
// NVIDIA, and
// the code for AMD's is what isaRows say. hiprtc's own header is not part of this.
func TestKernelsCompileForDevices(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles for two architectures")
	}
	clang, err := exec.LookPath("clang-19")
	if err != nil {
		t.Skip("clang-19 is not installed")
	}
	for target, flags := range map[string][]string{
		"gfx942": {"-x", "hip", "--offload-arch=gfx942", "-nogpuinc", "-nogpulib"},
		"sm_90":  {"-x", "cuda", "--cuda-gpu-arch=sm_90", "-nocudainc", "-nocudalib"},
	} {
		kernels := map[string][]string{}
		for _, k := range Kernels() {
			kernels[k.File] = append(kernels[k.File], k.Name)
		}
		for file, names := range kernels {
			t.Run(target+"/"+file, func(t *testing.T) {
				source, asm := filepath.Join(t.TempDir(), "k.cc"), filepath.Join(t.TempDir(), "k.s")
				require.NoError(t, os.WriteFile(source, []byte(deviceShim+KernelSource(names[0])), 0o600))
				args := append(slices.Clip(flags), "--cuda-device-only", "-O3", "-std=c++17", "-Wall",
					"-Werror", "-Wno-unused-command-line-argument", "-S", source, "-o", asm)
				out, err := exec.Command(clang, args...).CombinedOutput()
				require.NoError(t, err, "%s", out)
				text, err := os.ReadFile(asm)
				require.NoError(t, err)
				holdsISA(t, target, string(text), names)
			})
		}
	}
}

// The linker is g++, yet no program may need its libraries: this one is linked
// like zbench.
func TestKernelsNeedNoCPlusPlusLibrary(t *testing.T) {
	path, err := os.Executable()
	require.NoError(t, err)
	file, err := elf.Open(path)
	require.NoError(t, err)
	defer func() { require.NoError(t, file.Close()) }()
	libraries, err := file.ImportedLibraries()
	require.NoError(t, err)
	require.Contains(t, libraries, "libc.so.6")
	require.NotContains(t, libraries, "libstdc++.so.6")
	require.NotContains(t, libraries, "libgcc_s.so.1")
}

// The binary is carried to machines of older systems: it may need no newer
// function of the C library than Debian 12 has.
func TestNeedsNoNewerCLibrary(t *testing.T) {
	const newest = 36 // Debian 12 has glibc 2.36
	path, err := os.Executable()
	require.NoError(t, err)
	file, err := elf.Open(path)
	require.NoError(t, err)
	defer func() { require.NoError(t, file.Close()) }()
	symbols, err := file.ImportedSymbols()
	require.NoError(t, err)
	versions := 0
	for _, s := range symbols {
		var major, minor int
		if n, _ := fmt.Sscanf(s.Version, "GLIBC_%d.%d", &major, &minor); n < 2 {
			continue
		}
		versions++
		require.Equal(t, 2, major)
		require.LessOrEqual(t, minor, newest, "%s", s.Name)
	}
	require.Positive(t, versions)
}
