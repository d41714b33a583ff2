/* bf16 by 16 bytes, on number.h's conversions. */
#ifndef ZB_QUAD_H
#define ZB_QUAD_H

ZB_FN float zb_widen(zb_u32 bits) { return zb_bf16::wide((zb_u16)bits); }

/* Two of them in one word, the first lowest. */
ZB_FN zb_u32 zb_narrow2(float first, float second) {
  return zb_bf16::narrow2(first, second);
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
