/* A fast path for a collective that one group launches on all ranks of a communicator while all
 * their streams are idle. No rank waits for another, so the collective ends when it is launched,
 * with the times of a round (coll.c). Without this path each rank would need an operation and a
 * place in the round. They take most of the time of a launch on 1,024 ranks in one process. */
#include "comm.h"

#include <string.h>

/* Reports whether launches may end at once: one process drives all ranks, and neither data nor a
 * planted fault makes ranks differ. */
static int zbl_ends_at_once(void) {
  return !zbl.several && zbl.moves_data <= 0 && zbl.shown == ZBL_HIDDEN &&
         zbl.faults.hang.rank < 0 && zbl.faults.async.rank < 0;
}

/* Reports whether the calls are one collective on all ranks of the first call's communicator, in
 * order. The devices must ascend, because two ranks on one stream would wait for each other. */
static int zbl_is_whole(const zbl_queued *calls, const zbl_clique *q) {
  for (int i = 0, last = -1; i < q->nranks; last = calls[i++].comm->device) {
    const zbl_comm *c = zbl_comm_of(calls[i].comm);
    if (c == NULL || c->clique != q || c->rank != i || c->device <= last || c->aborted ||
        c->seq != q->head_seq || !zbl_idle(calls[i].stream) ||
        memcmp(&calls[i].call, &calls->call, sizeof calls->call) != 0) {
      return 0;
    }
  }
  return 1;
}

/* Puts one rank's call on its stream, as zbl_post does. */
static void zbl_arrive_at(zbl_round *r, const zbl_queued *call) {
  zbl_comm *c = call->comm;
  zbl_comm_launch(c, 0);
  if (c->rank == 0) {
    r->at = zbl_round_number(c);
  }
  c->lane->h += zbl_host_cost(c->device);
  c->seq++;
  zbl_renew(call->stream);
  r->start = zbl_later(r->start, zbl_later(c->lane->h, call->stream->s));
}

/* Launches the first of n calls together with the calls of its communicator's other ranks, if those
 * calls follow and can end at once. Returns the number of launched calls: all of the
 * communicator's, or 0. */
size_t zbl_launch_whole(const zbl_queued *calls, size_t n) {
  zbl_clique *q = calls->comm->clique;
  zbl_round r;
  if (q == NULL || calls->peer >= 0 || n < (size_t)q->nranks || q->head != 0 ||
      !zbl_ends_at_once() || !zbl_is_whole(calls, q)) {
    return 0;
  }
  r = (zbl_round){.call = calls->call, .bytes = zbl_total_bytes(&calls->call, q->nranks)};
  for (int i = 0; i < q->nranks; i++) {
    zbl_arrive_at(&r, &calls[i]);
  }
  q->head_seq++;
  r.draws = zbl_draws(r.at);
  r.end = r.start + zbl_took(q, &r.call, r.bytes, r.at);
  for (int i = 0; i < q->nranks; i++) {
    zbl_stream *s = calls[i].stream;
    s->s = zbl_later(s->s, zbl_leaves(&r, i, s->device));
    zbl_busy(s->device, r.start, r.end);
  }
  zbl_act();
  return (size_t)q->nranks;
}
