/* rocBLAS's and cuBLAS's bf16 product as their headers declare it, in plain
 * loops by columns: what the binding is held against. It refuses enum values that
 * the real ones would take for something else. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static float wide(uint16_t v) {
  uint32_t u = (uint32_t)v << 16;
  float f;
  memcpy(&f, &u, sizeof f);
  return f;
}

static uint16_t narrow(float f) {
  uint32_t u;
  memcpy(&u, &f, sizeof u);
  return (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

/* With FAILS a product that is scaled fails, as where a library lacks a
 * kernel. */
#ifdef FAILS
enum { FAILS_HERE = 1 };
#else
enum { FAILS_HERE = 0 };
#endif

/* C (m x n) = alpha op(A) op(B), all by columns. */
static int product(int ta, int tb, int m, int n, int k, float alpha, const uint16_t *a,
                   int lda, int64_t sa, const uint16_t *b, int ldb, int64_t sb,
                   uint16_t *c, int ldc, int64_t sc, int batch) {
  if ((FAILS_HERE && alpha != 1) || lda < (ta ? k : m) || ldb < (tb ? n : k) || ldc < m) {
    return 7;
  }
  for (int x = 0; x < batch; x++, a += sa, b += sb, c += sc) {
    for (int64_t i = 0; i < m; i++) {
      for (int64_t j = 0; j < n; j++) {
        float sum = 0;
        for (int64_t l = 0; l < k; l++) {
          sum += wide(ta ? a[l + i * lda] : a[i + l * lda]) *
                 wide(tb ? b[j + l * ldb] : b[l + j * ldb]);
        }
        c[i + j * ldc] = narrow(alpha * sum);
      }
    }
  }
  return 0;
}

static int handle, stream_set;
static int create(void **h) { return *h = &handle, stream_set = 0; }
static int set(void *h, void *stream) {
  stream_set = h == &handle && stream != NULL;
  return !stream_set;
}
int rocblas_create_handle(void **h) { return create(h); }
int cublasCreate_v2(void **h) { return create(h); }
int rocblas_destroy_handle(void *h) { return h != &handle; }
int cublasDestroy_v2(void *h) { return h != &handle; }
int rocblas_set_stream(void *h, void *s) { return set(h, s); }
int cublasSetStream_v2(void *h, void *s) { return set(h, s); }

int cublasSetWorkspace_v2(void *h, void *w, size_t bytes) {
  return h != &handle || (w == NULL) != (bytes == 0);
}

int cublasGemmStridedBatchedEx(void *h, int ta, int tb, int m, int n, int k,
                               const void *alpha, const void *a, int at,
                               int lda, long long sa, const void *b, int bt,
                               int ldb, long long sb, const void *beta, void *c,
                               int ct, int ldc, long long sc, int batch,
                               int compute, int algorithm) {
  if (h != &handle || !stream_set || at != 14 || bt != 14 || ct != 14 ||
      compute != 68 || algorithm != -1 || (unsigned)ta > 1 || (unsigned)tb > 1 ||
      *(const float *)beta != 0) {
    return 7;
  }
  return product(ta, tb, m, n, k, *(const float *)alpha, a, lda, sa, b, ldb, sb, c, ldc, sc, batch);
}

int rocblas_gemm_strided_batched_ex(
    void *h, int ta, int tb, int m, int n, int k, const void *alpha,
    const void *a, int at, int lda, int64_t sa, const void *b, int bt, int ldb,
    int64_t sb, const void *beta, const void *c, int ct, int ldc, int64_t sc,
    void *d, int dt, int ldd, int64_t sd, int batch, int compute, int algorithm,
    int32_t solution, uint32_t flags) {
  if (h != &handle || !stream_set || at != 168 || bt != 168 || ct != 168 ||
      dt != 168 || c != d || ldc != ldd || sc != sd || compute != 151 ||
      algorithm != 0 || solution != 0 || flags != 0 ||
      (unsigned)(ta - 111) > 1 || (unsigned)(tb - 111) > 1 ||
      *(const float *)beta != 0) {
    return 11;
  }
  return product(ta - 111, tb - 111, m, n, k, *(const float *)alpha, a, lda, sa,
                 b, ldb, sb, d, ldd, sd, batch);
}
