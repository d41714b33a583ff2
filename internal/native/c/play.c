/* The steps of a trainer. Each rank computes on one stream, and messages run on the stream of
 * their lane. A message is launched when computation has reached its place, and computation
 * waits at the same places as a trainer's computation. Events between the streams enforce both,
 * and the host runs ahead. */
#include "play.h"

static int zb_play_failed(zb_batch *b, int code, int rank, const char *call) {
  return code == 0 ? 0 : zb_fail(b, ZB_BATCH_RUNTIME, code, rank, call);
}

/* Records a mark on each rank's computation stream. Mark 0 is the beginning of the first step; each
 * later mark is the end of a step. */
static int zb_play_mark(zb_batch *b, const zb_play *p, int32_t mark) {
  const zb_table *t = b->table;
  for (int i = 0; i < b->nlocal; i++) {
    int code = t->setDevice(b->ranks[i].device);
    if (code == 0) {
      code = t->eventRecord(b->ranks[i].start[mark], p->compute[i]);
    }
    if (zb_play_failed(b, code, i, "mark a step")) {
      return 1;
    }
  }
  return 0;
}

/* Makes one stream of a rank wait for an event on another stream. */
static int zb_play_behind(zb_batch *b, int i, void *event, void *from, void *to) {
  const zb_table *t = b->table;
  int code = t->setDevice(b->ranks[i].device);
  if (code == 0 && from != NULL) {
    code = t->eventRecord(event, from);
  }
  if (code == 0 && to != NULL) {
    code = t->streamWaitEvent(to, event, 0);
  }
  return zb_play_failed(b, code, i, "order two streams");
}

static int zb_play_spin(zb_batch *b, const zb_play *p, uint64_t ns) {
  const zb_table *t = b->table;
  void *params[] = {&ns};
  for (int i = 0; i < b->nlocal; i++) {
    int code = t->setDevice(b->ranks[i].device);
    if (code == 0) {
      code = t->launchKernel(b->ranks[i].kernels->delay, 1, 1, 1, 1, 1, 1, 0, p->compute[i],
                             params, NULL);
    }
    if (zb_play_failed(b, code, i, "launch computation")) {
      return 1;
    }
  }
  return 0;
}

/* Enqueues launches, one after the other, that use the GPU as a trainer's computation does. The
 * ranks take turns: if a device's queue is full, the host blocks, and meanwhile no other queue may
 * run empty. */
static int zb_play_work(zb_batch *b, const zb_play *p, int32_t launches) {
  const zb_table *t = b->table;
  for (int32_t k = 0; k < launches; k++) {
    for (int i = 0; i < b->nlocal; i++) {
      int code = t->setDevice(b->ranks[i].device);
      if (code == 0) {
        code = zb_step_launch(t, &p->work[i], p->compute[i]);
      }
      if (code != 0) {
        return zb_fail(b, p->work[i].vendor != NULL ? ZB_BATCH_VENDOR : ZB_BATCH_RUNTIME, code, i,
                       "launch computation");
      }
    }
  }
  return 0;
}

/* The number of steps that run when a part is watched. The times are from the last step: by then
 * the hosts are ahead, so that the times do not include the cost of launches. */
enum { ZB_PLAY_WATCHED_STEPS = 2, ZB_PLAY_MARKS = ZB_PLAY_WATCHED_STEPS + 1 };

/* Records each rank's events around message k, or around computation k, if it is watched. */
static int zb_play_watch(zb_batch *b, const zb_play *p, int computing, int32_t k, int ended) {
  int32_t at = k - p->first;
  for (int i = 0; i < b->nlocal && p->computing == computing && at >= 0 && at < p->watched; i++) {
    zb_rank *r = &b->ranks[i];
    if (zb_play_behind(b, i, ended ? r->stop[at] : r->start[ZB_PLAY_MARKS + at],
                       computing ? p->compute[i] : r->stream, NULL)) {
      return 1;
    }
  }
  return 0;
}

/* Launches message k on its lane's stream when computation has come this far. */
static int zb_play_send(zb_batch *b, const zb_play *p, int32_t k) {
  const zb_play_message *m = &p->message[k];
  size_t first = (size_t)k * (size_t)b->nlocal;
  for (int i = 0; i < b->nlocal; i++) {
    zb_rank *r = &b->ranks[i];
    r->send = p->base[i] + m->send + (uint64_t)r->rank * m->send_share;
    r->recv = p->base[i] + m->recv + (uint64_t)r->rank * m->recv_share;
    if (zb_play_behind(b, i, p->ready[first + (size_t)i], p->compute[i], r->stream)) {
      return 1;
    }
  }
  if (zb_play_watch(b, p, 0, k, 0) || zb_launch_all(b, &m->work, 0) ||
      zb_play_watch(b, p, 0, k, 1)) {
    return 1;
  }
  for (int i = 0; i < b->nlocal; i++) {
    void *done = p->done[first + (size_t)i];
    if (done != NULL && zb_play_behind(b, i, done, b->ranks[i].stream, NULL)) {
      return 1;
    }
  }
  return 0;
}

static int zb_play_launch(zb_batch *b, const zb_play *p, int32_t k) {
  int failed;
  b->ranks = b->lane[p->message[k].lane];
  failed = zb_play_send(b, p, k);
  b->ranks = b->lane[0];
  return failed;
}

/* Makes computation, or the lane of message `by`, wait for the end of message k. */
static int zb_play_wait(zb_batch *b, const zb_play *p, int32_t k, int32_t by) {
  for (int i = 0; i < b->nlocal; i++) {
    void *to = by < 0 ? p->compute[i] : b->lane[p->message[by].lane][i].stream;
    if (zb_play_behind(b, i, p->done[(size_t)k * (size_t)b->nlocal + (size_t)i], NULL, to)) {
      return 1;
    }
  }
  return 0;
}

static int zb_play_compute(zb_batch *b, const zb_play *p, const zb_play_op *o, int32_t k) {
  return zb_play_watch(b, p, 1, k, 0) ||
         (o->kind == ZB_PLAY_SPIN ? zb_play_spin(b, p, o->ns) : zb_play_work(b, p, o->launches)) ||
         zb_play_watch(b, p, 1, k, 1);
}

static int zb_play_step(zb_batch *b, const zb_play *p) {
  int32_t computed = 0;
  for (int32_t k = 0; k < p->nops; k++) {
    const zb_play_op *o = &p->op[k];
    if (zb_cancelled(b)) {
      return zb_fail(b, ZB_BATCH_CANCELLED, 0, 0, "launch");
    }
    if (o->kind == ZB_PLAY_LAUNCH ? zb_play_launch(b, p, o->message)
        : o->kind == ZB_PLAY_WAIT   ? zb_play_wait(b, p, o->message, -1)
        : o->kind == ZB_PLAY_FOLLOW ? zb_play_wait(b, p, o->message, o->by)
                                    : zb_play_compute(b, p, o, computed++)) {
      return 1;
    }
  }
  b->launched++;
  return 0;
}

/* Reads the times between marks, or of the watched part, indexed [number × nlocal + rank]. */
static void zb_play_read(zb_batch *b, int watched, int32_t count, double *seconds) {
  const zb_table *t = b->table;
  for (int32_t k = 0; k < count; k++) {
    for (int i = 0; i < b->nlocal; i++) {
      const zb_rank *r = &b->ranks[i];
      float ms = 0;
      int code = t->setDevice(r->device);
      if (code == 0) {
        code = watched ? t->eventElapsed(&ms, r->start[ZB_PLAY_MARKS + k], r->stop[k])
                        : t->eventElapsed(&ms, r->start[k], r->start[k + 1]);
      }
      if (zb_play_failed(b, code, i, "a step's time")) {
        return;
      }
      seconds[(size_t)k * (size_t)b->nlocal + (size_t)i] = (double)ms * 1e-3;
    }
  }
}

/* Runs `steps` steps back to back. At the end the first lane's stream waits for computation, so
 * that waiting for the lanes is waiting for everything. */
static int zb_play_all(zb_batch *b, const zb_play *p, int32_t steps) {
  if (zb_begin(b) || zb_play_mark(b, p, 0)) {
    return 1;
  }
  for (int32_t k = 0; k < steps; k++) {
    if (zb_play_step(b, p) || zb_play_mark(b, p, k + 1)) {
      return 1;
    }
  }
  for (int i = 0; i < b->nlocal; i++) {
    if (zb_play_behind(b, i, b->ranks[i].start[steps], NULL, b->ranks[i].stream)) {
      return 1;
    }
  }
  return zb_wait(b);
}

/* Measures the seconds of each step on each rank. */
void zb_play_steps(zb_batch *b, const zb_play *p, int32_t steps, double *seconds) {
  if (!zb_play_all(b, p, steps)) {
    zb_play_read(b, 0, steps, seconds);
  }
}

/* Measures the seconds of the watched part on each rank. The seconds include a message's
 * wait for other ranks. */
void zb_play_watched(zb_batch *b, const zb_play *p, double *seconds) {
  if (!zb_play_all(b, p, ZB_PLAY_WATCHED_STEPS)) {
    zb_play_read(b, 1, p->watched, seconds);
  }
}
