// cuBLAS's headers, as the matrix product is held against them.
#include <cuComplex.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime_api.h>
#include <library_types.h>
#include <stdint.h>
// as C, because the C++ overloads would make &cublasGemmStridedBatchedEx ambiguous
#pragma push_macro("__cplusplus")
#undef __cplusplus
#define CUBLASAPI
#include <cublas_api.h>
#pragma pop_macro("__cplusplus")

#include "compatible.h"

template <> constexpr std::string_view zb::called<cublasOperation_t> = "_turn";
template <> constexpr std::string_view zb::called<cudaDataType> = "_type";
template <> constexpr std::string_view zb::called<cublasComputeType_t> = "sums";
template <> constexpr std::string_view zb::called<cublasGemmAlgo_t> = "algorithm";

#define ZB_BLAS_IS_REAL(field, args, rocm, cuda, ...) ZB_BLAS_IS(field, args, cuda)

#define ZB_BLAS_VALUES                                                         \
  ZB_VALUE_IS(ZB_CUBLAS_N, CUBLAS_OP_N)                                        \
  ZB_VALUE_IS(ZB_CUBLAS_T, CUBLAS_OP_T)                                        \
  ZB_VALUE_IS(ZB_CUDA_R_32F, CUDA_R_32F)                                       \
  ZB_VALUE_IS(ZB_CUDA_R_16F, CUDA_R_16F)                                       \
  ZB_VALUE_IS(ZB_CUDA_R_16BF, CUDA_R_16BF)                                     \
  ZB_VALUE_IS(ZB_CUBLAS_COMPUTE_32F, CUBLAS_COMPUTE_32F)                       \
  ZB_VALUE_IS(ZB_CUBLAS_GEMM_DEFAULT, CUBLAS_GEMM_DEFAULT)                     \
  ZB_VALUE_IS(0, CUBLAS_STATUS_SUCCESS)
