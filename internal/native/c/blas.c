/* Vendors' matrix products: names, argument orders and enum values of cublas_api.h
 * and library_types.h (CUDA 12), rocblas-functions.h and rocblas-types.h (ROCm 6). */
#include "blas.h"

#include <dlfcn.h>
#include <string.h>

enum { ZB_CUBLAS_N = 0, ZB_CUBLAS_T = 1, ZB_CUDA_R_32F = 0, ZB_CUDA_R_16BF = 14 };
enum { ZB_CUBLAS_COMPUTE_32F = 68, ZB_CUBLAS_GEMM_DEFAULT = -1 };
enum { ZB_ROCBLAS_N = 111, ZB_ROCBLAS_T = 112 };
enum { ZB_ROCBLAS_F32 = 151, ZB_ROCBLAS_BF16 = 168, ZB_ROCBLAS_STANDARD = 0 };

typedef int (*zb_cublas_gemm)(void *handle, int opa, int opb, int m, int n,
                              int k, const void *alpha, const void *a,
                              int atype, int lda, long long stride_a,
                              const void *b, int btype, int ldb,
                              long long stride_b, const void *beta, void *c,
                              int ctype, int ldc, long long stride_c, int batch,
                              int compute, int algorithm);
typedef int (*zb_rocblas_gemm)(void *handle, int opa, int opb, int m, int n,
                               int k, const void *alpha, const void *a,
                               int atype, int lda, int64_t stride_a,
                               const void *b, int btype, int ldb,
                               int64_t stride_b, const void *beta,
                               const void *c, int ctype, int ldc,
                               int64_t stride_c, void *d, int dtype, int ldd,
                               int64_t stride_d, int batch, int compute,
                               int algorithm, int32_t solution,
                               uint32_t flags);

/* One row a function: where it goes and what each vendor calls it. */
static const struct {
  size_t offset;
  const char *name[2]; /* by ZB_ROCM, ZB_CUDA */
} zb_blas_rows[] = {
    {offsetof(zb_blas, create), {"rocblas_create_handle", "cublasCreate_v2"}},
    {offsetof(zb_blas, destroy), {"rocblas_destroy_handle", "cublasDestroy_v2"}},
    {offsetof(zb_blas, setStream), {"rocblas_set_stream", "cublasSetStream_v2"}},
    {offsetof(zb_blas, gemm),
     {"rocblas_gemm_strided_batched_ex", "cublasGemmStridedBatchedEx"}},
};

int zb_blas_fill(zb_blas *blas, int vendor, void *library, const char **lacks) {
  blas->vendor = vendor;
  for (size_t i = 0; i < sizeof zb_blas_rows / sizeof zb_blas_rows[0]; i++) {
    void *symbol = dlsym(library, zb_blas_rows[i].name[vendor]);
    if (symbol == NULL) {
      *lacks = zb_blas_rows[i].name[vendor];
      return 0;
    }
    memcpy((char *)blas + zb_blas_rows[i].offset, &symbol, sizeof symbol);
  }
  return 1;
}

int zb_blas_open(const zb_table *t, zb_blas *blas, int device, void *stream) {
  int code = t->setDevice(device);
  if (code == 0) {
    code = blas->create(&blas->handle);
  }
  return code == 0 ? blas->setStream(blas->handle, stream) : code;
}

void zb_blas_end(zb_blas *blas) {
  if (blas->handle != NULL) {
    blas->destroy(blas->handle);
    blas->handle = NULL;
  }
}

/* By columns, which is how both count, Cᵀ = B·Aᵀ: what lies as B by rows is its
 * transpose by columns. */
int zb_gemm_call(void *gemm) {
  static const float one = 1, zero = 0;
  const zb_gemm *g = gemm;
  int64_t a = (int64_t)g->m * g->row_k, b = (int64_t)g->n * g->row_k;
  int64_t c = (int64_t)g->m * g->row_c;
  if (g->blas->vendor == ZB_CUDA) {
    return ((zb_cublas_gemm)g->blas->gemm)(
        g->blas->handle, ZB_CUBLAS_T, ZB_CUBLAS_N, g->n, g->m, g->k, &one, g->b,
        ZB_CUDA_R_16BF, g->row_k, b, g->a, ZB_CUDA_R_16BF, g->row_k, a, &zero,
        g->c, ZB_CUDA_R_16BF, g->row_c, c, g->batch, ZB_CUBLAS_COMPUTE_32F,
        ZB_CUBLAS_GEMM_DEFAULT);
  }
  return ((zb_rocblas_gemm)g->blas->gemm)(
      g->blas->handle, ZB_ROCBLAS_T, ZB_ROCBLAS_N, g->n, g->m, g->k, &one, g->b,
      ZB_ROCBLAS_BF16, g->row_k, b, g->a, ZB_ROCBLAS_BF16, g->row_k, a, &zero,
      g->c, ZB_ROCBLAS_BF16, g->row_c, c, g->c, ZB_ROCBLAS_BF16, g->row_c, c,
      g->batch, ZB_ROCBLAS_F32, ZB_ROCBLAS_STANDARD, 0, 0);
}
