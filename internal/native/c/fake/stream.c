/* The engine: operations run in the order of their stream, each as soon as it
 * is at the head and what it waits for has come. Nothing is recursive: a stream
 * that may go on is put on a list, and the list is worked off. */
#include "stream.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ZBL_STREAM = 0x7374726d };

/* How far one poll of work that can never finish moves the host clock: a
 * ten-minute deadline passes in a few hundred polls. */
static const double zbl_stuck_poll = 1.0;

static zbl_stream *zbl_drain_list;
zbl_stream *zbl_streams;

/* The stream behind a handle, NULL when it is none; no handle is the device's null
 * stream. An idle one that is used for the first time in a case begins at the
 * case's zero, as the host clocks do. */
zbl_stream *zbl_stream_on(void *handle, int device) {
  zbl_stream *s = handle != NULL ? handle : zbl_null_stream(device);
  if (s == NULL || s->magic != ZBL_STREAM) {
    return NULL;
  }
  if (s->epoch != zbl.case_epoch && s->head == NULL) {
    s->epoch = zbl.case_epoch;
    s->s = 0;
  }
  return s;
}

/* The same for a call that goes to the current device. */
zbl_stream *zbl_stream_of(void *handle) {
  return zbl_stream_on(handle, zbl_current_device());
}

/* When an operation can begin: when the stream has come to it and the host had
 * enqueued it. */
double zbl_arrival(const zbl_op *op, const zbl_stream *s) {
  return fmax(op->posted, s->s);
}

static void zbl_pop(zbl_stream *s) {
  zbl_op *op = s->head;
  s->head = op->next;
  if (s->head == NULL) {
    s->tail = NULL;
  }
  if (op->release != NULL) {
    op->release(op);
  }
  free(op);
}

static void zbl_drain_later(zbl_stream *s) {
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

/* Works off every stream that may go on. */
void zbl_settle(void) {
  while (zbl_drain_list != NULL) {
    zbl_stream *s = zbl_drain_list;
    zbl_drain_list = s->drain_next;
    s->queued_to_drain = 0;
    while (s->head != NULL && !s->head->started && !zbl_held(s)) {
      s->head->started = 1;
      if (!zbl_aborted(s->head->comm) && !s->head->run(s->head, s)) {
        break;
      }
      zbl_pop(s);
    }
  }
}

/* The operation at the head, which waited, is done at the given time. */
void zbl_finish(zbl_stream *s, double at) {
  s->s = fmax(s->s, at);
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
  zbl_op *kept = malloc(sizeof *kept);
  if (kept == NULL) {
    abort(); /* a host without memory for a few bytes cannot go on */
  }
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

static void zbl_unshare(zbl_shared *owner) {
  if (--owner->users == 0) {
    free(owner);
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
    s->epoch = zbl.case_epoch;
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
}

/* Whether all that the stream was given is done: then the host knows, and the
 * results are there. To ask the null stream is to ask the blocking ones. */
int zbl_waited(zbl_stream *s) {
  double *h = zbl_host_clock(s->device);
  zbl_look(s);
  if (s->head == NULL && s == zbl.devices[s->device].null) {
    zbl_in_order(s);
    zbl_look(s);
  }
  if (s->head != NULL) {
    return 0;
  }
  *h = fmax(*h, s->s);
  zbl_reveal(s);
  return 1;
}

/* A query blocks until the outcome is decided; only for work that can never
 * finish does it answer not ready, and then the host's time passes. */
static int zbl_streamQuery(void *stream) {
  zbl_stream *s = zbl_stream_of(stream);
  if (s == NULL || s->device != zbl_current_device()) {
    return zbl_said(ZB_ERR_HANDLE);
  }
  if (zbl_refused_by_capture(s)) {
    return zbl_said(ZB_ERR_CAPTURE);
  }
  if (s->error != 0) {
    return zbl_said(s->error);
  }
  if (!zbl_waited(s)) {
    *zbl_host_clock(s->device) += zbl_stuck_poll;
    return ZB_ERR_NOT_READY;
  }
  return ZB_OK;
}
