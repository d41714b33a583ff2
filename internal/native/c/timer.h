/* Timing kernels on one or more devices; see timer.c. */
#ifndef ZB_TIMER_H
#define ZB_TIMER_H

#include "abi.h"

/* A launch that is not one of our kernels: zb_gemm_call, zb_lt_call. */
typedef int (*zb_vendor_call)(void *what);

/* One launch of the timed sequence. */
typedef struct zb_step {
  void *function;
  unsigned grid[3], block[3], shared;
  void **params;
  zb_vendor_call vendor; /* launches params instead of a kernel; NULL for a kernel */
} zb_step;

/* A device with its own stream, events and sequence. */
typedef struct zb_track {
  int32_t device, done;
  void *stream, *start, *stop;
  zb_step *steps, *stamps; /* stamps: two launches of the clock, before start and after stop; or NULL */
  double seconds; /* from start to stop */
} zb_track;

/* All tracks at once, each with its sequence repeated between two events. All arrays are in C
 * memory. */
typedef struct zb_timer {
  const zb_table *table;
  int32_t ntracks, nsteps, rounds;
  zb_track *tracks;
  double deadline_s;
  int32_t cancel; /* set by another thread; read atomically */
  /* out: ZB_BATCH_*, the failed call's result and device */
  int32_t outcome, code, device;
  const char *call;
} zb_timer;

int zb_step_launch(const zb_table *t, const zb_step *s, void *stream);
void zb_timer_run(zb_timer *t);
void zb_timer_cancel(zb_timer *t);

#endif
