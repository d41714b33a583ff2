/* Events. An event is a mark in a stream; when the mark runs, the event gets the stream's time. */
#include "event.h"

#include <stdlib.h>

zbl_event *zbl_event_of(void *handle) { return zbl_behind(handle, ZBL_EVENT); }

static int zbl_eventCreate(void **event) {
  ZBL_ENTER;
  zbl_event *e;
  ZBL_REFUSE(event == NULL, ZB_ERR_VALUE);
  e = zbl.count > 0 ? zbl_new_handle(sizeof *e) : NULL;
  ZBL_REFUSE(e == NULL, ZB_ERR_MEMORY);
  e->magic = ZBL_EVENT;
  e->device = zbl_current_device();
  *event = e;
  return ZB_OK;
}

/* Frees a destroyed event once no stream refers to it. */
void zbl_event_drop(zbl_event *e) {
  if (e->pending == 0 && e->waiting == 0 && e->magic == 0) {
    zbl_free_handle(e);
  }
}

static int zbl_eventDestroy(void *event) {
  ZBL_ENTER;
  zbl_event *e = zbl_event_of(event);
  if (e == NULL) { /* the error of ROCm/clr, hipamd/src/hip_event.cpp, hipEventDestroy */
    return zbl_said(event == NULL ? ZB_ERR_HANDLE : ZBL_ERR_STREAM);
  }
  e->magic = 0; /* a pending event is freed when the last stream that refers to it drops it */
  zbl_event_drop(e);
  return ZB_OK;
}

/* Notes that one more record of the event has run, and lets streams that wait for the event look
 * again. */
static void zbl_event_tell(zbl_event *e) {
  e->done++;
  for (zbl_stream *s = e->waiting > 0 ? zbl_streams : NULL; s != NULL; s = s->all) {
    if (s->head != NULL && s->head->kind->done != NULL) {
      zbl_drain_later(s);
    }
  }
}

/* Runs a record of the event. It costs the stream the fabric's time of an event. */
static void zbl_event_happens(zbl_event *e, zbl_stream *s, double posted) {
  s->s = zbl.wall ? zbl_wall_now() : zbl_later(posted, s->s) + zbl.event;
  e->at = s->s;
  e->recorded = 1;
  e->pending--;
  zbl_event_tell(e);
}

static int zbl_event_run(zbl_op *op, zbl_stream *s) {
  zbl_event_happens(op->data, s, op->posted);
  return 1;
}

/* Drops a record. If its stream was destroyed before the record ran, the event stays unrecorded. */
static void zbl_event_release(zbl_op *op) {
  zbl_event *e = op->data;
  if (!op->started) {
    e->pending--;
    zbl_event_tell(e);
  }
  zbl_event_drop(e);
}

static const zbl_kind zbl_marks = {.run = zbl_event_run,
                                   .release = zbl_event_release,
                                   .mark = 1};

/* Records an event. An idle stream records it at once, without an operation. On a device with a
 * planted hang the record waits, because the hang may keep it from running. */
static void zbl_put_event(zbl_stream *s, zbl_event *e) {
  double posted = s->lane->h;
  if (!zbl_idle(s) || s->device == zbl.faults.hang.rank) {
    zbl_push(s, zbl_new_op(s, &zbl_marks, e, posted));
    return;
  }
  posted = zbl_host_posts(s->lane, posted);
  zbl_act();
  zbl_renew(s);
  zbl_note_mark(s, posted);
  zbl_event_happens(e, s, posted);
  zbl_settle();
}

/* Records an event on a stream of its own device. A stream of another device is refused
 * (ROCm/clr, hipamd/src/hip_event.cpp, hipEventRecord_common). In a capture the record
 * is a position in the graph and marks no time. */
static int zbl_eventRecord(void *event, void *stream) {
  ZBL_ENTER_SEVERAL;
  zbl_event *e = zbl_event_of(event);
  zbl_stream *s = zbl_stream_of(stream);
  ZBL_REFUSE(e == NULL || s == NULL, e == NULL ? ZB_ERR_HANDLE : ZBL_ERR_STREAM);
  e->on = s;
  e->captured = zbl_capture_of(s);
  if (s->capture != NULL) {
    return ZB_OK;
  }
  ZBL_REFUSE(e->device != s->device, ZB_ERR_HANDLE);
  e->recorded = 0;
  e->pending++;
  e->made++;
  zbl_put_event(s, e);
  return ZB_OK;
}

static void zbl_look_at(const zbl_event *e) {
  if (e->pending > 0) {
    zbl_look(e->on);
  }
}

/* Proves that the work before a finished event is done. */
static void zbl_event_proves(const zbl_event *e) {
  zbl_stream *s = zbl_streams;
  while (s != NULL && s != e->on) {
    s = s->all;
  }
  if (s != NULL) {
    zbl_reveal(s);
  }
}

/* Reports whether the work before the event's last record is done. An event that was never recorded
 * counts as done. */
static int zbl_eventQuery(void *event) {
  ZBL_ENTER;
  zbl_event *e = zbl_event_of(event);
  ZBL_REFUSE(e == NULL, ZB_ERR_HANDLE);
  zbl_look_at(e);
  ZBL_REFUSE(!zbl_host_finds(e->pending > 0, e->at), ZB_ERR_NOT_READY);
  zbl_event_proves(e);
  return ZB_OK;
}

/* Returns the milliseconds between two events that have both happened. */
static int zbl_eventElapsed(float *ms, void *start, void *stop) {
  ZBL_ENTER_SEVERAL;
  zbl_event *a = zbl_event_of(start), *b = zbl_event_of(stop);
  ZBL_REFUSE(ms == NULL, ZB_ERR_VALUE);
  ZBL_REFUSE(a == NULL || b == NULL || a->device != b->device, ZB_ERR_HANDLE);
  zbl_look_at(a);
  zbl_look_at(b);
  ZBL_REFUSE(a->pending > 0 || b->pending > 0, ZB_ERR_NOT_READY);
  ZBL_REFUSE(!a->recorded || !b->recorded || a->untimed || b->untimed, ZB_ERR_HANDLE);
  *ms = (float)((b->at - a->at) * 1e3);
  return ZB_OK;
}

/* A stream's wait for one record of an event. */
typedef struct zbl_waiting {
  zbl_event *event;
  uint64_t record;
} zbl_waiting;

static int zbl_wait_done(zbl_op *op, zbl_stream *s) {
  const zbl_waiting *w = op->data;
  if (w->event->done < w->record) {
    return 0;
  }
  zbl_event_proves(w->event);
  s->s = zbl_later(zbl_arrival(op, s), w->event->at);
  return 1;
}

static void zbl_wait_release(zbl_op *op) {
  zbl_waiting *w = op->data;
  w->event->waiting--;
  zbl_event_drop(w->event);
  free(w);
}

static const zbl_kind zbl_waits = {.run = zbl_wait_done, .done = zbl_wait_done,
                                   .release = zbl_wait_release};

/* Runs records of an event that are at the front of their streams, now that a stream waits for the
 * event. A planted hang had held them back. */
static void zbl_event_awaited(const zbl_event *e) {
  if (e->pending == 0 || e->device != zbl.faults.hang.rank) {
    return;
  }
  for (zbl_stream *s = zbl_streams; s != NULL; s = s->all) {
    if (s->head != NULL && s->head->data == e) {
      zbl_drain_later(s);
    }
  }
  zbl_settle();
}

/* Makes a stream wait for an event. A stream does not wait for an event that was never recorded.
 * Waiting for an event of a capture joins the stream to that capture (ROCm/clr,
 * hipamd/src/hip_stream.cpp, hipStreamWaitEvent_common). */
static int zbl_streamWaitEvent(void *stream, void *event, unsigned flags) {
  zbl_event *e;
  zbl_stream *s;
  zbl_waiting *w;
  ZBL_ENTER;
  e = zbl_event_of(event);
  s = zbl_stream_of(stream);
  ZBL_REFUSE(e == NULL || s == NULL, ZB_ERR_HANDLE);
  ZBL_REFUSE(e->captured != 0,
             stream == NULL ? ZB_ERR_HANDLE
                                   : zbl_join_capture(s, e->captured, e->on));
  ZBL_REFUSE(flags != 0, ZB_ERR_VALUE);
  if (s->capture != NULL) { /* the event is done before the graph is launched */
    return ZB_OK;
  }
  w = malloc(sizeof *w);
  ZBL_REFUSE(w == NULL, ZB_ERR_MEMORY);
  *w = (zbl_waiting){e, e->made};
  e->waiting++;
  zbl_push(s, zbl_new_op(s, &zbl_waits, w, s->lane->h));
  zbl_event_awaited(e);
  return ZB_OK;
}
