/* The vendor's matrix products, plain (rocBLAS or cuBLAS) and by heuristics (hipBLASLt or
 * cuBLASLt), each optional and by a table of its own. */
#ifndef ZB_BLAS_H
#define ZB_BLAS_H

#include "abi.h"

/* The plain product has one type in and out, and sums in float.
 * One row a function: ROW(field, args, ROCm's name, CUDA's), nothing where a vendor has
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

/* An open library, and its handle for one stream. */
typedef struct zb_blas {
  void *handle;
#define ZB_BLAS_FIELD(field, args, ...) int(*field) args;
  ZB_BLAS_SYMBOLS(ZB_BLAS_FIELD)
#undef ZB_BLAS_FIELD
} zb_blas;

/* A matrix by rows: the elements from one row to the next, and from one matrix of a batch to the
 * next. */
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

/* Fills a table from a library; returns 0 and the name of a missing symbol, or 1. */
int zb_blas_fill(zb_blas *blas, int vendor, void *library, const char **lacks);

/* Makes a handle on a device for a stream; returns 0 or the library's result. The table belongs
 * to the device's provider. */
int zb_blas_open(const zb_table *t, zb_blas *blas, int device, void *stream);
void zb_blas_end(zb_blas *blas);

/* For CUDA's library only; 0 bytes selects the library's own workspace. */
int zb_blas_workspace(zb_blas *blas, void *stream, void *workspace, size_t bytes);

/* The vendor's result, 0 for success. */
int zb_gemm_call(void *gemm);

/* Products by heuristics: both vendors have the same functions, with numbers of their own for
 * attributes. The rows are as those of ZB_BLAS_SYMBOLS. */
#define ZB_LT_SYMBOLS(ROW)                                                     \
  ROW(create, (void **handle), hipblasLtCreate, cublasLtCreate)                \
  ROW(destroy, (void *handle), hipblasLtDestroy, cublasLtDestroy)              \
  ROW(layoutCreate,                                                            \
      (void **layout, int matrix_type, uint64_t rows, uint64_t cols,           \
       int64_t ld),                                                            \
      hipblasLtMatrixLayoutCreate, cublasLtMatrixLayoutCreate)                 \
  ROW(layoutDestroy, (void *layout), hipblasLtMatrixLayoutDestroy,             \
      cublasLtMatrixLayoutDestroy)                                             \
  ROW(layoutSet,                                                               \
      (void *layout, int layout_attribute, const void *value, size_t bytes),   \
      hipblasLtMatrixLayoutSetAttribute, cublasLtMatrixLayoutSetAttribute)     \
  ROW(descCreate, (void **desc, int sums, int scale_type),                     \
      hipblasLtMatmulDescCreate, cublasLtMatmulDescCreate)                     \
  ROW(descDestroy, (void *desc), hipblasLtMatmulDescDestroy,                   \
      cublasLtMatmulDescDestroy)                                               \
  ROW(descSet,                                                                 \
      (void *desc, int desc_attribute, const void *value, size_t bytes),       \
      hipblasLtMatmulDescSetAttribute, cublasLtMatmulDescSetAttribute)         \
  ROW(prefCreate, (void **pref), hipblasLtMatmulPreferenceCreate,              \
      cublasLtMatmulPreferenceCreate)                                          \
  ROW(prefDestroy, (void *pref), hipblasLtMatmulPreferenceDestroy,             \
      cublasLtMatmulPreferenceDestroy)                                         \
  ROW(prefSet,                                                                 \
      (void *pref, int pref_attribute, const void *value, size_t bytes),       \
      hipblasLtMatmulPreferenceSetAttribute,                                   \
      cublasLtMatmulPreferenceSetAttribute)                                    \
  ROW(heuristic,                                                               \
      (void *handle, void *desc, void *a, void *b, void *c, void *d,           \
       void *pref, int most, void *choices, int *found),                       \
      hipblasLtMatmulAlgoGetHeuristic, cublasLtMatmulAlgoGetHeuristic)         \
  ROW(matmul,                                                                  \
      (void *handle, void *desc, const void *alpha, const void *a,             \
       void *a_layout, const void *b, void *b_layout, const void *beta,        \
       const void *c, void *c_layout, void *d, void *d_layout,                 \
       const void *choice, void *workspace, size_t bytes, void *stream),       \
      hipblasLtMatmul, cublasLtMatmul)

/* Numbers that differ by vendor: ROW(name, ROCm's, CUDA's). */
#define ZB_LT_NUMBERS(ROW)                                                     \
  ROW(N, 111, 0)                                                               \
  ROW(T, 112, 1)                                                               \
  ROW(SUMS, 2, 68)                                                             \
  ROW(LAYOUT_BATCH, 0, 5)                                                      \
  ROW(LAYOUT_STRIDE, 1, 6)                                                     \
  ROW(DESC_A, 0, 3)                                                            \
  ROW(DESC_B, 1, 4)                                                            \
  ROW(PREF_WORKSPACE, 1, 1)                                                    \
  ROW(CHOICE_BYTES, 56, 96) /* a result of the heuristics, its algorithm first */ \
  ROW(CHOICE_WORKSPACE, 24, 64) /* where it has its workspace's size_t */      \
  ROW(CHOICE_STATE, 32, 72)

enum {
#define ZB_LT_NUMBER(name, rocm, cuda) ZB_HIP_##name = rocm, ZB_CUDA_##name = cuda,
  ZB_LT_NUMBERS(ZB_LT_NUMBER)
#undef ZB_LT_NUMBER
};

/* Element types, the same numbers for both vendors. FNUZ is gfx942's. */
enum {
  ZB_LT_F32 = 0,
  ZB_LT_F16 = 2,
  ZB_LT_BF16 = 14,
  ZB_LT_E4M3 = 28,
  ZB_LT_E4M3_FNUZ = 1000,
};

enum { ZB_LT_MOST = 8, ZB_LT_CHOICE_MOST = 96 };

/* An open library, with a handle for one device. */
typedef struct zb_lt {
  int vendor; /* the column in the tables */
  void *handle;
#define ZB_LT_FIELD(field, args, ...) int(*field) args;
  ZB_LT_SYMBOLS(ZB_LT_FIELD)
#undef ZB_LT_FIELD
} zb_lt;

/* A product C = op(A)·op(B), by rows, as described to one library, and the choices that its
 * heuristics offer within a workspace, the best first. */
typedef struct zb_lt_plan {
  const zb_lt *lt;
  void *desc, *a, *b, *c; /* by columns: a is the library's first operand */
  int32_t found;
  char choices[ZB_LT_MOST][ZB_LT_CHOICE_MOST];
  const char *call; /* out: the failed call */
} zb_lt_plan;

/* The requested product. Matrices are dense by rows; turn_a: A is stored as k x m, turn_b: B is
 * stored as n x k. */
typedef struct zb_lt_shape {
  int64_t m, n, k;
  int batch, turn_a, turn_b, type, out_type, most;
  uint64_t workspace;
} zb_lt_shape;

/* One launch of a choice. */
typedef struct zb_lt_launch {
  const zb_lt_plan *plan;
  const void *a, *b;
  void *c, *workspace, *stream;
  uint64_t workspace_bytes;
  int32_t choice;
} zb_lt_launch;

int zb_lt_fill(zb_lt *lt, int vendor, void *library, const char **lacks);

/* These functions return the vendor's result, 0 for success. */
int zb_lt_open(const zb_table *t, zb_lt *lt, int device);
void zb_lt_end(zb_lt *lt);
int zb_lt_make(zb_lt_plan *p, const zb_lt_shape *s);
void zb_lt_drop(zb_lt_plan *p);
int zb_lt_call(void *launch);

/* Returns the bytes of workspace that a choice uses. */
uint64_t zb_lt_workspace(const zb_lt_plan *p, int choice);

#endif
