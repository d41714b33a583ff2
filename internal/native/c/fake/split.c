/* Makes communicators from another one. Every rank states which new communicator it belongs to
 * (its color) and its position there (its key). */
#include "comm.h"

#include <stdio.h>
#include <string.h>

typedef struct zbl_side {
  int color, key;
} zbl_side;

/* One split of a clique, in the arena, with the colors and keys of the ranks that have called
 * it. */
typedef struct zbl_split {
  zbl_ref clique, next;
  uint64_t number, id; /* number: of the split, within the clique; id: part of the new
                        * communicators' ids */
  int posted, left;    /* posted: number of ranks that have called the split; left: number of ranks
                        * that still need the result */
  zbl_side side[];
} zbl_split;

enum { ZBL_NO_COLOR = -1 }; /* NCCL_SPLIT_NOCOLOR */

/* Returns the rank's next split, which the first rank to reach it makes. */
static zbl_split *zbl_split_at(zbl_comm *c) {
  zbl_clique *q = c->clique;
  uint64_t number = c->splits++;
  zbl_split *s = zbl_at(q->splits);
  while (s != NULL && s->number != number) {
    s = zbl_at(s->next);
  }
  if (s == NULL) {
    size_t bytes = sizeof *s + (size_t)q->nranks * sizeof s->side[0];
    s = zbl_new(bytes);
    *s = (zbl_split){.clique = zbl_ref_of(q), .number = number, .left = q->nranks,
                     .id = ++zbl.hub->ids, .next = q->splits};
    memset(s->side, 0, (size_t)q->nranks * sizeof s->side[0]);
    q->splits = zbl_ref_of(s);
  }
  return s;
}

/* Marks ranks that will not call the rank's next split; the split proceeds without them. */
void zbl_split_without(zbl_comm *c, const int *ranks, int n) {
  zbl_split *s = zbl_split_at(c);
  c->splits--;
  for (int i = 0; i < n; i++) {
    if (s->side[ranks[i]].color != ZBL_NO_COLOR) {
      s->side[ranks[i]].color = ZBL_NO_COLOR;
      s->posted++;
      s->left--;
    }
  }
}

/* Notes that one rank no longer needs the split. The last such rank frees it. */
static void zbl_split_leave(zbl_split *s) {
  zbl_clique *q = zbl_at(s->clique);
  zbl_ref *at = &q->splits;
  if (--s->left > 0) {
    return;
  }
  while (zbl_at(*at) != s) {
    at = &((zbl_split *)zbl_at(*at))->next;
  }
  *at = s->next;
  zbl_drop(s);
}

int zbl_split_done(zbl_comm *child) {
  const zbl_split *s = child->split;
  const zbl_clique *q = zbl_at(s->clique);
  return s->posted == q->nranks;
}

/* Makes the handle join its new communicator, once all ranks have called the split. Ranks are
 * ordered by key; ranks with equal keys are ordered by their old rank (nccl.h.in). Until now the
 * handle has its old rank. */
void zbl_split_settle(zbl_comm *child) {
  zbl_split *s = child->split;
  const zbl_clique *q = zbl_at(s->clique);
  const zbl_side *mine = &s->side[child->rank];
  zb_unique_id id = {{0}};
  int ranks = 0, rank = 0;
  for (int i = 0; i < q->nranks; i++) {
    const zbl_side *other = &s->side[i];
    if (other->color == mine->color) {
      ranks++;
      rank += other->key < mine->key || (other->key == mine->key && i < child->rank);
    }
  }
  snprintf(id.internal, sizeof id.internal, "zbl %llu %d", (unsigned long long)s->id,
           mine->color);
  zbl_enter_clique(child, zbl_clique_for(&id, ranks), rank, ZBL_NO_VIRTUAL);
  child->split = NULL;
  zbl_split_leave(s);
}

/* Makes the rank call its next split. The new communicator has the same device as the old one. The
 * client gets its handle only when everything is done (ROCm/rccl, src/init.cc,
 * ncclCommSplit_impl). */
int zbl_split_rank(zbl_comm *c, int color, int key, int nonblocking, void **out) {
  zbl_split *s = zbl_split_at(c);
  zbl_comm *child;
  s->side[c->rank] = (zbl_side){color, key};
  s->posted++;
  zbl_progress();
  *out = NULL;
  if (color == ZBL_NO_COLOR) {
    zbl_split_leave(s);
    return 0;
  }
  child = zbl_new_comm();
  ZBL_FAIL(child == NULL, ZB_COLL_UNHANDLED, "out of memory");
  child->device = c->device;
  child->lane = c->lane;
  child->rank = c->rank;
  child->split = s;
  child->out = out;
  child->from = c;
  child->nonblocking = nonblocking;
  return zbl_group_note_init(child);
}
