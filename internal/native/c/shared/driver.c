/* HIP's part of CUDA's driver interface, for programs ported from CUDA: copies by direction,
 * setting memory by words, and properties of devices. */
#include "../fake/stream.h"
#include "more.h"

#define ZBL_COPY(direction, kind)                                              \
  static int zbl_copy##direction(void *to, void *from, size_t bytes) {         \
    return zbl_copy(to, from, bytes, kind);                                    \
  }                                                                            \
  static int zbl_copy##direction##Async(void *to, void *from, size_t bytes, void *stream) { \
    return zbl_copyAsync(to, from, bytes, kind, stream);                       \
  }
ZBL_COPY(ToDevice, ZB_TO_DEVICE)
ZBL_COPY(ToHost, ZB_TO_HOST)
ZBL_COPY(OnDevice, ZB_DEVICE_TO_DEVICE)
#undef ZBL_COPY

/* Copies in the order of the stream, and waits for the copy (ROCm/clr,
 * hipamd/src/hip_memory.cpp, hipMemcpyWithStream). */
static int zbl_copyWithStream(void *to, const void *from, size_t bytes, int kind,
                              void *stream) {
  int code;
  ZBL_ENTER;
  ZBL_REFUSE(zbl_refused_in_capture(), ZB_ERR_CAPTURE);
  code = zbl_copyAsync(to, from, bytes, kind, stream);
  return code != ZB_OK || zbl_wait_for(zbl_stream_of(stream)) ? code : zbl_said(ZB_ERR_NOT_READY);
}

/* Returns the allocation that contains the address (ROCm/clr,
 * hipamd/src/hip_memory.cpp, hipMemGetAddressRange). */
static int zbl_addressRange(void **base, size_t *bytes, void *p) {
  const zbl_block *b;
  ZBL_ENTER;
  ZBL_REFUSE(base == NULL || bytes == NULL, ZB_ERR_VALUE);
  b = zbl_block_of(p);
  ZBL_REFUSE(b == NULL, ZB_ERR_NOT_FOUND);
  *base = b->base;
  *bytes = b->bytes;
  return ZB_OK;
}

static int zbl_deviceMemory(size_t *bytes, int device) {
  int known = device >= 0 && device < zbl.count;
  ZBL_REFUSE(!known || bytes == NULL, known ? ZB_ERR_VALUE : ZB_ERR_DEVICE);
  *bytes = zbl.hbm_bytes;
  return ZB_OK;
}

static int zbl_deviceCapability(int *major, int *minor, int device) {
  int known = device >= 0 && device < zbl.count;
  ZBL_REFUSE(!known || major == NULL || minor == NULL, known ? ZB_ERR_VALUE : ZB_ERR_DEVICE);
  *major = zbl_attribute("capabilityMajor");
  *minor = zbl_attribute("capabilityMinor");
  return ZB_OK;
}
