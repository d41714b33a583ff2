/* The timed loop. It runs in C so that nothing of Go is inside a timed region:
 * one crossing per batch, no allocation, no logging. It sets devices itself,
 * because the current device belongs to the thread it happens to run on. */
#include "loop.h"

#include <string.h>
#include <time.h>

/* One call of a collective, whatever its argument list. */
typedef int (*zb_launch)(const zb_batch *b, int i);

static int zb_all_reduce(const zb_batch *b, int i) {
  return b->table->allReduce(b->send[i], b->recv[i], b->count, b->dtype, b->op,
                             b->comm[i], b->stream[i]);
}

static int zb_reduce_scatter(const zb_batch *b, int i) {
  return b->table->reduceScatter(b->send[i], b->recv[i], b->count, b->dtype,
                                 b->op, b->comm[i], b->stream[i]);
}

static int zb_all_gather(const zb_batch *b, int i) {
  return b->table->allGather(b->send[i], b->recv[i], b->count, b->dtype,
                             b->comm[i], b->stream[i]);
}

/* A new collective is one row here. */
static const struct {
  const char *name;
  zb_launch launch;
} zb_collectives[] = {
    {"all_reduce", zb_all_reduce},
    {"reduce_scatter", zb_reduce_scatter},
    {"all_gather", zb_all_gather},
};

int zb_collective_count(void) {
  return (int)(sizeof zb_collectives / sizeof zb_collectives[0]);
}

const char *zb_collective_name(int i) { return zb_collectives[i].name; }

/* The clock of the current device's process: the provider's, else monotonic. */
static int64_t zb_now(const zb_table *t) {
  struct timespec ts;
  if (t->nowNs != NULL) {
    return t->nowNs();
  }
  clock_gettime(CLOCK_MONOTONIC, &ts);
  return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static int zb_fail(zb_batch *b, int outcome, int code, int rank,
                   const char *call) {
  b->outcome = outcome;
  b->code = code;
  b->rank = rank;
  b->call = call;
  return 1;
}

static int zb_cancelled(zb_batch *b) {
  return __atomic_load_n(&b->cancel, __ATOMIC_RELAXED) != 0;
}

void zb_cancel(zb_batch *b) {
  __atomic_store_n(&b->cancel, 1, __ATOMIC_RELAXED);
}

/* One iteration on every local rank. Several ranks need a group, or the first
 * call could wait for the second; a group launches at its end. */
static int zb_iteration(zb_batch *b, zb_launch launch) {
  const zb_table *t = b->table;
  int grouped = b->nlocal > 1, code;
  if (grouped && (code = t->groupStart()) != 0) {
    return zb_fail(b, ZB_BATCH_COLLECTIVES, code, 0, "group start");
  }
  for (int i = 0; i < b->nlocal; i++) {
    if ((code = t->setDevice(b->device[i])) != 0) {
      return zb_fail(b, ZB_BATCH_RUNTIME, code, i, "set device");
    }
    if ((code = launch(b, i)) != 0) {
      return zb_fail(b, ZB_BATCH_COLLECTIVES, code, i,
                     zb_collectives[b->collective].name);
    }
  }
  if (grouped && (code = t->groupEnd()) != 0) {
    return zb_fail(b, ZB_BATCH_COLLECTIVES, code, 0, "group end");
  }
  b->launched++;
  return 0;
}

/* Polls one rank: 1 done, 0 not yet, -1 the batch has failed. */
static int zb_poll(zb_batch *b, int i) {
  const zb_table *t = b->table;
  int code, async = 0;
  if ((code = t->setDevice(b->device[i])) != 0) {
    zb_fail(b, ZB_BATCH_RUNTIME, code, i, "set device");
    return -1;
  }
  code = t->streamQuery(b->stream[i]);
  if (code == ZB_OK) {
    return 1;
  }
  if (code != ZB_ERR_NOT_READY) {
    zb_fail(b, ZB_BATCH_RUNTIME, code, i, "stream query");
    return -1;
  }
  if (t->commGetAsyncError != NULL &&
      t->commGetAsyncError(b->comm[i], &async) == 0 && async != 0) {
    zb_fail(b, ZB_BATCH_ASYNC, async, i, "asynchronous error");
    return -1;
  }
  return 0;
}

/* Waits for every rank by polling, against the deadline and the cancel word:
 * a blocking wait on a dead peer would never come back. */
static int zb_wait(zb_batch *b) {
  int left = b->nlocal;
  while (left > 0) {
    for (int i = 0; i < b->nlocal; i++) {
      int done;
      double elapsed;
      if (b->finished[i]) {
        continue;
      }
      if ((done = zb_poll(b, i)) < 0) {
        return 1;
      }
      elapsed = (double)(zb_now(b->table) - b->start_ns[i]) * 1e-9;
      if (done) {
        b->finished[i] = 1;
        b->seconds[i] = elapsed / b->iterations;
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

/* One burst: barrier, clock, launches, wait, clock. */
void zb_burst(zb_batch *b) {
  zb_launch launch = zb_collectives[b->collective].launch;
  const zb_table *t = b->table;
  b->outcome = ZB_BATCH_OK;
  b->launched = 0;
  memset(b->finished, 0, (size_t)b->nlocal);
  if (t->hostBarrier != NULL) {
    t->hostBarrier();
  }
  for (int i = 0; i < b->nlocal; i++) {
    int code = t->setDevice(b->device[i]);
    if (code != 0) {
      zb_fail(b, ZB_BATCH_RUNTIME, code, i, "set device");
      return;
    }
    b->start_ns[i] = zb_now(t);
  }
  for (int k = 0; k < b->iterations; k++) {
    if (zb_cancelled(b)) {
      zb_fail(b, ZB_BATCH_CANCELLED, 0, 0, "launch");
      return;
    }
    if (zb_iteration(b, launch)) {
      return;
    }
  }
  zb_wait(b);
}
