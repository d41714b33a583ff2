/* Calls through the table for Go, which cannot call a C function pointer. Each
 * function sets the device first, in the same cgo call. The results are the
 * library's. */
#ifndef ZB_SHIM_H
#define ZB_SHIM_H

#include "abi.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

/* Keeps freed memory in the process. Each burst of graphs of 1,024 simulated ranks allocates the
 * same memory again, and glibc would meanwhile return it to the kernel. */
static inline void zb_keep_memory(void) {
#ifdef __GLIBC__
  enum { KEPT = 1 << 30 };
  mallopt(M_TRIM_THRESHOLD, KEPT);
#endif
}

/* Makes all threads share one C heap, unless the environment sets the number of heaps. Every
 * additional heap would need its own pages, and page tables for 64 MiB of addresses. */
static inline void zb_one_heap(void) {
#ifdef __GLIBC__
  const char *tunables = getenv("GLIBC_TUNABLES");
  if (getenv("MALLOC_ARENA_MAX") == NULL &&
      (tunables == NULL || strstr(tunables, "glibc.malloc.arena_max") == NULL)) {
    mallopt(M_ARENA_MAX, 1);
  }
#endif
}

static inline int zb_device_count(const zb_table *t, int *n) {
  return t->getDeviceCount(n);
}
static inline int zb_runtime_version(const zb_table *t, int *v) {
  return t->runtimeGetVersion != NULL ? t->runtimeGetVersion(v)
                                      : ZB_ERR_NOT_FOUND;
}
static inline int zb_coll_version(const zb_table *t, int *v) {
  return t->collGetVersion != NULL ? t->collGetVersion(v) : ZB_COLL_USAGE;
}
static inline int zb_driver_version(const zb_table *t, int *v) {
  return t->driverGetVersion != NULL ? t->driverGetVersion(v)
                                     : ZB_ERR_NOT_FOUND;
}
static inline int zb_rtc_version(const zb_table *t, int *major, int *minor) {
  return t->rtcVersion != NULL ? t->rtcVersion(major, minor) : ZB_RTC_INPUT;
}
static inline int zb_attribute_of(const zb_table *t, int *value, int number,
                                  int device) {
  return zb_told(t, t->deviceAttribute(value, number, device));
}
/* Returns a device's name. CUDA gets the name from its driver, which starts when a device is
 * first used. */
static inline int zb_device_name(const zb_table *t, char *name, int len,
                                 int device) {
  int code = t->setDevice(device);
  if (code != 0 || t->deviceName == NULL) {
    return code != 0 ? code : ZB_ERR_NOT_FOUND;
  }
  code = t->freeDevice(NULL);
  return zb_told(t, code != 0 ? code : t->deviceName(name, len, device));
}
static inline int zb_device_pci(const zb_table *t, char *address, int len,
                                int device) {
  return t->devicePCI != NULL ? zb_told(t, t->devicePCI(address, len, device))
                              : ZB_ERR_NOT_FOUND;
}
static inline const char *zb_rtc_error(const zb_table *t, int code) {
  return t->rtcErrorString != NULL ? t->rtcErrorString(code) : "";
}
static inline const char *zb_runtime_error(const zb_table *t, int code) {
  return t->runtimeErrorString(code);
}
static inline const char *zb_coll_error(const zb_table *t, int code) {
  return t->collErrorString(code);
}
/* Allocates memory; if `fine` is set, fine-grained memory, which other devices see at once. */
static inline int zb_malloc(const zb_table *t, int device, int fine, void **p, size_t n) {
  int code = t->setDevice(device);
  return zb_told(t, code != 0 ? code : fine ? t->extMalloc(p, n, ZB_FINE_GRAINED) : t->mallocDevice(p, n));
}
static inline int zb_free(const zb_table *t, int device, void *p) {
  int code = t->setDevice(device);
  return code != 0 ? code : t->freeDevice(p);
}
/* Allocates by the collectives library, and returns one of its codes. */
static inline int zb_coll_malloc(const zb_table *t, int device, void **p, size_t n) {
  return t->setDevice(device) != 0 ? ZB_COLL_UNHANDLED : t->collMalloc(p, n);
}
static inline int zb_coll_free(const zb_table *t, int device, void *p) {
  return t->setDevice(device) != 0 ? ZB_COLL_UNHANDLED : t->collFree(p);
}
int64_t zb_now(const zb_table *t); /* loop.c */
static inline int zb_mem_info(const zb_table *t, int device, size_t *unused,
                              size_t *total) {
  int code = t->setDevice(device);
  return code != 0 ? code : t->memGetInfo(unused, total);
}
/* Makes a stream, of high priority if urgent is set. With `words` words of a mask, it may only use the
 * compute units of the mask. */
static inline int zb_stream_create(const zb_table *t, int device, int urgent, uint32_t words, const uint32_t *mask,
                                   void **s) {
  enum { URGENT = -1 }; /* HIP's highest priority; CUDA has higher ones, but PyTorch uses this one */
  int code = t->setDevice(device);
  return code != 0   ? code
         : words > 0 ? t->streamWithMask(s, words, mask)
         : urgent    ? t->streamPriority(s, ZB_STREAM_NON_BLOCKING, URGENT)
                     : t->streamCreate(s, ZB_STREAM_NON_BLOCKING);
}
static inline int zb_stream_destroy(const zb_table *t, int device, void *s) {
  int code = t->setDevice(device);
  return code != 0 ? code : t->streamDestroy(s);
}
static inline int zb_stream_query(const zb_table *t, int device, void *s) {
  int code = t->setDevice(device);
  return code != 0 ? code : t->streamQuery(s);
}
/* Copies and waits. A copy to the device may return before the data have arrived, and streams
 * would not wait for them. Therefore a second copy, back from the device, is waited for. */
static inline int zb_copy(const zb_table *t, int device, void *at, void *host,
                          size_t bytes, int kind) {
  int code = t->setDevice(device);
  if (code != 0) {
    return code;
  }
  if (kind == ZB_TO_DEVICE) {
    char last;
    code = t->copy(at, host, bytes, kind);
    return code != 0 ? code
                     : t->copy(&last, (char *)at + bytes - 1, 1, ZB_TO_HOST);
  }
  return t->copy(host, at, bytes, kind);
}
static inline int zb_comm_destroy(const zb_table *t, int device, void *c) {
  int code = t->setDevice(device);
  return code != 0 ? code : t->commDestroy(c);
}
static inline int zb_comm_abort(const zb_table *t, int device, void *c) {
  int code = t->setDevice(device);
  return code != 0 || t->commAbort == NULL ? code : t->commAbort(c);
}
static inline int zb_event_create(const zb_table *t, int device, void **e) {
  int code = t->setDevice(device);
  return code != 0 ? code : t->eventCreate(e);
}
static inline int zb_event_destroy(const zb_table *t, int device, void *e) {
  int code = t->setDevice(device);
  return code != 0 ? code : t->eventDestroy(e);
}
static inline int zb_module_unload(const zb_table *t, int device, void *m) {
  int code = t->setDevice(device);
  return code != 0 ? code : t->moduleUnload(m);
}
static inline int zb_module_function(const zb_table *t, int device, void **f,
                                     void *m, const char *name) {
  int code = t->setDevice(device);
  return zb_told(t, code != 0 ? code : t->moduleFunction(f, m, name));
}
/* Launches a function. grid and block have three numbers each. */
static inline int zb_launch(const zb_table *t, int device, void *f,
                            const unsigned *grid, const unsigned *block,
                            unsigned shared, void *stream, void **params) {
  int code = t->setDevice(device);
  if (code == 0 && shared > ZB_SHARED_UNASKED && t->functionAttribute != NULL) {
    code = t->functionAttribute(f, ZB_FUNCTION_MAX_SHARED, (int)shared);
  }
  if (code == 0) {
    code = t->launchKernel(f, grid[0], grid[1], grid[2], block[0], block[1],
                           block[2], shared, stream, params, NULL);
  }
  return zb_told(t, code);
}
static inline void zb_move_data(const zb_table *t, int on) {
  if (t->moveData != NULL) {
    t->moveData(on);
  }
}
/* Begins a case on the devices of one driver. */
static inline void zb_case_begin(const zb_table *t, uint64_t key,
                                 const int32_t *device, int n) {
  for (int i = 0; i < n && t->caseBegin != NULL; i++) {
    if (t->setDevice(device[i]) == 0) {
      t->caseBegin(key);
    }
  }
}
static inline int zb_extrapolated(const zb_table *t, const char *collective,
                                  int ranks, int stride) {
  return t->extrapolated != NULL && t->extrapolated(collective, ranks, stride);
}

/* ncclConfig_t as of NCCL 2.28. A library reads the fields that its version knows. */
typedef struct zb_config {
  size_t size;
  unsigned magic, version;
  int blocking, cluster, least, most;
  const char *net;
  int share, traffic;
  const char *name;
  int collnet, policy, shrink, nvls;
} zb_config;

static inline zb_config zb_config_of(int policy, int nonblocking) {
  enum { UNDEFINED = INT_MIN };
  return (zb_config){sizeof(zb_config), 0xcafebeef, 22803, nonblocking ? 0 : UNDEFINED, UNDEFINED, UNDEFINED, UNDEFINED, NULL,
                     UNDEFINED, UNDEFINED, NULL, UNDEFINED, policy, UNDEFINED, UNDEFINED};
}

/* Waits until non-blocking inits of n communicators have ended. Returns the library's result. */
static inline int zb_comms_ready(const zb_table *t, int n, void *const *comm) {
  const struct timespec moment = {0, 20000};
  int code = 0, state = 0;
  for (int i = 0; i < n && code == 0 && state == 0; i++) {
    while ((code = t->commGetAsyncError(comm[i], &state)) == 0 && state == ZB_COLL_IN_PROGRESS) {
      nanosleep(&moment, NULL);
    }
  }
  return code != 0 ? code : state;
}

/* Joins n local ranks to a new communicator of nranks ranks, in one group. The ranks are numbered
 * from first_rank on; `device` has their devices. Returns the collectives library's result. */
static inline int zb_comms_init(const zb_table *t, const zb_unique_id *id,
                                int nranks, int first_rank, int n,
                                const int32_t *device, int policy, int nonblocking, void **comm) {
  zb_config config = zb_config_of(policy, nonblocking);
  int code = t->groupStart(), ended;
  for (int i = 0; i < n && code == 0; i++) {
    if (t->setDevice(device[i]) != 0) {
      code = ZB_COLL_UNHANDLED;
      break;
    }
    code = policy == 0 && !nonblocking ? t->commInitRank(&comm[i], nranks, *id, first_rank + i)
                                       : t->commInitConfig(&comm[i], nranks, *id, first_rank + i, &config);
  }
  ended = t->groupEnd();
  code = code != 0 ? code : ended;
  return code == ZB_COLL_IN_PROGRESS ? zb_comms_ready(t, n, comm) : code;
}

/* Splits the communicators of n local ranks, which share no resources with the new ones. A rank's
 * color and key have its new communicator and its number there. */
static inline int zb_comms_split(const zb_table *t, int n, const int32_t *device, void *const *from,
                                 const int32_t *color, const int32_t *key, void **comm) {
  zb_config config = zb_config_of(INT_MIN, 0);
  int code = t->groupStart(), ended;
  config.share = 0;
  for (int i = 0; i < n && code == 0; i++) {
    code = t->setDevice(device[i]) != 0 ? ZB_COLL_UNHANDLED
                                        : t->commSplit(from[i], color[i], key[i], &comm[i], &config);
  }
  ended = t->groupEnd();
  return code != 0 ? code : ended;
}

/* Registers one buffer of each rank with its communicator. The calls are in a group, because
 * registration is collective. The result `took` is the time on the first rank's host, in
 * nanoseconds. */
static inline int zb_register(const zb_table *t, int window, int n, const int32_t *device,
                              void *const *comm, void *const *at, size_t bytes, void **handle,
                              int64_t *took) {
  enum { SYMMETRIC = 1 }; /* NCCL_WIN_COLL_SYMMETRIC */
  int code = t->setDevice(device[0]), ended;
  *took = zb_now(t);
  if (code != 0 || (code = t->groupStart()) != 0) {
    return code;
  }
  for (int i = 0; i < n && code == 0; i++) {
    if (t->setDevice(device[i]) != 0) {
      code = ZB_COLL_UNHANDLED;
    } else if (window) {
      code = t->windowRegister(comm[i], at[i], bytes, &handle[i], SYMMETRIC);
    } else {
      code = t->commRegister(comm[i], at[i], bytes, &handle[i]);
    }
  }
  ended = t->groupEnd();
  code = code != 0 ? code : ended;
  code = code == ZB_COLL_IN_PROGRESS ? zb_comms_ready(t, n, comm) : code;
  t->setDevice(device[0]);
  *took = zb_now(t) - *took;
  return code;
}
static inline int zb_deregister(const zb_table *t, int window, int device, void *comm, void *handle) {
  int code = t->setDevice(device);
  return code != 0 ? code : window ? t->windowDeregister(comm, handle) : t->commDeregister(comm, handle);
}
/* Returns the name of the implementation that runs a collective on these buffers; NULL if the
 * library does not report it. */
static inline const char *zb_impl(const zb_table *t, void *comm, int function, uint64_t count, int dtype, int op,
                                  const void *send, void *recv, int graph) {
  int algo, protocol, channels;
  const char *name = NULL;
  if (t->collImpl == NULL || t->algoName == NULL ||
      t->collImpl(comm, function, count, dtype, op, send, recv, graph, &algo, &protocol, &channels) != 0 ||
      t->algoName(algo, &name) != 0) {
    return NULL;
  }
  return name;
}
static inline int zb_unique(const zb_table *t, zb_unique_id *id) {
  return t->getUniqueId(id);
}

#endif
