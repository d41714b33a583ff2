package native

/*
#include "c/dl.h"
*/
import "C"

// Role is what a library is for.
type Role string

// The roles, in the order of opening: the collectives library loads its runtime.
const (
	RoleCollectives Role = "collectives"
	RoleRuntime     Role = "runtime"
	RoleDriver      Role = "driver"
	RoleCompiler    Role = "compiler"
)

// libraryRow is the names and the purpose of a vendor's library.
type libraryRow struct {
	role Role
	kind C.int
	// names are file names, the preferred first; the last one names it in texts.
	names []string
	// flag is the setting that names its file.
	flag string
	// lost is what does not work without the library; empty if nothing works.
	lost string
	// alone is true if a process must not have two of them.
	alone bool
	// product is what to install if the vendor's product does not contain it.
	product string
}

// vendor describes where to search for a vendor's libraries. A new vendor is one row here
// and a column in the symbol list.
type vendor struct {
	column    C.int
	libraries []libraryRow
	// root is the setting that names the installation, sub its folders of
	// libraries.
	root  string
	sub   []string
	fixed []string
	// product is what to install.
	product string
	// archOption is the compiler's option for the architecture.
	archOption string
}

var vendors = map[string]vendor{
	"rocm": {
		column: C.ZB_ROCM,
		libraries: []libraryRow{
			{role: RoleCollectives, kind: C.ZB_COLLECTIVES, names: []string{"librccl.so.1", "librccl.so"}, flag: "rccl-lib"},
			{role: RoleRuntime, kind: C.ZB_RUNTIME, names: []string{"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so"}, flag: "hip-lib", alone: true},
			{role: RoleCompiler, kind: C.ZB_COMPILER, names: []string{"libhiprtc.so.7", "libhiprtc.so.6", "libhiprtc.so.5", "libhiprtc.so"}, flag: "hiprtc-lib", lost: kernelsLost},
		},
		root: "rocm-path", sub: []string{"lib", "lib64"}, fixed: []string{"/opt/rocm/lib"},
		product: "ROCm with RCCL", archOption: "--offload-arch=",
	},
	"cuda": {
		column: C.ZB_CUDA,
		libraries: []libraryRow{
			{role: RoleCollectives, kind: C.ZB_COLLECTIVES, names: []string{"libnccl.so.2", "libnccl.so"}, flag: "nccl-lib"},
			{role: RoleRuntime, kind: C.ZB_RUNTIME, names: []string{"libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0", "libcudart.so"}, flag: "cudart-lib"},
			{role: RoleDriver, kind: C.ZB_DRIVER, names: []string{"libcuda.so.1", "libcuda.so"}, flag: "cuda-driver-lib", lost: kernelsLost, product: "NVIDIA's kernel driver (in a container: pass --gpus all)"},
			{role: RoleCompiler, kind: C.ZB_COMPILER, names: []string{"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so"}, flag: "nvrtc-lib", lost: kernelsLost},
		},
		root: "cuda-path", sub: []string{"lib64", "lib", "targets/x86_64-linux/lib"}, fixed: []string{"/usr/local/cuda/lib64"},
		product: "CUDA and NCCL", archOption: "-arch=",
	},
}

const kernelsLost = "kernels: verification, the delay of isolated timing, memory and kernel benchmarks"

// Setting is a file or folder that a user can set by a flag or by a variable.
type Setting struct {
	// Flag is the flag's name without dashes; Variables are looked up in their
	// order if the flag is not given.
	Flag      string
	Variables []string
	// Backend is the backend of the setting, empty for all.
	Backend string
	Meaning string
}

// KernelNeeds are the libraries that kernels on a device need.
var KernelNeeds = []Role{RoleRuntime, RoleDriver, RoleCompiler}

// SettingWithin is the flag of Choice.Within.
const SettingWithin = "lib-timeout"

// SettingFolders is the flag that adds folders of libraries.
const SettingFolders = "lib-path"

var settings = []Setting{
	{"rocm-path", []string{"ROCM_PATH", "ROCM_HOME"}, "rocm", "folder of the ROCm installation"},
	{"rccl-lib", []string{"ZBENCH_RCCL_LIB"}, "rocm", "file of the RCCL library"},
	{"hip-lib", []string{"ZBENCH_HIP_LIB"}, "rocm", "file of the HIP runtime; opened before RCCL, which then uses it too"},
	{"hiprtc-lib", []string{"ZBENCH_HIPRTC_LIB"}, "rocm", "file of HIP's run-time compiler"},
	{"cuda-path", []string{"CUDA_HOME", "CUDA_PATH"}, "cuda", "folder of the CUDA installation"},
	{"nccl-lib", []string{"ZBENCH_NCCL_LIB"}, "cuda", "file of the NCCL library"},
	{"cudart-lib", []string{"ZBENCH_CUDART_LIB"}, "cuda", "file of the CUDA runtime"},
	{"cuda-driver-lib", []string{"ZBENCH_CUDA_DRIVER_LIB"}, "cuda", "file of the CUDA driver's library"},
	{"nvrtc-lib", []string{"ZBENCH_NVRTC_LIB"}, "cuda", "file of CUDA's run-time compiler"},
	{SettingFolders, []string{"ZBENCH_LIB_PATH"}, "", "more folders to look for libraries in, first of all; colons between them"},
}

// Settings lists the settings, for flags and for help.
func Settings() []Setting { return settings }

// setting looks a flag up, then its variables. by is the one that was set.
func (o Choice) setting(flag string) (value, by string) {
	if v := o.Named[flag]; v != "" {
		return v, "--" + flag
	}
	for _, s := range settings {
		if s.Flag != flag || o.Getenv == nil {
			continue
		}
		for _, name := range s.Variables {
			if v := o.Getenv(name); v != "" {
				return v, name
			}
		}
	}
	return "", ""
}
