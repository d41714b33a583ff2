/* Planted faults: turns the machine file's fault lines into times, hangs or wrong data. Code that
 * detects faults sees only these effects.
 *
 * Slow links, rails, nodes and leaves are not handled here. The constants of the affected groups
 * contain them. For messages between two devices they are in way.c. */
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

void zbl_no_faults(void) {
  zbl.faults.hang.rank = -1;
  zbl.faults.async.rank = -1;
  zbl.faults.kernels.rank = -1;
  zbl.faults.clock.rank = -1;
}

/* Reads `fault stall CALL RANK`. */
static int zbl_read_stall(const char *v) {
  static const char *const calls[] = {"none", "runtime", "init", "abort"};
  char name[16];
  int rank;
  if (sscanf(v, "%15s %d", name, &rank) != 2 || rank < 0 || rank >= zbl.ranks) {
    return 0;
  }
  for (int call = ZBL_STALL_RUNTIME; call <= ZBL_STALL_ABORT; call++) {
    if (strcmp(name, calls[call]) == 0) {
      zbl.faults.stall.call = call;
      zbl.faults.stall.rank = rank;
      return 1;
    }
  }
  return 0;
}

/* Reads `fault late RANK SECONDS`. */
static int zbl_read_late(const char *v) {
  int rank;
  double seconds;
  if (sscanf(v, "%d %lf", &rank, &seconds) != 2 || rank < 0 ||
      rank >= zbl.ranks || !(seconds >= 0)) {
    return 0;
  }
  if (zbl.faults.late == NULL) {
    zbl.faults.late = calloc((size_t)zbl.ranks, sizeof(double));
    if (zbl.faults.late == NULL) {
      return 0;
    }
  }
  zbl.faults.late[rank] += seconds;
  return 1;
}

/* Reads `fault hbm RANK LEFT`. */
static int zbl_read_hbm(const char *v) {
  int rank;
  double left;
  if (sscanf(v, "%d %lf", &rank, &left) != 2 || rank < 0 ||
      rank >= zbl.ranks || !(left > 0)) {
    return 0;
  }
  if (zbl.faults.hbm == NULL) {
    zbl.faults.hbm = malloc((size_t)zbl.ranks * sizeof(double));
    for (int i = 0; zbl.faults.hbm != NULL && i < zbl.ranks; i++) {
      zbl.faults.hbm[i] = 1;
    }
  }
  if (zbl.faults.hbm != NULL) {
    zbl.faults.hbm[rank] *= left;
  }
  return zbl.faults.hbm != NULL;
}

/* Reads `fault data KIND RANK INDEX`. PART FIRST LAUNCH ACROSS may follow; they select the affected
 * launches. After them VARIABLE VALUE may follow; they select the affected processes. The
 * environment variable is read when the world is opened, because libraries read their variables
 * then. */
static int zbl_read_data(const char *v) {
  static const char *const kinds[] = {"none",  "missing", "doubled",   "swapped",
                                      "stale", "corrupt", "stale_send"};
  char name[16], variable[64], value[64];
  int rank, first = 0, across = 0;
  double part = 1;
  unsigned long long index, launch = 0;
  int n = sscanf(v, "%15s %d %llu %lf %d %llu %d %63s %63s", name, &rank, &index, &part, &first, &launch, &across, variable, value);
  if ((n != 3 && n != 7 && n != 9) || rank < 0 || rank >= zbl.ranks || !(part >= 0 && part <= 1)) {
    return 0;
  }
  if (n == 9 && (getenv(variable) == NULL || strcasecmp(getenv(variable), value) != 0)) {
    return 1;
  }
  for (int kind = ZBL_MISSING; kind <= ZBL_STALE_SEND; kind++) {
    if (strcmp(name, kinds[kind]) == 0) {
      zbl.faults.data.kind = kind;
      zbl.faults.data.rank = rank;
      zbl.faults.data.index = index;
      zbl.faults.data.part = part;
      zbl.faults.data.first = first;
      zbl.faults.data.launch = launch;
      zbl.faults.data.across = across;
      return 1;
    }
  }
  return 0;
}

/* Reads a fault line without the word fault. The line `ranks` must come before it. */
int zbl_read_fault(const char *text) {
  zbl_faults *f = &zbl.faults;
  unsigned long long launch;
  if (sscanf(text, "store %d %llu", &f->store.rank, &launch) == 2) {
    f->store.on = 1;
    f->store.byte = launch;
    return f->store.rank >= 0 && f->store.rank < zbl.ranks;
  }
  if (sscanf(text, "kernels %d %lf", &f->kernels.rank, &f->kernels.factor) ==
      2) {
    return f->kernels.rank >= 0 && f->kernels.rank < zbl.ranks &&
           f->kernels.factor > 0;
  }
  if (sscanf(text, "clock %d %lf %lf", &f->clock.rank, &f->clock.hz, &f->clock.after) == 3) {
    return f->clock.rank >= 0 && f->clock.rank < zbl.ranks && f->clock.hz > 0 && f->clock.after >= 0;
  }
  if (strncmp(text, "stall ", 6) == 0) {
    return zbl_read_stall(text + 6);
  }
  if (strncmp(text, "late ", 5) == 0) {
    return zbl_read_late(text + 5);
  }
  if (strncmp(text, "hbm ", 4) == 0) {
    return zbl_read_hbm(text + 4);
  }
  if (strncmp(text, "data ", 5) == 0) {
    return zbl_read_data(text + 5);
  }
  if (sscanf(text, "dip %lf %lf %lf", &f->dip.from, &f->dip.to,
             &f->dip.factor) == 3) {
    return f->dip.factor > 0;
  }
  if (sscanf(text, "flaky %d %d %lf %lf", &f->flaky.first, &f->flaky.ranks,
             &f->flaky.part, &f->flaky.factor) == 4) {
    return f->flaky.factor > 0;
  }
  if (sscanf(text, "contention %d %lf %lf %lf", &f->contention.node, &f->contention.part,
             &f->contention.factor, &f->contention.launches) == 4) {
    return f->contention.node > 0 && f->contention.factor > 0 && f->contention.launches >= 1;
  }
  if (sscanf(text, "beside %lf", &f->beside) == 1) {
    return f->beside >= 1;
  }
  if (sscanf(text, "hang %d %lf %llu", &f->hang.rank, &f->hang.bytes,
             &launch) == 3) {
    f->hang.launch = launch;
    return 1;
  }
  if (sscanf(text, "async %d %lf %llu", &f->async.rank, &f->async.bytes,
             &launch) == 3) {
    f->async.launch = launch;
    return 1;
  }
  return 0;
}

/* Reports whether a curve's group has any of the ranks first to first + ranks − 1. */
static int zbl_touches(const zbl_curve *c, int first, int ranks) {
  int from = first > c->first ? (first - c->first + c->stride - 1) / c->stride
                              : 0; /* index of the group's first rank that is not below `first` */
  return from < c->ranks && c->first + from * c->stride < first + ranks;
}

/* Returns the time of one launch with its faults. `touched` is 1 if the launch uses the flaky
 * part. */
static double zbl_worse(int touched, double bytes, double t, uint64_t draws) {
  const zbl_faults *f = &zbl.faults;
  if (f->dip.factor > 0 && bytes >= f->dip.from && bytes <= f->dip.to) {
    t *= f->dip.factor;
  }
  if (touched && zbl_uniform(draws, UINT64_MAX - 3) < f->flaky.part) {
    t *= f->flaky.factor;
  }
  return t;
}

double zbl_faulty(const zbl_curve *c, double bytes, double t, uint64_t draws) {
  const zbl_faults *f = &zbl.faults;
  int touched =
      f->flaky.ranks > 0 && zbl_touches(c, f->flaky.first, f->flaky.ranks);
  return zbl_worse(touched, bytes, t, draws);
}

/* Returns the factor by which other jobs lengthen a launch between the nodes of two ranks; 1
 * within a node. A slowdown lasts for a number of launches. */
double zbl_contended(int from, int to, zbl_turn at) {
  const zbl_faults *f = &zbl.faults;
  if (f->contention.node == 0 || from / f->contention.node == to / f->contention.node) {
    return 1;
  }
  at.launch /= (uint64_t)f->contention.launches;
  return zbl_uniform(zbl_draws(at), UINT64_MAX - 4) < f->contention.part ? f->contention.factor : 1;
}

/* Returns the time of a message between two devices with its faults. */
double zbl_faulty_between(int from, int to, double bytes, double t,
                          uint64_t draws) {
  int first = zbl.faults.flaky.first, ranks = zbl.faults.flaky.ranks;
  int touched = (from >= first && from < first + ranks) ||
                (to >= first && to < first + ranks);
  return zbl_worse(touched, bytes, t, draws);
}

/* Returns the delay in seconds with which a rank reaches every collective. */
double zbl_late(int rank) {
  return zbl.faults.late != NULL ? zbl.faults.late[rank] : 0;
}

/* Never returns if a stall is planted in this call of the rank. The caller must not hold the lock,
 * because the rest of the world continues. */
void zbl_stalled(int call, int rank) {
  if (zbl.faults.stall.call != call || zbl.faults.stall.rank != rank) {
    return;
  }
  zbl_tell_stall(call, rank);
  for (;;) {
    pause();
  }
}

/* Returns the memory bandwidth of a rank's GPU in bytes per second; 0 if it is not modelled. */
double zbl_hbm_rate(int rank) {
  return zbl.hbm_rate * (zbl.faults.hbm != NULL ? zbl.faults.hbm[rank] : 1);
}

/* Notes that a collective ran on the device. Collectives that follow each other directly, apart
 * from events and exit jitter, form one busy period. */
void zbl_busy(int device, double from, double to) {
  static const double gap = 1e-5;
  zbl_device *d = &zbl.devices[device];
  if (from > d->busy.to + gap || from < d->busy.from) { /* `from` is earlier if the clock was
                                                         * reset */
    d->busy.from = from;
  }
  d->busy.to = to;
}

/* Returns the end of a kernel that takes `seconds` on an idle device and longer while
 * collectives run. Collectives that the host enqueued before the kernel have ended, and later
 * ones begin after it. */
double zbl_beside(int device, double from, double seconds) {
  const zbl_device *d = &zbl.devices[device];
  double begin = zbl_later(from, d->busy.from), alone = begin - from;
  double both = (d->busy.to - begin) / zbl.faults.beside; /* the part of the kernel's own time that
                                                           * passes while collectives run */
  if (zbl.faults.beside == 0 || seconds <= alone || both <= 0) {
    return from + seconds;
  }
  return seconds - alone <= both ? begin + (seconds - alone) * zbl.faults.beside
                                 : d->busy.to + seconds - alone - both;
}

int zbl_hangs(int rank, double bytes, uint64_t launch) {
  return rank == zbl.faults.hang.rank && bytes >= zbl.faults.hang.bytes &&
         launch >= zbl.faults.hang.launch;
}

/* Returns the data fault of a device in a launch. `number` is the number of the launch on its
 * communicator. The launch determines the random number, so that every process gets the same
 * fault. */
int zbl_data_fault(int device, zbl_turn at, uint64_t number) {
  if (zbl.faults.data.kind == ZBL_DATA_OK || device != zbl.faults.data.rank ||
      (zbl.faults.data.first && number > 0) || number < zbl.faults.data.launch ||
      zbl_uniform(zbl_draws(at), UINT64_MAX - 5) >= zbl.faults.data.part) {
    return ZBL_DATA_OK;
  }
  return zbl.faults.data.kind;
}

/* Counts one change of a rank's data by a fault. */
void zbl_fired(void) { zbl.hub->fired++; }

int zbl_async(int rank, double bytes, uint64_t launch) {
  return rank == zbl.faults.async.rank && bytes >= zbl.faults.async.bytes &&
         launch >= zbl.faults.async.launch;
}
