/* Memory other than hipMalloc's: host memory that devices can access, managed memory, and memory
 * that a client registers. */
#include "../fake/stream.h"
#include "more.h"

#include <stdlib.h>
#include <string.h>

static int zbl_allocate_as(void **p, size_t bytes, int kind) {
  ZBL_ENTER;
  ZBL_REFUSE(p == NULL, ZB_ERR_VALUE);
  return zbl.count > 0 ? zbl_allocate(p, bytes, kind) : zbl_said(ZB_ERR_NO_DEVICE);
}

/* Allocates memory and keeps the flags for later queries (ROCm/clr, hipamd/src/hip_memory.cpp,
 * hipHostMalloc). */
static int zbl_allocate_flagged(void **p, size_t bytes, int kind, unsigned flags) {
  int code;
  ZBL_ENTER;
  code = zbl_allocate_as(p, bytes, kind);
  if (code == ZB_OK && *p != NULL) {
    zbl_block_of(*p)->flags = flags;
  }
  return code;
}

/* Allocates managed memory. HIP requires one of the two kinds of attachment and
 * a size above 0 (ROCm/clr, hipamd/src/hip_hmm.cpp, hipMallocManaged). */
static int zbl_mallocManaged(void **p, size_t bytes, unsigned flags) {
  return bytes == 0 || (flags != 1 && flags != 2)
             ? zbl_said(ZB_ERR_VALUE)
             : zbl_allocate_flagged(p, bytes, ZBL_MANAGED, flags);
}

static int zbl_mallocHost(void **p, size_t bytes) {
  return zbl_allocate_as(p, bytes, ZBL_OF_HOST);
}

/* Allocates host memory. The flags say how it is cached and which devices can access it; here all
 * devices can. Coherent and non-coherent exclude each other (ROCm/clr, hipamd/src/hip_memory.cpp,
 * ihipHostMalloc). */
static int zbl_hostMalloc(void **p, size_t bytes, unsigned flags) {
  const unsigned coherent = 0x40000000, not_coherent = 0x80000000;
  ZBL_REFUSE((flags & coherent) != 0 && (flags & not_coherent) != 0, ZB_ERR_VALUE);
  return zbl_allocate_flagged(p, bytes, ZBL_OF_HOST, flags);
}

/* HIP 6.3's name of hipHostMalloc. Programs built with its headers call this name. */
static int zbl_extHostAlloc(void **p, size_t bytes, unsigned flags) {
  return zbl_hostMalloc(p, bytes, flags);
}

static int zbl_hostAlloc(void **p, size_t bytes, unsigned flags) {
  return zbl_hostMalloc(p, bytes, flags);
}

/* Frees host memory. In HIP, hipHostFree and hipFree both free any memory of HIP
 * (ROCm/clr, hipamd/src/hip_memory.cpp, hipHostFree). */
static int zbl_hostFree(void *p) { return zbl_freeDevice(p); }

static int zbl_freeHost(void *p) { return zbl_hostFree(p); }

enum { ZBL_ERR_REGISTERED = 712, ZBL_ERR_NOT_REGISTERED = 713 };

/* Registers host memory (ROCm/clr, hipamd/src/hip_memory.cpp, ihipHostRegister). Only CUDA reports
 * an error if memory is registered twice. */
static int zbl_hostRegister(void *p, size_t bytes, unsigned flags) {
  enum { ZBL_REGISTER_FLAGS = 15 };
  zbl_block *b;
  ZBL_ENTER;
  ZBL_REFUSE(p == NULL || bytes == 0 || flags > ZBL_REGISTER_FLAGS, ZB_ERR_VALUE);
  ZBL_REFUSE(zbl_block_of(p) != NULL, ZBL_ERR_REGISTERED);
  b = calloc(1, sizeof *b);
  ZBL_REFUSE(b == NULL, ZB_ERR_MEMORY);
  *b = (zbl_block){.base = p, .bytes = bytes, .kind = ZBL_REGISTERED,
                   .device = zbl_current_device(), .flags = flags};
  if (!zbl_note_block(b)) {
    free(b);
    return zbl_said(ZB_ERR_MEMORY);
  }
  return ZB_OK;
}

static int zbl_hostUnregister(void *p) {
  zbl_block *b;
  ZBL_ENTER;
  ZBL_REFUSE(p == NULL, ZB_ERR_VALUE);
  b = zbl_block_of(p);
  ZBL_REFUSE(b == NULL || b->base != (char *)p || b->kind != ZBL_REGISTERED,
             ZBL_ERR_NOT_REGISTERED);
  zbl_forget_block(b);
  return ZB_OK;
}

/* Returns the address by which devices access host memory. It is the host's own address. HIP
 * also accepts an address of device memory (ROCm/clr, hipamd/src/hip_memory.cpp,
 * hipHostGetDevicePointer). */
static int zbl_hostPointer(void **device, void *host, unsigned flags) {
  const zbl_block *b;
  ZBL_ENTER;
  b = zbl_block_of(host);
  ZBL_REFUSE(device == NULL || flags != 0 || b == NULL, ZB_ERR_VALUE);
  *device = host;
  return ZB_OK;
}

static int zbl_device_number_ok(int device) {
  return device >= 0 && device < zbl.count;
}

static int zbl_copyPeerAsync(void *to, int toDevice, const void *from,
                             int fromDevice, size_t bytes, void *stream) {
  return zbl_device_number_ok(toDevice) && zbl_device_number_ok(fromDevice)
             ? zbl_copyAsync(to, from, bytes, ZB_DEVICE_TO_DEVICE, stream)
             : zbl_said(ZB_ERR_DEVICE);
}

static int zbl_copyPeer(void *to, int toDevice, const void *from, int fromDevice,
                        size_t bytes) {
  return zbl_device_number_ok(toDevice) && zbl_device_number_ok(fromDevice)
             ? zbl_copy(to, from, bytes, ZB_DEVICE_TO_DEVICE)
             : zbl_said(ZB_ERR_DEVICE);
}
