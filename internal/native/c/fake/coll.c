/* Collectives: calls are matched by sequence number, and a round that is
 * complete takes the model's time on the virtual clock. */
#include "comm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Up to this many bytes a collective only brings ranks together: a rank that is
 * late leaves it late (see fault.c). */
enum { ZBL_SYNC_BYTES = 8 };

/* The total size S of a call: the larger of a rank's two buffers. */
static double zbl_total_bytes(const zbl_call *c, int ranks) {
  const zbl_shape *shape = &zbl_shapes[c->collective];
  double bytes = (double)c->count * zbl_width(c->dtype);
  return shape->send_all || shape->recv_all ? bytes * ranks : bytes;
}

static double zbl_leaves(const zbl_round *r, int i, double bytes, double end) {
  double at = end + zbl.exit_jitter * zbl_uniform(r->launch, (uint64_t)i);
  if (bytes <= ZBL_SYNC_BYTES) {
    at += zbl_late(r->place[i].stream->device);
  }
  return at;
}

/* Runs a round whose ranks are all there: it starts at the last arrival and
 * ends for all at once but for the exit jitter. Returns when s leaves it. */
static double zbl_run(zbl_round *r, const zbl_stream *s) {
  const zbl_clique *q = r->clique;
  const zbl_curve *curve = q->curve[r->call.collective];
  double bytes = zbl_total_bytes(&r->call, q->nranks), start = 0, end, mine = 0;
  for (int i = 0; i < q->nranks; i++) {
    start = fmax(start, r->place[i].arrival);
  }
  end = zbl_faulty(curve, bytes, zbl_model(curve, bytes), r->launch);
  end = start + zbl_noisy(end, r->launch, q->first);
  if (zbl.moves_data) {
    zbl_move(r);
  }
  r->ran = 1;
  for (int i = 0; i < q->nranks; i++) {
    double at = zbl_leaves(r, i, bytes, end);
    if (r->place[i].stream == s) {
      mine = at;
    } else {
      zbl_finish(r->place[i].stream, at);
    }
  }
  return mine;
}

/* A rank's stream has come to its call. A planted asynchronous error is on
 * record and never ends. */
static int zbl_round_run(zbl_op *op, zbl_stream *s) {
  zbl_round *r = op->data;
  zbl_clique *q = r->clique;
  double bytes = zbl_total_bytes(&r->call, q->nranks);
  if (zbl_async(s->device, bytes, r->launch)) {
    q->async = ZB_COLL_REMOTE;
    return 0;
  }
  r->place[op->rank].arrival = zbl_arrival(op, s);
  if (++r->ready < q->nranks || r->mismatch) {
    return 0;
  }
  s->s = zbl_run(r, s);
  return 1;
}

/* The round with the given sequence number, made when it is not there yet. */
static zbl_round *zbl_round_at(zbl_clique *q, uint64_t seq) {
  zbl_round **at = &q->head;
  for (uint64_t n = q->head_seq; n < seq && *at != NULL; n++) {
    at = &(*at)->next;
  }
  if (*at == NULL) {
    *at = calloc(1, sizeof(zbl_round) + (size_t)q->nranks * sizeof(zbl_place));
    if (*at != NULL) {
      (*at)->clique = q;
      (*at)->linked = 1;
      (*at)->launch = zbl_next_launch(q);
    }
  }
  return *at;
}

/* A round is released by the last of its ranks' operations. */
static void zbl_round_release(zbl_op *op) {
  zbl_round *r = op->data;
  if (!r->ran) {
    r->mismatch = 1; /* this rank has left it: the others wait for ever */
  }
  if (--r->holders == 0 && !r->linked) {
    free(r);
  }
}

/* One rank's call reaches its stream, when the host has spent its time on it. */
int zbl_post(const zbl_queued *c, double host) {
  zbl_clique *q = c->comm->clique;
  zbl_round *r = zbl_round_at(q, c->comm->seq);
  double *h = zbl_host_clock(c->comm->device);
  double bytes = zbl_total_bytes(&c->call, q->nranks);
  if (r == NULL) {
    return ZB_COLL_UNHANDLED;
  }
  *h += host;
  c->comm->seq++;
  if (r->posted == 0) {
    r->call = c->call;
  } else if (memcmp(&r->call, &c->call, sizeof r->call) != 0) {
    r->mismatch = 1;
  }
  r->place[c->comm->rank] =
      (zbl_place){.stream = c->stream, .send = c->send, .recv = c->recv};
  r->holders++;
  if (++r->posted == q->nranks) { /* all have called: nobody looks for it */
    q->head = r->next;
    q->head_seq++;
    r->linked = 0;
  }
  zbl_push(c->stream, (zbl_op){.run = zbl_round_run,
                               .release = zbl_round_release, .posted = *h,
                               .stuck = zbl_hangs(c->comm->device, bytes,
                                                  zbl_comm_launch(c->comm)),
                               .data = r, .rank = c->comm->rank,
                               .comm = c->comm});
  return 0;
}

/* Rounds that some ranks never called; the operations of those that did hold
 * them, and go with their streams. */
void zbl_free_rounds(zbl_clique *q) {
  while (q->head != NULL) {
    zbl_round *r = q->head;
    q->head = r->next;
    r->linked = 0;
    if (r->holders == 0) {
      free(r);
    }
  }
}
