/* Ends rounds in which not every rank's process takes part. If a rank's stream goes straight from
 * one round of a communicator to the next, with at most events in between, its process has no
 * influence on the arrival time. The process that ends the first round therefore moves such ranks
 * on to the next round and may end that round too. A burst of many launches then takes one wait per
 * process instead of one per launch. A process that looks at a round later computes the same
 * times. */
#include "comm.h"

#include <string.h>

/* Returns the time at which a stream reaches its next operation, if it left the previous one at s.
 * The result must agree with the stream's own rules for events, and with zbl_arrival. */
double zbl_comes_at(double s, const zbl_ahead *a) {
  for (int k = 0; k < a->marks; k++) {
    s = zbl_later(a->mark[k], s) + zbl.event;
  }
  return zbl_later(a->posted, s);
}

/* Lets ranks arrive at a round if their streams reach it without help from their processes. All
 * ranks must have called the round, and the previous round must have ended. */
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

/* Reports whether the stream goes straight from `before` to its next operation, with nothing but
 * events in between. The answer is no if a fault is planted in the stream's device, because only
 * its own process finds that fault. */
int zbl_straight(const zbl_stream *s, const void *before) {
  return s->head != NULL && before != NULL && s->before == before &&
         s->marked <= ZBL_AHEAD_MARKS && !zbl.wall &&
         s->device != zbl.faults.hang.rank &&
         s->device != zbl.faults.async.rank &&
         !(s->blocking && zbl.devices[s->device].null != NULL);
}

/* Returns the times that determine when the stream reaches its next operation. */
zbl_ahead zbl_way_of(const zbl_stream *s, double posted) {
  zbl_ahead a = {.posted = posted, .marks = (int8_t)s->marked};
  memcpy(a.mark, s->mark, sizeof a.mark);
  return a;
}

/* Advances a stream whose operations other processes may have ended. */
void zbl_catch_up(zbl_stream *s) {
  if (s->head != NULL) {
    zbl_drain_later(s);
    zbl_settle();
  }
}

/* Notes how the rank's stream reaches the round that its process has just called. The process
 * then pushes op. */
void zbl_look_ahead(zbl_round *r, zbl_op *op, zbl_stream *s) {
  zbl_ahead *a = &zbl_aheads(r)[op->rank];
  *a = (zbl_ahead){.posted = op->posted, .marks = -1};
  zbl_catch_up(s);
  zbl_bring(r); /* moves other ranks; this rank arrives by itself if the previous round has ended */
  op->ahead = (uint8_t)(!r->moves && zbl_straight(s, zbl_at(r->before)));
  if (op->ahead) {
    *a = zbl_way_of(s, op->posted);
  }
}

/* Returns the bell of the last operation that the stream reaches without its process; NULL if there
 * is none. *further is set to 1 if more operations follow, to which the process must move the
 * stream. */
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

/* Returns the bell that is rung when the process must act for the stream; NULL for the general
 * bell. */
zbl_bell *zbl_next_bell(const zbl_stream *s) {
  int further;
  return zbl_bell_before(s, &further);
}

/* Returns the bell of the end of the stream's last operation; NULL if the process must act before
 * then. */
zbl_bell *zbl_bell_of(const zbl_stream *s) {
  int further;
  zbl_bell *bell = zbl_bell_before(s, &further);
  return further ? NULL : bell;
}

/* Reports whether some stream other than `but` needs this process: the stream continues only if
 * the process advances it after other processes have decided a round. A host that waits for a
 * stream advances that stream itself. */
int zbl_unattended(const zbl_stream *but) {
  for (const zbl_stream *s = zbl_streams; s != NULL; s = s->all) {
    if (s != but && s->hosts == 0 && s->head != NULL && zbl_bell_of(s) == NULL) {
      return 1;
    }
  }
  return 0;
}
