/* Reductions element by element, each step rounded to the type as the hardware
 * does. avg multiplies floating-point inputs by 1/ranks before the sum and
 * divides integers after it, as NCCL does. Integers wrap. */
#include "number.h"

#include <string.h>

enum { ZBL_SUM, ZBL_PROD, ZBL_MAX, ZBL_MIN, ZBL_AVG };

static float zbl_from_bf16(uint16_t h) {
  uint32_t bits = (uint32_t)h << 16;
  float f;
  memcpy(&f, &bits, sizeof f);
  return f;
}

/* Round to nearest, ties to even; NaN stays NaN. */
static uint16_t zbl_to_bf16(float f) {
  uint32_t bits;
  memcpy(&bits, &f, sizeof bits);
  if ((bits & 0x7fffffffu) > 0x7f800000u) {
    return 0x7fff;
  }
  return (uint16_t)((bits + 0x7fffu + ((bits >> 16) & 1)) >> 16);
}

/* gcc and clang convert binary16 in software where the CPU does not. */
__extension__ typedef _Float16 zbl_half;

static float zbl_from_half(uint16_t h) {
  zbl_half v;
  memcpy(&v, &h, sizeof v);
  return (float)v;
}

static uint16_t zbl_to_half(float f) {
  zbl_half v = (zbl_half)f;
  uint16_t h;
  memcpy(&h, &v, sizeof h);
  return h;
}

static float zbl_same(float f) { return f; }
static double zbl_same_double(double f) { return f; }

/* One reduction of floating-point type: stored as S, computed in C. */
#define ZBL_FLOATING(name, S, C, from, to)                                     \
  static void name(void *acc, const void *in, uint64_t n, int op, int ranks,   \
                   int first) {                                                \
    S *a = acc;                                                                \
    const S *b = in;                                                           \
    C scale = op == ZBL_AVG ? from(to((C)1 / (C)ranks)) : (C)1;                \
    for (uint64_t i = 0; i < n; i++) {                                         \
      C x = first ? (C)0 : from(a[i]), y = from(b[i]);                                        \
      if (op == ZBL_AVG) {                                                     \
        y = from(to(y * scale));                                               \
      }                                                                        \
      if (first) {                                                             \
        x = y;                                                                 \
      } else if (op == ZBL_PROD) {                                             \
        x = x * y;                                                             \
      } else if (op == ZBL_MAX) {                                              \
        x = x > y ? x : y;                                                     \
      } else if (op == ZBL_MIN) {                                              \
        x = x < y ? x : y;                                                     \
      } else {                                                                 \
        x = x + y;                                                             \
      }                                                                        \
      a[i] = to(x);                                                            \
    }                                                                          \
  }

ZBL_FLOATING(zbl_reduce_half, uint16_t, float, zbl_from_half, zbl_to_half)
ZBL_FLOATING(zbl_reduce_bf16, uint16_t, float, zbl_from_bf16, zbl_to_bf16)
ZBL_FLOATING(zbl_reduce_float, float, float, zbl_same, zbl_same)
ZBL_FLOATING(zbl_reduce_double, double, double, zbl_same_double,
             zbl_same_double)

/* One reduction of integers; sums and products in the unsigned type U wrap,
 * quotients are taken in W, because 8 bits cannot hold 1,024 ranks. */
#define ZBL_INTEGER(name, T, U, W)                                             \
  static void name(void *acc, const void *in, uint64_t n, int op, int ranks,   \
                   int first) {                                                \
    T *a = acc;                                                                \
    const T *b = in;                                                           \
    (void)ranks;                                                               \
    for (uint64_t i = 0; i < n; i++) {                                         \
      if (first) {                                                             \
        a[i] = b[i];                                                           \
      } else if (op == ZBL_PROD) {                                             \
        a[i] = (T)((U)a[i] * (U)b[i]);                                         \
      } else if (op == ZBL_MAX) {                                              \
        a[i] = a[i] > b[i] ? a[i] : b[i];                                      \
      } else if (op == ZBL_MIN) {                                              \
        a[i] = a[i] < b[i] ? a[i] : b[i];                                      \
      } else {                                                                 \
        a[i] = (T)((U)a[i] + (U)b[i]);                                         \
      }                                                                        \
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

/* By ncclDataType_t. Floating-point averages are scaled on the way in. */
static const struct {
  void (*reduce)(void *, const void *, uint64_t, int, int, int);
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
};

/* Takes n elements into an accumulator; first starts it. */
void zbl_accumulate(void *acc, const void *in, uint64_t n, int dtype, int op,
                    int ranks, int first) {
  zbl_types[dtype].reduce(acc, in, n, op, ranks, first);
}

/* What an integer average still needs when all ranks are in. */
void zbl_divide(void *acc, uint64_t n, int dtype, int op, int ranks) {
  if (op == ZBL_AVG && zbl_types[dtype].divide != NULL) {
    zbl_types[dtype].divide(acc, n, ranks);
  }
}
