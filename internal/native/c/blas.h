/* The vendor's matrix product, optional and by a table of its own: rocBLAS or
 * cuBLAS. One type in and out, sums in float. */
#ifndef ZB_BLAS_H
#define ZB_BLAS_H

#include "abi.h"

/* One row a function: ROW(field, args, ROCm's name, CUDA's), nothing where a vendor has
 * none; its product is in the row whose arguments and values it has. All return int. Names,
 * arguments and values are held against the vendors' headers (`make system-test-headers`),
 * in which the last word of an enum's name says which enum it is. */
#define ZB_BLAS_SYMBOLS(ROW)                                                   \
  ROW(create, (void **handle), rocblas_create_handle, cublasCreate_v2)         \
  ROW(destroy, (void *handle), rocblas_destroy_handle, cublasDestroy_v2)       \
  ROW(setStream, (void *handle, void *stream), rocblas_set_stream,             \
      cublasSetStream_v2)                                                      \
  ROW(rocm_gemm,                                                               \
      (void *handle, int a_turn, int b_turn, int m, int n, int k,              \
       const void *alpha, const void *a, int a_type, int lda,                  \
       int64_t stride_a, const void *b, int b_type, int ldb,                   \
       int64_t stride_b, const void *beta, const void *c, int c_type,          \
       int ldc, int64_t stride_c, void *d, int d_type, int ldd,                \
       int64_t stride_d, int batch, int compute_type, int algorithm,           \
       int32_t solution, uint32_t flags),                                      \
      rocblas_gemm_strided_batched_ex, )                                       \
  ROW(cuda_gemm,                                                               \
      (void *handle, int a_turn, int b_turn, int m, int n, int k,              \
       const void *alpha, const void *a, int a_type, int lda,                  \
       long long stride_a, const void *b, int b_type, int ldb,                 \
       long long stride_b, const void *beta, void *c, int c_type, int ldc,     \
       long long stride_c, int batch, int sums, int algorithm),                \
      , cublasGemmStridedBatchedEx)                                            \
  ROW(cuda_workspace, (void *handle, void *workspace, size_t bytes), ,         \
      cublasSetWorkspace_v2)

enum {
  ZB_ROCBLAS_N = 111,
  ZB_ROCBLAS_T = 112,
  ZB_ROCBLAS_F16 = 150,
  ZB_ROCBLAS_F32 = 151,
  ZB_ROCBLAS_BF16 = 168,
  ZB_ROCBLAS_STANDARD = 0,
  ZB_CUBLAS_N = 0,
  ZB_CUBLAS_T = 1,
  ZB_CUDA_R_32F = 0,
  ZB_CUDA_R_16F = 2,
  ZB_CUDA_R_16BF = 14,
  ZB_CUBLAS_COMPUTE_32F = 68,
  ZB_CUBLAS_GEMM_DEFAULT = -1,
};

/* A library that is open, and its handle for one stream. */
typedef struct zb_blas {
  void *handle;
#define ZB_BLAS_FIELD(field, args, ...) int(*field) args;
  ZB_BLAS_SYMBOLS(ZB_BLAS_FIELD)
#undef ZB_BLAS_FIELD
} zb_blas;

/* Matrices by rows: the elements from a row to the next, and from a matrix of a
 * batch to the next. */
typedef struct zb_matrix {
  void *at;
  int row;
  int64_t each;
} zb_matrix;

/* C = alpha·A·Bᵀ, or alpha·A·B with plain_b, or with Aᵀ for A with turn_a: C m x n, A m x k
 * or k x m, B n x k or k x n. type is of CUDA's numbers. */
typedef struct zb_gemm {
  const zb_blas *blas;
  zb_matrix c, a, b;
  int m, n, k, batch;
  int plain_b; /* B is k x n */
  int turn_a;  /* A is k x m */
  int type;
  float alpha;
} zb_gemm;

/* Fills a table from a library; 0 and the name of what it lacks, or 1. */
int zb_blas_fill(zb_blas *blas, int vendor, void *library, const char **lacks);

/* Makes a handle on a device for a stream; 0 or the library's result. The
 * table is of the device's provider. */
int zb_blas_open(const zb_table *t, zb_blas *blas, int device, void *stream);
void zb_blas_end(zb_blas *blas);

/* Of CUDA's library alone; 0 bytes for its own workspace. */
int zb_blas_workspace(zb_blas *blas, void *stream, void *workspace, size_t bytes);

/* The vendor's result, 0 for success. */
int zb_gemm_call(void *gemm);

#endif
