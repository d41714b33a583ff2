/* Copies in the order of a stream. */
#include "stream.h"

#include <stdlib.h>
#include <string.h>

typedef struct zbl_copying {
  void *to;
  const void *from;
  size_t bytes;
} zbl_copying;

/* A copy sees what ran before it on its stream, results included. From pageable
 * host memory the bytes are taken when it runs, as the real one may. */
static int zbl_copy_run(zbl_op *op, zbl_stream *s) {
  const zbl_copying *c = op->data;
  s->s = zbl_arrival(op, s);
  zbl_reveal(s);
  memcpy(c->to, c->from, c->bytes);
  return 1;
}

static void zbl_copy_release(zbl_op *op) { free(op->data); }

static const zbl_kind zbl_copies = {.run = zbl_copy_run,
                                    .release = zbl_copy_release};

static int zbl_copyAsync(void *to, const void *from, size_t bytes, int kind,
                         void *stream) {
  ZBL_ENTER;
  zbl_stream *s = zbl_stream_of(stream);
  zbl_copying *c;
  if (s == NULL || s->device != zbl_current_device()) {
    return zbl_said(ZB_ERR_HANDLE);
  }
  if (bytes == 0) {
    return ZB_OK;
  }
  if (!zbl_copyable(to, from, bytes, kind)) {
    return zbl_said(ZB_ERR_VALUE);
  }
  c = malloc(sizeof *c);
  if (c == NULL) {
    return zbl_said(ZB_ERR_MEMORY);
  }
  *c = (zbl_copying){to, from, bytes};
  s->lane->h += zbl.launch;
  zbl_push(s, zbl_new_op(s, &zbl_copies, c, s->lane->h));
  return ZB_OK;
}

/* A copy on the null stream. The host waits for it unless both ends are on devices
 * (ROCm/clr, hip_memory.cpp, ihipMemcpy). Streams that are not blocking it does not
 * wait for: what they have not proved done is copied as it stands, poison and all.
 * Where the real one would wait for ever, nothing is copied. */
static int zbl_copy(void *to, const void *from, size_t bytes, int kind) {
  ZBL_ENTER;
  if (zbl_refused_in_capture()) {
    return zbl_said(ZB_ERR_CAPTURE);
  }
  if (bytes == 0) {
    return ZB_OK;
  }
  if (!zbl_copyable(to, from, bytes, kind)) {
    return zbl_said(ZB_ERR_VALUE);
  }
  if (zbl_copyable(to, from, bytes, ZB_DEVICE_TO_DEVICE)) {
    return zbl_copyAsync(to, from, bytes, kind, NULL);
  }
  if (!zbl_decided(zbl_null_stream(zbl_current_device()))) {
    return ZB_ERR_NOT_READY;
  }
  memcpy(to, from, bytes);
  return ZB_OK;
}
