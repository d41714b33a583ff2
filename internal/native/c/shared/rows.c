/* Memory in rows, and memory that is set word by word. */
#include "../fake/pool.h"
#include "../fake/stream.h"
#include "more.h"

#include <stdlib.h>
#include <string.h>

enum { ZBL_ERR_PITCH = 12, ZBL_PITCH_ALIGN = 256 };

/* Returns the error of a copy of rows, or 0. The checks are in HIP's order (ROCm/clr,
 * hipamd/src/hip_memory.cpp, hipMemcpy2D_common and ihipMemcpy2D). */
static int zbl_rows_refused(const zbl_copying *c, int kind) {
  if (kind < 0 || (kind > ZB_INFERRED && kind != ZBL_NO_CU)) {
    return ZB_ERR_DIRECTION;
  }
  return c->rows > 0 && (c->bytes > c->to_pitch || c->bytes > c->from_pitch) ? ZBL_ERR_PITCH
                                                                             : ZB_OK;
}

static int zbl_copyRows(void *to, size_t toPitch, const void *from, size_t fromPitch,
                        size_t bytes, size_t rows, int kind) {
  const zbl_copying c = {to, from, toPitch, fromPitch, bytes, rows};
  int code = zbl_rows_refused(&c, kind);
  ZBL_ENTER;
  return zbl_said(code != ZB_OK ? code : zbl_copy_now(&c, kind));
}

static int zbl_copyRowsAsync(void *to, size_t toPitch, const void *from, size_t fromPitch,
                             size_t bytes, size_t rows, int kind, void *stream) {
  const zbl_copying c = {to, from, toPitch, fromPitch, bytes, rows};
  int code = zbl_rows_refused(&c, kind);
  ZBL_ENTER;
  return zbl_said(code != ZB_OK ? code : zbl_copy_later(&c, kind, stream));
}

/* Allocates rows. Their distance is a multiple of 256 bytes (ROCm/clr,
 * hipamd/src/hip_memory.cpp, ihipMallocPitch, and rocclr/device/rocm/rocdevice.cpp,
 * imagePitchAlignment_). */
static int zbl_mallocRows(void **p, size_t *pitch, size_t bytes, size_t rows) {
  size_t apart, all;
  ZBL_ENTER;
  ZBL_REFUSE(p == NULL || pitch == NULL || bytes > SIZE_MAX - ZBL_PITCH_ALIGN, ZB_ERR_VALUE);
  apart = (bytes + ZBL_PITCH_ALIGN - 1) / ZBL_PITCH_ALIGN * ZBL_PITCH_ALIGN;
  if (bytes > 0 && rows > 0) {
    *pitch = apart;
  }
  return zbl_allocate(p, __builtin_mul_overflow(apart, rows, &all) ? SIZE_MAX : all,
                      ZBL_OF_DEVICE);
}

/* Allocates rows of elements as in ROCm/clr, hipamd/src/hip_memory.cpp, hipMemAllocPitch. */
static int zbl_mallocRowsOf(void **p, size_t *pitch, size_t bytes, size_t rows,
                            unsigned element) {
  return bytes == 0 || rows == 0 || (element != 4 && element != 8 && element != 16)
             ? zbl_said(ZB_ERR_VALUE)
             : zbl_mallocRows(p, pitch, bytes, rows);
}

/* Rows whose words all get one value, in the order of a stream. */
typedef struct zbl_setting {
  char *to;
  size_t pitch, bytes, rows;
  int value, width; /* width of a word, in bytes */
} zbl_setting;

static void zbl_set_words(char *to, const zbl_setting *set) {
  if (set->width == 1) {
    zbl_wide_fill(to, set->value, set->bytes);
    return;
  }
  for (size_t i = 0; i < set->bytes; i += (size_t)set->width) {
    memcpy(to + i, &set->value, (size_t)set->width); /* the low bytes come first in memory */
  }
}

static int zbl_set_run(zbl_op *op, zbl_stream *s) {
  const zbl_setting *set = op->data;
  s->s = zbl_arrival(op, s);
  zbl_reveal(s);
  for (size_t i = 0; i < set->rows; i++) {
    zbl_set_words(set->to + i * set->pitch, set);
  }
  return 1;
}

static const zbl_kind zbl_settings = {.run = zbl_set_run, .release = zbl_free_copied};

static int zbl_set_put(const void *what, zbl_stream *s) {
  return zbl_put_copied(s, &zbl_settings, what, sizeof(zbl_setting));
}

/* Sets memory in the order of a stream. The memory must be HIP's own, and large
 * enough (ROCm/clr, hipamd/src/hip_memory.cpp, ihipMemset_validate and
 * ihipMemset3DCommand). */
static int zbl_set_later(const zbl_setting *set, void *stream) {
  zbl_stream *s = zbl_stream_of(stream);
  if (s == NULL) {
    return ZBL_ERR_STREAM;
  }
  if (set->bytes == 0 || set->rows == 0) {
    return ZB_OK;
  }
  if ((set->rows > 1 && set->bytes > set->pitch) ||
      !zbl_valid_range(set->to, zbl_extent(set->pitch, set->bytes, set->rows))) {
    return ZB_ERR_VALUE;
  }
  return zbl_do(s, zbl_set_put, set, sizeof *set);
}

/* Sets memory on the null stream. The host waits only if the memory is host memory
 * (CUDA Runtime API, "API synchronization behavior", Memset; HIP does the same). */
static int zbl_set_now(const zbl_setting *set) {
  int code;
  if (zbl_refused_in_capture()) {
    return ZB_ERR_CAPTURE;
  }
  code = zbl_set_later(set, NULL);
  if (code == ZB_OK && set->bytes > 0 && set->rows > 0 && zbl_owner(set->to) < 0) {
    zbl_wait_for(zbl_null_stream(zbl_current_device()));
  }
  return code;
}

/* Describes `count` words. As in HIP, a size that exceeds the address space wraps. */
static zbl_setting zbl_words(void *p, int value, size_t count, int width) {
  return (zbl_setting){p, 0, count * (size_t)width, 1, value, width};
}

#define ZBL_SET(field, type, width)                                            \
  static int zbl_##field(void *p, type value, size_t count) {                  \
    const zbl_setting set = zbl_words(p, value, count, width);                 \
    ZBL_ENTER;                                                                 \
    return zbl_said(zbl_set_now(&set));                                        \
  }                                                                            \
  static int zbl_##field##Async(void *p, type value, size_t count, void *stream) { \
    const zbl_setting set = zbl_words(p, value, count, width);                 \
    ZBL_ENTER;                                                                 \
    return zbl_said(zbl_set_later(&set, stream));                              \
  }
ZBL_SET(set, int, 1)
ZBL_SET(setBytes, unsigned char, 1)
ZBL_SET(setHalves, unsigned short, 2)
ZBL_SET(setWords, int, 4)
#undef ZBL_SET

static int zbl_setRows(void *p, size_t pitch, int value, size_t bytes, size_t rows) {
  const zbl_setting set = {p, pitch, bytes, rows, value, 1};
  ZBL_ENTER;
  return zbl_said(zbl_set_now(&set));
}

static int zbl_setRowsAsync(void *p, size_t pitch, int value, size_t bytes, size_t rows,
                            void *stream) {
  const zbl_setting set = {p, pitch, bytes, rows, value, 1};
  ZBL_ENTER;
  return zbl_said(zbl_set_later(&set, stream));
}
