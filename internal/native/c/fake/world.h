/* The loopback: a fake of the runtime and of the collectives library with the
 * same ABI. Host memory stands for device memory, one thread drives all ranks,
 * and a virtual clock keeps the time that the machine file's model gives.
 *
 * Every function of the fake is hidden and named zbl_*: a public hip* or nccl*
 * name in an executable would be bound by a real librccl. */
#ifndef ZBL_WORLD_H
#define ZBL_WORLD_H

#include "../abi.h"

/* The cost model of one collective over a number of ranks: bytes per second,
 * then seconds; k is the bus-bandwidth factor. */
typedef struct zbl_curve {
  int collective; /* enum zbl_collective */
  int ranks;
  double b, a, r, floor, k;
} zbl_curve;

enum zbl_collective {
  ZBL_ALL_REDUCE,
  ZBL_REDUCE_SCATTER,
  ZBL_ALL_GATHER,
  ZBL_COLLECTIVES
};

enum { ZBL_MAX_CURVES = 64, ZBL_MAX_RANKS = 1 << 20 };

/* A stretch of device memory; address space alone until it is touched. */
typedef struct zbl_block {
  char *base;
  size_t bytes;
  struct zbl_block *next;
} zbl_block;

typedef struct zbl_device {
  zbl_block *blocks;
  uint64_t used;
} zbl_device;

/* A stream's clock s: when the work queued so far is done. */
typedef struct zbl_stream {
  uint32_t magic;
  int device;
  int pending;
  double s;
} zbl_stream;

/* The machine: what the machine file says, and the clocks. */
typedef struct zbl_world {
  int open;
  char gpu[64];
  uint64_t seed;
  int ranks, gpus_per_process, processes;
  uint64_t hbm_bytes;
  double launch, exit_jitter, noise;
  zbl_curve curves[ZBL_MAX_CURVES];
  int curve_count;
  zbl_device *devices;
  double *h; /* the host clock of each modelled process, in seconds */
  uint64_t case_key, case_launch;
  uint64_t ids; /* unique ids handed out */
} zbl_world;

extern zbl_world zbl;

/* machine.c */
int zbl_reset(const char *text, char *err, size_t errlen);
void zbl_shutdown(void);
void zbl_fill(zb_table *t);

/* clock.c */
double zbl_model(const zbl_curve *c, double bytes);
double zbl_noisy(double seconds, uint64_t launch);
double zbl_jitter(uint64_t launch, int rank);
double *zbl_host_clock(int device);

/* device.c */
int zbl_current_device(void);
int zbl_valid_range(int device, const void *ptr, uint64_t bytes);
zbl_stream *zbl_stream_of(void *handle);
void zbl_free_devices(void);

/* comm.c */
void zbl_free_comms(void);

#endif
