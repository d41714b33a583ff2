package backend

import "fmt"

var _ = register(Vendor{
	Backend: "cuda", Order: 2, Column: 1,
	Libraries: []Library{
		{Role: Collectives, Names: []string{"libnccl.so.2", "libnccl.so"}, Setting: Setting{Flag: "nccl-lib", Variables: []string{"ZBENCH_NCCL_LIB"}, Meaning: "file of the NCCL library"}},
		{
			Role: Runtime, Names: []string{"libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0", "libcudart.so"},
			Setting: Setting{Flag: "cudart-lib", Variables: []string{"ZBENCH_CUDART_LIB"}, Meaning: "file of the CUDA runtime"},
		},
		{
			Role: Driver, Names: []string{"libcuda.so.1", "libcuda.so"}, Lost: kernelsLost, Product: "NVIDIA's kernel driver (in a container: pass --gpus all)",
			Setting: Setting{Flag: "cuda-driver-lib", Variables: []string{"ZBENCH_CUDA_DRIVER_LIB"}, Meaning: "file of the CUDA driver's library"},
		},
		{
			Role: Compiler, Names: []string{"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so"}, Lost: kernelsLost, Companions: "libnvrtc-builtins.so.*",
			Setting: Setting{Flag: "nvrtc-lib", Variables: []string{"ZBENCH_NVRTC_LIB"}, Meaning: "file of CUDA's run-time compiler"},
		},
	},
	BLAS:    Library{Role: Products, Names: []string{"libcublas.so.13", "libcublas.so.12", "libcublas.so.11", "libcublas.so"}},
	LT:      Library{Role: Heuristics, Names: []string{"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so.11", "libcublasLt.so"}},
	Sensors: Library{Role: Management, Names: []string{"libnvidia-ml.so.1"}},
	// This is the workspace for cuBLAS on Hopper. The size is from copies of PyTorch's
	// parseChosenWorkspaceSize in other projects. PyTorch's current file was not available.
	Torch: Torch{Workspace: 32 << 20},
	// This applies to Ada and Hopper (cuBLAS documentation, cublasLtMatmul).
	TransposedFP8: true,
	Root:          Setting{Flag: "cuda-path", Variables: []string{"CUDA_HOME", "CUDA_PATH"}, Meaning: "folder of the CUDA installation"},
	Sub:           []string{"lib64", "lib", "targets/x86_64-linux/lib"}, Fixed: []string{"/usr/local/cuda/lib64"},
	// The packages of CUDA 13 share a folder; CUDA 12 and 11 have one folder per package.
	Packages: []string{"nvidia/nccl/lib", "nvidia/cu[0-9]*/lib", "nvidia/cuda_runtime/lib", "nvidia/cuda_nvrtc/lib", "nvidia/cublas/lib"},
	Product:  "CUDA and NCCL", NCCL: true,
	Node: "/dev/nvidia0", DriverName: "nvidia", DriverFile: "/sys/module/nvidia/version", Tool: "nvidia-smi",
	Hiding: []string{"CUDA_VISIBLE_DEVICES"}, Prefixes: []string{"CUDA"},
	ArchOption: "-arch=", Waves: map[string]int{"sm_": 32}, // nvrtc always optimises: it has no option for optimisation
	Capability: "sm_%d%d",
	// CUDA's version is major·1000 + minor·10.
	Version: func(v int) string { return fmt.Sprintf("%d.%d", v/1000, v%1000/10) },
	// Since the rewrite of 2024-05-27, which v6.0-rc contains, each thread of src/cuda handles four
	// elements.
	Stream: Stream{Block: 256, Strided: true}, FewThreads: true,
})
