/* A provider that does nothing; see noop.c. */
#ifndef ZB_NOOP_H
#define ZB_NOOP_H

#include "abi.h"

/* One recorded call. Fields that it does not use are 0. */
typedef struct zbn_call {
  const char *name;
  int32_t device; /* the current one */
  int32_t depth;  /* of groups */
  int32_t dtype, op;
  int32_t peer; /* or root */
  int64_t count; /* of elements; the time of now; 1 or 0 of moveData */
  const void *send, *recv;
  const void *stream, *handle; /* handle: an event, a kernel */
} zbn_call;

void zbn_fill(zb_table *t, int note);
int zbn_count(void);
const zbn_call *zbn_at(int i);
void zbn_forget(void);
/* Makes queries answer "not ready" this many more times, on all streams or on one. */
void zbn_stall(int64_t polls);
void zbn_stall_stream(const void *stream, int64_t polls);
/* Returns a different handle for each number. */
void *zbn_handle(int i);

#endif
