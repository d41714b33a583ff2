/* Copies that run in the order of their stream. */
#include "pool.h"
#include "stream.h"

#include <stdlib.h>
#include <string.h>

enum { ZBL_NO_CU = 1024 }; /* hipMemcpyDeviceToDeviceNoCU */

/* Rows of bytes to copy. Source and target each have a pitch. Most copies have one row. */
typedef struct zbl_copying {
  char *to;
  const char *from;
  size_t to_pitch, from_pitch, bytes, rows;
} zbl_copying;

/* Returns the number of bytes from the first to the last byte of all rows, or SIZE_MAX on
 * overflow. */
static size_t zbl_extent(size_t pitch, size_t bytes, size_t rows) {
  size_t all;
  return rows == 0 || __builtin_mul_overflow(pitch, rows - 1, &all) ||
                 __builtin_add_overflow(all, bytes, &all)
             ? SIZE_MAX
             : all;
}

/* Reports whether the copy moves bytes. If the collectives of another program move no
 * data, its copies between devices move no data either, because their source was never
 * written. */
static int zbl_copy_moves(const zbl_copying *c) {
  return !zbl.waits || zbl.moves_data > 0 || zbl_owner(c->to) < 0 || zbl_owner(c->from) < 0;
}

static void zbl_copy_rows(const zbl_copying *c) {
  for (size_t i = 0; i < c->rows; i++) {
    zbl_wide_copy(c->to + i * c->to_pitch, c->from + i * c->from_pitch, c->bytes);
  }
}

/* Runs a copy. It sees the results of all earlier work on its stream. Bytes in
 * pageable host memory are read only now, as HIP may do. */
static int zbl_copy_run(zbl_op *op, zbl_stream *s) {
  const zbl_copying *c = op->data;
  s->s = zbl_arrival(op, s);
  zbl_reveal(s);
  if (zbl_copy_moves(c)) {
    zbl_before_write(s, c->to, 1);
    zbl_copy_rows(c);
  }
  return 1;
}

static const zbl_kind zbl_copies = {.run = zbl_copy_run, .release = zbl_free_copied};

/* Puts a copy on a stream, at the call and again at each launch of a graph that contains the
 * copy. */
static int zbl_copy_put(const void *what, zbl_stream *s) {
  return zbl_put_copied(s, &zbl_copies, what, sizeof(zbl_copying));
}

/* Returns the error of an invalid copy, or 0; used for plain and for two-dimensional copies
 * (ROCm/clr, hipamd/src/hip_memory.cpp, ihipMemcpy_validate). */
static int zbl_copy_refused(const zbl_copying *c, int kind) {
  if (kind < 0 || (kind > ZB_INFERRED && kind != ZBL_NO_CU)) {
    return ZB_ERR_DIRECTION;
  }
  return zbl_copyable(c->to, zbl_extent(c->to_pitch, c->bytes, c->rows)) &&
                 zbl_copyable(c->from, zbl_extent(c->from_pitch, c->bytes, c->rows))
             ? ZB_OK
             : ZB_ERR_VALUE;
}

static int zbl_copy_later(const zbl_copying *c, int kind, void *stream) {
  zbl_stream *s = zbl_stream_of(stream);
  int code;
  if (s == NULL) {
    return ZBL_ERR_STREAM;
  }
  if (c->bytes == 0 || c->rows == 0) {
    return ZB_OK;
  }
  code = zbl_copy_refused(c, kind);
  return code != ZB_OK ? code : zbl_do(s, zbl_copy_put, c, sizeof *c);
}

/* Copies on the null stream. The host waits for the copy unless both ends are on devices (ROCm/clr,
 * hip_memory.cpp, ihipMemcpy). The copy does not wait for non-blocking streams. If a result of
 * theirs is not proved done, its buffer is copied with the poison in it. If the real copy would
 * wait for ever, nothing is copied. */
static int zbl_copy_now(const zbl_copying *c, int kind) {
  int code;
  if (zbl_refused_in_capture()) {
    return ZB_ERR_CAPTURE;
  }
  if (c->bytes == 0 || c->rows == 0) {
    return ZB_OK;
  }
  if ((code = zbl_copy_refused(c, kind)) != ZB_OK) {
    return code;
  }
  if (zbl_owner(c->to) >= 0 && zbl_owner(c->from) >= 0) {
    return zbl_copy_later(c, kind, NULL);
  }
  if (!zbl_wait_for(zbl_null_stream(zbl_current_device()))) {
    return ZB_ERR_NOT_READY;
  }
  zbl_copy_rows(c);
  return ZB_OK;
}

static int zbl_copyAsync(void *to, const void *from, size_t bytes, int kind,
                         void *stream) {
  const zbl_copying c = {to, from, 0, 0, bytes, 1};
  ZBL_ENTER;
  return zbl_said(zbl_copy_later(&c, kind, stream));
}

static int zbl_copy(void *to, const void *from, size_t bytes, int kind) {
  const zbl_copying c = {to, from, 0, 0, bytes, 1};
  ZBL_ENTER;
  return zbl_said(zbl_copy_now(&c, kind));
}
