/* How far each rank got. Events mark the launches and so show where a batch stopped. Timed
 * bursts have no marks, because marks would take time. */
#include "loop.h"

enum { ZB_MARKS = 64 }; /* events per rank, the same number as native.MaxIsolated */

/* Records an event on every rank's stream. It must be outside of a group: a group's operations are
 * launched at its end, so that an event inside would time nothing. */
int zb_mark(zb_batch *b, int k, int stop) {
  const zb_table *t = b->table;
  for (int i = 0; i < b->nlocal; i++) {
    const zb_rank *r = &b->ranks[i];
    int code = t->setDevice(r->device);
    if (code == 0) {
      code = t->eventRecord(stop ? r->stop[k] : r->start[k], r->stream);
    }
    if (code != 0) {
      return zb_fail(b, ZB_BATCH_RUNTIME, code, i, "record event");
    }
  }
  return 0;
}

/* Runs one burst with marked launches. Its times are no samples. */
void zb_warm_up(zb_batch *b) {
  if (zb_begin(b)) {
    return;
  }
  b->marked = b->iterations <= ZB_MARKS;
  for (; b->launched < b->iterations; b->launched++) {
    if (zb_cancelled(b)) {
      zb_fail(b, ZB_BATCH_CANCELLED, 0, 0, "launch");
      return;
    }
    if ((b->marked && zb_mark(b, b->launched, 0)) ||
        zb_launch_all(b, &b->work, b->slot) ||
        (b->marked && zb_mark(b, b->launched, 1))) {
      return;
    }
    b->slot = (b->slot + 1) % b->work.slots;
  }
  if (zb_wait(b)) {
    return;
  }
  for (int i = 0; i < b->nlocal; i++) {
    b->seconds[i] /= b->launched;
  }
}

/* Returns the number of marks that a stream has passed, −1 if they cannot be read. It does not
 * wait. It queries events and not intervals, because in CUDA an interval may overlook pending work,
 * and its result "not ready" counts as an error. */
static int32_t zb_passed(const zb_batch *b, void **events) {
  int32_t n = 0;
  if (!b->marked || b->table->eventQuery == NULL) {
    return -1;
  }
  while (n < b->launched && b->table->eventQuery(events[n]) == ZB_OK) {
    n++;
  }
  return n;
}

/* Notes how far each rank got in an incomplete batch: the launches that it has begun and ended
 * (−1 without marks), and the asynchronous error of its communicators. */
void zb_progress(zb_batch *b) {
  const zb_table *t = b->table;
  for (int i = 0; i < b->nlocal; i++) {
    const zb_rank *r = &b->ranks[i];
    int error = 0;
    t->setDevice(r->device);
    b->started[i] = zb_passed(b, r->start);
    b->ended[i] = zb_passed(b, r->stop);
    for (int k = 0; k < b->nlanes && error == 0 && t->commGetAsyncError != NULL; k++) {
      t->commGetAsyncError(b->lane[k][i].comm, &error);
    }
    b->async[i] = error;
  }
}
