/* The matrix products of vendors. */
#include "blas.h"

#include <dlfcn.h>
#include <string.h>

/* The offset of each function in the table, and its name for each vendor. */
static const struct {
  size_t offset;
  const char *name[ZB_VENDORS];
} zb_blas_rows[] = {
#define ZB_BLAS_ROW(field, args, ...) {offsetof(zb_blas, field), ZB_WORDS(__VA_ARGS__)},
    ZB_BLAS_SYMBOLS(ZB_BLAS_ROW)};

int zb_blas_fill(zb_blas *blas, int vendor, void *library, const char **lacks) {
  for (size_t i = 0; i < sizeof zb_blas_rows / sizeof zb_blas_rows[0]; i++) {
    const char *name = zb_blas_rows[i].name[vendor];
    if (name[0] == '\0') {
      continue;
    }
    void *symbol = dlsym(library, name);
    if (symbol == NULL) {
      *lacks = name;
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

/* Sets the workspace. Setting the stream selects the library's own workspace again (cuBLAS
 * documentation, cublasSetStream). */
int zb_blas_workspace(zb_blas *blas, void *stream, void *workspace, size_t bytes) {
  int code = blas->setStream(blas->handle, stream);
  return code != 0 || bytes == 0 ? code : blas->cuda_workspace(blas->handle, workspace, bytes);
}

static int zb_blas_type(int cuda) {
  switch (cuda) {
  case ZB_CUDA_R_32F:
    return ZB_ROCBLAS_F32;
  case ZB_CUDA_R_16F:
    return ZB_ROCBLAS_F16;
  }
  return ZB_ROCBLAS_BF16;
}

/* Calls the vendor's product. The libraries store matrices by columns, so the call computes Cᵀ =
 * B·Aᵀ: a matrix stored by rows is its transpose stored by columns. */
int zb_gemm_call(void *gemm) {
  static const float zero = 0;
  const zb_gemm *g = gemm;
  const zb_matrix *a = &g->a, *b = &g->b, *c = &g->c;
  int type = g->type;
  if (g->blas->cuda_gemm != NULL) {
    return g->blas->cuda_gemm(
        g->blas->handle, g->plain_b ? ZB_CUBLAS_N : ZB_CUBLAS_T,
        g->turn_a ? ZB_CUBLAS_T : ZB_CUBLAS_N, g->n, g->m, g->k, &g->alpha, b->at, type,
        b->row, b->each, a->at, type, a->row, a->each, &zero, c->at, type, c->row, c->each,
        g->batch, ZB_CUBLAS_COMPUTE_32F, ZB_CUBLAS_GEMM_DEFAULT);
  }
  type = zb_blas_type(type);
  return g->blas->rocm_gemm(
      g->blas->handle, g->plain_b ? ZB_ROCBLAS_N : ZB_ROCBLAS_T,
      g->turn_a ? ZB_ROCBLAS_T : ZB_ROCBLAS_N, g->n, g->m, g->k, &g->alpha, b->at, type,
      b->row, b->each, a->at, type, a->row, a->each, &zero, c->at, type, c->row, c->each,
      c->at, type, c->row, c->each, g->batch, ZB_ROCBLAS_F32, ZB_ROCBLAS_STANDARD, 0, 0);
}
