/* Events: a mark in a stream that takes the stream's time when it runs. */
#include "stream.h"

#include <stdlib.h>

enum { ZBL_EVENT = 0x65766e74 };

typedef struct zbl_event {
  uint32_t magic;
  int device;
  int pending; /* records that have not run */
  int recorded;
  double at;
  zbl_stream *on; /* where it is pending */
} zbl_event;

static zbl_event *zbl_event_of(void *handle) {
  zbl_event *e = handle;
  return e != NULL && e->magic == ZBL_EVENT ? e : NULL;
}

static int zbl_eventCreate(void **event) {
  ZBL_ENTER;
  zbl_event *e = calloc(1, sizeof *e);
  if (e == NULL) {
    return zbl_said(ZB_ERR_MEMORY);
  }
  e->magic = ZBL_EVENT;
  e->device = zbl_current_device();
  *event = e;
  return ZB_OK;
}

static int zbl_eventDestroy(void *event) {
  ZBL_ENTER;
  zbl_event *e = zbl_event_of(event);
  if (e == NULL) {
    return zbl_said(ZB_ERR_HANDLE);
  }
  e->magic = 0; /* one that is pending goes with the last stream that has it */
  if (e->pending == 0) {
    free(e);
  }
  return ZB_OK;
}

/* The mark costs the stream what the fabric says an event costs. */
static int zbl_event_run(zbl_op *op, zbl_stream *s) {
  zbl_event *e = op->data;
  s->s = zbl.wall ? zbl_wall_now() : zbl_arrival(op, s) + zbl.event;
  e->at = s->s;
  e->recorded = 1;
  e->pending--;
  return 1;
}

/* A stream that is destroyed before the mark ran leaves the event unrecorded. */
static void zbl_event_release(zbl_op *op) {
  zbl_event *e = op->data;
  if (!op->started) {
    e->pending--;
  }
  if (e->pending == 0 && e->magic == 0) {
    free(e);
  }
}

static const zbl_kind zbl_marks = {.run = zbl_event_run,
                                   .release = zbl_event_release,
                                   .mark = 1};

/* An event belongs to a device; recording it on another's stream is refused. */
static int zbl_eventRecord(void *event, void *stream) {
  ZBL_ENTER;
  zbl_event *e = zbl_event_of(event);
  zbl_stream *s = zbl_stream_of(stream);
  if (e == NULL || s == NULL || e->device != s->device ||
      s->device != zbl_current_device()) {
    return zbl_said(ZB_ERR_HANDLE);
  }
  if (s->capture != NULL) {
    return zbl_said(ZB_ERR_NOT_SUPPORTED); /* the real one records it; zbench does not use it */
  }
  e->recorded = 0;
  e->pending++;
  e->on = s;
  zbl_push(s, zbl_new_op(s, &zbl_marks, e, s->lane->h));
  return ZB_OK;
}

static void zbl_look_at(const zbl_event *e) {
  if (e->pending > 0) {
    zbl_look(e->on);
  }
}

/* Whether the work before the last record is done; there is none before the
 * first, and none is waited for. */
static int zbl_eventQuery(void *event) {
  ZBL_ENTER;
  zbl_event *e = zbl_event_of(event);
  if (e == NULL) {
    return zbl_said(ZB_ERR_HANDLE);
  }
  zbl_look_at(e);
  return zbl_host_finds(e->pending > 0, e->at) ? ZB_OK : ZB_ERR_NOT_READY;
}

/* Milliseconds between two events that both have happened. */
static int zbl_eventElapsed(float *ms, void *start, void *stop) {
  ZBL_ENTER;
  zbl_event *a = zbl_event_of(start), *b = zbl_event_of(stop);
  if (a == NULL || b == NULL || a->device != b->device) {
    return zbl_said(ZB_ERR_HANDLE);
  }
  zbl_look_at(a);
  zbl_look_at(b);
  if (a->pending > 0 || b->pending > 0) {
    return ZB_ERR_NOT_READY;
  }
  if (!a->recorded || !b->recorded) {
    return zbl_said(ZB_ERR_HANDLE);
  }
  *ms = (float)((b->at - a->at) * 1e3);
  return ZB_OK;
}
