/* bfloat16 by integers, 16 bytes at a time, the same on every device: rounded
 * to nearest, ties to even. */
#ifndef ZB_BF16_H
#define ZB_BF16_H

#if defined(__clang__) || defined(ZB_HOST)
#define ZB_SQRT(x) __builtin_sqrtf(x)
#else
#define ZB_SQRT(x) sqrtf(x)
#endif

typedef zb_u16 zb_bf16;

union zb_pun {
  float f;
  zb_u32 u;
};

ZB_FN float zb_from_bits(zb_u32 u) {
  zb_pun p;
  p.u = u;
  return p.f;
}

ZB_FN zb_u32 zb_to_bits(float f) {
  zb_pun p;
  p.f = f;
  return p.u;
}

ZB_FN float zb_widen(zb_u32 bf16) { return zb_from_bits(bf16 << 16); }

/* A NaN stays one: adding the half could carry it to infinity. */
ZB_FN zb_u32 zb_narrow(float f) {
  zb_u32 u = zb_to_bits(f);
  zb_u32 rounded = (u + 0x7fff + (u >> 16 & 1)) >> 16;
  return (u & 0x7fffffff) > 0x7f800000 ? u >> 16 | 0x40 : rounded;
}

/* Two of them in one word, the first lowest. */
ZB_FN zb_u32 zb_narrow2(float first, float second) {
  return zb_narrow(first) | zb_narrow(second) << 16;
}

/* 16 bytes: eight bf16 or four float, one access to memory. Compilers that
 * know vectors take a structure apart into its words. */
#if defined(__clang__) || defined(ZB_HOST)
typedef zb_u32 zb_words __attribute__((vector_size(16)));
#else
typedef zb_u32 zb_words[4];
#endif
struct alignas(16) zb_quad {
  zb_words w;

  /* The i-th of eight bf16. */
  ZB_METHOD float widened(int i) const {
    return zb_widen(w[i / 2] >> (16 * (i % 2)) & 0xffff);
  }
};

#endif
