/* Copies in the order of a stream. */
#include "pool.h"
#include "stream.h"

#include <stdlib.h>
#include <string.h>

enum { ZBL_NO_CU = 1024 }; /* hipMemcpyDeviceToDeviceNoCU */

typedef struct zbl_copying {
  void *to;
  const void *from;
  size_t bytes;
} zbl_copying;

/* Whether the bytes are moved. Another program's copy between devices moves none where its
 * collectives move none: what it would copy was never written. */
static int zbl_copy_moves(const zbl_copying *c) {
  return !zbl.waits || zbl.moves_data > 0 || zbl_owner(c->to) < 0 || zbl_owner(c->from) < 0;
}

/* A copy sees what ran before it on its stream, results included. From pageable
 * host memory the bytes are taken when it runs, as the real one may. */
static int zbl_copy_run(zbl_op *op, zbl_stream *s) {
  const zbl_copying *c = op->data;
  s->s = zbl_arrival(op, s);
  zbl_reveal(s);
  if (zbl_copy_moves(c)) {
    zbl_wide_copy(c->to, c->from, c->bytes);
  }
  return 1;
}

static void zbl_copy_release(zbl_op *op) { free(op->data); }

static const zbl_kind zbl_copies = {.run = zbl_copy_run,
                                    .release = zbl_copy_release};

/* Puts a copy on a stream; a graph's launch puts it there again. */
static int zbl_copy_put(const void *what, zbl_stream *s) {
  zbl_copying *c = malloc(sizeof *c);
  if (c == NULL) {
    return ZB_ERR_MEMORY;
  }
  *c = *(const zbl_copying *)what;
  zbl_push(s, zbl_new_op(s, &zbl_copies, c, s->lane->h));
  return ZB_OK;
}

/* What both forms refuse (ROCm/clr, hipamd/src/hip_memory.cpp, ihipMemcpy_validate). */
static int zbl_copy_refused(void *to, const void *from, size_t bytes, int kind) {
  if (kind < 0 || (kind > ZB_INFERRED && kind != ZBL_NO_CU)) {
    return ZB_ERR_DIRECTION;
  }
  return zbl_copyable(to, from, bytes) ? ZB_OK : ZB_ERR_VALUE;
}

static int zbl_copyAsync(void *to, const void *from, size_t bytes, int kind,
                         void *stream) {
  ZBL_ENTER;
  zbl_stream *s = zbl_stream_of(stream);
  const zbl_copying c = {to, from, bytes};
  int code;
  if (s == NULL) {
    return zbl_said(ZB_ERR_HANDLE);
  }
  if (bytes == 0) {
    return ZB_OK;
  }
  if ((code = zbl_copy_refused(to, from, bytes, kind)) != ZB_OK) {
    return zbl_said(code);
  }
  return zbl_said(zbl_do(s, zbl_copy_put, &c, sizeof c));
}

/* A copy on the null stream. The host waits for it unless both ends are on devices
 * (ROCm/clr, hip_memory.cpp, ihipMemcpy). Streams that are not blocking it does not
 * wait for: what they have not proved done is copied as it stands, poison and all.
 * Where the real one would wait for ever, nothing is copied. */
static int zbl_copy(void *to, const void *from, size_t bytes, int kind) {
  int code;
  ZBL_ENTER;
  if (zbl_refused_in_capture()) {
    return zbl_said(ZB_ERR_CAPTURE);
  }
  if (bytes == 0) {
    return ZB_OK;
  }
  if ((code = zbl_copy_refused(to, from, bytes, kind)) != ZB_OK) {
    return zbl_said(code);
  }
  if (zbl_owner(to) >= 0 && zbl_owner(from) >= 0) {
    return zbl_copyAsync(to, from, bytes, kind, NULL);
  }
  if (!zbl_wait_for(zbl_null_stream(zbl_current_device()))) {
    return zbl_said(ZB_ERR_NOT_READY);
  }
  zbl_wide_copy(to, from, bytes);
  return ZB_OK;
}
