/* Calls through the table for Go, which cannot call a function pointer; each
 * sets the device first, in the same crossing. Results are the library's. */
#ifndef ZB_SHIM_H
#define ZB_SHIM_H

#include "abi.h"

static inline int zb_device_count(const zb_table *t, int *n) {
  return t->getDeviceCount(n);
}
static inline int zb_runtime_version(const zb_table *t, int *v) {
  return t->runtimeGetVersion(v);
}
static inline int zb_coll_version(const zb_table *t, int *v) {
  return t->collGetVersion(v);
}
static inline const char *zb_runtime_error(const zb_table *t, int code) {
  return t->runtimeErrorString(code);
}
static inline const char *zb_coll_error(const zb_table *t, int code) {
  return t->collErrorString(code);
}
static inline int zb_malloc(const zb_table *t, int device, void **p, size_t n) {
  int code = t->setDevice(device);
  return code != 0 ? code : t->mallocDevice(p, n);
}
static inline int zb_free(const zb_table *t, int device, void *p) {
  int code = t->setDevice(device);
  return code != 0 ? code : t->freeDevice(p);
}
static inline int zb_mem_info(const zb_table *t, int device, size_t *unused,
                              size_t *total) {
  int code = t->setDevice(device);
  return code != 0 ? code : t->memGetInfo(unused, total);
}
static inline int zb_stream_create(const zb_table *t, int device, void **s) {
  int code = t->setDevice(device);
  return code != 0 ? code : t->streamCreate(s, ZB_STREAM_NON_BLOCKING);
}
static inline int zb_stream_destroy(const zb_table *t, int device, void *s) {
  int code = t->setDevice(device);
  return code != 0 ? code : t->streamDestroy(s);
}
static inline int zb_comm_destroy(const zb_table *t, int device, void *c) {
  int code = t->setDevice(device);
  return code != 0 ? code : t->commDestroy(c);
}
static inline int zb_event_create(const zb_table *t, int device, void **e) {
  int code = t->setDevice(device);
  return code != 0 ? code : t->eventCreate(e);
}
static inline int zb_event_destroy(const zb_table *t, int device, void *e) {
  int code = t->setDevice(device);
  return code != 0 ? code : t->eventDestroy(e);
}
static inline int zb_module_load(const zb_table *t, void **m, const void *image) {
  return t->moduleLoad != NULL ? t->moduleLoad(m, image) : ZB_ERR_NOT_FOUND;
}
static inline int zb_module_unload(const zb_table *t, void *m) {
  return t->moduleUnload != NULL ? t->moduleUnload(m) : ZB_ERR_NOT_FOUND;
}
static inline int zb_module_function(const zb_table *t, void **f, void *m,
                                     const char *name) {
  return t->moduleFunction != NULL ? t->moduleFunction(f, m, name)
                                   : ZB_ERR_NOT_FOUND;
}
static inline void zb_case_begin(const zb_table *t, uint64_t key) {
  if (t->caseBegin != NULL) {
    t->caseBegin(key);
  }
}

/* Joins n local ranks, first_rank upwards on the given devices, to a new
 * communicator of nranks, in one group. Returns the collectives' result. */
static inline int zb_comms_init(const zb_table *t, const zb_unique_id *id,
                                int nranks, int first_rank, int n,
                                const int32_t *device, void **comm) {
  int code = t->groupStart(), ended;
  for (int i = 0; i < n && code == 0; i++) {
    if (t->setDevice(device[i]) != 0) {
      code = ZB_COLL_UNHANDLED;
      break;
    }
    code = t->commInitRank(&comm[i], nranks, *id, first_rank + i);
  }
  ended = t->groupEnd();
  return code != 0 ? code : ended;
}
static inline int zb_unique(const zb_table *t, zb_unique_id *id) {
  return t->getUniqueId(id);
}

#endif
