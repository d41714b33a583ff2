/* The machine file: reads it, refuses invalid files, and opens the world. */
#include "pool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

zbl_world zbl;

/* Returns the constants of a collective over `ranks` ranks, which begin at `first` and lie
 * `stride` apart; NULL if there are none. */
const zbl_curve *zbl_curve_for(int collective, int first, int ranks,
                               int stride) {
  for (int i = 0; i < zbl.curve_count; i++) {
    const zbl_curve *c = &zbl.curves[i];
    if (c->collective == collective && c->first == first &&
        c->ranks == ranks && c->stride == stride) {
      return c;
    }
  }
  return NULL;
}

static int zbl_keep_curve(const zbl_curve *c) {
  if ((zbl.curve_count & (zbl.curve_count - 1)) == 0) { /* the array is full at 0, 1, 2, 4, …
                                                         * entries */
    size_t room = zbl.curve_count ? 2 * (size_t)zbl.curve_count : 1;
    zbl_curve *grown = realloc(zbl.curves, room * sizeof *grown);
    if (grown == NULL || room > ZBL_MAX_CURVES) {
      return 0;
    }
    zbl.curves = grown;
  }
  zbl.curves[zbl.curve_count++] = *c;
  return 1;
}

static int zbl_collective_named(const char *name) {
  int i = 0;
  while (i < ZBL_COLLECTIVES && strcmp(name, zbl_shapes[i].name) != 0) {
    i++;
  }
  return i;
}

static int zbl_read_curve(const char *values) {
  zbl_curve c = {0};
  char name[32];
  if (sscanf(values, "%31s %d %d %d %lf %lf %lf %lf %lf", name, &c.first,
             &c.ranks, &c.stride, &c.b, &c.a, &c.r, &c.floor, &c.k) != 9 ||
      c.first < 0 || c.ranks < 1 || c.stride < 1 || !(c.b > 0) || !(c.a >= 0) || !(c.r >= 0) ||
      !(c.floor >= 0) || !(c.k >= 0)) {
    return 0;
  }
  c.collective = zbl_collective_named(name);
  return c.collective < ZBL_COLLECTIVES && zbl_keep_curve(&c);
}

/* Reads `point BYTES SECONDS`: a measured point of the last curve. */
static int zbl_read_point(const char *values) {
  zbl_point p, *grown;
  zbl_curve *c = zbl.curve_count > 0 ? &zbl.curves[zbl.curve_count - 1] : NULL;
  if (c == NULL || sscanf(values, "%lf %lf", &p.bytes, &p.seconds) != 2 ||
      !(p.bytes > 0) || !(p.seconds > 0) ||
      (c->points > 0 && !(p.bytes > zbl.points[zbl.point_count - 1].bytes))) {
    return 0;
  }
  grown = realloc(zbl.points, ((size_t)zbl.point_count + 1) * sizeof *grown);
  if (grown == NULL) {
    return 0;
  }
  zbl.points = grown;
  c->point = c->points++ > 0 ? c->point : zbl.point_count;
  zbl.points[zbl.point_count++] = p;
  return 1;
}

/* Reads `extrapolated NAME FIRST RANKS STRIDE`, which marks an earlier curve. */
static int zbl_read_extrapolated(const char *values) {
  char name[32];
  int first, ranks, stride;
  const zbl_curve *c;
  if (sscanf(values, "%31s %d %d %d", name, &first, &ranks, &stride) != 4) {
    return 0;
  }
  c = zbl_curve_for(zbl_collective_named(name), first, ranks, stride);
  if (c == NULL) {
    return 0;
  }
  zbl.curves[c - zbl.curves].extrapolated = 1;
  return 1;
}

/* Reports whether the figures of a collective are extrapolated. The machine file may mark its curve
 * as extrapolated, or may have no curve, so that one is derived. */
static int zbl_extrapolated(const char *collective, int ranks, int stride) {
  const zbl_curve *c = zbl_curve_for(zbl_collective_named(collective), 0, ranks,
                                     stride > 1 ? stride : 1);
  return c != NULL ? c->extrapolated : zbl.derives && ranks > 1;
}

/* Reads a number that fills the rest of the line. Go writes the shortest form of a number,
 * from which strtod restores the exact bits. */
static int zbl_number(const char *text, double *v) {
  char *end;
  *v = strtod(text, &end);
  return end != text && *end == '\0' && *v >= 0;
}

/* Reads one line, a key and its value. Returns 0 if the line is invalid. */
static int zbl_read_line(char *line) {
  char *value = strchr(line, ' ');
  double v;
  if (value == NULL) {
    return 0;
  }
  *value++ = '\0';
  if (strcmp(line, "curve") == 0) {
    return zbl_read_curve(value);
  }
  if (strcmp(line, "point") == 0) {
    return zbl_read_point(value);
  }
  if (strcmp(line, "extrapolated") == 0) {
    return zbl_read_extrapolated(value);
  }
  if (strcmp(line, "fault") == 0) {
    return zbl_read_fault(value);
  }
  if (strcmp(line, "way") == 0 || strcmp(line, "left") == 0) {
    return zbl_read_way(line, value);
  }
  if (strcmp(line, "copies") == 0 || strcmp(line, "symmetric") == 0) {
    zbl_faster *f = *line == 'c' ? &zbl.copies : &zbl.symmetric;
    return sscanf(value, "%lf %lf %d", &f->rate, &f->latency, &f->node) == 3 && f->rate > 0 && f->latency > 0;
  }
  if (strcmp(line, "gpu") == 0) {
    snprintf(zbl.gpu, sizeof zbl.gpu, "%s", value);
    return 1;
  }
  if (strcmp(line, "clock") == 0) {
    zbl.wall = strcmp(value, "wall") == 0;
    return zbl.wall || strcmp(value, "virtual") == 0;
  }
  if (strcmp(line, "seed") == 0) { /* the seed has 64 bits, more than a double holds */
    char *end;
    zbl.seed = strtoull(value, &end, 10);
    return end != value && *end == '\0';
  }
  if (!zbl_number(value, &v)) {
    return 0;
  }
  if (strcmp(line, "ranks") == 0) {
    zbl.ranks = v <= ZBL_MAX_RANKS ? (int)v : -1;
  } else if (strcmp(line, "gpus_per_process") == 0) {
    zbl.gpus_per_process = v <= ZBL_MAX_RANKS ? (int)v : -1;
  } else if (strcmp(line, "hbm_bytes") == 0) {
    zbl.hbm_bytes = v < 0x1p62 ? (uint64_t)v : 0;
  } else if (strcmp(line, "hbm_rate") == 0) {
    zbl.hbm_rate = v;
  } else if (strcmp(line, "collectives_version") == 0) {
    zbl.coll_version = v < 1e8 ? (int)v : 0;
  } else if (strcmp(line, "cores") == 0) {
    zbl.cores = v <= 4096 ? (int)v : 0;
  } else if (strcmp(line, "launch") == 0) {
    zbl.launch = v;
  } else if (strcmp(line, "exit_jitter") == 0) {
    zbl.exit_jitter = v;
  } else if (strcmp(line, "noise") == 0) {
    zbl.noise = v;
  } else if (strcmp(line, "registers") == 0) {
    zbl.registers = v;
  } else if (strcmp(line, "event") == 0) {
    zbl.event = v;
  } else {
    return 0;
  }
  return 1;
}

/* Frees everything that was read from the machine file. */
static void zbl_free_machine(void) {
  free(zbl.devices);
  free(zbl.curves);
  free(zbl.points);
  free(zbl.faults.late);
  free(zbl.faults.hbm);
  zbl_free_ways();
  memset(&zbl, 0, sizeof zbl);
}

static int zbl_refuse(char *err, size_t errlen, const char *why,
                      const char *what) {
  snprintf(err, errlen, "machine file: %s%s", why, what);
  zbl_free_machine();
  return 0;
}

static int zbl_read(char *copy, char *err, size_t errlen) {
  char *save = NULL;
  char *line = strtok_r(copy, "\n", &save);
  if (line == NULL || strcmp(line, "zbench-machine 1") != 0) {
    return zbl_refuse(err, errlen, "it does not begin with zbench-machine 1",
                      "");
  }
  while ((line = strtok_r(NULL, "\n", &save)) != NULL) {
    char kept[64];
    snprintf(kept, sizeof kept, "%s", line);
    if (!zbl_read_line(line)) {
      return zbl_refuse(err, errlen, "not understood: ", kept);
    }
  }
  if (zbl.ranks < 1 || zbl.gpus_per_process < 1 ||
      zbl.ranks % zbl.gpus_per_process != 0 || zbl.hbm_bytes == 0) {
    return zbl_refuse(err, errlen,
                      "ranks, gpus_per_process or hbm_bytes out of range", "");
  }
  return 1;
}

/* Limits the memory of each device. All devices share this process's address space, which is 128
 * TiB on x86-64; together they get three quarters of it. The share is the same on every host. */
static void zbl_share_addresses(void) {
  uint64_t share = (96ull << 40) / (uint64_t)zbl.ranks;
  if (zbl.hbm_bytes > share) {
    zbl.hbm_bytes = share;
  }
}

/* Reads the machine file into an empty world. */
static int zbl_read_machine(const char *text, char *err, size_t errlen) {
  char *copy = strdup(text);
  int ok;
  zbl_no_faults();
  if (copy == NULL) {
    return zbl_refuse(err, errlen, "out of memory", "");
  }
  ok = zbl_read(copy, err, errlen);
  free(copy);
  return ok;
}

/* Selects the devices that this process sees: the devices that `how` names, by default all. */
static int zbl_see(const zbl_share *how) {
  zbl.first = how->first;
  zbl.count = how->count > 0 ? how->count : zbl.ranks;
  return how->first >= 0 && how->first < zbl.ranks &&
         zbl.count <= zbl.ranks - how->first;
}

static int zbl_open_world(const char *text, const zbl_share *how, char *err,
                          size_t errlen) {
  memset(&zbl, 0, sizeof zbl);
  if (!zbl_read_machine(text, err, errlen)) {
    return 0;
  }
  zbl_share_addresses();
  zbl.processes = zbl.ranks / zbl.gpus_per_process;
  if (!zbl_see(how)) {
    return zbl_refuse(err, errlen, "it has no such devices", "");
  }
  zbl.devices = calloc((size_t)zbl.ranks, sizeof *zbl.devices);
  if (zbl.devices == NULL) {
    return zbl_refuse(err, errlen, "out of memory", "");
  }
  if (!zbl_open_hub(text, how, err, errlen)) {
    zbl_free_machine();
    return 0;
  }
  if (zbl.wall) {
    zbl_pool_start(zbl.cores > 0 ? zbl.cores : zbl_cpus());
  }
  zbl_drive_start();
  return 1;
}

/* Makes the opens and closes of a process run one after the other. */
static pthread_mutex_t zbl_opening = PTHREAD_MUTEX_INITIALIZER;

/* Opens the world that the text describes, or opens an already open shared world once more. A
 * process has only one world at a time, because the ABI has no handle for a world. Returns 1, or 0
 * with the reason in err. */
int zbl_join_world(const char *text, const zbl_share *how, char *err, size_t errlen) {
  int ok = 0;
  pthread_mutex_lock(&zbl_opening);
  if (zbl.open == 0) {
    ok = zbl_open_world(text, how, err, errlen);
  } else if (!how->several || !zbl.several) {
    snprintf(err, errlen, "a loopback is already open in this process");
  } else if (zbl_hash(text) != zbl.hub->machine) {
    snprintf(err, errlen,
             "this process has a loopback of another machine file open");
  } else {
    ok = 1;
  }
  zbl.open += ok;
  pthread_mutex_unlock(&zbl_opening);
  return ok;
}

/* Opens a world for this process alone. */
int zbl_reset(const char *text, char *err, size_t errlen) {
  const zbl_share alone = {0};
  return zbl_join_world(text, &alone, err, errlen);
}

static void zbl_close_world(void) {
  zbl_drive_stop();
  zbl_pool_stop();
  {
    ZBL_ENTER;
    zbl_free_streams();
    zbl_free_comms();
    zbl_free_devices();
  }
  zbl_free_own();
  zbl_close_hub();
  zbl_free_machine();
}

/* Closes the world. The last close frees everything, even objects that the client has not freed. */
void zbl_shutdown(void) {
  pthread_mutex_lock(&zbl_opening);
  if (zbl.open > 0 && --zbl.open == 0) {
    zbl_close_world();
  }
  pthread_mutex_unlock(&zbl_opening);
}
