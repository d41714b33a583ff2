/* Measures the time of one operation by itself. A delay kernel lets the host run ahead. Each
 * iteration then enqueues four operations on every rank's stream: a 4-byte all_reduce, which aligns
 * the ranks; the start event; the collective; and the stop event. The host does not wait within a
 * batch. */
#include "loop.h"

#include <string.h>

enum { ZB_FLOAT = 7, ZB_SUM = 0 };

/* Holds every stream for delay_ns, so that all following launches are enqueued before the first
 * of them runs. */
static int zb_hold_back(zb_batch *b) {
  const zb_table *t = b->table;
  void *params[] = {&b->delay_ns};
  for (int i = 0; i < b->nlocal && b->delay_ns > 0; i++) {
    const zb_kernels *k = b->ranks[i].kernels;
    int code;
    if (k == NULL || k->delay == NULL) {
      continue;
    }
    code = t->setDevice(b->ranks[i].device);
    if (code == 0) {
      code = t->launchKernel(k->delay, 1, 1, 1, 1, 1, 1, 0, b->ranks[i].stream,
                             params, NULL);
    }
    if (code != 0) {
      return zb_fail(b, ZB_BATCH_RUNTIME, code, i, "launch delay kernel");
    }
  }
  return 0;
}

/* Launches the 4-byte all_reduce on every local rank. */
static int zb_align_each(zb_batch *b, const void *unused) {
  const zb_table *t = b->table;
  int code;
  (void)unused;
  for (int i = 0; i < b->nlocal; i++) {
    const zb_rank *r = &b->ranks[i];
    if ((code = t->setDevice(r->device)) != 0) {
      return zb_fail(b, ZB_BATCH_RUNTIME, code, i, "set device");
    }
    code = t->allReduce(r->sync, r->sync + 4, 1, ZB_FLOAT, ZB_SUM, r->comm,
                        r->stream);
    if (zb_refused(code)) {
      return zb_fail(b, ZB_BATCH_COLLECTIVES, code, i, "aligning all_reduce");
    }
  }
  return 0;
}

/* Aligns the ranks: no rank continues before the last one has arrived. */
int zb_align(zb_batch *b) { return zb_grouped(b, b->nlocal > 1, zb_align_each, NULL); }

/* Reads the intervals into b->seconds, indexed [iteration × nlocal + rank]. */
static int zb_read_intervals(zb_batch *b) {
  const zb_table *t = b->table;
  for (int i = 0; i < b->nlocal; i++) {
    const zb_rank *r = &b->ranks[i];
    t->setDevice(r->device);
    for (int k = 0; k < b->iterations; k++) {
      float ms = 0;
      int code = t->eventElapsed(&ms, r->start[k], r->stop[k]);
      if (code != 0) {
        return zb_fail(b, ZB_BATCH_RUNTIME, code, i, "event interval");
      }
      b->seconds[(size_t)k * (size_t)b->nlocal + (size_t)i] = (double)ms * 1e-3;
    }
  }
  return 0;
}

/* Notes how long the hosts took to enqueue the batch, and whether every stream was held at least
 * that long. If not, launches began before later ones were enqueued, and the intervals include host
 * time. The hold is assumed to begin with the batch, although the delay kernel begins later. */
static void zb_note_enqueued(zb_batch *b) {
  b->enqueue_s = 0;
  b->held = 1;
  for (int i = 0; i < b->nlocal; i++) {
    const zb_kernels *k = b->ranks[i].kernels;
    int64_t took;
    b->table->setDevice(b->ranks[i].device);
    took = zb_now(b->table) - b->start_ns[i];
    if ((double)took * 1e-9 > b->enqueue_s) {
      b->enqueue_s = (double)took * 1e-9;
    }
    if (k == NULL || k->delay == NULL || took > (int64_t)b->delay_ns) {
      b->held = 0;
    }
  }
}

/* Enqueues the iterations of a batch. If `empty` is set, the collective is left out, to measure
 * only the pair of events. */
static int zb_iterate(zb_batch *b, int empty) {
  for (int k = 0; k < b->iterations; k++) {
    if (zb_cancelled(b)) {
      return zb_fail(b, ZB_BATCH_CANCELLED, 0, 0, "launch");
    }
    if (zb_align(b) || zb_mark(b, k, 0) ||
        (!empty && zb_launch_all(b, &b->work, b->slot)) || zb_mark(b, k, 1)) {
      return 1;
    }
    b->slot = empty ? b->slot : (b->slot + 1) % b->work.slots;
    b->launched++;
  }
  return 0;
}

static int zb_iterate_full(zb_batch *b) { return zb_iterate(b, 0); }

static int zb_iterate_empty(zb_batch *b) { return zb_iterate(b, 1); }

static void zb_timed(zb_batch *b, int (*iterations)(zb_batch *b)) {
  if (zb_begin(b) || zb_hold_back(b)) {
    return;
  }
  b->marked = 1;
  if (iterations(b)) {
    return;
  }
  zb_note_enqueued(b);
  if (!zb_wait(b)) {
    zb_read_intervals(b);
  }
}

void zb_isolated(zb_batch *b) { zb_timed(b, zb_iterate_full); }

void zb_event_floor(zb_batch *b) { zb_timed(b, zb_iterate_empty); }
