// cuBLASLt's headers, as the products by heuristics are held against them.
#include <cuComplex.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime_api.h>
#include <library_types.h>
#include <cstddef>
#include <stdint.h>
// as C, because the C++ overloads would make the address of a function ambiguous
#pragma push_macro("__cplusplus")
#undef __cplusplus
#define CUBLASAPI
#include <cublasLt.h>
#pragma pop_macro("__cplusplus")

#include "compatible.h"

template <> constexpr std::string_view zb::called<cudaDataType> = "_type";
template <> constexpr std::string_view zb::called<cublasComputeType_t> = "sums";
template <> constexpr std::string_view zb::called<cublasLtMatrixLayoutAttribute_t> = "layout_attribute";
template <> constexpr std::string_view zb::called<cublasLtMatmulDescAttributes_t> = "desc_attribute";
template <> constexpr std::string_view zb::called<cublasLtMatmulPreferenceAttributes_t> = "pref_attribute";

#define ZB_LT_IS_REAL(field, args, rocm, cuda, ...) ZB_LT_IS(field, args, cuda)

#define ZB_LT_VALUES                                                           \
  ZB_VALUE_IS(ZB_CUDA_N, CUBLAS_OP_N)                                          \
  ZB_VALUE_IS(ZB_CUDA_T, CUBLAS_OP_T)                                          \
  ZB_VALUE_IS(ZB_CUDA_SUMS, CUBLAS_COMPUTE_32F)                                \
  ZB_VALUE_IS(ZB_CUDA_LAYOUT_BATCH, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT)        \
  ZB_VALUE_IS(ZB_CUDA_LAYOUT_STRIDE, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET) \
  ZB_VALUE_IS(ZB_CUDA_DESC_A, CUBLASLT_MATMUL_DESC_TRANSA)                     \
  ZB_VALUE_IS(ZB_CUDA_DESC_B, CUBLASLT_MATMUL_DESC_TRANSB)                     \
  ZB_VALUE_IS(ZB_CUDA_PREF_WORKSPACE, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES) \
  ZB_VALUE_IS(ZB_CUDA_CHOICE_BYTES, sizeof(cublasLtMatmulHeuristicResult_t))   \
  ZB_VALUE_IS(0, offsetof(cublasLtMatmulHeuristicResult_t, algo))              \
  ZB_VALUE_IS(ZB_CUDA_CHOICE_WORKSPACE, offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize)) \
  ZB_VALUE_IS(ZB_CUDA_CHOICE_STATE, offsetof(cublasLtMatmulHeuristicResult_t, state)) \
  ZB_VALUE_IS(ZB_LT_F32, CUDA_R_32F)                                           \
  ZB_VALUE_IS(ZB_LT_F16, CUDA_R_16F)                                           \
  ZB_VALUE_IS(ZB_LT_BF16, CUDA_R_16BF)                                         \
  ZB_VALUE_IS(ZB_LT_E4M3, CUDA_R_8F_E4M3)                                      \
  ZB_VALUE_IS(0, CUBLAS_STATUS_SUCCESS)
