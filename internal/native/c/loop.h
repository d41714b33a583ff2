/* The timed loop and the table of collectives; see loop.c. */
#ifndef ZB_LOOP_H
#define ZB_LOOP_H

#include "abi.h"

/* How a batch ended. */
enum {
  ZB_BATCH_OK = 0,
  ZB_BATCH_RUNTIME = 1,     /* a runtime call failed */
  ZB_BATCH_COLLECTIVES = 2, /* a collectives call failed */
  ZB_BATCH_DEADLINE = 3,    /* a rank was not done in time */
  ZB_BATCH_CANCELLED = 4,
  ZB_BATCH_ASYNC = 5 /* the communicator reported an error */
};

/* A batch: `iterations` launches of one collective on each local rank, then a
 * wait. All arrays are in C memory and have nlocal entries. */
typedef struct zb_batch {
  const zb_table *table;
  int32_t nlocal;
  const int32_t *device;
  void **comm;
  void **stream;
  void **send;
  void **recv;
  /* what to launch */
  int32_t collective, dtype, op, root;
  uint64_t count;
  int32_t iterations;
  double deadline_s;
  /* set to nonzero by another thread to stop; read atomically */
  int32_t cancel;
  /* out, by local rank: when its burst began on its own clock, seconds per
   * launch, whether it finished */
  int64_t *start_ns;
  double *seconds;
  uint8_t *finished;
  int32_t launched;
  int32_t outcome, code, rank;
  const char *call;
} zb_batch;

int zb_collective_count(void);
const char *zb_collective_name(int i);
void zb_burst(zb_batch *b);
void zb_cancel(zb_batch *b);

#endif
