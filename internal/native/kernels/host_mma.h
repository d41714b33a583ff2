/* The host's replacement for matrix instructions. It uses AVX2 if the CPU has it,
 * but never a fused multiply-add, so that the result has the same bits on every
 * host. */
#ifndef ZB_HOST_MMA_H
#define ZB_HOST_MMA_H

typedef float zbk_float8 __attribute__((vector_size(32), aligned(4), may_alias));

enum { ZBK_MMA_DEPTH = 32, ZBK_MMA_ROWS = 4 };

/* c (16 x 16) += a (16 x depth) · b (depth x 16). The loop takes a few rows at
 * a time. The sums of these rows stay in registers. */
ZB_FN void zbk_mma_body(float *c, const float *a, const float *b) {
  for (int i = 0; i < 16; i += ZBK_MMA_ROWS) {
    zbk_float8 low[ZBK_MMA_ROWS], high[ZBK_MMA_ROWS];
    for (int r = 0; r < ZBK_MMA_ROWS; r++) {
      low[r] = *(zbk_float8 *)(c + 16 * (i + r));
      high[r] = *(zbk_float8 *)(c + 16 * (i + r) + 8);
    }
    for (int k = 0; k < ZBK_MMA_DEPTH; k++) {
      zbk_float8 x = *(const zbk_float8 *)(b + 16 * k);
      zbk_float8 y = *(const zbk_float8 *)(b + 16 * k + 8);
      for (int r = 0; r < ZBK_MMA_ROWS; r++) {
        float by = a[ZBK_MMA_DEPTH * (i + r) + k];
        low[r] += by * x;
        high[r] += by * y;
      }
    }
    for (int r = 0; r < ZBK_MMA_ROWS; r++) {
      *(zbk_float8 *)(c + 16 * (i + r)) = low[r];
      *(zbk_float8 *)(c + 16 * (i + r) + 8) = high[r];
    }
  }
}

#if defined(__x86_64__)
__attribute__((target("avx2"), noinline)) static void
zbk_mma_wide(float *c, const float *a, const float *b) {
  zbk_mma_body(c, a, b);
}
#endif

__attribute__((noinline)) static void zbk_mma_plain(float *c, const float *a,
                                                    const float *b) {
  zbk_mma_body(c, a, b);
}

static void zbk_mma(float *c, const float *a, const float *b) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) {
    return zbk_mma_wide(c, a, b);
  }
#endif
  zbk_mma_plain(c, a, b);
}

#endif
