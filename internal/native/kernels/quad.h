/* bf16 in units of 16 bytes, with the conversions of number.h. */
#ifndef ZB_QUAD_H
#define ZB_QUAD_H

ZB_FN float zb_widen(zb_u32 bits) { return zb_bf16::wide((zb_u16)bits); }

/* Converts two values into one word; the first is in the low half. */
ZB_FN zb_u32 zb_narrow2(float first, float second) {
  return zb_bf16::narrow2(first, second);
}

/* 16 bytes, which are eight bf16 or four floats, in one memory access. It is a
 * vector type if the compiler has vector types, because compilers split a
 * structure into its words. */
#if defined(__clang__) || defined(ZB_HOST)
typedef zb_u32 zb_words __attribute__((vector_size(16)));
#else
typedef zb_u32 zb_words[4];
#endif
struct alignas(16) zb_quad {
  zb_words w;

  /* Returns the i-th of eight bf16 as a float. */
  ZB_METHOD float widened(int i) const {
    return zb_widen(w[i / 2] >> (16 * (i % 2)) & 0xffff);
  }
};

#endif
