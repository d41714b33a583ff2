/* Runs the operations of streams. They run in the order of their stream, each as soon as it is
 * first in the stream and its condition is met. There is no recursion: a stream that may continue
 * goes on a list, and the list is then processed. */
#include "event.h"

#include <stdlib.h>
#include <string.h>

enum { ZBL_STREAM = 0x7374726d };

zbl_stream *zbl_streams;

/* The streams that may continue, last in first out. The array has room for all streams. */
static struct {
  zbl_stream **at;
  size_t n, room, streams;
} zbl_drain;

/* Returns the stream behind a handle; NULL if the handle is invalid. The handle NULL stands for
 * the device's null stream. */
zbl_stream *zbl_stream_on(void *handle, int device) {
  return handle != NULL ? zbl_behind(handle, ZBL_STREAM) : zbl_null_stream(device);
}

/* Resets the clock of an idle stream that the current case uses for the first time. Like the
 * host clocks, it then starts at 0. */
void zbl_renew(zbl_stream *s) {
  uint64_t epoch = s->lane->case_epoch;
  if (s->epoch != epoch && s->head == NULL) {
    s->epoch = epoch;
    s->s = 0;
  }
}

/* Does the same as zbl_stream_on, for a call on the current device. */
zbl_stream *zbl_stream_of(void *handle) {
  return zbl_stream_on(handle, zbl_current_device());
}

static void zbl_pop(zbl_stream *s) {
  zbl_op *op = s->head;
  zbl_act();
  s->head = op->next;
  if (op->kind->release != NULL) {
    op->kind->release(op);
  }
  if (op->comm != NULL) {
    op->comm->ops--;
  }
  op->next = s->spare;
  s->spare = op;
}

void zbl_drain_later(zbl_stream *s) {
  if (!s->queued_to_drain) {
    s->queued_to_drain = 1;
    zbl_drain.at[zbl_drain.n++] = s;
  }
}

/* Reports whether the host or another stream waits for an event at the end of the stream. */
static int zbl_awaited(const zbl_stream *s, const zbl_op *mark) {
  return s->looked || ((const zbl_event *)mark->data)->waiting > 0;
}

/* Reports whether a planted hang stops the stream's first operation. A GPU that stops before a
 * launch has not reached the event before it either. Therefore an event of the device runs only
 * when the operation after it is known, or when a host or stream waits for the event. */
static int zbl_held(const zbl_stream *s) {
  const zbl_op *op = s->head;
  if (s->device != zbl.faults.hang.rank) {
    return 0;
  }
  return op->stuck || (op->kind->mark && (op->next == NULL ? !zbl_awaited(s, op)
                                                           : op->next->stuck));
}

/* Lets an event at the end of a stream run, because the host looks at the stream. */
void zbl_look(zbl_stream *s) {
  s->looked = 1;
  zbl_drain_later(s);
  zbl_settle();
  s->looked = 0;
}

/* Returns 1 if the stream's first operation is done. The operation runs now, or has run earlier and
 * waited. */
static int zbl_step(zbl_stream *s) {
  zbl_op *op = s->head;
  if (op->started) {
    return op->kind->done != NULL && op->kind->done(op, s);
  }
  if (zbl_held(s)) {
    return 0;
  }
  op->started = 1;
  return zbl_aborted(op->comm) || op->kind->run(op, s);
}

/* Runs a stream as far as possible. */
static void zbl_go_on(zbl_stream *s) {
  while (s->head != NULL && zbl_step(s)) {
    zbl_pop(s);
  }
}

/* Runs every stream that may continue. */
void zbl_settle(void) {
  while (zbl_drain.n > 0) {
    zbl_stream *s = zbl_drain.at[--zbl_drain.n];
    s->queued_to_drain = 0;
    zbl_go_on(s);
  }
}

/* Puts on the list those streams of this process that may continue after a decision. */
void zbl_rouse(void) {
  for (zbl_stream *s = zbl_streams; s != NULL; s = s->all) {
    if (s->head != NULL && s->head->kind->done != NULL) {
      zbl_drain_later(s);
    }
  }
}

/* Continues all streams of this process after other processes have decided something. */
void zbl_drive(void) {
  zbl_rouse();
  zbl_settle();
}

/* Ends the waiting first operation of a stream at time `at`. */
void zbl_finish(zbl_stream *s, double at) {
  s->s = zbl_later(s->s, at);
  zbl_pop(s);
  if (s->head != NULL) {
    zbl_drain_later(s);
  }
}

/* Enqueues an operation. It runs after the streams that its stream implicitly waits for. */
void zbl_push(zbl_stream *s, zbl_op *op) {
  if (s->blocking) {
    zbl_in_order(s);
  }
  if (zbl_paced() && !op->kind->mark) {
    zbl_pace_pushes(s->head == NULL ? zbl_later(op->posted, s->s) : -1);
  }
  zbl_put(s, op);
}

/* Notes an event on a stream, for a round that may follow it. */
void zbl_note_mark(zbl_stream *s, double posted) {
  if (s->marked < ZBL_AHEAD_MARKS) {
    s->mark[s->marked] = posted;
  }
  s->marked += s->marked <= ZBL_AHEAD_MARKS;
}

/* Wakes the thread that drives the process's streams, if this stream needs it. */
void zbl_call_driver(const zbl_stream *s) {
  if (zbl.driving && s->head != NULL && zbl_bell_of(s) == NULL) {
    zbl_ring(&zbl.nudge);
  }
}

/* Enqueues an operation and runs everything that can run. */
void zbl_put(zbl_stream *s, zbl_op *op) {
  zbl_act();
  zbl_renew(s);
  if (op->kind->mark) {
    zbl_note_mark(s, op->posted);
  } else {
    s->before = NULL;
  }
  if (s->head == NULL) {
    s->head = op;
  } else {
    zbl_op *last = s->head->next != NULL ? s->tail : s->head;
    last->next = s->tail = op;
  }
  if (!s->head->started) {
    zbl_go_on(s);
    zbl_settle();
  }
  zbl_call_driver(s);
}

/* Enlarges the list for one more stream. */
static int zbl_more_room(void) {
  size_t room = zbl_drain.room > 0 ? 2 * zbl_drain.room : 64;
  zbl_stream **at;
  if (zbl_drain.streams < zbl_drain.room) {
    return 1;
  }
  at = realloc(zbl_drain.at, room * sizeof *at);
  if (at != NULL) {
    zbl_drain.at = at;
    zbl_drain.room = room;
  }
  return at != NULL;
}

zbl_stream *zbl_new_stream(int device, int blocking) {
  zbl_stream *s = zbl.count > 0 && zbl_more_room() ? zbl_new_handle(sizeof *s) : NULL;
  if (s != NULL) {
    *s = (zbl_stream){.magic = ZBL_STREAM, .device = device,
                      .blocking = (uint8_t)blocking,
                      .lane = zbl_lane_of(device), .all = zbl_streams};
    s->epoch = s->lane->case_epoch;
    zbl_streams = s;
    zbl_drain.streams++;
    zbl.devices[device].blocking += s->blocking;
  }
  return s;
}

static void zbl_free_stream(zbl_stream *s) {
  zbl_stream **at = &zbl_streams;
  while (s->head != NULL) {
    zbl_pop(s);
  }
  for (size_t i = 0; s->queued_to_drain && i < zbl_drain.n; i++) { /* dropping its events may have
                                                                    * put the stream on the list */
    if (zbl_drain.at[i] == s) {
      zbl_drain.at[i] = zbl_drain.at[--zbl_drain.n];
      s->queued_to_drain = 0;
    }
  }
  zbl_reveal(s);
  while (*at != s) {
    at = &(*at)->all;
  }
  *at = s->all;
  zbl_give_ops(s);
  zbl_drain.streams--;
  zbl.devices[s->device].blocking -= s->blocking;
  zbl_free_handle(s);
}

static int zbl_streamCreate(void **stream, unsigned flags) {
  ZBL_ENTER;
  zbl_stream *s;
  ZBL_REFUSE(stream == NULL || flags > ZB_STREAM_NON_BLOCKING, ZB_ERR_VALUE);
  s = zbl_new_stream(zbl_current_device(), flags != ZB_STREAM_NON_BLOCKING);
  ZBL_REFUSE(s == NULL, ZB_ERR_MEMORY);
  *stream = s;
  return ZB_OK;
}

/* HIP's range of priorities, from 1 (low) to −1. Priorities are stored but have no effect. */
enum { ZBL_LEAST_PRIORITY = 1, ZBL_GREATEST_PRIORITY = -1 };

/* Makes a stream with a priority. A priority out of range is clamped (ROCm/clr,
 * hipamd/src/hip_stream.cpp, hipStreamCreateWithPriority). */
static int zbl_streamPriority(void **stream, unsigned flags, int priority) {
  int code = zbl_streamCreate(stream, flags);
  if (code == ZB_OK) {
    ((zbl_stream *)*stream)->priority = (int8_t)(priority > ZBL_LEAST_PRIORITY ? ZBL_LEAST_PRIORITY
                                        : priority < ZBL_GREATEST_PRIORITY
                                            ? ZBL_GREATEST_PRIORITY
                                            : priority);
  }
  return code;
}

/* Makes a stream that may use only some compute units, which has no effect here. HIP
 * requires a mask of at least one word (ROCm/clr, hipamd/src/hip_stream.cpp,
 * hipExtStreamCreateWithCUMask). */
static int zbl_streamWithMask(void **stream, uint32_t words, const uint32_t *mask) {
  return stream == NULL ? zbl_said(ZB_ERR_HANDLE)
         : words == 0 || mask == NULL ? zbl_said(ZB_ERR_VALUE)
                                      : zbl_streamCreate(stream, 0);
}

/* Destroys a stream. HIP refuses the null stream here (ROCm/clr, hip_stream.cpp). The loopback
 * accepts it, because rccl-tests -y 1 destroys it after printing its table and would end with
 * that error. */
static int zbl_streamDestroy(void *stream) {
  ZBL_ENTER;
  zbl_stream *s = zbl_stream_of(stream);
  if (stream == NULL) {
    return ZB_OK;
  }
  ZBL_REFUSE(s == NULL, ZBL_ERR_STREAM);
  ZBL_REFUSE(zbl_refused_by_capture(s), ZB_ERR_CAPTURE);
  zbl_free_stream(s);
  zbl_settle(); /* streams that waited for this one continue */
  return ZB_OK;
}

/* Frees the streams that the client has not destroyed. Their operations do not run, because the
 * memory that they would use may be gone. */
void zbl_free_streams(void) {
  while (zbl_streams != NULL) {
    zbl_forget(zbl_streams);
    zbl_free_stream(zbl_streams);
  }
  free(zbl_drain.at);
  memset(&zbl_drain, 0, sizeof zbl_drain);
  zbl_free_ops();
  zbl_forget_handles();
  zbl_forget_stale();
}
