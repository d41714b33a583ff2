/* Times kernels by events: start, the repeated sequence, stop, on all devices at once. It is in C
 * so that no Go code runs between two launches. */
#include "timer.h"

#include "loop.h"

static int zb_timer_fail(zb_timer *t, int outcome, int code, int device,
                         const char *call) {
  t->outcome = outcome;
  t->code = code;
  t->device = device;
  t->call = call;
  zb_told(t->table, 1);
  return 1;
}

static int zb_timer_check(zb_timer *t, int code, int device, const char *call) {
  return code == ZB_OK ? 0
                       : zb_timer_fail(t, ZB_BATCH_RUNTIME, code, device, call);
}

static int zb_timer_mark(zb_timer *t, int stops) {
  for (int i = 0; i < t->ntracks; i++) {
    zb_track *k = &t->tracks[i];
    if (zb_timer_check(t, t->table->setDevice(k->device), k->device,
                       "set device") ||
        zb_timer_check(
            t, t->table->eventRecord(stops ? k->stop : k->start, k->stream),
            k->device, "record event")) {
      return 1;
    }
  }
  return 0;
}

/* Launches a step. Returns the result of the vendor's call or of the runtime's launch. */
int zb_step_launch(const zb_table *t, const zb_step *s, void *stream) {
  return s->vendor != NULL
             ? s->vendor(s->params)
             : t->launchKernel(s->function, s->grid[0], s->grid[1], s->grid[2], s->block[0],
                               s->block[1], s->block[2], s->shared, stream, s->params, NULL);
}

/* Reads the counters of the compute units before or after the work; see kernels/clock.hip. */
static int zb_timer_stamp(zb_timer *t, int ends) {
  for (int i = 0; i < t->ntracks; i++) {
    zb_track *k = &t->tracks[i];
    if (k->stamps != NULL &&
        (zb_timer_check(t, t->table->setDevice(k->device), k->device, "set device") ||
         zb_timer_check(t, zb_step_launch(t->table, &k->stamps[ends], k->stream), k->device,
                        "launch"))) {
      return 1;
    }
  }
  return 0;
}

/* Launches one round on one device. */
static int zb_timer_round(zb_timer *t, zb_track *k) {
  if (zb_timer_check(t, t->table->setDevice(k->device), k->device,
                     "set device")) {
    return 1;
  }
  for (int i = 0; i < t->nsteps; i++) {
    int code = zb_step_launch(t->table, &k->steps[i], k->stream);
    if (code != 0) {
      return zb_timer_fail(t, k->steps[i].vendor != NULL ? ZB_BATCH_VENDOR : ZB_BATCH_RUNTIME, code,
                           k->device, "launch");
    }
  }
  return 0;
}

/* Polls until all tracks are done, the deadline has passed, or the timer is cancelled. */
static int zb_timer_wait(zb_timer *t, int64_t began) {
  int left = t->ntracks;
  while (left > 0) {
    for (int i = 0; i < t->ntracks; i++) {
      zb_track *k = &t->tracks[i];
      int code;
      if (k->done) {
        continue;
      }
      if (zb_timer_check(t, t->table->setDevice(k->device), k->device,
                         "set device")) {
        return 1;
      }
      code = t->table->streamQuery(k->stream);
      if (code == ZB_OK) {
        k->done = 1;
        left--;
      } else if (code != ZB_ERR_NOT_READY) {
        return zb_timer_fail(t, ZB_BATCH_RUNTIME, code, k->device,
                             "stream query");
      } else if ((double)(zb_now(t->table) - began) * 1e-9 > t->deadline_s) {
        return zb_timer_fail(t, ZB_BATCH_DEADLINE, 0, k->device, "wait");
      }
    }
    if (left > 0 && __atomic_load_n(&t->cancel, __ATOMIC_RELAXED)) {
      return zb_timer_fail(t, ZB_BATCH_CANCELLED, 0, -1, "wait");
    }
  }
  return 0;
}

void zb_timer_run(zb_timer *t) {
  int64_t began = zb_now(t->table);
  t->outcome = ZB_BATCH_OK;
  for (int i = 0; i < t->ntracks; i++) {
    t->tracks[i].done = 0;
  }
  if (zb_timer_stamp(t, 0) || zb_timer_mark(t, 0)) {
    return;
  }
  for (int round = 0; round < t->rounds; round++) {
    if (__atomic_load_n(&t->cancel, __ATOMIC_RELAXED)) {
      zb_timer_fail(t, ZB_BATCH_CANCELLED, 0, -1, "launch");
      return;
    }
    for (int i = 0; i < t->ntracks; i++) {
      if (zb_timer_round(t, &t->tracks[i])) {
        return;
      }
    }
  }
  if (zb_timer_mark(t, 1) || zb_timer_stamp(t, 1) || zb_timer_wait(t, began)) {
    return;
  }
  for (int i = 0; i < t->ntracks; i++) {
    zb_track *k = &t->tracks[i];
    float ms = 0;
    if (zb_timer_check(t, t->table->setDevice(k->device), k->device,
                       "set device") ||
        zb_timer_check(t, t->table->eventElapsed(&ms, k->start, k->stop),
                       k->device, "elapsed time")) {
      return;
    }
    k->seconds = (double)ms * 1e-3;
  }
}

void zb_timer_cancel(zb_timer *t) {
  __atomic_store_n(&t->cancel, 1, __ATOMIC_RELAXED);
}
