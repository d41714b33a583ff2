/* Time on the virtual clock: the model, its noise, and the host clocks.
 *
 * Each modelled process has a host clock h, and each stream has its own clock s.
 * A launch adds its cost to h. An operation arrives at max(s, h). A collective
 * ends for all its ranks at the last arrival plus T. A wait sets h = max(h, s).
 * Nothing really waits. */
#include "comm.h"

#include <math.h>

/* The longest time that a barrier waits, in milliseconds of the wall clock. Then
 * the caller can look at its own deadline. */
enum { ZBL_BARRIER_MS = 500 };

/* Returns the time from measured points, according to the same rule as zbench recommend. Between
 * two points the time follows a power law. Below the first point the time is the time of the first
 * point. Above the last point the last slope continues. */
static double zbl_measured(const zbl_point *p, int n, double bytes) {
  int i = 1;
  if (bytes <= p[0].bytes) {
    return p[0].seconds;
  }
  while (i < n && bytes > p[i].bytes) {
    i++;
  }
  if (i < n) {
    double w = log(bytes / p[i - 1].bytes) / log(p[i].bytes / p[i - 1].bytes);
    return bytes == p[i].bytes ? p[i].seconds
                               : p[i - 1].seconds * pow(p[i].seconds / p[i - 1].seconds, w);
  }
  if (n == 1) {
    return p[0].seconds * bytes / p[0].bytes;
  }
  return p[n - 1].seconds + (bytes - p[n - 1].bytes) *
         fmax(0, (p[n - 1].seconds - p[n - 2].seconds) / (p[n - 1].bytes - p[n - 2].bytes));
}

/* Returns the time of a call from the measured points, or from the closed form. bench/work/fabric
 * has the same formula in Go, and a test requires equal bits, so the order of operations
 * matters. */
double zbl_model(const zbl_curve *c, double bytes) {
  double x = c->k * bytes / c->b;
  double pipeline = c->a + 2 * sqrt(c->a * x);
  double t;
  if (c->points > 0) {
    return zbl_measured(zbl.points + c->point, c->points, bytes);
  }
  if (c->r < pipeline) {
    pipeline = c->r;
  }
  t = x + pipeline;
  return t < c->floor ? c->floor : t;
}

/* Returns z mixed by splitmix64's finaliser (Steele, Lea & Flood 2014). Every
 * random number is a hash of its place in the run, so that order, resumption and
 * process layout cannot change it. */
static uint64_t zbl_mix(uint64_t z) {
  z += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/* Returns the part of the hash that all random numbers of a launch share. */
uint64_t zbl_draws(zbl_turn at) {
  uint64_t z = zbl_mix(zbl.seed);
  z = zbl_mix(z ^ at.key);
  return zbl_mix(z ^ at.launch);
}

/* Returns a uniform random number in [0, 1). */
double zbl_uniform(uint64_t draws, uint64_t rank) {
  return (double)(zbl_mix(draws ^ rank) >> 11) * 0x1p-53;
}

/* Returns seconds times a factor with approximately normal noise: a sum of twelve uniform numbers
 * (Irwin–Hall), so that |z| ≤ 6. The arithmetic is exact, so that every math library gives the same
 * bits. Groups that run at the same time draw independently. */
double zbl_noisy(double seconds, uint64_t draws, int group) {
  double sum = 0;
  if (zbl.noise == 0) {
    return seconds;
  }
  for (uint64_t part = 0; part < 3; part++) {
    uint64_t z = zbl_mix(draws ^ (UINT64_MAX - part - 4 * (uint64_t)group));
    for (int i = 0; i < 4; i++, z >>= 16) {
      sum += ((double)(z & 0xffff) + 0.5) / 65536;
    }
  }
  return seconds * fmax(0.1, 1 + zbl.noise * (sum - 6));
}

/* Returns the modelled process that drives the device, with its clock. */
zbl_lane *zbl_lane_of(int device) {
  return &zbl.lanes[device / zbl.gpus_per_process];
}

double *zbl_host_clock(int device) { return &zbl_lane_of(device)->h; }

/* Returns the host's cost of a launch, in seconds. A planted late rank has a slow host. */
double zbl_host_cost(int device) { return zbl.launch + zbl_late(device); }

static int64_t zbl_nowNs(void) {
  const zbl_lane *l;
  double patience;
  if (zbl.wall) {
    return (int64_t)llround(zbl_wall_now() * 1e9);
  }
  l = zbl_lane_of(zbl_current_device());
  patience = l->patience > 0 && l->stuck == __atomic_load_n(&zbl.hub->activity, __ATOMIC_RELAXED)
                 ? l->patience
                 : 0;
  return (int64_t)llround((l->h + patience) * 1e9);
}

/* Ends the barrier when every device with a live communicator has arrived, and sets the clocks
 * of all their hosts to the latest of them. */
void zbl_check_barrier(void) {
  double latest = 0;
  for (; zbl.several && zbl.hub->missing < zbl.ranks; zbl.hub->missing++) {
    const zbl_seat *seat = &zbl.seats[zbl.hub->missing];
    if (seat->comms > 0 && seat->barrier <= zbl.hub->barrier) {
      return;
    }
  }
  for (int i = 0; i < zbl.ranks; i++) {
    if (zbl.seats[i].comms > 0) {
      latest = zbl_later(latest, *zbl_host_clock(i));
    }
  }
  for (int i = 0; i < zbl.ranks; i++) {
    if (zbl.seats[i].comms > 0) {
      *zbl_host_clock(i) = latest;
    }
  }
  zbl.hub->barrier++;
  zbl.hub->missing = 0;
  zbl_ring(&zbl.hub->met);
  zbl_progress();
}

/* Lets n devices arrive at the barrier; their numbers are `stride` bytes apart in the array.
 * Returns 1 if the barrier is over. Otherwise no device arrived for a while, and the caller must
 * call again. */
static int zbl_hostBarrier(const int32_t *device, size_t stride, int n) {
  uint64_t mine = 0;
  ZBL_ENTER;
  for (int i = 0; i < n; i++) {
    const void *at = (const char *)device + (size_t)i * stride;
    zbl_seat *seat = &zbl.seats[zbl.first + *(const int32_t *)at];
    if (!seat->waits) {
      seat->waits = 1;
      seat->barrier = zbl.hub->barrier + 1;
    }
    mine = seat->barrier;
  }
  if (n > 0 && zbl.hub->barrier < mine) {
    zbl_check_barrier();
  }
  while (zbl.hub->barrier < mine && zbl_await(&zbl.hub->met, ZBL_BARRIER_MS)) {
  }
  for (int i = 0; i < n && zbl.hub->barrier >= mine; i++) {
    const void *at = (const char *)device + (size_t)i * stride;
    zbl.seats[zbl.first + *(const int32_t *)at].waits = 0;
  }
  return zbl.hub->barrier >= mine;
}

/* Returns the numbers that determine the noise of a device's next kernel or product: the device,
 * the case, and the number of the launch in the case. */
zbl_turn zbl_kernel_turn(int device) {
  return (zbl_turn){zbl_lane_of(device)->case_key ^ (uint64_t)device, zbl.devices[device].streamed++};
}

/* Resets the clock of the current device's host and the count of its kernels. The rounding of a
 * time depends on its size, and a case's times must not depend on earlier cases. */
static void zbl_caseBegin(uint64_t key) {
  zbl_lane *l;
  ZBL_ENTER;
  zbl.devices[zbl_current_device()].streamed = 0;
  l = zbl_lane_of(zbl_current_device());
  l->case_key = key;
  l->case_epoch++;
  l->h = 0;
  l->patience = 0;
}

/* The blocks that the collectives of this thread move. A driver launches from one thread only. */
_Thread_local const zb_block *zbl_moved;
_Thread_local int zbl_parts;

static void zbl_moveBlocks(const zb_block *blocks, int n) {
  ZBL_ENTER;
  if (zbl.moves_data == 0) {
    zbl_empty_devices(); /* the blocks use other pages than data that was moved earlier */
  }
  zbl_moved = blocks;
  zbl_parts = n;
  zbl.parted = 1;
}

/* Switches the movement of data on or off for one driver of this process. If no driver does, the
 * contents of the devices are undefined and their pages go back to the host, because a thousand
 * such processes may share the host. */
static void zbl_moveData(int on) {
  ZBL_ENTER;
  if (on || zbl.moves_data > 0) {
    zbl.moves_data += on ? 1 : -1;
  }
  if (zbl.moves_data == 0 && (zbl.shared_fd >= 0 || zbl.parted)) {
    zbl_empty_devices();
    zbl.parted = 0;
  }
}
