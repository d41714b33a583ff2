/* A simulated library for matrix products that heuristics choose: the functions of hipBLASLt or
 * cuBLASLt on the virtual clock. A product takes the time of its tiles on the compute units, at an
 * assumed rate. Its data is computed if launches move data and if computing it does not take
 * minutes. */
#include "../blas.h"
#include "stream.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ZBL_LT(name) (ZBL_VENDOR == ZB_CUDA ? (int)ZB_CUDA_##name : (int)ZB_HIP_##name)

enum {
  ZBL_LT_HANDLE = 0x6c742068, ZBL_LT_LAYOUT = 0x6c74206c,
  ZBL_LT_DESC = 0x6c742064, ZBL_LT_PREF = 0x6c742070,
  ZBL_LT_INVALID = ZBL_VENDOR == ZB_CUDA ? 7 : 3,     /* HIPBLAS_STATUS_INVALID_VALUE,
                                                       * CUBLAS_STATUS_INVALID_VALUE */
  ZBL_LT_UNSUPPORTED = ZBL_VENDOR == ZB_CUDA ? 15 : 7, /* HIPBLAS_STATUS_NOT_SUPPORTED,
                                                        * CUBLAS_STATUS_NOT_SUPPORTED */
  ZBL_LT_ALLOC = ZBL_VENDOR == ZB_CUDA ? 3 : 2,
};

/* A descriptor of any kind. Fields that a kind does not use are 0. */
typedef struct zbl_lt_thing {
  uint32_t magic;
  int32_t type, batch, turn[2];
  int64_t rows, cols, ld, each;
  uint64_t workspace;
} zbl_lt_thing;

/* A product that waits in a stream. a and b are the library's first and second operand. */
typedef struct zbl_lt_product {
  zbl_lt_thing desc, a, b, d;
  const char *at_a, *at_b;
  char *at_d;
  int64_t m, n, k;
  uint64_t behind; /* number of earlier collectives on the device */
  int choice;
} zbl_lt_product;

static int zbl_lt_new(void **to, zbl_lt_thing thing) {
  zbl_lt_thing *t = to != NULL ? zbl_new_handle(sizeof *t) : NULL;
  if (t == NULL) {
    return to == NULL ? ZBL_LT_INVALID : ZBL_LT_ALLOC;
  }
  *t = thing;
  *to = t;
  return 0;
}

static int zbl_lt_free(void *thing, uint32_t magic) {
  if (zbl_behind(thing, magic) == NULL) {
    return ZBL_LT_INVALID;
  }
  zbl_free_handle(thing);
  return 0;
}

static int zbl_lt_create(void **handle) {
  ZBL_ENTER;
  return zbl_lt_new(handle, (zbl_lt_thing){.magic = ZBL_LT_HANDLE});
}

static int zbl_lt_destroy(void *handle) {
  ZBL_ENTER;
  return zbl_lt_free(handle, ZBL_LT_HANDLE);
}

static int zbl_lt_size(int type) {
  switch (type) {
  case ZB_LT_F32:
    return 4;
  case ZB_LT_F16:
  case ZB_LT_BF16:
    return 2;
  case ZB_LT_E4M3:
    return ZBL_VENDOR == ZB_CUDA;
  case ZB_LT_E4M3_FNUZ: /* under ROCm's names the device is a gfx942 */
    return ZBL_VENDOR == ZB_ROCM;
  }
  return 0;
}

static int zbl_lt_layoutCreate(void **layout, int type, uint64_t rows, uint64_t cols,
                               int64_t ld) {
  ZBL_ENTER;
  if (rows == 0 || cols == 0 || ld < (int64_t)rows) {
    return ZBL_LT_INVALID;
  }
  return zbl_lt_new(layout, (zbl_lt_thing){.magic = ZBL_LT_LAYOUT, .type = type, .batch = 1,
                                           .rows = (int64_t)rows, .cols = (int64_t)cols, .ld = ld});
}

static int zbl_lt_layoutDestroy(void *layout) {
  ZBL_ENTER;
  return zbl_lt_free(layout, ZBL_LT_LAYOUT);
}

static int zbl_lt_layoutSet(void *layout, int attribute, const void *value, size_t bytes) {
  ZBL_ENTER;
  zbl_lt_thing *t = zbl_behind(layout, ZBL_LT_LAYOUT);
  if (t != NULL && attribute == ZBL_LT(LAYOUT_BATCH) && bytes == sizeof t->batch) {
    memcpy(&t->batch, value, bytes);
    return t->batch > 0 ? 0 : ZBL_LT_INVALID;
  }
  if (t != NULL && attribute == ZBL_LT(LAYOUT_STRIDE) && bytes == sizeof t->each) {
    memcpy(&t->each, value, bytes);
    return 0;
  }
  return ZBL_LT_INVALID;
}

static int zbl_lt_descCreate(void **desc, int sums, int scale_type) {
  ZBL_ENTER;
  if (sums != ZBL_LT(SUMS) || scale_type != ZB_LT_F32) {
    return ZBL_LT_UNSUPPORTED;
  }
  return zbl_lt_new(desc, (zbl_lt_thing){.magic = ZBL_LT_DESC});
}

static int zbl_lt_descDestroy(void *desc) {
  ZBL_ENTER;
  return zbl_lt_free(desc, ZBL_LT_DESC);
}

static int zbl_lt_descSet(void *desc, int attribute, const void *value, size_t bytes) {
  ZBL_ENTER;
  zbl_lt_thing *t = zbl_behind(desc, ZBL_LT_DESC);
  int32_t turn;
  int which = attribute == ZBL_LT(DESC_B);
  if (t == NULL || (!which && attribute != ZBL_LT(DESC_A)) || bytes != sizeof turn) {
    return ZBL_LT_INVALID;
  }
  memcpy(&turn, value, bytes);
  t->turn[which] = turn == ZBL_LT(T);
  return turn == ZBL_LT(T) || turn == ZBL_LT(N) ? 0 : ZBL_LT_INVALID;
}

static int zbl_lt_prefCreate(void **pref) {
  ZBL_ENTER;
  return zbl_lt_new(pref, (zbl_lt_thing){.magic = ZBL_LT_PREF});
}

static int zbl_lt_prefDestroy(void *pref) {
  ZBL_ENTER;
  return zbl_lt_free(pref, ZBL_LT_PREF);
}

static int zbl_lt_prefSet(void *pref, int attribute, const void *value, size_t bytes) {
  ZBL_ENTER;
  zbl_lt_thing *t = zbl_behind(pref, ZBL_LT_PREF);
  if (t == NULL || attribute != ZBL_LT(PREF_WORKSPACE) || bytes != sizeof t->workspace) {
    return ZBL_LT_INVALID;
  }
  memcpy(&t->workspace, value, bytes);
  return 0;
}

/* Returns 0 if the descriptors describe a product that has kernels, otherwise the library's
 * error. */
static int zbl_lt_describe(void *handle, void *desc, void *a, void *b, void *c, void *d,
                           zbl_lt_product *p) {
  const zbl_lt_thing *de = zbl_behind(desc, ZBL_LT_DESC), *la = zbl_behind(a, ZBL_LT_LAYOUT),
                     *lb = zbl_behind(b, ZBL_LT_LAYOUT), *lc = zbl_behind(c, ZBL_LT_LAYOUT),
                     *ld = zbl_behind(d, ZBL_LT_LAYOUT);
  if (zbl_behind(handle, ZBL_LT_HANDLE) == NULL || de == NULL || la == NULL || lb == NULL ||
      lc == NULL || ld == NULL) {
    return ZBL_LT_INVALID;
  }
  p->desc = *de;
  p->a = *la;
  p->b = *lb;
  p->d = *ld;
  p->m = de->turn[0] ? la->cols : la->rows;
  p->k = de->turn[0] ? la->rows : la->cols;
  p->n = de->turn[1] ? lb->rows : lb->cols;
  if ((de->turn[1] ? lb->cols : lb->rows) != p->k || ld->rows != p->m || ld->cols != p->n ||
      lc->rows != p->m || lc->cols != p->n || la->batch != ld->batch || lb->batch != ld->batch) {
    return ZBL_LT_INVALID;
  }
  if (zbl_lt_size(la->type) == 0 || la->type != lb->type || zbl_lt_size(ld->type) < 2 ||
      (zbl_lt_size(la->type) > 1 && la->type != ld->type)) {
    return ZBL_LT_UNSUPPORTED;
  }
  /* FP8 products need the TN format (cuBLAS documentation, cublasLtMatmul, "FP8 kernels") */
  return ZBL_VENDOR == ZB_CUDA && zbl_lt_size(la->type) == 1 && (!de->turn[0] || de->turn[1])
             ? ZBL_LT_UNSUPPORTED
             : 0;
}

/* A choice of the heuristics: the tile's sides, and the number of parts that the depth is divided
 * into. */
static const struct {
  int m, n, parts;
  double rate; /* share of the units' peak rate; smaller tiles load more data per product */
} zbl_lt_choices[ZB_LT_MOST] = {{256, 256, 1, 1.0},  {256, 128, 1, 0.96}, {128, 256, 1, 0.96},
                                {128, 128, 1, 0.88}, {256, 256, 2, 0.97}, {128, 128, 2, 0.85},
                                {64, 128, 1, 0.7},   {64, 64, 1, 0.5}};

/* Returns the bytes of the partial sums, which are floats. */
static uint64_t zbl_lt_needs(const zbl_lt_product *p, int choice) {
  int parts = zbl_lt_choices[choice].parts;
  return parts > 1 ? 4 * (uint64_t)parts * (uint64_t)(p->m * p->n) * (uint64_t)p->d.batch : 0;
}

static int zbl_lt_heuristic(void *handle, void *desc, void *a, void *b, void *c, void *d,
                            void *pref, int most, void *choices, int *found) {
  ZBL_ENTER;
  const zbl_lt_thing *pr = zbl_behind(pref, ZBL_LT_PREF);
  zbl_lt_product p = {0};
  int code = pr == NULL || most < 1 || choices == NULL || found == NULL
                 ? ZBL_LT_INVALID
                 : zbl_lt_describe(handle, desc, a, b, c, d, &p);
  if (code != 0) {
    return code;
  }
  *found = 0;
  for (int i = 0; i < ZB_LT_MOST && *found < most; i++) {
    char *to = (char *)choices + (size_t)*found * (size_t)ZBL_LT(CHOICE_BYTES);
    size_t needs = (size_t)zbl_lt_needs(&p, i);
    if (needs <= pr->workspace) {
      int32_t number = i + 1;
      memset(to, 0, (size_t)ZBL_LT(CHOICE_BYTES));
      memcpy(to, &number, sizeof number);
      memcpy(to + ZBL_LT(CHOICE_WORKSPACE), &needs, sizeof needs);
      ++*found;
    }
  }
  return *found > 0 ? 0 : ZBL_LT_UNSUPPORTED;
}

static double zbl_lt_seconds(const zbl_lt_product *p) {
  static const double launch = 4e-6, bf16 = 700e12;
  const double unit = bf16 * 2 / zbl_lt_size(p->a.type) / 304;
  int tm = zbl_lt_choices[p->choice].m, tn = zbl_lt_choices[p->choice].n;
  int parts = zbl_lt_choices[p->choice].parts;
  double tiles = ceil((double)p->m / tm) * ceil((double)p->n / tn) * p->d.batch * parts;
  double depth = ceil((double)p->k / parts);
  return launch * parts + ceil(tiles / 304) * 2 * tm * tn * depth / (unit * zbl_lt_choices[p->choice].rate);
}

static float zbl_lt_wide(int type, const char *at) {
  uint32_t u = 0;
  float f;
  int bits, e;
  switch (type) {
  case ZB_LT_F32:
    memcpy(&f, at, 4);
    return f;
  case ZB_LT_BF16:
    memcpy((char *)&u + 2, at, 2);
    memcpy(&f, &u, 4);
    return f;
  case ZB_LT_F16:
    memcpy(&u, at, 2);
    e = u >> 10 & 31;
    f = e == 0 ? ldexpf((float)(u & 1023), -24) : ldexpf((float)(1024 + (u & 1023)), e - 25);
    return e == 31 ? (u & 1023 ? NAN : INFINITY) : u >> 15 ? -f : f;
  }
  bits = (unsigned char)*at;
  e = bits >> 3 & 15;
  f = e == 0 ? (float)(bits & 7) / 4 : ldexpf((float)(8 + (bits & 7)), e - 3);
  f = ldexpf(f, type == ZB_LT_E4M3 ? -7 : -8);
  return bits & 128 ? -f : f;
}

static void zbl_lt_narrow(int type, float f, char *at) {
  uint32_t u;
  uint16_t h;
  if (type == ZB_LT_F32) {
    memcpy(at, &f, 4);
    return;
  }
  memcpy(&u, &f, 4);
  if (type == ZB_LT_BF16) {
    h = (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
  } else {
    int e;
    float a = fabsf(f), part = frexpf(a, &e); /* a = part·2^e with part in [½, 1) */
    uint32_t sign = u >> 16 & 0x8000u;
    if (e < -13) {
      h = (uint16_t)(sign | (uint32_t)nearbyintf(ldexpf(a, 24)));
    } else {
      h = a >= 65520 ? 0x7c00 : (uint16_t)(((uint32_t)(e + 14) << 10) + (uint32_t)nearbyintf(ldexpf(part, 11)) - 1024);
      h = (uint16_t)(sign | h);
    }
  }
  memcpy(at, &h, 2);
}

/* Returns op(X) as rows of floats. */
static float *zbl_lt_floats(const zbl_lt_thing *l, const char *at, int turn, int by) {
  int64_t rows = turn ? l->cols : l->rows, cols = turn ? l->rows : l->cols;
  float *all = malloc((size_t)(rows * cols) * sizeof *all);
  for (int64_t i = 0; all != NULL && i < rows; i++) {
    for (int64_t j = 0; j < cols; j++) {
      int64_t from = turn ? j + i * l->ld : i + j * l->ld;
      all[by ? j * rows + i : i * cols + j] = zbl_lt_wide(l->type, at + from * zbl_lt_size(l->type));
    }
  }
  return all;
}

/* Computes one product of a batch. op(A) is stored by rows and op(B) by columns, so that both run
 * along the depth. */
static void zbl_lt_multiply(const zbl_lt_product *p, int64_t x) {
  float *a = zbl_lt_floats(&p->a, p->at_a + x * p->a.each * zbl_lt_size(p->a.type), p->desc.turn[0], 0);
  float *b = zbl_lt_floats(&p->b, p->at_b + x * p->b.each * zbl_lt_size(p->b.type), p->desc.turn[1], 1);
  int size = zbl_lt_size(p->d.type);
  for (int64_t j = 0; a != NULL && b != NULL && j < p->n; j++) {
    for (int64_t i = 0; i < p->m; i++) {
      const float *row = a + i * p->k, *col = b + j * p->k;
      float part[8] = {0}, sum = 0; /* eight sums, because in a single chain each addition would
                                     * wait for the previous one */
      int64_t l = 0;
      for (; l + 8 <= p->k; l += 8) {
        for (int u = 0; u < 8; u++) {
          part[u] += row[l + u] * col[l + u];
        }
      }
      for (; l < p->k; l++) {
        sum += row[l] * col[l];
      }
      for (int u = 0; u < 8; u++) {
        sum += part[u];
      }
      zbl_lt_narrow(p->d.type, sum, p->at_d + (x * p->d.each + i + j * p->d.ld) * size);
    }
  }
  free(a);
  free(b);
}

/* The data of a product with more multiplications than this is not computed. */
static const double zbl_lt_most = 1 << 27;

static int zbl_lt_run(zbl_op *op, zbl_stream *s) {
  const zbl_lt_product *p = op->data;
  zbl_turn at;
  if (zbl_undecided(s->device, p->behind)) {
    return 0;
  }
  at = zbl_kernel_turn(s->device);
  s->s = zbl_arrival(op, s);
  zbl_reveal(s);
  if (zbl.moves_data > 0 &&
      (double)p->m * (double)p->n * (double)p->k * p->d.batch <= zbl_lt_most) {
    for (int64_t x = 0; x < p->d.batch; x++) {
      zbl_lt_multiply(p, x);
    }
    zbl_flip(p->at_d, s->device);
  }
  s->s = zbl_beside(s->device, s->s, zbl_noisy(zbl_lt_seconds(p) * zbl_slowness(s->device), zbl_draws(at), 0));
  return 1;
}

static const zbl_kind zbl_lt_kind = {.run = zbl_lt_run, .done = zbl_lt_run, .release = zbl_free_copied};

static int zbl_lt_matmul(void *handle, void *desc, const void *alpha, const void *a,
                         void *a_layout, const void *b, void *b_layout, const void *beta,
                         const void *c, void *c_layout, void *d, void *d_layout,
                         const void *choice, void *workspace, size_t bytes, void *stream) {
  ZBL_ENTER;
  zbl_lt_product p = {.at_a = a, .at_b = b, .at_d = d};
  zbl_stream *s = zbl_stream_of(stream);
  int32_t number = 0;
  int code = s == NULL || choice == NULL || alpha == NULL || beta == NULL
                 ? ZBL_LT_INVALID
                 : zbl_lt_describe(handle, desc, a_layout, b_layout, c_layout, d_layout, &p);
  if (code != 0) {
    return code;
  }
  memcpy(&number, choice, sizeof number);
  p.choice = number - 1;
  p.behind = zbl.devices[s->device].calls;
  if (number < 1 || number > ZB_LT_MOST || *(const float *)alpha != 1 ||
      *(const float *)beta != 0 || c != d || zbl_lt_needs(&p, p.choice) > bytes ||
      (zbl_lt_needs(&p, p.choice) > 0 && workspace == NULL) || zbl_owner(d) != s->device ||
      zbl_owner(a) != s->device || zbl_owner(b) != s->device) {
    return ZBL_LT_INVALID;
  }
  return zbl_put_copied(s, &zbl_lt_kind, &p, sizeof p) == ZB_OK ? 0 : ZBL_LT_ALLOC;
}

void zbl_lt_fill(zb_lt *lt) {
  lt->vendor = ZBL_VENDOR;
#define ZBL_LT_SET(field, ...) lt->field = zbl_lt_##field;
  ZB_LT_SYMBOLS(ZBL_LT_SET)
#undef ZBL_LT_SET
}
