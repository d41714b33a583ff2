/* The 8-bit types of gfx942. NaN has the encoding of −0, and there is no infinity (AMD CDNA 3 ISA
 * guide, "FP8 and BF8": exponents biased by 8 and 16). Conversions work as in RCCL (ROCm/rccl at
 * rocm-6.2.2, src/include/rccl_float8.h, cast_to_f8): round to nearest, ties to even; too large
 * values become the largest value; infinity and NaN become NaN. */
#ifndef ZBL_FP8_H
#define ZBL_FP8_H

#include "number.h"

enum { ZBL_FP8_NAN = 0x80 };

/* Converts to float. `fraction` is the number of fraction bits. Subnormal values are multiples of
 * one unit. */
static inline float zbl_from_fp8(uint8_t b, int fraction, int bias) {
  int rest = b & 0x7f, exponent = rest >> fraction, one = 1 << fraction;
  float unit = zbl_float_of((uint32_t)(127 + 1 - bias - fraction) << 23); /* 2^(1−bias−fraction) */
  float size = exponent == 0 ? (float)rest * unit
                             : (float)(rest % one + one) * unit *
                                   (float)(1u << (unsigned)(exponent - 1));
  return b == ZBL_FP8_NAN ? zbl_float_of(0x7fc00000) : b > ZBL_FP8_NAN ? -size : size;
}

/* Converts from float. Adding 2^23 units makes the CPU round subnormal results. */
static inline uint8_t zbl_to_fp8(float f, int fraction, int bias) {
  uint32_t rest = zbl_bits_of(f) & 0x7fffffff, drop = 23 - (uint32_t)fraction, code;
  float magic = zbl_float_of((uint32_t)(127 + 1 - bias - fraction + 23) << 23);
  if (rest >= 0x7f800000) {
    return ZBL_FP8_NAN;
  }
  if (rest < (uint32_t)(127 + 1 - bias) << 23) {
    code = zbl_bits_of(zbl_float_of(rest) + magic) - zbl_bits_of(magic);
  } else {
    code = (rest - ((uint32_t)(127 - bias) << 23) + (1u << (drop - 1)) - 1 + (rest >> drop & 1)) >> drop;
  }
  code = code > 0x7f ? 0x7f : code;
  return (uint8_t)(code | (code > 0 ? zbl_bits_of(f) >> 24 & 0x80 : 0));
}

static inline float zbl_from_e4m3(uint8_t b) { return zbl_from_fp8(b, 3, 8); }
static inline uint8_t zbl_to_e4m3(float f) { return zbl_to_fp8(f, 3, 8); }
static inline float zbl_from_e5m2(uint8_t b) { return zbl_from_fp8(b, 2, 16); }
static inline uint8_t zbl_to_e5m2(float f) { return zbl_to_fp8(f, 2, 16); }

#endif
