package backend

import "fmt"

var _ = register(Vendor{
	Backend: "rocm", Order: 1, Column: 0,
	Libraries: []Library{
		{Role: Collectives, Names: []string{"librccl.so.1", "librccl.so"}, Setting: Setting{Flag: "rccl-lib", Variables: []string{"ZBENCH_RCCL_LIB"}, Meaning: "file of the RCCL library"}},
		{
			Role: Runtime, Names: []string{"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so"}, Alone: true,
			Setting: Setting{Flag: "hip-lib", Variables: []string{"ZBENCH_HIP_LIB"}, Meaning: "file of the HIP runtime; opened before RCCL, which then uses it too"},
		},
		{
			Role: Compiler, Names: []string{"libhiprtc.so.7", "libhiprtc.so.6", "libhiprtc.so.5", "libhiprtc.so"}, Lost: kernelsLost,
			Setting: Setting{Flag: "hiprtc-lib", Variables: []string{"ZBENCH_HIPRTC_LIB"}, Meaning: "file of HIP's run-time compiler"},
		},
	},
	BLAS:   Library{Role: Products, Names: []string{"librocblas.so.5", "librocblas.so.4", "librocblas.so.3", "librocblas.so"}},
	LT:     Library{Role: Heuristics, Names: []string{"libhipblaslt.so.1", "libhipblaslt.so.0", "libhipblaslt.so"}},
	Faster: "ROCBLAS_USE_HIPBLASLT",
	// aten/src/ATen/cuda/CUDABlas.cpp of PyTorch 2.6 to 2.9 prefers hipBLASLt on Instinct GPUs.
	Torch: Torch{LT: true, Workspace: 76 << 20},
	FNUZ:  [2]int{9, 4}, // gfx942
	Root:  Setting{Flag: "rocm-path", Variables: []string{"ROCM_PATH", "ROCM_HOME"}, Meaning: "folder of the ROCm installation"},
	Sub:   []string{"lib", "lib64"}, Fixed: []string{"/opt/rocm/lib"},
	// ROCm's own packages (rocm-sdk-core, rocm-sdk-libraries-…) exist from ROCm 7 on. For earlier
	// versions, PyTorch's package contains the libraries.
	Packages: []string{"_rocm_sdk_core/lib", "_rocm_sdk_libraries*/lib", "torch/lib"},
	Product:  "ROCm with RCCL",
	Node:     "/dev/kfd", DriverName: "amdgpu", DriverFile: "/sys/module/amdgpu/version", Tool: "amd-smi",
	// The names are from "GPU isolation techniques" in the documents of HIP and ROCr.
	Hiding: []string{"ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"}, Prefixes: []string{"RCCL", "HSA", "HIP", "ROCR", "AMD", "GPU"},
	ArchOption: "--offload-arch=", Options: []string{"-O3"}, Waves: map[string]int{"gfx9": 64, "gfx1": 32},
	CompilerInRuntime: true,
	// HIP's version is major·10⁷ + minor·10⁵ + patch.
	Version: func(v int) string { return fmt.Sprintf("%d.%d.%d", v/10_000_000, v%10_000_000/100_000, v%100_000) },
	// src/hip/HIPStream.cpp uses one thread per element.
	Stream: Stream{Block: 1024},
})
