/* Time on the virtual clock: the model, its noise, and the host clocks.
 *
 * A process has a host clock h, a stream its own s. A launch adds its cost to
 * h; an operation arrives at max(s, h); a collective ends for all its ranks at
 * the last arrival plus T; a wait sets h = max(h, s). Nothing really waits. */
#include "world.h"

#include <math.h>
#include <time.h>

/* The closed form; bench/fabric has the same lines in Go, and a test holds the
 * two equal to the last bit, so the order of operations matters. */
double zbl_model(const zbl_curve *c, double bytes) {
  double x = c->k * bytes / c->b;
  double pipeline = c->a + 2 * sqrt(c->a * x);
  double t;
  if (c->r < pipeline) {
    pipeline = c->r;
  }
  t = x + pipeline;
  return t < c->floor ? c->floor : t;
}

/* splitmix64's finaliser (Steele, Lea & Flood 2014): every draw is a hash of
 * where it stands, so order, resumption and process layout cannot change it. */
static uint64_t zbl_mix(uint64_t z) {
  z += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

static uint64_t zbl_draw(uint64_t launch, uint64_t rank) {
  uint64_t z = zbl_mix(zbl.seed);
  z = zbl_mix(z ^ zbl.case_key);
  z = zbl_mix(z ^ launch);
  return zbl_mix(z ^ rank);
}

/* Uniform in [0, 1). */
double zbl_uniform(uint64_t launch, uint64_t rank) {
  return (double)(zbl_draw(launch, rank) >> 11) * 0x1p-53;
}

/* T times a standard normal to within what twelve uniforms give (Irwin–Hall):
 * exact arithmetic, so the same bits with every math library. |z| ≤ 6. The
 * groups that run at once draw apart. */
double zbl_noisy(double seconds, uint64_t launch, int group) {
  double sum = 0;
  if (zbl.noise == 0) {
    return seconds;
  }
  for (uint64_t part = 0; part < 3; part++) {
    uint64_t z = zbl_draw(launch, UINT64_MAX - part - 4 * (uint64_t)group);
    for (int i = 0; i < 4; i++, z >>= 16) {
      sum += ((double)(z & 0xffff) + 0.5) / 65536;
    }
  }
  return seconds * fmax(0.1, 1 + zbl.noise * (sum - 6));
}

/* The clock of the modelled process that drives the device. */
double *zbl_host_clock(int device) {
  return &zbl.h[device / zbl.gpus_per_process];
}

/* The monotonic clock in seconds. */
double zbl_wall_now(void) {
  struct timespec ts;
  clock_gettime(CLOCK_MONOTONIC, &ts);
  return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static int64_t zbl_nowNs(void) {
  if (zbl.wall) {
    return (int64_t)llround(zbl_wall_now() * 1e9);
  }
  return (int64_t)llround(*zbl_host_clock(zbl_current_device()) * 1e9);
}

static void zbl_hostBarrier(void) {
  double latest = 0;
  for (int i = 0; i < zbl.processes; i++) {
    latest = fmax(latest, zbl.h[i]);
  }
  for (int i = 0; i < zbl.processes; i++) {
    zbl.h[i] = latest;
  }
}

/* The clocks begin anew: how a time is rounded depends on how late it is, and a
 * case's times must not depend on what ran before it. */
static void zbl_caseBegin(uint64_t key) {
  zbl.case_key = key;
  zbl.case_epoch++;
  for (int i = 0; i < zbl.processes; i++) {
    zbl.h[i] = 0;
  }
}

static void zbl_moveData(int on) { zbl.moves_data = on; }
