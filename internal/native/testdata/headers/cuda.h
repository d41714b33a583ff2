// CUDA's and NCCL's headers, as the symbol list is held against them.
#include <cuda.h>
#include <cuda_runtime_api.h>
// the C++ overloads would make &cudaMalloc ambiguous, and nccl.h wants them
#define __CUDA_RUNTIME_H__
#include <nccl.h>
#include <nvrtc.h>

#include "compatible.h"

template <> constexpr std::string_view zb::called<ncclDataType_t> = "dtype";
template <> constexpr std::string_view zb::called<ncclRedOp_t> = "op";
template <> constexpr std::string_view zb::called<ncclScalarResidence_t> = "residence";
template <> constexpr std::string_view zb::called<ncclResult_t> = "error";
template <> constexpr std::string_view zb::called<cudaError_t> = "error";
template <> constexpr std::string_view zb::called<CUresult> = "error";
template <> constexpr std::string_view zb::called<nvrtcResult> = "error";
template <> constexpr std::string_view zb::called<cudaMemcpyKind> = "kind";
template <> constexpr std::string_view zb::called<cudaDeviceAttr> = "attribute";
template <> constexpr std::string_view zb::called<CUfunction_attribute> = "attribute";
template <> constexpr std::string_view zb::called<cudaStreamCaptureMode> = "mode";
