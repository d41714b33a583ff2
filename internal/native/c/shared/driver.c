/* What HIP has of CUDA's driver interface, which programs ported from it call: copies by
 * direction, memory set by words, and what a device is. */
#include "../fake/stream.h"
#include "more.h"

static int zbl_copyToDevice(void *to, void *from, size_t bytes) {
  return zbl_copy(to, from, bytes, ZB_TO_DEVICE);
}

static int zbl_copyToHost(void *to, void *from, size_t bytes) {
  return zbl_copy(to, from, bytes, ZB_TO_HOST);
}

static int zbl_copyOnDevice(void *to, void *from, size_t bytes) {
  return zbl_copy(to, from, bytes, ZB_DEVICE_TO_DEVICE);
}

static int zbl_copyToDeviceAsync(void *to, void *from, size_t bytes, void *stream) {
  return zbl_copyAsync(to, from, bytes, ZB_TO_DEVICE, stream);
}

static int zbl_copyToHostAsync(void *to, void *from, size_t bytes, void *stream) {
  return zbl_copyAsync(to, from, bytes, ZB_TO_HOST, stream);
}

static int zbl_copyOnDeviceAsync(void *to, void *from, size_t bytes, void *stream) {
  return zbl_copyAsync(to, from, bytes, ZB_DEVICE_TO_DEVICE, stream);
}

/* In the stream's order, and waited for (ROCm/clr, hipamd/src/hip_memory.cpp,
 * hipMemcpyWithStream). */
static int zbl_copyWithStream(void *to, const void *from, size_t bytes, int kind,
                              void *stream) {
  int code;
  ZBL_ENTER;
  if (zbl_refused_in_capture()) {
    return zbl_said(ZB_ERR_CAPTURE);
  }
  code = zbl_copyAsync(to, from, bytes, kind, stream);
  return code != ZB_OK || zbl_wait_for(zbl_stream_of(stream)) ? code : zbl_said(ZB_ERR_NOT_READY);
}

/* The allocation that the address is in (ROCm/clr, hipamd/src/hip_memory.cpp,
 * hipMemGetAddressRange). */
static int zbl_addressRange(void **base, size_t *bytes, void *p) {
  const zbl_block *b;
  ZBL_ENTER;
  if (base == NULL || bytes == NULL) {
    return zbl_said(ZB_ERR_VALUE);
  }
  b = zbl_block_of(p);
  if (b == NULL) {
    return zbl_said(ZB_ERR_NOT_FOUND);
  }
  *base = b->base;
  *bytes = b->bytes;
  return ZB_OK;
}

static int zbl_deviceMemory(size_t *bytes, int device) {
  int known = device >= 0 && device < zbl.count;
  if (!known || bytes == NULL) {
    return zbl_said(known ? ZB_ERR_VALUE : ZB_ERR_DEVICE);
  }
  *bytes = zbl.hbm_bytes;
  return ZB_OK;
}

static int zbl_deviceCapability(int *major, int *minor, int device) {
  int known = device >= 0 && device < zbl.count;
  if (!known || major == NULL || minor == NULL) {
    return zbl_said(known ? ZB_ERR_VALUE : ZB_ERR_DEVICE);
  }
  *major = zbl_attribute("capabilityMajor");
  *minor = zbl_attribute("capabilityMinor");
  return ZB_OK;
}
