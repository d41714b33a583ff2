/* The end of a burst and the barrier before the next as one wait of a process. A host
 * that waits for the last round of its stream, and then comes to the barrier, has
 * nothing to do in between. So whoever ends the round does both for it, and the
 * process is woken when the barrier is over. */
#include "comm.h"

#include <math.h>

/* How long it waits, in milliseconds of the wall's clock, before the caller polls. */
enum { ZBL_MEET_MS = 500 };

/* The host of a seat has seen its stream end, and comes to the barrier. */
static void zbl_arrive(zbl_seat *seat, double done) {
  seat->after = 0;
  seat->done = done;
  seat->barrier = zbl.hub->barrier + 1;
}

/* Brings the hosts that waited for the round to the barrier. */
void zbl_meet_after(zbl_round *r) {
  const zbl_clique *q = zbl_at(r->clique);
  for (int i = 0; i < q->nranks && r->watched > 0; i++) {
    int device = q->member[i].device;
    zbl_seat *seat = &zbl.seats[device];
    if (seat->after == zbl_ref_of(r)) {
      double *h = zbl_host_clock(device);
      *h = zbl_later(*h, zbl_leaves(r, i, device));
      zbl_arrive(seat, *h);
      r->watched--;
    }
  }
  zbl_check_barrier();
}

/* Whether the host may wait in this way: nothing else of its process goes on
 * meanwhile, and no other process has its clock. */
static int zbl_may_meet(const zbl_stream *s, const zbl_round *r) {
  return r != NULL && zbl.several && !zbl.wall && zbl.shown == ZBL_HIDDEN &&
         zbl.gpus_per_process == 1 && !zbl_needed() && !zbl_failed(s->head->comm);
}

/* The host of a device does not wait for the round any longer. */
void zbl_meet_never(zbl_round *r, int device) {
  zbl_seat *seat = &zbl.seats[device];
  if (seat->after == zbl_ref_of(r)) {
    r->watched--;
    seat->after = 0;
    seat->waits = 0;
  }
}

/* Waits at the barrier, which the host has come to or comes to after the round. */
static int zbl_meet(zbl_stream *s, zbl_seat *seat, int64_t *done_ns) {
  while (seat->after != 0 || zbl.hub->barrier < seat->barrier) {
    int some = zbl_await(&zbl.hub->met, ZBL_MEET_MS);
    if (seat->after != 0 && (!some || zbl_failed(s->head->comm))) {
      zbl_meet_never(zbl_at(seat->after), s->device);
    }
    if (!seat->waits) { /* by this, or because the stream was given up */
      return -1;
    }
    if (!some) {
      return 0;
    }
  }
  seat->waits = 0;
  *done_ns = (int64_t)llround(seat->done * 1e9);
  zbl_look(s);
  return 1;
}

/* Called again, it goes on waiting. */
static int zbl_hostMeets(void *stream, int64_t *done_ns) {
  ZBL_ENTER;
  zbl_stream *s = zbl_stream_of(stream);
  zbl_seat *seat = s != NULL ? &zbl.seats[s->device] : NULL;
  zbl_round *r;
  if (s == NULL || s->error != 0) {
    return -1;
  }
  if (!seat->waits) {
    zbl_look(s);
    r = zbl_last_round(s);
    if (!zbl_may_meet(s, r)) {
      return -1;
    }
    seat->waits = 1;
    seat->after = zbl_ref_of(r);
    r->watched++;
  }
  return zbl_meet(s, seat, done_ns);
}
