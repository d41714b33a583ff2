/* Ways: computes the duration of a message between two devices. A message is as fast as the slowest
 * part of its way. Within a node the way is the xGMI link. Between nodes it consists of the rails
 * of both ends. The machine file gives the remaining share of each part's bandwidth, but not the
 * cause. */
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double *zbl_ones(size_t n) {
  double *v = malloc(n * sizeof *v);
  for (size_t i = 0; v != NULL && i < n; i++) {
    v[i] = 1;
  }
  return v;
}

/* Reads `way link|rail GPUS B A R FLOOR`; GPUS is the number of GPUs per node. The line `ranks`
 * must come before it. */
static int zbl_read_constants(const char *v) {
  zbl_ways *w = &zbl.ways;
  zbl_curve c = {.k = 1};
  char name[8];
  int node;
  if (sscanf(v, "%7s %d %lf %lf %lf %lf", name, &node, &c.b, &c.a, &c.r,
             &c.floor) != 6 ||
      node < 1 || zbl.ranks < 1 || zbl.ranks % node != 0 ||
      (w->node != 0 && w->node != node) || !(c.b > 0) || !(c.a >= 0) ||
      !(c.r >= 0) || !(c.floor > 0)) {
    return 0;
  }
  if (w->node == 0) {
    w->left_rail = zbl_ones((size_t)zbl.ranks);
    w->left_link = zbl_ones((size_t)zbl.ranks * (size_t)node);
    if (w->left_rail == NULL || w->left_link == NULL) {
      return 0;
    }
    w->node = node;
    w->link = w->rail = c;
  }
  if (strcmp(name, "link") == 0) {
    w->link = c;
  } else if (strcmp(name, "rail") == 0) {
    w->rail = c;
  } else {
    return 0;
  }
  return 1;
}

/* Reads `left rail DEVICE SHARE`, or `left link DEVICE DEVICE SHARE` for two devices of a node. */
static int zbl_read_left(const char *v) {
  zbl_ways *w = &zbl.ways;
  int a, b, node = w->node;
  double share;
  if (node == 0) {
    return 0;
  }
  if (sscanf(v, "rail %d %lf", &a, &share) == 2 && a >= 0 && a < zbl.ranks &&
      share > 0 && share <= 1) {
    w->left_rail[a] = share;
    return 1;
  }
  if (sscanf(v, "link %d %d %lf", &a, &b, &share) == 3 && a >= 0 && b >= 0 &&
      a < zbl.ranks && b < zbl.ranks && a != b && a / node == b / node &&
      share > 0 && share <= 1) {
    w->left_link[(size_t)a * (size_t)node + (size_t)(b % node)] = share;
    w->left_link[(size_t)b * (size_t)node + (size_t)(a % node)] = share;
    return 1;
  }
  return 0;
}

int zbl_read_way(const char *key, const char *values) {
  return strcmp(key, "way") == 0 ? zbl_read_constants(values)
                                 : zbl_read_left(values);
}

void zbl_free_ways(void) {
  free(zbl.ways.left_rail);
  free(zbl.ways.left_link);
}

/* Returns the duration of a message in seconds. A link carries the data between its two devices. A
 * rail carries all data of a rank. Both directions between two devices have the same noise; each
 * pair of devices has noise of its own. */
double zbl_way_time(int from, int to, double along, double bytes, uint64_t draws) {
  const zbl_ways *w = &zbl.ways;
  int inside = from / w->node == to / w->node;
  zbl_curve c = inside ? w->link : w->rail;
  bytes = inside ? along : bytes;
  if (from != to) {
    double here = w->left_rail[from], there = w->left_rail[to];
    c.b *= inside ? w->left_link[(size_t)from * (size_t)w->node +
                                 (size_t)(to % w->node)]
                  : (here < there ? here : there);
  }
  return zbl_noisy(zbl_faulty_between(from, to, bytes, zbl_model(&c, bytes), draws),
                   draws, 1 + (from < to ? from : to));
}
