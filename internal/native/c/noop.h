/* A provider that does nothing; see noop.c. */
#ifndef ZB_NOOP_H
#define ZB_NOOP_H

#include "abi.h"

/* One recorded call. Fields that the call does not use are 0. */
typedef struct zbn_call {
  const char *name;
  int32_t device; /* the current device */
  int32_t depth;  /* number of open groups */
  int32_t dtype, op;
  int32_t peer; /* the peer or the root */
  int64_t count; /* number of elements; or the time of "now", or the argument of "move data" */
  const void *send, *recv;
  const void *stream, *handle; /* handle: an event or a kernel */
} zbn_call;

void zbn_fill(zb_table *t, int note);
int zbn_count(void);
const zbn_call *zbn_at(int i);
void zbn_forget(void);
/* Makes queries of all streams, or of one, return "not ready" for this many polls. */
void zbn_stall(int64_t polls);
void zbn_stall_stream(const void *stream, int64_t polls);
/* Returns a different handle for each number. */
void *zbn_handle(int i);

#endif
