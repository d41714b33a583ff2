/* Finds the model of a communicator: the curve of its group in the machine file. If the machine
 * file has no such curve and another program drives the world, the curve of the nearest group is
 * used with the bus factor of the communicator's number of ranks. zbench's own machine files have
 * a curve for every group that zbench plans. */
#include "comm.h"

#include <stdio.h>
#include <stdlib.h>

enum { ZBL_TOLD = 16 };

/* Returns a distance between a curve's group and another group. The number of ranks counts most,
 * then the stride, then the first rank. */
static double zbl_far(const zbl_curve *c, int first, int ranks, int stride) {
  double by_ranks = c->ranks > ranks ? (double)c->ranks / ranks : (double)ranks / c->ranks;
  return (by_ranks - 1) * 1e12 + abs(c->stride - stride) * 1e6 + abs(c->first - first);
}

/* Returns the bus factor of a collective: bus bandwidth is algorithm bandwidth times the factor
 * (NVIDIA/nccl-tests, doc/PERFORMANCE.md). */
static double zbl_bus_factor(int collective, int ranks) {
  double others = (double)(ranks - 1) / ranks;
  switch (collective) {
  case ZBL_ALL_REDUCE:
    return 2 * others;
  case ZBL_BROADCAST:
  case ZBL_REDUCE:
  case ZBL_SEND_RECV:
    return 1;
  }
  return others;
}

/* Tells the user that the times of a group are derived from another group's curve. It does so once
 * per group, for the first few groups. */
static void zbl_tell_derived(const zbl_curve *from, int first, int ranks, int stride) {
  static struct { int first, ranks, stride; } told[ZBL_TOLD];
  static int n;
  for (int i = 0; i < n; i++) {
    if (told[i].first == first && told[i].ranks == ranks && told[i].stride == stride) {
      return;
    }
  }
  if (n == ZBL_TOLD) {
    return;
  }
  told[n].first = first;
  told[n].ranks = ranks;
  told[n++].stride = stride;
  fprintf(stderr,
          "zbench loopback: the machine file has no curve of ranks %d to %d, %d apart: "
          "their times are derived from the times of %d ranks from %d on\n",
          first, first + (ranks - 1) * stride, stride, from->ranks, from->first);
}

/* Notes that a collective or a message used the model's time, although the machine file has
 * measured times for other calls. */
void zbl_took_model(int collective, int ranks) {
  zbl_hub *hub = zbl.hub;
  int i = 0;
  if (zbl.point_count == 0) {
    return;
  }
  while (i < hub->modelled &&
         (hub->model[i].collective != collective || hub->model[i].ranks != ranks)) {
    i++;
  }
  if (i == hub->modelled && i < ZBL_MODELLED) {
    hub->model[hub->modelled++] = (struct zbl_modelled){collective, ranks};
  }
}

/* Tells the user which collectives and messages used the model although the machine file has
 * measured times. The list ends after ZBL_MODELLED entries. */
void zbl_tell_modelled(void) {
  const zbl_hub *hub = zbl.hub;
  for (int i = 0; i < hub->modelled; i++) {
    const struct zbl_modelled *m = &hub->model[i];
    fprintf(stderr, i == 0 ? "zbench loopback: the file of measured times lacks these, which took the fabric's times: " : ", ");
    if (m->collective == ZBL_SEND_RECV) {
      fprintf(stderr, "messages");
    } else {
      fprintf(stderr, "%s of %d ranks", zbl_shapes[m->collective].name, m->ranks);
    }
  }
  if (hub->modelled > 0) {
    fprintf(stderr, hub->modelled == ZBL_MODELLED ? ", …\n" : "\n");
  }
}

/* Derives a curve from the nearest group's curve. The result has 0 ranks if the collective has no
 * curve at all. A derived curve counts as extrapolated. */
zbl_curve zbl_derived(int collective, int first, int ranks, int stride) {
  const zbl_curve *near = NULL;
  zbl_curve c = {0};
  for (int i = 0; i < zbl.curve_count; i++) {
    const zbl_curve *other = &zbl.curves[i];
    if (other->collective == collective && other->ranks > 1 &&
        (near == NULL ||
         zbl_far(other, first, ranks, stride) < zbl_far(near, first, ranks, stride))) {
      near = other;
    }
  }
  if (near == NULL) {
    return c;
  }
  zbl_tell_derived(near, first, ranks, stride);
  c = *near;
  c.first = first;
  c.ranks = ranks;
  c.stride = stride;
  c.extrapolated = 1;
  c.points = 0; /* the points were measured with another number of ranks */
  c.k *= zbl_bus_factor(collective, ranks) / zbl_bus_factor(collective, near->ranks);
  return c;
}

/* The curve of a single rank, which waits for no other rank. The time of its launch is an
 * assumption. */
static const zbl_curve zbl_alone = {.ranks = 1, .b = 1, .floor = 2e-6};

/* Finds the curves of a clique that all ranks have joined. Ranks that share a device count as
 * neighbours. */
void zbl_find_curves(zbl_clique *q) {
  int stride = q->nranks > 1 ? (q->last - q->first) / (q->nranks - 1) : 1;
  stride = stride > 1 ? stride : 1;
  for (int i = 0; i < ZBL_COLLECTIVES; i++) {
    const zbl_curve *c = zbl_curve_for(i, q->first, q->nranks, stride);
    if (c != NULL) {
      q->curve[i] = *c;
    } else if (q->nranks == 1) {
      q->curve[i] = zbl_alone;
    } else if (zbl.derives) {
      q->curve[i] = zbl_derived(i, q->first, q->nranks, stride);
    }
  }
}

/* Returns the curve of a collective; NULL if there is none. */
const zbl_curve *zbl_curve_of(const zbl_clique *q, int collective) {
  return q->inited < q->nranks || q->curve[collective].ranks == 0
             ? NULL
             : &q->curve[collective];
}
