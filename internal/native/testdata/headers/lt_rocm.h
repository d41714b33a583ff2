// hipBLASLt's headers, as the products by heuristics are held against them.
#define __HIP_PLATFORM_AMD__ 1
#include <cstddef>
#include <hipblaslt/hipblaslt.h>

#include "compatible.h"

template <> constexpr std::string_view zb::called<hipDataType> = "_type";
template <> constexpr std::string_view zb::called<hipblasComputeType_t> = "sums";
template <> constexpr std::string_view zb::called<hipblasLtMatrixLayoutAttribute_t> = "layout_attribute";
template <> constexpr std::string_view zb::called<hipblasLtMatmulDescAttributes_t> = "desc_attribute";
template <> constexpr std::string_view zb::called<hipblasLtMatmulPreferenceAttributes_t> = "pref_attribute";

#define ZB_LT_IS_REAL(field, args, rocm, cuda, ...) ZB_LT_IS(field, args, rocm)

#define ZB_LT_VALUES                                                           \
  ZB_VALUE_IS(ZB_HIP_N, HIPBLAS_OP_N)                                          \
  ZB_VALUE_IS(ZB_HIP_T, HIPBLAS_OP_T)                                          \
  ZB_VALUE_IS(ZB_HIP_SUMS, HIPBLAS_COMPUTE_32F)                                \
  ZB_VALUE_IS(ZB_HIP_LAYOUT_BATCH, HIPBLASLT_MATRIX_LAYOUT_BATCH_COUNT)        \
  ZB_VALUE_IS(ZB_HIP_LAYOUT_STRIDE, HIPBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET) \
  ZB_VALUE_IS(ZB_HIP_DESC_A, HIPBLASLT_MATMUL_DESC_TRANSA)                     \
  ZB_VALUE_IS(ZB_HIP_DESC_B, HIPBLASLT_MATMUL_DESC_TRANSB)                     \
  ZB_VALUE_IS(ZB_HIP_PREF_WORKSPACE, HIPBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES) \
  ZB_VALUE_IS(ZB_HIP_CHOICE_BYTES, sizeof(hipblasLtMatmulHeuristicResult_t))   \
  ZB_VALUE_IS(0, offsetof(hipblasLtMatmulHeuristicResult_t, algo))             \
  ZB_VALUE_IS(ZB_HIP_CHOICE_WORKSPACE, offsetof(hipblasLtMatmulHeuristicResult_t, workspaceSize)) \
  ZB_VALUE_IS(ZB_HIP_CHOICE_STATE, offsetof(hipblasLtMatmulHeuristicResult_t, state)) \
  ZB_VALUE_IS(ZB_LT_F32, HIP_R_32F)                                            \
  ZB_VALUE_IS(ZB_LT_F16, HIP_R_16F)                                            \
  ZB_VALUE_IS(ZB_LT_BF16, HIP_R_16BF)                                          \
  ZB_VALUE_IS(ZB_LT_E4M3, HIP_R_8F_E4M3)                                       \
  ZB_VALUE_IS(ZB_LT_E4M3_FNUZ, HIP_R_8F_E4M3_FNUZ)                             \
  ZB_VALUE_IS(0, HIPBLAS_STATUS_SUCCESS)
