// rocBLAS's headers, as the matrix product is held against them.
#define __HIP_PLATFORM_AMD__ 1
#include <rocblas/rocblas.h>

#include "compatible.h"

template <> constexpr std::string_view zb::called<rocblas_operation> = "_turn";
template <> constexpr std::string_view zb::called<rocblas_datatype> = "_type";
template <> constexpr std::string_view zb::called<rocblas_gemm_algo> = "algorithm";

#define ZB_BLAS_IS_REAL(field, args, rocm, ...) ZB_BLAS_IS(field, args, rocm)

#define ZB_BLAS_VALUES                                                         \
  ZB_VALUE_IS(ZB_ROCBLAS_N, rocblas_operation_none)                            \
  ZB_VALUE_IS(ZB_ROCBLAS_T, rocblas_operation_transpose)                       \
  ZB_VALUE_IS(ZB_ROCBLAS_F16, rocblas_datatype_f16_r)                          \
  ZB_VALUE_IS(ZB_ROCBLAS_F32, rocblas_datatype_f32_r)                          \
  ZB_VALUE_IS(ZB_ROCBLAS_BF16, rocblas_datatype_bf16_r)                        \
  ZB_VALUE_IS(ZB_ROCBLAS_STANDARD, rocblas_gemm_algo_standard)                 \
  ZB_VALUE_IS(0, rocblas_gemm_flags_none)                                      \
  ZB_VALUE_IS(0, rocblas_status_success)
