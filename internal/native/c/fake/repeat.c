/* Bursts that only repeat one: all hosts have enqueued the same launches on one
 * communicator, wait for the last, meet, and say that they will do so again so many
 * times. Nothing that a process does decides anything then. So whoever ends the barrier
 * computes all of it, by the operations of zbl_post, ahead.c, zbl_end_round and meet.c
 * in their order: the times are the same to the last bit, and a batch of bursts takes
 * one wait of a process instead of one for each burst. */
#include "comm.h"

#include <math.h>

/* When the bursts began, for all hosts, then when each host saw each of them end. */
typedef struct zbl_repeats {
  int users, bursts, ranks, launches;
  zbl_end last; /* of the last round */
  double at[];  /* [bursts], then [bursts × ranks + rank] */
} zbl_repeats;

/* The round that all hosts of the world have waited for, if they go on in the same way;
 * else NULL. A planted hang is of one launch: its process finds it. */
static zbl_round *zbl_repeatable(void) {
  const zbl_seat *first = NULL;
  const zbl_clique *q;
  zbl_round *r;
  int hosts = 0;
  for (int i = 0; i < zbl.ranks; i++) {
    const zbl_seat *seat = &zbl.seats[i];
    if (seat->comms == 0) {
      continue;
    }
    first = first != NULL ? first : seat;
    if (seat->more < 1 || seat->launches < 1 || seat->more != first->more ||
        seat->launches != first->launches || seat->clique != first->clique ||
        seat->last != first->last) {
      return NULL;
    }
    hosts++;
  }
  q = first != NULL ? zbl_at(first->clique) : NULL;
  r = q != NULL ? zbl_at(q->ended) : NULL;
  return r != NULL && r->seq == first->last && r->next == 0 && hosts == q->nranks &&
                 zbl.faults.hang.rank < 0 && zbl.faults.async.rank < 0
             ? r
             : NULL;
}

/* The next launch of all ranks: each host enqueues it, and each stream comes to it from
 * the launch before. */
static void zbl_launch_again(const zbl_clique *q, const zbl_round *r, zbl_turn at,
                             zbl_end *e) {
  double start = 0;
  for (int i = 0; i < q->nranks; i++) {
    int device = q->member[i].device;
    double *h = zbl_host_clock(device);
    *h += zbl_host_cost(device);
    start = zbl_later(start, zbl_later(*h, zbl_leaves_at(e, i, device)));
  }
  e->draws = zbl_draws(at);
  e->end = start + zbl_took(q, &r->call, r->bytes, e->draws);
}

/* Each host sees the launches end. Returns the latest clock. */
static double zbl_see_end(const zbl_clique *q, const zbl_end *e, double *done) {
  double latest = 0;
  for (int i = 0; i < q->nranks; i++) {
    int device = q->member[i].device;
    double *h = zbl_host_clock(device);
    *h = zbl_later(*h, zbl_leaves_at(e, i, device));
    done[i] = *h;
    latest = zbl_later(latest, *h);
  }
  return latest;
}

static zbl_repeats *zbl_new_repeats(const zbl_clique *q, const zbl_round *r,
                                    const zbl_seat *seat) {
  size_t times = (size_t)seat->more * (1 + (size_t)q->nranks);
  zbl_repeats *p = zbl_new(sizeof *p + times * sizeof p->at[0]);
  *p = (zbl_repeats){.users = q->nranks, .bursts = seat->more, .ranks = q->nranks,
                     .launches = seat->launches,
                     .last = {r->end, r->bytes, r->draws}};
  return p;
}

/* All hosts have just met: does what they go on with, if that is known. */
void zbl_repeat(void) {
  zbl_round *r = zbl_repeatable();
  zbl_clique *q;
  zbl_repeats *p;
  zbl_turn at;
  if (r == NULL) {
    return;
  }
  q = zbl_at(r->clique);
  p = zbl_new_repeats(q, r, &zbl.seats[q->member[0].device]);
  at = r->at;
  for (int k = 0; k < p->bursts; k++) {
    double latest;
    p->at[k] = *zbl_host_clock(q->member[0].device);
    for (int j = 0; j < p->launches; j++) {
      at.launch++;
      zbl_launch_again(q, r, at, &p->last);
    }
    latest = zbl_see_end(q, &p->last, &p->at[p->bursts + k * p->ranks]);
    for (int i = 0; i < q->nranks && k + 1 < p->bursts; i++) {
      *zbl_host_clock(q->member[i].device) = latest;
    }
  }
  q->head_seq += (uint64_t)p->bursts * (uint64_t)p->launches;
  for (int i = 0; i < q->nranks; i++) {
    zbl.seats[q->member[i].device].repeats = zbl_ref_of(p);
  }
}

/* What a rank's process takes of repeated bursts: the times of its host, and where its
 * stream and its communicator stand. Returns how many bursts there were. */
int zbl_take_repeats(zbl_stream *s, zbl_seat *seat, int64_t *begun_ns, int64_t *ended_ns) {
  zbl_repeats *p = zbl_at(seat->repeats);
  zbl_comm *c = s->on;
  int bursts;
  uint64_t launches;
  if (p == NULL) {
    return 0;
  }
  bursts = p->bursts;
  launches = (uint64_t)bursts * (uint64_t)p->launches;
  for (int k = 0; k < bursts; k++) {
    begun_ns[k] = (int64_t)llround(p->at[k] * 1e9);
    ended_ns[k] = (int64_t)llround(p->at[bursts + k * p->ranks + c->rank] * 1e9);
  }
  s->s = zbl_later(s->s, zbl_leaves_at(&p->last, c->rank, s->device));
  c->seq += launches;
  c->launch += launches;
  seat->repeats = 0;
  if (--p->users == 0) {
    zbl_drop(p);
  }
  return bursts;
}
