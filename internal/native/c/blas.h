/* The vendor's matrix products: plain products (rocBLAS or cuBLAS), and products chosen by
 * heuristics (hipBLASLt or cuBLASLt). Each library is optional and has its own table. */
#ifndef ZB_BLAS_H
#define ZB_BLAS_H

#include "abi.h"

/* The plain product has one type for input and output. It adds in float. ROW(field, args, ROCm's
 * name, CUDA's name) is one function; the name is empty where a vendor has none. There are two rows
 * for the product, because the vendors' arguments differ. All functions return int.
 * `make system-test-headers` compares names, arguments and values with the vendors' headers; in that
 * test, the last word of a value's name identifies its enum. */
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

/* An open library with its handle for one stream. */
typedef struct zb_blas {
  void *handle;
#define ZB_BLAS_FIELD(field, args, ...) int(*field) args;
  ZB_BLAS_SYMBOLS(ZB_BLAS_FIELD)
#undef ZB_BLAS_FIELD
} zb_blas;

/* A matrix stored by rows. `row` is the distance between rows, and `each` is the distance between
 * the matrices of a batch, in elements. */
typedef struct zb_matrix {
  void *at;
  int row;
  int64_t each;
} zb_matrix;

/* C = alpha·A·Bᵀ, where C is m x n, A is m x k and B is n x k. `type` is one of CUDA's
 * numbers. */
typedef struct zb_gemm {
  const zb_blas *blas;
  zb_matrix c, a, b;
  int m, n, k, batch;
  int plain_b; /* B is k x n, and the product is A·B */
  int turn_a;  /* A is k x m, and the product begins with Aᵀ */
  int type;
  float alpha;
} zb_gemm;

/* Fills the table from a library. Returns 1, or 0 with the name of a missing symbol. */
int zb_blas_fill(zb_blas *blas, int vendor, void *library, const char **lacks);

/* Makes a handle on a device for a stream. Returns 0 or the library's error. `t` is the table of
 * the device's provider. */
int zb_blas_open(const zb_table *t, zb_blas *blas, int device, void *stream);
void zb_blas_end(zb_blas *blas);

/* Sets the workspace, only for CUDA's library. With 0 bytes the library uses its own workspace. */
int zb_blas_workspace(zb_blas *blas, void *stream, void *workspace, size_t bytes);

/* Runs the product. Returns the vendor's result, 0 for success. */
int zb_gemm_call(void *gemm);

/* Products that heuristics choose. Both vendors have the same functions, but different numbers
 * for attributes. The rows have the form of ZB_BLAS_SYMBOLS. */
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

/* Numbers that differ between the vendors: ROW(name, ROCm's number, CUDA's number). */
#define ZB_LT_NUMBERS(ROW)                                                     \
  ROW(N, 111, 0)                                                               \
  ROW(T, 112, 1)                                                               \
  ROW(SUMS, 2, 68)                                                             \
  ROW(LAYOUT_BATCH, 0, 5)                                                      \
  ROW(LAYOUT_STRIDE, 1, 6)                                                     \
  ROW(DESC_A, 0, 3)                                                            \
  ROW(DESC_B, 1, 4)                                                            \
  ROW(PREF_WORKSPACE, 1, 1)                                                    \
  ROW(CHOICE_BYTES, 56, 96) /* bytes of a choice; a choice begins with its algorithm */    \
  ROW(CHOICE_WORKSPACE, 24, 64) /* offset of a choice's workspace size */      \
  ROW(CHOICE_STATE, 32, 72)

enum {
#define ZB_LT_NUMBER(name, rocm, cuda) ZB_HIP_##name = rocm, ZB_CUDA_##name = cuda,
  ZB_LT_NUMBERS(ZB_LT_NUMBER)
#undef ZB_LT_NUMBER
};

/* Element types, with the same numbers for both vendors. The FNUZ types are the fp8 types of
 * gfx942. */
enum {
  ZB_LT_F32 = 0,
  ZB_LT_F16 = 2,
  ZB_LT_BF16 = 14,
  ZB_LT_E4M3 = 28,
  ZB_LT_E4M3_FNUZ = 1000,
};

enum { ZB_LT_MOST = 8, ZB_LT_CHOICE_MOST = 96 };

/* An open library with a handle for one device. */
typedef struct zb_lt {
  int vendor; /* the column in the tables */
  void *handle;
#define ZB_LT_FIELD(field, args, ...) int(*field) args;
  ZB_LT_SYMBOLS(ZB_LT_FIELD)
#undef ZB_LT_FIELD
} zb_lt;

/* A product C = op(A)·op(B) of matrices stored by rows, as described to one library, and the
 * choices that its heuristics offer within a workspace, the best first. */
typedef struct zb_lt_plan {
  const zb_lt *lt;
  void *desc, *a, *b, *c; /* stored by columns: a is the library's first operand */
  int32_t found;
  char choices[ZB_LT_MOST][ZB_LT_CHOICE_MOST];
  const char *call; /* output: the call that failed */
} zb_lt_plan;

/* The requested product. The matrices are dense and stored by rows. If turn_a is set, A is stored
 * as k x m; if turn_b is set, B is stored as n x k. */
typedef struct zb_lt_shape {
  int64_t m, n, k;
  int batch, turn_a, turn_b, type, out_type, most;
  uint64_t workspace;
} zb_lt_shape;

/* One launch of a choice of the heuristics. */
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

/* Returns the workspace that a choice uses, in bytes. */
uint64_t zb_lt_workspace(const zb_lt_plan *p, int choice);

#endif
