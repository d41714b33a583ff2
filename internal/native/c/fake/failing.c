/* Error texts of the collectives library: for a failed call, and for the last failure. */
#include "comm.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>

enum { ZBL_TEXT = 256 };

/* The text of the last error in any thread, as NCCL keeps it. */
static char zbl_last_failure[ZBL_TEXT];

/* Writes the text after the first `at` bytes of the kept text. NCCL_DEBUG=WARN also
 * prints it (NVIDIA/nccl, src/debug.cc, ncclDebugLog). */
static void zbl_keep_failure(size_t at, const char *why, va_list values) {
  vsnprintf(zbl_last_failure + at, sizeof zbl_last_failure - at, why, values);
  if (zbl.warns) {
    fprintf(stderr, "zbench loopback: NCCL WARN %s\n", zbl_last_failure);
  }
}

int zbl_failing(int code, const char *why, ...) {
  va_list values;
  ZBL_ENTER;
  va_start(values, why);
  zbl_keep_failure(0, why, values);
  va_end(values);
  return code;
}

/* Refuses a call. If a group is open, the group fails too. */
int zbl_refuse_call(const zbl_caller *a, int code, const char *why, ...) {
  const zbl_comm *c = a->comm;
  va_list values;
  int at;
  ZBL_ENTER;
  at = c == NULL ? snprintf(zbl_last_failure, sizeof zbl_last_failure, "nccl%c%s: ",
                            toupper(a->name[0]), a->name + 1)
                 : snprintf(zbl_last_failure, sizeof zbl_last_failure, "nccl%c%s, rank %d of %d: ",
                            toupper(a->name[0]), a->name + 1, c->rank, c->clique->nranks);
  va_start(values, why);
  zbl_keep_failure((size_t)at, why, values);
  va_end(values);
  return zbl_group_refuse(code);
}

static const char *zbl_collErrorString(int error) {
  switch (error) {
  case 0:
    return "no error";
  case ZB_COLL_UNHANDLED:
    return "unhandled runtime error";
  case ZB_COLL_INTERNAL:
    return "internal error";
  case ZB_COLL_ARGUMENT:
    return "invalid argument";
  case ZB_COLL_USAGE:
    return "invalid usage";
  case ZB_COLL_IN_PROGRESS:
    return "NCCL operation in progress";
  case ZB_COLL_REMOTE:
    return "remote process exited or there was a network error";
  }
  return "unknown result code";
}
