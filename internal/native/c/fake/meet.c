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
 * meanwhile, and no other process has its clock. Its stream may be done already. */
static int zbl_may_meet(const zbl_stream *s, const zbl_round *r) {
  return (r != NULL ? !zbl_failed(s->head->comm) : s->head == NULL) && zbl.several &&
         !zbl.wall && zbl.shown == ZBL_HIDDEN && zbl.gpus_per_process == 1 &&
         !zbl_needed();
}

/* What the host says of the bursts that follow, if it has launched on one communicator
 * last. */
static void zbl_plan(zbl_seat *seat, const zbl_stream *s, int launches, int more) {
  const zbl_comm *c = s->before != NULL && s->marked == 0 ? zbl_comm_of(s->on) : NULL;
  seat->more = c != NULL && c->device == s->device ? more : 0;
  if (seat->more > 0) {
    seat->launches = launches;
    seat->clique = zbl_ref_of(c->clique);
    seat->last = c->seq - 1;
  }
}

/* The host begins to wait. If the stream is done, it comes to the barrier at once. */
static int zbl_begin_to_meet(zbl_stream *s, zbl_seat *seat) {
  zbl_round *r;
  zbl_look(s);
  r = zbl_last_round(s);
  if (!zbl_may_meet(s, r) || (r == NULL && !zbl_waited(s))) {
    return 0;
  }
  seat->waits = 1;
  if (r != NULL) {
    seat->after = zbl_ref_of(r);
    r->watched++;
    return 1;
  }
  zbl_arrive(seat, s->lane->h);
  return 1;
}

/* The host of a device does not wait for the round any longer. */
void zbl_meet_never(zbl_round *r, int device) {
  zbl_seat *seat = &zbl.seats[device];
  if (seat->after == zbl_ref_of(r)) {
    r->watched--;
    seat->after = 0;
    seat->waits = seat->more = 0;
  }
}

/* Waits at the barrier, which the host has come to or comes to after the round. */
static int zbl_meet(zbl_stream *s, zbl_seat *seat, int64_t *begun_ns, int64_t *ended_ns) {
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
  seat->waits = seat->more = 0;
  ended_ns[0] = (int64_t)llround(seat->done * 1e9);
  zbl_look(s);
  return 1 + zbl_take_repeats(s, seat, begun_ns + 1, ended_ns + 1);
}

/* Called again, it goes on waiting. */
static int zbl_hostMeets(void *stream, int launches, int more, int64_t *begun_ns,
                         int64_t *ended_ns) {
  ZBL_ENTER;
  zbl_stream *s = zbl_stream_of(stream);
  zbl_seat *seat = s != NULL ? &zbl.seats[s->device] : NULL;
  if (s == NULL || s->error != 0) {
    return -1;
  }
  if (!seat->waits) {
    if (!zbl_begin_to_meet(s, seat)) {
      return -1;
    }
    zbl_plan(seat, s, launches, more);
    if (seat->after == 0) {
      zbl_check_barrier();
    }
  }
  return zbl_meet(s, seat, begun_ns, ended_ns);
}
