/* Timing of kernels on one or more devices; see timer.c. */
#ifndef ZB_TIMER_H
#define ZB_TIMER_H

#include "abi.h"

/* A launch that is not one of zbench's kernels: zb_gemm_call or zb_lt_call. */
typedef int (*zb_vendor_call)(void *what);

/* One launch of the timed sequence. */
typedef struct zb_step {
  void *function;
  unsigned grid[3], block[3], shared;
  void **params;
  zb_vendor_call vendor; /* called with params instead of launching a kernel; NULL for a kernel */
} zb_step;

/* A device with its stream, its events and its sequence of launches. */
typedef struct zb_track {
  int32_t device, done;
  void *stream, *start, *stop;
  zb_step *steps, *stamps; /* stamps: two launches of the clock kernel, before start and after stop;
                            * or NULL */
  double seconds; /* from start to stop */
} zb_track;

/* A timer: all tracks run at once, each with its sequence repeated between two events. All
 * arrays are in C memory. */
typedef struct zb_timer {
  const zb_table *table;
  int32_t ntracks, nsteps, rounds;
  zb_track *tracks;
  double deadline_s;
  int32_t cancel; /* set by another thread to stop the timer; read atomically */
  /* results: a ZB_BATCH_* value, and the result and device of the call that failed */
  int32_t outcome, code, device;
  const char *call;
} zb_timer;

int zb_step_launch(const zb_table *t, const zb_step *s, void *stream);
void zb_timer_run(zb_timer *t);
void zb_timer_cancel(zb_timer *t);

#endif
