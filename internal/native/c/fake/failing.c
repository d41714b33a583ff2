/* What a failed call of the collectives library tells: its text, and that of the last
 * one. */
#include "comm.h"

/* The last error's text, of all threads, as NCCL keeps it. */
static const char *zbl_last_failure;

int zbl_failing(int code, const char *why) {
  __atomic_store_n(&zbl_last_failure, why, __ATOMIC_RELAXED);
  return code;
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
  case ZBL_IN_PROGRESS:
    return "NCCL operation in progress";
  case ZB_COLL_REMOTE:
    return "remote process exited or there was a network error";
  }
  return "unknown result code";
}
