/* Makes communicators in other ways than ncclCommInitRank, and answers queries about them. */
#include "../fake/comm.h"
#include "more.h"

#include <stdlib.h>
#include <string.h>

/* Joins one of several ranks on a device, each of which has its own virtual id. RCCL had
 * this function until ROCm 5.7 (ROCm/rccl at rocm-5.7.0, src/init.cc). */
static int zbl_commInitMulti(void **comm, int nranks, zb_unique_id id, int rank,
                             int virtual_id) {
  return zbl_join_rank(comm, nranks, id, rank, 1, virtual_id);
}

/* Returns 0 if every number in the list is a device and occurs only once, otherwise the error. */
static int zbl_check_devices(int n, const int *devices) {
  for (int i = 0; i < n; i++) {
    if (devices[i] < 0 || devices[i] >= zbl.count) {
      return ZB_COLL_UNHANDLED;
    }
    for (int j = 0; j < i; j++) {
      if (devices[j] == devices[i]) {
        return ZB_COLL_USAGE;
      }
    }
  }
  return 0;
}

/* Makes communicators for n devices of this process. The current device does not change
 * (ROCm/rccl, src/init.cc, ncclCommInitAll_impl). */
static int zbl_commInitAll(void **comms, int n, const int *devices) {
  zb_unique_id id;
  int before = zbl_device_now, code = 0, ended;
  ZBL_FAIL(comms == NULL || n < 0, ZB_COLL_ARGUMENT, "ncclCommInitAll: invalid argument");
  code = devices != NULL ? zbl_check_devices(n, devices)
         : n > zbl.count ? ZB_COLL_UNHANDLED
                         : 0;
  ZBL_FAIL(code != 0, code, "ncclCommInitAll: no such device, or one twice");
  zbl_getUniqueId(&id);
  zbl_groupStart();
  for (int i = 0; i < n && code == 0; i++) {
    zbl_device_now = devices != NULL ? devices[i] : i;
    code = zbl_commInitRank(&comms[i], n, id, i);
  }
  zbl_device_now = before;
  ended = zbl_groupEnd();
  return code != 0 ? code : ended;
}

/* Finalises a communicator. If it is blocking, all earlier calls are done on return. Afterwards
 * it can only be destroyed. */
static int zbl_commFinalize(void *comm) {
  zbl_comm *c = zbl_comm_of(comm);
  ZBL_ENTER;
  if (comm == NULL) { /* nothing to do, as in ROCm/rccl, src/init.cc, ncclCommFinalize_impl */
    return 0;
  }
  ZBL_FAIL(c == NULL || c->finalized || zbl_not_ready(c),
           ZB_COLL_ARGUMENT, "ncclCommFinalize: no communicator, or one twice");
  c->finalized = 1;
  if (c->nonblocking) {
    return zbl_progress_of(c);
  }
  zbl_wait_for_device(c->device);
  return 0;
}

/* Returns one of the communicator's numbers in *out. */
static int zbl_ask(void *comm, int *out, int (*what)(const zbl_comm *)) {
  zbl_comm *c = zbl_comm_of(comm);
  ZBL_ENTER;
  ZBL_FAIL(c == NULL || out == NULL || zbl_not_ready(c), ZB_COLL_ARGUMENT,
           "no communicator, or nowhere to put the answer");
  *out = what(c);
  zbl_host_calls();
  return 0;
}

static int zbl_size_of(const zbl_comm *c) { return c->clique->nranks; }
static int zbl_rank_of(const zbl_comm *c) { return c->rank; }
static int zbl_device_of(const zbl_comm *c) { return c->device - zbl.first; }

static int zbl_commCount(void *comm, int *count) {
  return zbl_ask(comm, count, zbl_size_of);
}
static int zbl_commRank(void *comm, int *rank) { return zbl_ask(comm, rank, zbl_rank_of); }
static int zbl_commDevice(void *comm, int *device) {
  return zbl_ask(comm, device, zbl_device_of);
}

static const char *zbl_collLastError(void *comm) {
  static _Thread_local char said[sizeof zbl_last_failure];
  ZBL_ENTER;
  (void)comm;
  return memcpy(said, zbl_last_failure, sizeof said);
}
