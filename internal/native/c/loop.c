/* The burst, and the common parts of all timed loops. They are in C so that no Go code runs during
 * a timing: one crossing per batch, no allocation, no logging. They set the current device
 * themselves, because the setting belongs to the operating-system thread, and Go may call them on
 * any thread. */
#include "loop.h"

#include <string.h>
#include <time.h>

int64_t zb_monotonic(void) {
  struct timespec ts;
  clock_gettime(CLOCK_MONOTONIC, &ts);
  return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* Returns the time of the current device's process in nanoseconds: the provider's clock if it
 * has one, otherwise the monotonic clock. */
int64_t zb_now(const zb_table *t) {
  return t->nowNs != NULL ? t->nowNs() : zb_monotonic();
}

int zb_fail(zb_batch *b, int outcome, int code, int rank, const char *call) {
  b->outcome = outcome;
  b->code = code;
  b->rank = rank;
  b->call = call;
  zb_told(b->table, 1);
  return 1;
}

int zb_cancelled(zb_batch *b) {
  return __atomic_load_n(&b->cancel, __ATOMIC_RELAXED) != 0;
}

void zb_cancel(zb_batch *b) {
  __atomic_store_n(&b->cancel, 1, __ATOMIC_RELAXED);
}

/* Waits at the provider's barrier for all ranks' hosts. The wait ends early if the cancel word is
 * set, or at the deadline on the host's clock, because peers may be in another process. */
static int zb_host_barrier(zb_batch *b) {
  const zb_table *t = b->table;
  int64_t began = zb_monotonic();
  while (b->nlocal > 0 &&
         !t->hostBarrier(&b->ranks[0].device, sizeof b->ranks[0], b->nlocal)) {
    if (zb_cancelled(b)) {
      return zb_fail(b, ZB_BATCH_CANCELLED, 0, 0, "barrier");
    }
    if ((double)(zb_monotonic() - began) * 1e-9 > b->deadline_s) {
      return zb_fail(b, ZB_BATCH_DEADLINE, 0, 0, "barrier");
    }
  }
  return 0;
}

/* Brings the ranks together and reads each rank's clock. */
int zb_begin(zb_batch *b) {
  const zb_table *t = b->table;
  b->outcome = ZB_BATCH_OK;
  b->launched = 0;
  b->marked = 0;
  memset(b->state, ZB_RANK_NOT_ENQUEUED, (size_t)b->nlocal);
  if (t->hostBarrier != NULL && zb_host_barrier(b)) {
    return 1;
  }
  for (int i = 0; i < b->nlocal; i++) {
    int code = t->setDevice(b->ranks[i].device);
    if (code != 0) {
      return zb_fail(b, ZB_BATCH_RUNTIME, code, i, "set device");
    }
    b->start_ns[i] = zb_now(t);
  }
  return 0;
}

/* Polls the stream of a rank on one lane. Returns 1 if it is done, 0 if not yet, −1 if the batch
 * has failed. */
static int zb_poll_lane(zb_batch *b, int i, const zb_rank *r) {
  const zb_table *t = b->table;
  int async = 0, code = t->streamQuery(r->stream);
  if (code == ZB_OK) {
    return 1;
  }
  if (code != ZB_ERR_NOT_READY) {
    zb_fail(b, ZB_BATCH_RUNTIME, code, i, "stream query");
    return -1;
  }
  if (t->commGetAsyncError != NULL &&
      t->commGetAsyncError(r->comm, &async) == 0 && zb_refused(async)) {
    zb_fail(b, ZB_BATCH_ASYNC, async, i, "asynchronous error");
    return -1;
  }
  return 0;
}

/* Polls the streams of a rank on all lanes. They are polled together because one stream may
 * wait for another. The other stream's error then counts. */
static int zb_poll(zb_batch *b, int i) {
  int all = 1, code = b->table->setDevice(b->ranks[i].device);
  if (code != 0) {
    zb_fail(b, ZB_BATCH_RUNTIME, code, i, "set device");
    return -1;
  }
  for (int k = 0; k < b->nlanes; k++) {
    int done = zb_poll_lane(b, i, &b->lane[k][i]);
    if (done < 0) {
      return -1;
    }
    all = all && done;
  }
  return all;
}

/* Waits for every rank by polling, until the deadline or the cancel word. A blocking wait for a
 * dead peer would never return. Writes each rank's seconds since zb_begin into b->seconds. */
int zb_wait(zb_batch *b) {
  int left = b->nlocal;
  memset(b->state, ZB_RANK_ENQUEUED, (size_t)b->nlocal);
  while (left > 0) {
    for (int i = 0; i < b->nlocal; i++) {
      int done;
      double elapsed;
      if (b->state[i] == ZB_RANK_FINISHED) {
        continue;
      }
      if ((done = zb_poll(b, i)) < 0) {
        return 1;
      }
      elapsed = (double)(zb_now(b->table) - b->start_ns[i]) * 1e-9;
      if (done) {
        b->state[i] = ZB_RANK_FINISHED;
        b->seconds[i] = elapsed;
        left--;
      } else if (elapsed > b->deadline_s) {
        return zb_fail(b, ZB_BATCH_DEADLINE, 0, i, "wait");
      }
    }
    if (left > 0 && zb_cancelled(b)) {
      return zb_fail(b, ZB_BATCH_CANCELLED, 0, 0, "wait");
    }
  }
  return 0;
}

/* Launches the work n times. */
static int zb_launch_several(zb_batch *b, const void *n) {
  for (int32_t k = 0; k < *(const int32_t *)n; k++, b->launched++) {
    if (zb_launch_all(b, &b->work, b->slot)) {
      return 1;
    }
    b->slot = (b->slot + 1) % b->work.slots;
  }
  return 0;
}

/* Waits for the launches so far, and for the other hosts if the burst asks for it. */
static int zb_complete(zb_batch *b) {
  if (zb_wait(b)) {
    return 1;
  }
  if (b->blocking != 1) {
    return 0;
  }
  if (b->table->hostBarrier != NULL) {
    return zb_host_barrier(b);
  }
  return b->apart && (zb_align(b) || zb_wait(b));
}

/* Enqueues the launches of a burst, one by one or in groups. */
int zb_launches(zb_batch *b) {
  b->launched = 0;
  while (b->launched < b->iterations) {
    int32_t left = b->iterations - b->launched, n = b->aggregate > 1 ? b->aggregate : 1;
    n = n < left ? n : left;
    if (zb_cancelled(b)) {
      return zb_fail(b, ZB_BATCH_CANCELLED, 0, 0, "launch");
    }
    if (zb_grouped(b, n > 1, zb_launch_several, &n) || (b->blocking && zb_complete(b))) {
      return 1;
    }
  }
  return 0;
}

/* Lets processes begin a burst together. They get their orders at different times. Without a
 * barrier of hosts, the clock of the first process would run while it waits for the last. */
static int zb_meet(zb_batch *b) {
  if (!b->apart || b->nlocal == 0 || b->table->hostBarrier != NULL) {
    return 0;
  }
  return zb_begin(b) || zb_align(b) || zb_wait(b);
}

/* Runs the timed part of a burst: barrier, clock, launches back to back or replays of their graph,
 * wait, clock. The result is divided by the number of launches. */
static void zb_time_burst(zb_batch *b) {
  if (zb_meet(b) || zb_begin(b) ||
      (b->replays > 0 ? zb_replay(b) : zb_launches(b)) || b->nlocal == 0) {
    return;
  }
  b->table->setDevice(b->ranks[0].device);
  b->enqueue_s = (double)(zb_now(b->table) - b->start_ns[0]) * 1e-9;
  if (zb_wait(b)) {
    return;
  }
  for (int i = 0; i < b->nlocal; i++) {
    b->seconds[i] /= b->launched;
  }
}

/* Runs one burst. A graph is made before the clock begins and freed after the clock has ended. */
void zb_burst(zb_batch *b) {
  if (b->replays <= 0 || !zb_capture(b)) {
    zb_time_burst(b);
  }
  zb_drop_graphs(b);
}

/* Runs `count` bursts, until one fails. Writes their seconds, ordered by burst and then rank. */
void zb_bursts(zb_batch *b, int32_t count, double *seconds) {
  size_t n = (size_t)b->nlocal;
  for (int32_t k = 0; k < count; k++) {
    zb_burst(b);
    if (b->outcome != ZB_BATCH_OK) {
      return;
    }
    memmove(seconds + (size_t)k * n, b->seconds, n * sizeof *seconds);
  }
}
