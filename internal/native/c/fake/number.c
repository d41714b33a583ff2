/* Reductions, element by element. Each step is rounded to the type, as in hardware. As in NCCL,
 * avg multiplies floating-point inputs by 1/ranks before the sum, and divides integers after it.
 * A pre-multiplied sum has one scalar per rank, of the elements' type. Integers wrap. */
#include "number.h"

#include <string.h>

static float zbl_from_bf16(uint16_t h) {
  uint32_t bits = (uint32_t)h << 16;
  float f;
  memcpy(&f, &bits, sizeof f);
  return f;
}

/* Rounds to nearest, ties to even. NaN stays NaN. */
static uint16_t zbl_to_bf16(float f) {
  uint32_t bits;
  memcpy(&bits, &f, sizeof bits);
  if ((bits & 0x7fffffffu) > 0x7f800000u) {
    return 0x7fff;
  }
  return (uint16_t)((bits + 0x7fffu + ((bits >> 16) & 1)) >> 16);
}

/* binary16 (half) conversions without branches, so that any CPU can handle several elements at
 * once. The compiler's own half type calls a function for each element if the CPU cannot convert
 * it. Such a call takes 25 ns. */
static float zbl_float_of(uint32_t bits) {
  float f;
  memcpy(&f, &bits, sizeof f);
  return f;
}

static uint32_t zbl_bits_of(float f) {
  uint32_t bits;
  memcpy(&bits, &f, sizeof bits);
  return bits;
}

#include "fp8.h"

/* Forces inlining. The compiler would otherwise call these functions, because they are large. */
#define ZBL_INLINE static inline __attribute__((always_inline))

/* Takes the bits of `yes` where the mask's bits are set, and the bits of `no` elsewhere. */
ZBL_INLINE uint32_t zbl_choose(int32_t mask, uint32_t yes, uint32_t no) {
  return ((uint32_t)mask & yes) | (~(uint32_t)mask & no);
}

/* Converts to float. A subnormal number is its fraction times 2^-24. */
ZBL_INLINE float zbl_from_half(uint16_t h) {
  int32_t rest = h & 0x7fff;
  uint32_t small = zbl_bits_of((float)rest * 0x1p-24f), wide = (uint32_t)rest << 13;
  uint32_t quiet = (uint32_t)-(rest > 0x7c00) & 0x400000;
  uint32_t large = zbl_choose(-(rest >= 0x7c00), wide | 0x7f800000 | quiet, wide + (112u << 23));
  return zbl_float_of(zbl_choose(-(rest < 0x400), small, large) | (uint32_t)(h & 0x8000) << 16);
}

/* Converts from float: rounds to nearest, ties to even. NaN keeps the upper part of its
 * payload. Adding 0.5 makes the CPU round a result that becomes subnormal, because the
 * sum then has units of 2^-24. */
ZBL_INLINE uint16_t zbl_to_half(float f) {
  uint32_t bits = zbl_bits_of(f);
  int32_t rest = bits & 0x7fffffff;
  uint32_t small = zbl_bits_of(zbl_float_of((uint32_t)rest) + 0.5f) - 0x3f000000u;
  uint32_t normal = ((uint32_t)rest - (112u << 23) + 0xfff + (rest >> 13 & 1)) >> 13;
  uint32_t nan = (uint32_t)-(rest > 0x7f800000) & (0x200 | (rest >> 13 & 0x3ff));
  uint32_t large = zbl_choose(-(rest >= 0x477ff000), 0x7c00 | nan, normal);
  return (uint16_t)(zbl_choose(-(rest < 0x38800000), small, large) | (bits >> 16 & 0x8000));
}

static float zbl_same(float f) { return f; }
static double zbl_same_double(double f) { return f; }

/* gcc -O2 vectorises a loop only if the number of elements is known, so the cost model is changed
 * here. */
#pragma GCC push_options
#pragma GCC optimize("tree-vectorize", "vect-cost-model=dynamic")

/* One floating-point reduction: values are stored as S and computed as C. There is one
 * loop per operator, because a test of the operator inside the loop would prevent
 * vectorisation. */
#define ZBL_EACH_FLOATING(S, C, from, to, what)                                \
  for (uint64_t i = 0; i < n; i++) {                                           \
    C x = from(a[i]), y = from(b[i]);                                          \
    a[i] = to(what);                                                           \
  }                                                                            \
  return;
#define ZBL_FLOATING(name, S, C, from, to)                                     \
  static void name(void *restrict acc, const void *restrict in,                \
                            uint64_t n, int op, int ranks, int first,          \
                            const void *scalar) {                              \
    S *restrict a = acc;                                                       \
    const S *restrict b = in;                                                  \
    C scale = op == ZBL_AVG     ? from(to((C)1 / (C)ranks))                    \
              : op == ZBL_MULTIPLIED ? from(*(const S *)scalar)                \
                                     : (C)1;                                   \
    if (first) {                                                               \
      for (uint64_t i = 0; i < n; i++) {                                       \
        a[i] = op >= ZBL_AVG ? to(from(b[i]) * scale) : to(from(b[i]));        \
      }                                                                        \
      return;                                                                  \
    }                                                                          \
    switch (op) {                                                              \
    case ZBL_PROD:                                                             \
      ZBL_EACH_FLOATING(S, C, from, to, x * y)                                 \
    case ZBL_MAX:                                                              \
      ZBL_EACH_FLOATING(S, C, from, to, x > y ? x : y)                         \
    case ZBL_MIN:                                                              \
      ZBL_EACH_FLOATING(S, C, from, to, x < y ? x : y)                         \
    case ZBL_AVG:                                                              \
    case ZBL_MULTIPLIED:                                                       \
      ZBL_EACH_FLOATING(S, C, from, to, x + from(to(y * scale)))               \
    default:                                                                   \
      ZBL_EACH_FLOATING(S, C, from, to, x + y)                                 \
    }                                                                          \
  }

ZBL_FLOATING(zbl_reduce_half, uint16_t, float, zbl_from_half, zbl_to_half)
ZBL_FLOATING(zbl_reduce_bf16, uint16_t, float, zbl_from_bf16, zbl_to_bf16)
ZBL_FLOATING(zbl_reduce_e4m3, uint8_t, float, zbl_from_e4m3, zbl_to_e4m3)
ZBL_FLOATING(zbl_reduce_e5m2, uint8_t, float, zbl_from_e5m2, zbl_to_e5m2)
ZBL_FLOATING(zbl_reduce_float, float, float, zbl_same, zbl_same)
ZBL_FLOATING(zbl_reduce_double, double, double, zbl_same_double,
             zbl_same_double)

/* One reduction of integers. Sums and products are computed in the unsigned
 * type U and wrap. Quotients are computed in W, because 8 bits cannot hold
 * 1,024 ranks. */
#define ZBL_EACH_INTEGER(T, what)                                              \
  for (uint64_t i = 0; i < n; i++) {                                           \
    a[i] = (T)(what);                                                          \
  }                                                                            \
  return;
#define ZBL_INTEGER(name, T, U, W)                                             \
  static void name(void *restrict acc, const void *restrict in, uint64_t n,    \
                   int op, int ranks, int first, const void *scalar) {         \
    T *restrict a = acc;                                                       \
    const T *restrict b = in;                                                  \
    U scale = op == ZBL_MULTIPLIED ? (U) * (const T *)scalar : (U)1;           \
    (void)ranks;                                                               \
    if (first && op == ZBL_MULTIPLIED) {                                       \
      ZBL_EACH_INTEGER(T, (U)b[i] * scale)                                     \
    }                                                                          \
    if (first) {                                                               \
      ZBL_EACH_INTEGER(T, b[i])                                                \
    }                                                                          \
    switch (op) {                                                              \
    case ZBL_PROD:                                                             \
      ZBL_EACH_INTEGER(T, (U)a[i] * (U)b[i])                                   \
    case ZBL_MAX:                                                              \
      ZBL_EACH_INTEGER(T, a[i] > b[i] ? a[i] : b[i])                           \
    case ZBL_MIN:                                                              \
      ZBL_EACH_INTEGER(T, a[i] < b[i] ? a[i] : b[i])                           \
    case ZBL_MULTIPLIED:                                                       \
      ZBL_EACH_INTEGER(T, (U)a[i] + (U)b[i] * scale)                           \
    default:                                                                   \
      ZBL_EACH_INTEGER(T, (U)a[i] + (U)b[i])                                   \
    }                                                                          \
  }                                                                            \
  static void name##_divide(void *acc, uint64_t n, int ranks) {                \
    T *a = acc;                                                                \
    for (uint64_t i = 0; i < n; i++) {                                         \
      a[i] = (T)((W)a[i] / (W)ranks);                                          \
    }                                                                          \
  }

ZBL_INTEGER(zbl_reduce_i8, int8_t, uint32_t, int64_t)
ZBL_INTEGER(zbl_reduce_u8, uint8_t, uint32_t, uint64_t)
ZBL_INTEGER(zbl_reduce_i32, int32_t, uint32_t, int64_t)
ZBL_INTEGER(zbl_reduce_u32, uint32_t, uint32_t, uint64_t)
ZBL_INTEGER(zbl_reduce_i64, int64_t, uint64_t, int64_t)
ZBL_INTEGER(zbl_reduce_u64, uint64_t, uint64_t, uint64_t)

#pragma GCC pop_options

/* The functions of each type, indexed by ncclDataType_t. Floating-point averages need no division:
 * the inputs are scaled. */
static const struct {
  void (*reduce)(void *, const void *, uint64_t, int, int, int, const void *);
  void (*divide)(void *, uint64_t, int);
} zbl_types[] = {
    {zbl_reduce_i8, zbl_reduce_i8_divide},
    {zbl_reduce_u8, zbl_reduce_u8_divide},
    {zbl_reduce_i32, zbl_reduce_i32_divide},
    {zbl_reduce_u32, zbl_reduce_u32_divide},
    {zbl_reduce_i64, zbl_reduce_i64_divide},
    {zbl_reduce_u64, zbl_reduce_u64_divide},
    {zbl_reduce_half, NULL},
    {zbl_reduce_float, NULL},
    {zbl_reduce_double, NULL},
    {zbl_reduce_bf16, NULL},
    {zbl_reduce_e4m3, NULL},
    {zbl_reduce_e5m2, NULL},
};

/* Adds n elements to an accumulator; if `first` is set, starts the accumulator with them. */
void zbl_accumulate(void *acc, const void *in, uint64_t n, int dtype, int op,
                    int ranks, int first, const void *scalar) {
  zbl_types[dtype].reduce(acc, in, n, op, ranks, first, scalar);
}

/* Completes the average of integers, after the inputs of all ranks were added. */
void zbl_divide(void *acc, uint64_t n, int dtype, int op, int ranks) {
  if (op == ZBL_AVG && zbl_types[dtype].divide != NULL) {
    zbl_types[dtype].divide(acc, n, ranks);
  }
}
