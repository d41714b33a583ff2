/* Memory that is allocated in stream order, and its pools. An allocation is available at once; a
 * stream cannot tell the difference. Freed memory goes back to the device: a pool keeps none, so
 * its reserved memory equals its used memory. */
#include "../fake/stream.h"
#include "more.h"

#include <stdlib.h>
#include <string.h>

enum { ZBL_POOL = 0x706f6f6c, ZBL_ON_DEVICE = 1, ZBL_PINNED = 1, ZBL_READ_WRITE = 3 };

/* The numbers of hipMemPoolAttr. */
enum zbl_pool_fact {
  ZBL_POOL_EVENTS = 1, ZBL_POOL_OPPORTUNISTIC, ZBL_POOL_INTERNAL, ZBL_POOL_THRESHOLD,
  ZBL_POOL_RESERVED, ZBL_POOL_RESERVED_HIGH, ZBL_POOL_USED, ZBL_POOL_USED_HIGH,
  ZBL_POOL_FACTS
};

/* The layouts of hipMemLocation, hipMemAccessDesc and hipMemPoolProps. */
typedef struct zbl_location {
  int type, id;
} zbl_location;

typedef struct zbl_access {
  zbl_location location;
  int flags;
} zbl_access;

typedef struct zbl_pool_props {
  int allocation, handles;
  zbl_location location;
  void *security;
  unsigned char reserved[64];
} zbl_pool_props;

/* A pool. A destroyed pool stays until its memory is freed; its struct is then reused. */
typedef struct zbl_mem_pool {
  uint32_t magic;
  int device, first, current; /* first: the device's first pool; current: the pool from which the
                               * device allocates */
  zbl_usage usage;
  uint64_t reserved_high, threshold;
  int32_t reuse[ZBL_POOL_THRESHOLD];
  uint8_t *access; /* the access of each device */
  struct zbl_mem_pool *next;
} zbl_mem_pool;

static zbl_mem_pool *zbl_mem_pools;

static zbl_mem_pool *zbl_spare_pool(void) {
  zbl_mem_pool *p = zbl_mem_pools;
  while (p != NULL && (p->magic != 0 || p->usage.now > 0)) {
    p = p->next;
  }
  if (p == NULL) {
    p = calloc(1, sizeof *p);
    if (p == NULL || (p->access = calloc((size_t)zbl.count, 1)) == NULL) {
      abort();
    }
    p->next = zbl_mem_pools;
    zbl_mem_pools = p;
  }
  return p;
}

/* Makes a pool. Initially all ways of reuse are allowed (ROCm/clr,
 * hipamd/src/hip_mempool_impl.hpp). */
static zbl_mem_pool *zbl_new_pool(int device, int first) {
  zbl_mem_pool *p = zbl_spare_pool(), *next = p->next;
  uint8_t *access = p->access;
  memset(access, 0, (size_t)zbl.count);
  access[device] = ZBL_READ_WRITE;
  *p = (zbl_mem_pool){.magic = ZBL_POOL, .device = device, .first = first, .current = first,
                      .reuse = {0, 1, 1, 1}, .access = access, .next = next};
  return p;
}

static zbl_mem_pool *zbl_pool_of(void *handle) {
  zbl_mem_pool *p = zbl_mem_pools;
  while (p != NULL && (p != handle || p->magic != ZBL_POOL)) {
    p = p->next;
  }
  return p;
}

static zbl_mem_pool *zbl_first_pool(int device) {
  zbl_mem_pool *p = zbl_mem_pools;
  while (p != NULL && !(p->first && p->device == device)) {
    p = p->next;
  }
  return p != NULL ? p : zbl_new_pool(device, 1);
}

static zbl_mem_pool *zbl_current_pool(int device) {
  zbl_mem_pool *p = zbl_mem_pools;
  while (p != NULL && !(p->magic == ZBL_POOL && p->current && p->device == device)) {
    p = p->next;
  }
  return p != NULL ? p : zbl_first_pool(device);
}

static void zbl_take_from(zbl_mem_pool *p) {
  zbl_current_pool(p->device)->current = 0;
  p->current = 1;
}

static int zbl_firstPool(void **pool, int device) {
  ZBL_ENTER;
  ZBL_REFUSE(pool == NULL || !zbl_known_device(device),
             pool == NULL ? ZB_ERR_VALUE : ZB_ERR_DEVICE);
  *pool = zbl_first_pool(device);
  return ZB_OK;
}

/* Each function follows HIP's function of the same name in ROCm/clr, hipamd/src/hip_mempool.cpp. */
static int zbl_setPool(int device, void *pool) {
  zbl_mem_pool *p;
  ZBL_ENTER;
  p = zbl_pool_of(pool);
  ZBL_REFUSE(p == NULL || !zbl_known_device(device), ZB_ERR_VALUE);
  ZBL_REFUSE(p->device != device, ZB_ERR_DEVICE);
  zbl_take_from(p);
  return ZB_OK;
}

static int zbl_getPool(void **pool, int device) {
  ZBL_ENTER;
  ZBL_REFUSE(pool == NULL || !zbl_known_device(device), ZB_ERR_VALUE);
  *pool = zbl_current_pool(device);
  return ZB_OK;
}

static int zbl_createPool(void **pool, const void *props) {
  const zbl_pool_props *want = props;
  ZBL_ENTER;
  ZBL_REFUSE(pool == NULL || want == NULL || want->allocation != ZBL_PINNED ||
             want->location.type != ZBL_ON_DEVICE || !zbl_known_device(want->location.id),
             ZB_ERR_VALUE);
  *pool = zbl_new_pool(want->location.id, 0);
  return ZB_OK;
}

static int zbl_destroyPool(void *pool) {
  zbl_mem_pool *p;
  ZBL_ENTER;
  p = zbl_pool_of(pool);
  ZBL_REFUSE(p == NULL || p->first, ZB_ERR_VALUE);
  if (p->current) {
    zbl_take_from(zbl_first_pool(p->device));
  }
  p->magic = 0;
  return ZB_OK;
}

static int zbl_trimPool(void *pool, size_t bytes) {
  ZBL_ENTER;
  (void)bytes;
  return zbl_said(zbl_pool_of(pool) == NULL ? ZB_ERR_VALUE : ZB_OK);
}

/* Sets an attribute of a pool. The highest use can only be set to 0, and then
 * counts from that moment on (ROCm/clr, hipamd/src/hip_mempool_impl.cpp,
 * SetAttribute). */
static int zbl_setPoolFact(void *pool, int about, void *value) {
  zbl_mem_pool *p;
  ZBL_ENTER;
  p = zbl_pool_of(pool);
  ZBL_REFUSE(p == NULL || value == NULL, ZB_ERR_VALUE);
  if (about >= ZBL_POOL_EVENTS && about < ZBL_POOL_THRESHOLD) {
    p->reuse[about] = *(int32_t *)value;
    return ZB_OK;
  }
  if (about == ZBL_POOL_THRESHOLD) {
    p->threshold = *(uint64_t *)value;
    return ZB_OK;
  }
  ZBL_REFUSE((about != ZBL_POOL_RESERVED_HIGH && about != ZBL_POOL_USED_HIGH) || *(uint64_t *)value != 0,
             ZB_ERR_VALUE);
  if (about == ZBL_POOL_USED_HIGH) {
    p->usage.high = 0;
  } else {
    p->reserved_high = 0;
  }
  return ZB_OK;
}

static int zbl_getPoolFact(void *pool, int about, void *value) {
  zbl_mem_pool *p;
  ZBL_ENTER;
  p = zbl_pool_of(pool);
  ZBL_REFUSE(p == NULL || value == NULL || about < ZBL_POOL_EVENTS || about >= ZBL_POOL_FACTS,
             ZB_ERR_VALUE);
  if (about < ZBL_POOL_THRESHOLD) {
    *(int32_t *)value = p->reuse[about];
    return ZB_OK;
  }
  *(uint64_t *)value = about == ZBL_POOL_THRESHOLD       ? p->threshold
                       : about == ZBL_POOL_RESERVED_HIGH ? p->reserved_high
                       : about == ZBL_POOL_USED_HIGH     ? p->usage.high
                                                         : p->usage.now;
  return ZB_OK;
}

static int zbl_setPoolAccess(void *pool, const void *list, size_t count) {
  const zbl_access *a = list;
  zbl_mem_pool *p;
  ZBL_ENTER;
  p = zbl_pool_of(pool);
  ZBL_REFUSE(p == NULL || a == NULL, ZB_ERR_VALUE);
  ZBL_REFUSE(count > (size_t)zbl.count, ZB_ERR_DEVICE);
  for (size_t i = 0; i < count; i++) {
    ZBL_REFUSE(a[i].location.type != ZBL_ON_DEVICE, ZB_ERR_VALUE);
    ZBL_REFUSE(!zbl_known_device(a[i].location.id) || a[i].flags == 0, ZB_ERR_DEVICE);
    ZBL_REFUSE(a[i].flags < 0 || a[i].flags > ZBL_READ_WRITE, ZB_ERR_VALUE);
    if (a[i].location.id != p->device) {
      p->access[a[i].location.id] = (uint8_t)a[i].flags;
    }
  }
  return ZB_OK;
}

static int zbl_getPoolAccess(int *access, void *pool, void *location) {
  const zbl_location *at = location;
  const zbl_mem_pool *p;
  ZBL_ENTER;
  p = zbl_pool_of(pool);
  ZBL_REFUSE(p == NULL || at == NULL || access == NULL || at->type != ZBL_ON_DEVICE ||
             !zbl_known_device(at->id), ZB_ERR_VALUE);
  *access = p->access[at->id];
  return ZB_OK;
}

static int zbl_allocate_of(void **to, size_t bytes, zbl_mem_pool *p) {
  int code = zbl_allocate_on(to, bytes, ZBL_OF_DEVICE, zbl.first + p->device);
  if (code == ZB_OK && *to != NULL) {
    zbl_use(zbl_block_of(*to), &p->usage);
    p->reserved_high = p->usage.now > p->reserved_high ? p->usage.now : p->reserved_high;
  }
  return code;
}

static int zbl_mallocFrom(void **p, size_t bytes, void *pool, void *stream) {
  zbl_mem_pool *from;
  ZBL_ENTER;
  from = zbl_pool_of(pool);
  ZBL_REFUSE(p == NULL || from == NULL, ZB_ERR_VALUE);
  return zbl_stream_of(stream) == NULL ? zbl_said(ZB_ERR_HANDLE) : zbl_allocate_of(p, bytes, from);
}

/* Allocates memory on the stream's device. */
static int zbl_mallocAsync(void **p, size_t bytes, void *stream) {
  const zbl_stream *s;
  ZBL_ENTER;
  s = zbl_stream_of(stream);
  ZBL_REFUSE(p == NULL || s == NULL, p == NULL ? ZB_ERR_VALUE : ZB_ERR_HANDLE);
  return zbl_allocate_of(p, bytes, zbl_current_pool(s->device - zbl.first));
}

/* Frees the memory when the stream's work so far is done. */
static int zbl_freeAsync(void *p, void *stream) {
  zbl_stream *s;
  ZBL_ENTER;
  s = zbl_stream_of(stream);
  ZBL_REFUSE(p == NULL, ZB_ERR_VALUE);
  ZBL_REFUSE(s == NULL, ZB_ERR_HANDLE);
  return zbl_wait_for(s) ? zbl_freeDevice(p) : zbl_said(ZB_ERR_NOT_READY);
}
