package native

import (
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What hiprtc and nvrtc bring along, as far as the kernels use it.
const deviceShim = `
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __forceinline__ inline __attribute__((always_inline))
struct shim_dim3 { unsigned x, y, z; };
#ifndef __AMDGCN__
struct alignas(16) uint4 { unsigned x, y, z, w; };
__device__ inline float sqrtf(float v) { return __builtin_sqrtf(v); }
#endif
#ifdef __HIP__
/* as in hip_runtime.h: clang does not look at launch_bounds for AMD */
#define __launch_bounds__(n) __attribute__((amdgpu_flat_work_group_size(1, n)))
#define SHIM_SIZE(d) __builtin_amdgcn_workgroup_size_##d()
#define threadIdx (shim_dim3{__builtin_amdgcn_workitem_id_x(), __builtin_amdgcn_workitem_id_y(), __builtin_amdgcn_workitem_id_z()})
#define blockIdx (shim_dim3{__builtin_amdgcn_workgroup_id_x(), __builtin_amdgcn_workgroup_id_y(), __builtin_amdgcn_workgroup_id_z()})
#define blockDim (shim_dim3{SHIM_SIZE(x), SHIM_SIZE(y), SHIM_SIZE(z)})
#define gridDim (shim_dim3{__builtin_amdgcn_grid_size_x() / SHIM_SIZE(x), __builtin_amdgcn_grid_size_y() / SHIM_SIZE(y), __builtin_amdgcn_grid_size_z() / SHIM_SIZE(z)})
__device__ inline void __syncthreads() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
__device__ inline int shim_shuffle(int v, int mask) {
  int lane = __builtin_amdgcn_mbcnt_hi(-1, __builtin_amdgcn_mbcnt_lo(-1, 0));
  return __builtin_amdgcn_ds_bpermute((lane ^ mask) << 2, v);
}
template <typename T> __device__ inline T __shfl_xor(T v, int mask) {
#else
#define __launch_bounds__(n) __attribute__((launch_bounds(n)))
#define threadIdx (shim_dim3{(unsigned)__nvvm_read_ptx_sreg_tid_x(), (unsigned)__nvvm_read_ptx_sreg_tid_y(), (unsigned)__nvvm_read_ptx_sreg_tid_z()})
#define blockIdx (shim_dim3{(unsigned)__nvvm_read_ptx_sreg_ctaid_x(), (unsigned)__nvvm_read_ptx_sreg_ctaid_y(), (unsigned)__nvvm_read_ptx_sreg_ctaid_z()})
#define blockDim (shim_dim3{(unsigned)__nvvm_read_ptx_sreg_ntid_x(), (unsigned)__nvvm_read_ptx_sreg_ntid_y(), (unsigned)__nvvm_read_ptx_sreg_ntid_z()})
#define gridDim (shim_dim3{(unsigned)__nvvm_read_ptx_sreg_nctaid_x(), (unsigned)__nvvm_read_ptx_sreg_nctaid_y(), (unsigned)__nvvm_read_ptx_sreg_nctaid_z()})
__device__ inline int shim_shuffle(int v, int mask) { return __nvvm_shfl_sync_bfly_i32(-1, v, mask, 31); }
__device__ inline uint4 __ldcs(const uint4 *p) { return *p; }
__device__ inline void __stcs(uint4 *p, uint4 v) { *p = v; }
template <typename T> __device__ inline T __shfl_xor_sync(unsigned, T v, int mask) {
#endif
  int part[sizeof(T) < 8 ? 1 : 2] = {};
  __builtin_memcpy(part, &v, sizeof v);
  for (int &p : part) {
    p = shim_shuffle(p, mask);
  }
  __builtin_memcpy(&v, part, sizeof v);
  return v;
}
__device__ inline unsigned long long atomicAdd(unsigned long long *p, unsigned long long v) {
  return __atomic_fetch_add(p, v, __ATOMIC_RELAXED);
}
__device__ inline unsigned long long atomicMin(unsigned long long *p, unsigned long long v) {
  return __atomic_fetch_min(p, v, __ATOMIC_RELAXED);
}
#line 1
`

// The sources that a GPU's compiler gets compile for one of AMD and one of
// NVIDIA, and the code for AMD's is what isaRows say. hiprtc's own header is not
// part of this. For a compiler that is neither they have no vendor's instructions;
// muon's need its matrix units.
func TestToolchainCompilesForDevices(t *testing.T) {
	Toolchain(t)
	t.Parallel()
	if _, err := exec.LookPath("clang-19"); err != nil {
		require.Empty(t, os.Getenv("CI"), "clang-19 is not installed")
		t.Skip("clang-19 is not installed")
	}
	for target, flags := range map[string][]string{
		"neither": {"-x", "hip", "--offload-arch=gfx942", "-nogpuinc", "-nogpulib", "-U__AMDGCN__"},
		"gfx942":  {"-x", "hip", "--offload-arch=gfx942", "-nogpuinc", "-nogpulib"},
		"sm_90":   {"-x", "cuda", "--cuda-gpu-arch=sm_90", "-nocudainc", "-nocudalib", "-Xclang", "-target-feature", "-Xclang", "+ptx80"},
	} {
		kernels := map[string][]string{}
		for _, k := range Kernels() {
			kernels[k.File] = append(kernels[k.File], k.Name)
		}
		for file, names := range kernels {
			if target == "neither" && strings.HasPrefix(file, "muon") {
				continue
			}
			t.Run(target+"/"+file, func(t *testing.T) {
				t.Parallel()
				text := deviceCode(t, file, "clang-19", slices.Concat(flags, []string{"-Wall", "-Werror", "-Wno-unused-command-line-argument"})...)
				if target == "neither" {
					return
				}
				holdsISA(t, target, text, names)
				switch {
				case target == "gfx942" && file == "stream.hip":
					streamsPastTheCaches(t, text, names)
				case target == "gfx942" && file == "norm.hip":
					normsSkipAbsentVectors(t, text)
					normsAskFirst(t, `global_(l)oad_dwordx4|global_(s)tore_dwordx4|vmcnt(\()`, 64, func(name string) string { return isaBody(text, name) })
				case target == "gfx942" && file == "muon_product.hip":
					productsWaitBehindTheirWork(t, text, names)
					productsKeepTheMatrixUnitsBusy(t, text)
				case target == "sm_90" && file == "norm.hip":
					normsAskFirst(t, `(l)d\.global\.v4|(s)t\.global\.v4`, 32, func(name string) string {
						_, body, _ := strings.Cut(text, ".entry "+name+"(")
						body, _, _ = strings.Cut(body, ".entry ")
						return body
					})
				case target == "sm_90" && file == "muon_product.hip":
					copiesWaitBehindTheirWork(t, text, names)
					require.Equal(t, len(names), strings.Count(text, "cvta.to.shared"), "shared addresses made of pointers")
				}
			})
		}
	}
}

// kernelText is the whole text of a kernel source.
func kernelText(t *testing.T, file string) string {
	t.Helper()
	text, err := KernelFile(file)
	require.NoError(t, err)
	return text
}

// deviceCode is the assembly that a compiler makes of a kernel source for a GPU.
func deviceCode(t *testing.T, file, compiler string, flags ...string) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "k.cc"), []byte(deviceShim+kernelText(t, file)), 0o600))
	Compile(t, dir, compiler, slices.Concat(flags, []string{"--cuda-device-only", "-O3", "-std=c++17", "-S", "k.cc", "-o", "k.s"})...)
	text, err := os.ReadFile(filepath.Join(dir, "k.s"))
	require.NoError(t, err)
	return string(text)
}

// gfx950 multiplies by the instruction that takes eight elements of a lane: that of gfx942
// has half its rate. clang-19 does not know gfx950.
func TestToolchainGfx950MultipliesAtFullRate(t *testing.T) {
	Toolchain(t)
	t.Parallel()
	clang := ""
	for _, name := range []string{"clang-20", "clang-21", "clang-22", "clang-23"} {
		if _, err := exec.LookPath(name); err == nil {
			clang = name
		}
	}
	if clang == "" {
		t.Skip("no clang from 20 on is installed; make system-test-rocm finds the instruction in what hiprtc makes for gfx950")
	}
	text := deviceCode(t, "muon_product.hip", clang, "-x", "hip", "--offload-arch=gfx950", "-nogpuinc", "-nogpulib")
	for _, name := range []string{"zb_triangle_128", "zb_triangle_64", "zb_product_128", "zb_product_64"} {
		row := isaRow{want: []string{`v_mfma_f32_16x16x32_bf16`, `ds_read_b128`}, forbid: []string{`v_mfma_f32_16x16x16`, flatAccess, `scratch_`}, maxVGPR: 256, maxLDS: 32 << 10}
		body := isaBody(text, name)
		require.Empty(t, isaFaults(row, isaMetadata(t, text)[name], body), name)
		if strings.HasSuffix(name, "_128") { // the small tile has two instructions for two writes
			hiddenAccesses(t, flowOf(t, body), name)
		}
	}
}

// Streams take 16 bytes at once; those named non-temporal say so to the caches,
// and as many loads stand before the first store as their name promises.
func streamsPastTheCaches(t *testing.T, asm string, names []string) {
	inputs := map[string]int{"read": 1, "write": 0, "copy": 1, "scale": 1, "add": 2, "triad": 2, "dot": 2}
	access := regexp.MustCompile(`global_(load|store)_dwordx4 .*`)
	for _, name := range names {
		part := strings.Split(name, "_") // zb, operation, type, loads, non-temporal
		_, body, found := strings.Cut(asm, "\n"+name+":")
		require.True(t, found, name)
		body, _, _ = strings.Cut(body, ".Lfunc_end")
		loads, stores, before := 0, 0, 0
		for _, line := range access.FindAllString(body, -1) {
			require.Equal(t, part[4] == "1", strings.HasSuffix(line, " nt"), "%s: %s", name, line)
			if strings.HasPrefix(line, "global_load") {
				loads++
				continue
			}
			if stores == 0 {
				before = loads
			}
			stores++
		}
		unroll, err := strconv.Atoi(part[3])
		require.NoError(t, err)
		want := inputs[part[1]] * unroll
		if stores > 0 {
			require.Equal(t, want, before, "%s: loads before a store", name)
			require.Equal(t, unroll, stores, name)
		}
		require.Equal(t, want, loads, name)
	}
}

// A thread asks for all that it holds of a row before it waits for any or stores any,
// and for all weights before it stores any of what they make. access has a group for
// each kind of access.
func normsAskFirst(t *testing.T, access string, wave int, body func(name string) string) {
	accesses := regexp.MustCompile(access)
	for name, held := range map[string]int{"zb_rmsnorm_bf16_1_wave": 1024 / 8 / wave, "zb_rmsnorm_bf16_1_block": 4, "zb_rmsnorm_bf16_1_large": 4} {
		var order strings.Builder
		for _, a := range accesses.FindAllStringSubmatch(body(name), -1) {
			order.WriteString(strings.Join(a[1:], ""))
		}
		require.Regexp(t, fmt.Sprintf(`^l{%d}[s(].*[s(]l{%d}[s(]`, 2*held, held), order.String(), name)
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
