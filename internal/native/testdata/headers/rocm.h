// ROCm's headers, as the symbol list is held against them.
#define __HIP_PLATFORM_AMD__ 1
// the C++ overloads would make &hipMalloc ambiguous
#define __HIP_DISABLE_CPP_FUNCTIONS__ 1
#include <hip/hip_runtime_api.h>
#include <hip/hiprtc.h>
#include <rccl/rccl.h>

#include "compatible.h"

template <> constexpr std::string_view zb::called<ncclDataType_t> = "dtype";
template <> constexpr std::string_view zb::called<ncclRedOp_t> = "op";
template <> constexpr std::string_view zb::called<ncclScalarResidence_t> = "residence";
template <> constexpr std::string_view zb::called<ncclResult_t> = "error";
template <> constexpr std::string_view zb::called<hipError_t> = "error";
template <> constexpr std::string_view zb::called<hiprtcResult> = "error";
template <> constexpr std::string_view zb::called<hipMemcpyKind> = "kind";
template <> constexpr std::string_view zb::called<hipDeviceAttribute_t> = "attribute";
template <> constexpr std::string_view zb::called<hipStreamCaptureMode> = "mode";
