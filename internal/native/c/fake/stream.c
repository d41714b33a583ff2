/* The engine: operations run in the order of their stream, each as soon as it
 * is at the head and what it waits for has come. Nothing is recursive: a stream
 * that may go on is put on a list, and the list is worked off. */
#include "stream.h"

#include <stdlib.h>
#include <string.h>

enum { ZBL_STREAM = 0x7374726d };

static zbl_stream *zbl_drain_list;
zbl_stream *zbl_streams;

/* Operations that are done, kept for the next ones. */
static zbl_op *zbl_spare_ops;

/* The stream behind a handle, NULL when it is none; no handle is the device's null
 * stream. */
zbl_stream *zbl_stream_on(void *handle, int device) {
  zbl_stream *s = handle != NULL ? handle : zbl_null_stream(device);
  return s == NULL || s->magic != ZBL_STREAM ? NULL : s;
}

/* An idle stream that is used for the first time in a case begins at the case's
 * zero, as the host clocks do. */
void zbl_renew(zbl_stream *s) {
  uint64_t epoch = zbl_lane_of(s->device)->case_epoch;
  if (s->epoch != epoch && s->head == NULL) {
    s->epoch = epoch;
    s->s = 0;
  }
}

/* The same for a call that goes to the current device. */
zbl_stream *zbl_stream_of(void *handle) {
  return zbl_stream_on(handle, zbl_current_device());
}

/* When an operation can begin: when the stream has come to it and the host had
 * enqueued it. */
double zbl_arrival(const zbl_op *op, const zbl_stream *s) {
  return zbl_later(op->posted, s->s);
}

static void zbl_pop(zbl_stream *s) {
  zbl_op *op = s->head;
  zbl_act();
  s->head = op->next;
  if (s->head == NULL) {
    s->tail = NULL;
  }
  if (op->release != NULL) {
    op->release(op);
  }
  op->next = zbl_spare_ops;
  zbl_spare_ops = op;
}

void zbl_drain_later(zbl_stream *s) {
  if (!s->queued_to_drain) {
    s->queued_to_drain = 1;
    s->drain_next = zbl_drain_list;
    zbl_drain_list = s;
  }
}

/* Whether a planted hang keeps the head from running. A GPU that stops ahead of
 * a launch has not come to the event before it either: its events run when it is
 * known what follows them, or when the host looks. */
static int zbl_held(const zbl_stream *s) {
  const zbl_op *op = s->head;
  if (s->device != zbl.faults.hang.rank) {
    return 0;
  }
  return op->stuck || (op->mark && (op->next == NULL ? !s->looked
                                                     : op->next->stuck));
}

/* The host looks at a stream: an event at its end runs. */
void zbl_look(zbl_stream *s) {
  s->looked = 1;
  zbl_drain_later(s);
  zbl_settle();
  s->looked = 0;
}

/* Whether the head is done, which runs now, or ran before and waited. */
static int zbl_step(zbl_stream *s) {
  zbl_op *op = s->head;
  if (op->started) {
    return op->done != NULL && op->done(op, s);
  }
  if (zbl_held(s)) {
    return 0;
  }
  op->started = 1;
  return zbl_aborted(op->comm) || op->run(op, s);
}

/* Works off every stream that may go on. */
void zbl_settle(void) {
  while (zbl_drain_list != NULL) {
    zbl_stream *s = zbl_drain_list;
    zbl_drain_list = s->drain_next;
    s->queued_to_drain = 0;
    while (s->head != NULL && zbl_step(s)) {
      zbl_pop(s);
    }
  }
}

/* Works off what others have decided meanwhile, on all streams of the process. */
void zbl_drive(void) {
  for (zbl_stream *s = zbl_streams; s != NULL; s = s->all) {
    if (s->head != NULL && s->head->done != NULL) {
      zbl_drain_later(s);
    }
  }
  zbl_settle();
}

/* The operation at the head, which waited, is done at the given time. */
void zbl_finish(zbl_stream *s, double at) {
  s->s = zbl_later(s->s, at);
  zbl_pop(s);
  zbl_drain_later(s);
}

/* Enqueues an operation behind what the stream waits for by itself. */
void zbl_push(zbl_stream *s, zbl_op op) {
  zbl_in_order(s);
  zbl_put(s, op);
}

/* Enqueues an operation, and runs what can run. */
void zbl_put(zbl_stream *s, zbl_op op) {
  zbl_op *kept = zbl_spare_ops;
  if (kept != NULL) {
    zbl_spare_ops = kept->next;
  } else if ((kept = malloc(sizeof *kept)) == NULL) {
    abort(); /* a host without memory for a few bytes cannot go on */
  }
  zbl_act();
  zbl_renew(s);
  *kept = op;
  kept->next = NULL;
  if (s->tail != NULL) {
    s->tail->next = kept;
  } else {
    s->head = kept;
  }
  s->tail = kept;
  if (!s->head->started) {
    zbl_drain_later(s);
    zbl_settle();
  }
}

void zbl_unshare(zbl_shared *owner) {
  if (--owner->users == 0) {
    zbl_drop(owner);
  }
}

/* What the host finds where nothing is known to be. */
void zbl_poison(char *to, size_t bytes) { memset(to, 0xa5, bytes); }

/* Promises bytes of a shared result to a buffer, which holds poison till then. */
void zbl_promise(zbl_stream *s, char *to, zbl_shared *owner, size_t offset,
                 size_t bytes) {
  zbl_result *r = malloc(sizeof *r);
  if (r == NULL) {
    abort();
  }
  *r = (zbl_result){to, owner->bytes + offset, bytes, owner, NULL};
  owner->users++;
  zbl_poison(to, bytes);
  if (s->results_tail != NULL) {
    s->results_tail->next = r;
  } else {
    s->results = r;
  }
  s->results_tail = r;
}

static void zbl_forget(zbl_stream *s) {
  while (s->results != NULL) {
    zbl_result *r = s->results;
    s->results = r->next;
    zbl_unshare(r->owner);
    free(r);
  }
  s->results_tail = NULL;
}

/* Everything that has run on the stream is proved done: the results appear. */
void zbl_reveal(zbl_stream *s) {
  for (zbl_result *r = s->results; r != NULL; r = r->next) {
    memcpy(r->to, r->from, r->bytes);
  }
  zbl_forget(s);
}

zbl_stream *zbl_new_stream(int device, int blocking) {
  zbl_stream *s = calloc(1, sizeof *s);
  if (s != NULL) {
    s->magic = ZBL_STREAM;
    s->device = device;
    s->blocking = blocking;
    s->epoch = zbl_lane_of(device)->case_epoch;
    s->all = zbl_streams;
    zbl_streams = s;
  }
  return s;
}

static void zbl_free_stream(zbl_stream *s) {
  zbl_stream **at = &zbl_streams;
  while (s->head != NULL) {
    zbl_pop(s);
  }
  zbl_reveal(s);
  while (*at != s) {
    at = &(*at)->all;
  }
  *at = s->all;
  s->magic = 0;
  free(s);
}

static int zbl_streamCreate(void **stream, unsigned flags) {
  ZBL_ENTER;
  zbl_stream *s;
  if (flags > ZB_STREAM_NON_BLOCKING) {
    return zbl_said(ZB_ERR_VALUE);
  }
  s = zbl_new_stream(zbl_current_device(), flags != ZB_STREAM_NON_BLOCKING);
  if (s == NULL) {
    return zbl_said(ZB_ERR_MEMORY);
  }
  *stream = s;
  return ZB_OK;
}

static int zbl_streamDestroy(void *stream) {
  ZBL_ENTER;
  zbl_stream *s = zbl_stream_of(stream);
  if (stream == NULL || s == NULL || s->device != zbl_current_device()) {
    return zbl_said(ZB_ERR_HANDLE);
  }
  if (zbl_refused_by_capture(s)) {
    return zbl_said(ZB_ERR_CAPTURE);
  }
  zbl_free_stream(s);
  zbl_settle(); /* those that waited for it go on */
  return ZB_OK;
}

/* Streams that the client forgot. Nothing of them runs any more: the memory that
 * it would use may be gone. */
void zbl_free_streams(void) {
  while (zbl_streams != NULL) {
    zbl_forget(zbl_streams);
    zbl_free_stream(zbl_streams);
  }
  zbl_drain_list = NULL;
  while (zbl_spare_ops != NULL) {
    zbl_op *op = zbl_spare_ops;
    zbl_spare_ops = op->next;
    free(op);
  }
}
