/* Queries about an address: the location, owner and size of its memory. */
#include "../fake/world.h"
#include "more.h"

/* The layout of hipPointerAttribute_t, with HIP 6's numbers of hipMemoryType. */
typedef struct zbl_pointer_attributes {
  int type, device;
  void *device_pointer, *host_pointer;
  int managed;
  unsigned flags;
} zbl_pointer_attributes;

/* Returns the attributes of an address. Since HIP 6.0 an unregistered address is no error. */
static int zbl_pointerAttributes(void *attributes, const void *p) {
  static const int types[] = {[ZBL_OF_DEVICE] = 2, [ZBL_OF_HOST] = 1,
                              [ZBL_MANAGED] = 3, [ZBL_REGISTERED] = 1};
  zbl_pointer_attributes *a = attributes;
  const zbl_block *b;
  ZBL_ENTER;
  ZBL_REFUSE(a == NULL || p == NULL, ZB_ERR_VALUE);
  *a = (zbl_pointer_attributes){.device = -2};
  b = zbl_block_of(p);
  if (b != NULL) {
    a->type = types[b->kind];
    a->device = b->device - zbl.first;
    a->device_pointer = (void *)(uintptr_t)p;
    a->host_pointer = b->kind == ZBL_OF_DEVICE ? NULL : a->device_pointer;
    a->managed = b->kind == ZBL_MANAGED;
    a->flags = b->flags;
  }
  return ZB_OK;
}

/* The numbers of hipPointer_attribute. */
enum zbl_pointer_fact {
  ZBL_FACT_CONTEXT = 1, ZBL_FACT_TYPE, ZBL_FACT_DEVICE_POINTER, ZBL_FACT_HOST_POINTER,
  ZBL_FACT_TOKENS, ZBL_FACT_SYNC, ZBL_FACT_ID, ZBL_FACT_MANAGED, ZBL_FACT_DEVICE,
  ZBL_FACT_LEGACY_IPC, ZBL_FACT_BASE, ZBL_FACT_BYTES, ZBL_FACT_MAPPED, ZBL_FACT_HANDLE_TYPES,
  ZBL_FACT_RDMA, ZBL_FACT_FLAGS, ZBL_FACT_POOL
};

/* Reports whether memory belongs to the host or is used by both sides: it is fine-grained or
 * the program's own (ROCm/clr, hipamd/src/hip_memory.cpp, ihipPointerGetAttributes). */
static int zbl_of_host_side(const zbl_block *b) { return b->kind != ZBL_OF_DEVICE; }

/* Writes one fact about a known address. The answers have the same widths as in
 * ROCm/clr, hipamd/src/hip_memory.cpp, ihipPointerGetAttributes. */
static int zbl_tell_pointer(void *data, int fact, char *p, const zbl_block *b) {
  switch (fact) {
  case ZBL_FACT_TYPE:
    *(uint32_t *)data = zbl_of_host_side(b) ? 1 : 2;
    return ZB_OK;
  case ZBL_FACT_DEVICE_POINTER:
    *(void **)data = p;
    return ZB_OK;
  case ZBL_FACT_HOST_POINTER:
    *(void **)data = zbl_of_host_side(b) ? p : NULL;
    return zbl_of_host_side(b) ? ZB_OK : ZB_ERR_VALUE;
  case ZBL_FACT_SYNC:
    *(uint8_t *)data = 0;
    return ZB_OK;
  case ZBL_FACT_ID:
    *(uint32_t *)data = b->id;
    return ZB_OK;
  case ZBL_FACT_MANAGED:
    *(uint8_t *)data = b->kind == ZBL_MANAGED;
    return ZB_OK;
  case ZBL_FACT_DEVICE:
    *(int *)data = b->device - zbl.first;
    return ZB_OK;
  case ZBL_FACT_BASE:
    *(void **)data = b->base;
    return ZB_OK;
  case ZBL_FACT_BYTES:
    *(uint32_t *)data = (uint32_t)b->bytes;
    return ZB_OK;
  case ZBL_FACT_MAPPED:
    *(uint8_t *)data = 1;
    return ZB_OK;
  default:
    *(uint32_t *)data = b->flags;
    return ZB_OK;
  }
}

/* Writes the answer for an address that HIP does not know. */
static int zbl_tell_unknown(void *data, int fact) {
  switch (fact) {
  case ZBL_FACT_DEVICE_POINTER:
  case ZBL_FACT_HOST_POINTER:
  case ZBL_FACT_BASE:
    *(void **)data = NULL;
    break;
  case ZBL_FACT_SYNC:
  case ZBL_FACT_MANAGED:
  case ZBL_FACT_MAPPED:
    *(uint8_t *)data = 0;
    break;
  case ZBL_FACT_DEVICE:
    *(int *)data = -2;
    break;
  default:
    *(uint32_t *)data = 0;
  }
  return fact == ZBL_FACT_FLAGS ? ZB_OK : ZB_ERR_VALUE;
}

static int zbl_pointer_fact(void *data, int fact, void *p) {
  const zbl_block *b;
  if (fact < ZBL_FACT_CONTEXT || fact > ZBL_FACT_POOL) {
    return ZB_ERR_VALUE;
  }
  if (fact == ZBL_FACT_CONTEXT || fact == ZBL_FACT_TOKENS || fact == ZBL_FACT_LEGACY_IPC ||
      fact == ZBL_FACT_HANDLE_TYPES || fact == ZBL_FACT_RDMA || fact == ZBL_FACT_POOL) {
    return ZB_ERR_NOT_SUPPORTED;
  }
  b = zbl_block_of(p);
  return b != NULL ? zbl_tell_pointer(data, fact, p, b) : zbl_tell_unknown(data, fact);
}

static int zbl_pointerAttribute(void *data, int attribute, void *p) {
  ZBL_ENTER;
  return zbl_said(p == NULL || data == NULL ? ZB_ERR_VALUE : zbl_pointer_fact(data, attribute, p));
}

/* Returns several facts about an address. A fact that is unknown gets HIP's
 * answer for an unknown address and is no error (ROCm/clr,
 * hipamd/src/hip_memory.cpp, hipDrvPointerGetAttributes). */
static int zbl_pointerFacts(unsigned n, int *attributes, void **data, void *p) {
  ZBL_ENTER;
  ZBL_REFUSE(n == 0 || attributes == NULL || data == NULL || p == NULL, ZB_ERR_VALUE);
  for (unsigned i = 0; i < n; i++) {
    zbl_pointer_fact(data[i], attributes[i], p);
  }
  return ZB_OK;
}

/* Returns the flags of host memory. HIP reports them only for memory that it
 * allocated for both sides (ROCm/clr, hipamd/src/hip_memory.cpp,
 * hipHostGetFlags). */
static int zbl_hostFlags(unsigned *flags, void *p) {
  const zbl_block *b;
  ZBL_ENTER;
  b = zbl_block_of(p);
  ZBL_REFUSE(flags == NULL || b == NULL || b->kind == ZBL_OF_DEVICE || b->kind == ZBL_REGISTERED,
             ZB_ERR_VALUE);
  *flags = b->flags;
  return ZB_OK;
}

/* Returns the size of the allocation at an address as in ROCm/clr, hipamd/src/hip_memory.cpp,
 * hipMemPtrGetInfo. */
static int zbl_pointerBytes(void *p, size_t *bytes) {
  const zbl_block *b;
  ZBL_ENTER;
  b = zbl_block_of(p);
  ZBL_REFUSE(bytes == NULL || b == NULL, ZB_ERR_VALUE);
  *bytes = b->bytes;
  return ZB_OK;
}
