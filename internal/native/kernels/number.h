/* The element types of the norms: bits in memory, floats in registers. Conversions
 * round to nearest, ties to even. gfx942 has an instruction for f16 but none for
 * bf16, and the types of CUDA and HIP need headers. Conversions without an
 * instruction use integers. */
ZB_FN zb_u32 zb_bits_of(float v) {
  union {
    float f;
    zb_u32 u;
  } c;
  c.f = v;
  return c.u;
}
ZB_FN float zb_float_of(zb_u32 u) {
  union {
    float f;
    zb_u32 u;
  } c;
  c.u = u;
  return c.f;
}

struct zb_f32 {
  typedef zb_u32 bits;
  static ZB_METHOD float wide(bits b) { return zb_float_of(b); }
  static ZB_METHOD bits narrow(float v) { return zb_bits_of(v); }
};

/* NVIDIA has a conversion instruction from sm_80 on. The instruction's NaN has other bits. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
#define ZB_CVT_BF16
#endif

struct zb_bf16 {
  typedef zb_u16 bits;
  static ZB_METHOD float wide(bits b) { return zb_float_of((zb_u32)b << 16); }
  static ZB_METHOD bits narrow(float v) {
#ifdef ZB_CVT_BF16
    bits b;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(b) : "f"(v));
    return b;
#else
    /* NaN stays NaN. Both values are computed, because a branch would make lanes diverge. */
    zb_u32 u = zb_bits_of(v), rounded = u + 0x7fffu + (u >> 16 & 1);
    return (bits)((v != v ? u | 0x400000u : rounded) >> 16);
#endif
  }
  /* Converts two values into one word; the first is in the low half. */
  static ZB_METHOD zb_u32 narrow2(float first, float second) {
#ifdef ZB_CVT_BF16
    zb_u32 w;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(w) : "f"(second), "f"(first));
    return w;
#else
    return narrow(first) | (zb_u32)narrow(second) << 16;
#endif
  }
};

/* AMD's compiler has the type without a header. gfx942 converts it by an
 * instruction, which rounds to nearest even and keeps subnormals in the mode in
 * which a kernel starts. ISA tests check this. */
#if defined(ZB_AMD)
#define ZB_CVT_F16
#endif
/* Keeps a conversion apart from the arithmetic before it. The compiler would merge
 * both into v_fma_mixlo_f16. LLVM assumes that this instruction rounds to float in
 * between; measurements on RDNA show that it does not. */
#if defined(__AMDGCN__)
#define ZB_ROUNDED(v) asm("" : "+v"(v))
#else
#define ZB_ROUNDED(v)
#endif

struct zb_f16 {
  typedef zb_u16 bits;
#ifdef ZB_CVT_F16
  static ZB_METHOD float wide(bits b) {
    return (float)__builtin_bit_cast(_Float16, b);
  }
  /* The instruction keeps the payload of a NaN, but the integer code below has only
   * one NaN per sign. Therefore NaNs are replaced here: as a signed integer only a
   * positive NaN is above 0x7e00, as an unsigned integer only a negative NaN is above
   * 0xfe00. */
  static ZB_METHOD bits narrow(float v) {
    ZB_ROUNDED(v);
    short positive = __builtin_bit_cast(short, (_Float16)v);
    positive = positive < 0x7e00 ? positive : 0x7e00;
    bits any = (bits)positive;
    return any < 0xfe00 ? any : 0xfe00;
  }
#else
  static ZB_METHOD float wide(bits b) {
    zb_u32 sign = (zb_u32)(b & 0x8000u) << 16, rest = b & 0x7fffu;
    if (rest >= 0x7c00u) {
      return zb_float_of(sign | 0x7f800000u | (rest & 0x3ffu) << 13);
    }
    /* the exponents differ by 112; subnormal values are exact too */
    return zb_float_of(sign |
                       zb_bits_of(zb_float_of(rest << 13) * 0x1p112f));
  }
  static ZB_METHOD bits narrow(float v) {
    zb_u32 u = zb_bits_of(v), sign = u >> 16 & 0x8000u;
    u &= 0x7fffffffu;
    if (u > 0x7f800000u) {
      return (bits)(sign | 0x7e00u);
    }
    if (u >= 0x477ff000u) { /* values that round to 65,536 or more */
      return (bits)(sign | 0x7c00u);
    }
    if (u < 0x38800000u) { /* subnormal results: an addition rounds them */
      return (bits)(sign |
                    (zb_bits_of(zb_float_of(u) + 0.5f) - 0x3f000000u));
    }
    return (bits)(sign | (u - 0x38000000u + 0xfffu + (u >> 13 & 1)) >> 13);
  }
#endif
  static ZB_METHOD zb_u32 narrow2(float first, float second) {
    return narrow(first) | (zb_u32)narrow(second) << 16;
  }
};

#if defined(ZB_HOST) || defined(ZB_AMD)
#define ZB_SQRT(v) __builtin_sqrtf(v)
#else
#define ZB_SQRT(v) sqrtf(v)
#endif
