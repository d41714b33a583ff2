/* Rounds that end without each rank's process. Where a rank's stream goes from one
 * round of a communicator straight to the next, with events between them at most,
 * nothing that its process does decides when it comes there. So the process
 * that ends the first round brings such ranks to the next, and ends it too: a burst of
 * many launches takes one wait of each process, not one for each launch. Each process
 * computes the same times when it looks. */
#include "comm.h"

#include <string.h>

/* When a stream that has left at s what is before comes to the next operation. These are
 * the stream's own: its events, zbl_arrival. */
double zbl_comes_at(double s, const zbl_ahead *a) {
  for (int k = 0; k < a->marks; k++) {
    s = zbl_later(a->mark[k], s) + zbl.event;
  }
  return zbl_later(a->posted, s);
}

/* Brings to a round the ranks whose streams come to it by themselves, once all
 * have called it and the round before has ended. */
void zbl_bring(zbl_round *r) {
  const zbl_round *before = zbl_at(r->before);
  int n = ((const zbl_clique *)zbl_at(r->clique))->nranks;
  if (before == NULL || !before->ran || r->posted < n) {
    return;
  }
  for (int i = 0; i < n; i++) {
    zbl_ahead *a = &zbl_aheads(r)[i];
    if (a->marks >= 0 && !a->come) {
      const zbl_clique *q = zbl_at(r->clique);
      a->come = 1;
      r->start = zbl_later(r->start, zbl_comes_at(zbl_leaves(before, i, q->member[i].device), a));
      r->ready++;
    }
  }
}

/* Whether the stream gets from `before` to what it is given next by itself: it has had
 * nothing but events since. A planted fault of its device is found by its process alone. */
int zbl_straight(const zbl_stream *s, const void *before) {
  return s->head != NULL && before != NULL && s->before == before &&
         s->marked <= ZBL_AHEAD_MARKS && !zbl.wall &&
         s->device != zbl.faults.hang.rank &&
         s->device != zbl.faults.async.rank &&
         !(s->blocking && zbl.devices[s->device].null != NULL);
}

/* How it gets there. */
zbl_ahead zbl_way_of(const zbl_stream *s, double posted) {
  zbl_ahead a = {.posted = posted, .marks = (int8_t)s->marked};
  memcpy(a.mark, s->mark, sizeof a.mark);
  return a;
}

/* Others may have ended operations of the stream since it was last advanced. */
void zbl_catch_up(zbl_stream *s) {
  if (s->head != NULL) {
    zbl_drain_later(s);
    zbl_settle();
  }
}

/* Notes how the rank's stream comes to the round, which its process has just
 * called; op is what it will push. */
void zbl_look_ahead(zbl_round *r, zbl_op *op, zbl_stream *s) {
  zbl_ahead *a = &zbl_aheads(r)[op->rank];
  *a = (zbl_ahead){.posted = op->posted, .marks = -1};
  zbl_catch_up(s);
  zbl_bring(r); /* the others; if the round before has ended, this rank comes itself */
  op->ahead = (uint8_t)(!r->moves && zbl_straight(s, zbl_at(r->before)));
  if (op->ahead) {
    *a = zbl_way_of(s, op->posted);
  }
}

/* The bell of the last operation that the stream comes to by itself; NULL where that is
 * none. *further says whether there are others, to which its process must bring it. */
static zbl_bell *zbl_bell_before(const zbl_stream *s, int *further) {
  zbl_bell *bell = NULL;
  *further = 0;
  for (zbl_op *op = s->head; op != NULL && !*further; op = op->next) {
    if (op->kind->mark) {
      continue;
    }
    *further = op->kind->bell == NULL || (op != s->head && !op->ahead);
    bell = *further ? bell : op->kind->bell(op);
  }
  return bell;
}

/* The bell that is rung when the process has something to do for the stream; NULL for that
 * of whatever is decided. */
zbl_bell *zbl_next_bell(const zbl_stream *s) {
  int further;
  return zbl_bell_before(s, &further);
}

/* The bell of the end of the stream's last operation; NULL where the process must do
 * something before. */
zbl_bell *zbl_bell_of(const zbl_stream *s) {
  int further;
  zbl_bell *bell = zbl_bell_before(s, &further);
  return further ? NULL : bell;
}

/* Whether some other stream of the process goes on only if the process works it off when
 * others have decided something. A stream that a host waits for is worked off by that host. */
int zbl_unattended(const zbl_stream *but) {
  for (const zbl_stream *s = zbl_streams; s != NULL; s = s->all) {
    if (s != but && s->hosts == 0 && s->head != NULL && zbl_bell_of(s) == NULL) {
      return 1;
    }
  }
  return 0;
}
