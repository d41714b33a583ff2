/* Collectives. Calls are matched by their sequence number. A complete round takes the model's
 * time on the virtual clock. */
#include "comm.h"

#include <string.h>

/* A collective of at most this many bytes only synchronises ranks: a late rank also leaves it
 * late (see fault.c). */
enum { ZBL_SYNC_BYTES = 8 };

/* Returns the total size S of a call in bytes: the larger of a rank's two buffers. */
double zbl_total_bytes(const zbl_call *c, int ranks) {
  const zbl_shape *shape = &zbl_shapes[c->collective];
  double bytes = (double)c->count * zbl_width(c->dtype);
  return shape->send_all || shape->recv_all ? bytes * ranks : bytes;
}

/* Returns the time at which rank i leaves a round that has ended. */
double zbl_leaves(const zbl_round *r, int i, int device) {
  double at = r->end + zbl.exit_jitter * zbl_uniform(r->draws, (uint64_t)i);
  if (r->bytes <= ZBL_SYNC_BYTES) {
    at += zbl_late(device);
  }
  return at;
}

/* Returns the curve for the way in which the call runs. Measured points are times of kernels and
 * apply to kernels only. */
static zbl_curve zbl_by(const zbl_curve *curve, int64_t how) {
  const zbl_faster *f = how == ZBL_BY_COPIES ? &zbl.copies : &zbl.symmetric;
  zbl_curve c = *curve;
  if (how != ZBL_BY_KERNELS && f->rate > 0) {
    c.b *= f->rate;
    c.a *= f->latency;
    c.r *= f->latency;
    c.floor *= f->latency;
    c.points = 0;
  }
  return c;
}

/* Returns the duration of a call in seconds, from its start to its end. */
double zbl_took(const zbl_clique *q, const zbl_call *call, double bytes, zbl_turn at) {
  uint64_t draws = zbl_draws(at);
  const zbl_curve *curve = zbl_curve_of(q, call->collective);
  zbl_curve by = zbl_by(curve, call->by);
  double took = zbl_faulty(curve, bytes, zbl_model(&by, bytes), draws);
  if (curve->points == 0 && q->nranks > 1 && bytes > ZBL_SYNC_BYTES) {
    zbl_took_model(call->collective, q->nranks);
  }
  return zbl_contended(q->first, q->last, at) * zbl_noisy(took, draws, q->first);
}

/* Gives a rank the result of a round that has ended. Returns the time at which the rank leaves the
 * round. */
static double zbl_take_round(const zbl_round *r, int rank, zbl_stream *s) {
  if (r->moves) {
    zbl_take_result(r, rank, s);
  }
  return zbl_leaves(r, rank, s->device);
}

static void zbl_let_go(zbl_round *r) {
  while (r != NULL && --r->holders == 0 && !r->linked) {
    zbl_clique *q = zbl_at(r->clique);
    zbl_round *before = zbl_at(r->before);
    if (q->newest == zbl_ref_of(r)) {
      q->newest = 0;
    }
    zbl_free_data(r);
    zbl_drop(r);
    r = before;
  }
}

/* Frees the rounds of a clique that not all ranks have called. No stream holds them any more. */
void zbl_free_rounds(zbl_clique *q) {
  zbl_round *r = zbl_at(q->head);
  zbl_let_go(r != NULL ? zbl_at(r->before) : NULL);
  for (; r != NULL; r = zbl_at(q->head)) {
    q->head = r->next;
    zbl_free_data(r);
    zbl_drop(r);
  }
}

/* Ends a round at which all ranks have arrived. It starts at the last arrival and ends for all
 * ranks at once, apart from the exit jitter. */
static void zbl_end_round(zbl_round *r, zbl_clique *q) {
  zbl_round *before = zbl_at(r->before);
  r->draws = zbl_draws(r->at);
  r->end = r->start + zbl_took(q, &r->call, r->bytes, r->at);
  if (r->moves) {
    zbl_move(r);
  }
  r->ran = 1;
  r->before = 0;
  zbl_let_go(before);
  zbl_ring(&q->bell[r->seq % ZBL_BELLS]);
}

/* Lets the streams of all ranks continue, except the stream that arrived last. Only a process that
 * drives all ranks may call it. */
static void zbl_leave_round(zbl_round *r, const zbl_clique *q, const zbl_stream *s) {
  for (int i = 0; i < q->nranks; i++) {
    zbl_stream *other = r->place[i].stream;
    if (other != s) {
      zbl_finish(other, zbl_take_round(r, i, other));
    }
  }
}

/* Ends a round, and later rounds that all ranks reach without their processes. The streams of
 * other processes continue when those processes look. */
static void zbl_decide(zbl_round *r, zbl_clique *q, const zbl_stream *s) {
  zbl_end_round(r, q);
  if (!zbl.several) {
    zbl_leave_round(r, q, s);
    return;
  }
  while ((r = zbl_at(r->next)) != NULL) {
    zbl_bring(r);
    if (r->ready < q->nranks || r->mismatch) {
      break;
    }
    zbl_end_round(r, q);
  }
  zbl_rouse();
  zbl_progress();
}

/* If the round has ended, gives the rank its result and the time at which it leaves. Returns
 * whether the round has ended. */
static int zbl_round_done(zbl_op *op, zbl_stream *s) {
  const zbl_round *r = op->data;
  if (!r->ran) {
    return 0;
  }
  s->s = zbl_later(s->s, zbl_take_round(r, op->rank, s));
  return 1;
}

/* Handles the arrival of a rank's stream at its call. A planted asynchronous error sets the
 * error of the rank's handle, and the call then never ends. */
static int zbl_round_run(zbl_op *op, zbl_stream *s) {
  zbl_round *r = op->data;
  zbl_clique *q = zbl_at(r->clique);
  if (zbl_async(s->device, r->bytes, r->at.launch)) {
    q->member[op->rank].async = ZB_COLL_REMOTE;
    zbl_alarm();
    return 0;
  }
  if (zbl.several) {
    zbl_ahead *a = &zbl_aheads(r)[op->rank];
    if (a->come) { /* another process has already moved the rank to this round */
      return zbl_round_done(op, s);
    }
    a->come = 1;
  }
  if (r->moves && !zbl_has_all(q)) {
    zbl_publish(r, op->rank, s);
  }
  r->start = zbl_later(r->start, zbl_arrival(op, s));
  if (++r->ready < q->nranks || r->mismatch) {
    return 0;
  }
  zbl_decide(r, q, s);
  return zbl_round_done(op, s);
}

/* Makes a round for the first rank that calls it. */
static zbl_round *zbl_new_round(const zbl_queued *c) {
  zbl_clique *q = c->comm->clique;
  int moves = zbl.moves_data > 0, places = moves || !zbl.several ? q->nranks : 0;
  zbl_round *before = zbl_at(q->newest);
  zbl_round *r = zbl_new(sizeof *r + (size_t)places * sizeof(zbl_place) +
                         (zbl.several ? (size_t)q->nranks * sizeof(zbl_ahead) : 0));
  *r = (zbl_round){.clique = zbl_ref_of(q), .linked = 1, .call = c->call,
                   .seq = c->comm->seq,
                   .bytes = zbl_total_bytes(&c->call, q->nranks),
                   .number = c->comm->made - 1, .at = zbl_round_number(c->comm),
                   .moves = moves, .places = places};
  if (moves && zbl_parts > 0) {
    size_t bytes = (size_t)zbl_parts * sizeof *zbl_moved;
    r->parts = zbl_parts;
    r->blocks = zbl_ref_of(memcpy(zbl_new(bytes), zbl_moved, bytes));
  }
  if (zbl.several) {
    q->newest = zbl_ref_of(r);
  }
  if (before != NULL) {
    before->next = zbl_ref_of(r);
    before->holders++;
    r->before = zbl_ref_of(before);
  }
  return r;
}

/* Returns the round of the rank's next call, and makes it if it does not exist. It is the oldest
 * round that not all ranks have called, or the successor of the rank's latest round. A round
 * exists until all ranks have called it and left it. */
static zbl_round *zbl_round_at(const zbl_queued *c) {
  zbl_clique *q = c->comm->clique;
  zbl_ref *at = q->head_seq == c->comm->seq ? &q->head : &c->comm->last->next;
  if (*at == 0) {
    *at = zbl_ref_of(zbl_new_round(c));
  }
  return c->comm->last = zbl_at(*at);
}

/* Marks that a call has left its device, so that kernels that waited for it can continue. */
static void zbl_leave_device(int device, const zbl_round *r) {
  if (r->ran) {
    zbl_busy(device, r->start, r->end);
  }
  zbl.devices[device].left++;
  zbl_rouse();
}

/* Releases a round when an operation of one of its ranks ends. The last release frees the round. */
static void zbl_round_release(zbl_op *op) {
  zbl_round *r = op->data;
  if (zbl.faults.beside > 0) {
    zbl_leave_device(op->comm->device, r);
  }
  if (!r->ran) {
    r->mismatch = 1; /* this rank has left, so the other ranks wait for ever */
  }
  zbl_let_go(r);
}

static zbl_bell *zbl_round_bell(const zbl_op *op) {
  const zbl_round *r = op->data;
  return &((zbl_clique *)zbl_at(r->clique))->bell[r->seq % ZBL_BELLS];
}

static const zbl_kind zbl_rounds = {.run = zbl_round_run,
                                    .done = zbl_round_done,
                                    .release = zbl_round_release,
                                    .bell = zbl_round_bell};

/* Puts one rank's call on its stream, after the host's cost of launching it. */
int zbl_post(const zbl_queued *c, double host) {
  zbl_clique *q = c->comm->clique;
  double *h = &c->comm->lane->h;
  zbl_op *op;
  uint64_t launch = zbl_comm_launch(c->comm, 0);
  zbl_round *r = zbl_round_at(c);
  *h += host;
  c->comm->seq++;
  if (memcmp(&r->call, &c->call, sizeof r->call) != 0) {
    r->mismatch = 1;
    if (r->odd_rank == 0) {
      r->odd = c->call;
      r->odd_rank = c->comm->rank + 1;
    }
  }
  if (r->places > 0) {
    r->place[c->comm->rank] =
        (zbl_place){.stream = c->stream, .send = c->send, .recv = c->recv,
                    .scalar = c->scalar};
  }
  r->holders++;
  zbl.devices[c->comm->device].calls++;
  if (++r->posted == q->nranks) { /* all ranks have called the round, so nothing needs to find it
                                   * any more */
    q->head = r->next;
    q->head_seq++;
    r->linked = 0;
  }
  op = zbl_new_op(c->stream, &zbl_rounds, r, *h);
  op->comm = c->comm;
  c->comm->ops++;
  op->rank = c->comm->rank;
  op->stuck = zbl_hangs(c->comm->device, r->bytes, launch);
  if (zbl.several) {
    zbl_look_ahead(r, op, c->stream);
  }
  zbl_push(c->stream, op);
  c->stream->before = r;
  c->stream->on = c->comm;
  c->stream->marked = 0;
  return 0;
}
