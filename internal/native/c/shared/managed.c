/* Advice about the location of memory, which has no effect here, and the choice among equal
 * devices. */
#include "../fake/stream.h"
#include "more.h"

enum { ZBL_HOST_DEVICE = -1 }; /* hipCpuDeviceId */

/* Reports whether a range is valid: it begins outside of all allocations, or lies in one. */
static int zbl_range_known(const void *p, size_t bytes) {
  return zbl_block_of(p) == NULL || zbl_valid_range(p, bytes);
}

/* Accepts a prefetch. Arguments are checked in HIP's order (ROCm/clr, hipamd/src/hip_hmm.cpp,
 * hipMemPrefetchAsync). */
static int zbl_prefetch(const void *p, size_t bytes, int device, void *stream) {
  ZBL_ENTER;
  ZBL_REFUSE(p == NULL || bytes == 0, ZB_ERR_VALUE);
  ZBL_REFUSE(zbl_stream_of(stream) == NULL, ZBL_ERR_STREAM);
  ZBL_REFUSE(!zbl_range_known(p, bytes), ZB_ERR_VALUE);
  ZBL_REFUSE(device != ZBL_HOST_DEVICE && !zbl_known_device(device), ZB_ERR_DEVICE);
  return ZB_OK;
}

/* Accepts advice. The advice "mostly read" and its withdrawal concern all
 * devices (ROCm/clr, hipamd/src/hip_hmm.cpp, hipMemAdvise). */
static int zbl_advise(const void *p, size_t bytes, int advice, int device) {
  enum { ZBL_READ_MOSTLY = 1, ZBL_NOT_READ_MOSTLY = 2 };
  int of_all = advice == ZBL_READ_MOSTLY || advice == ZBL_NOT_READ_MOSTLY;
  ZBL_ENTER;
  ZBL_REFUSE(!of_all && device != ZBL_HOST_DEVICE && !zbl_known_device(device), ZB_ERR_DEVICE);
  ZBL_REFUSE(p == NULL || bytes == 0 || !zbl_range_known(p, bytes), ZB_ERR_VALUE);
  return ZB_OK;
}

/* Returns device 0. HIP returns the first of the best devices, and here all are equal
 * (ROCm/clr, hipamd/src/hip_device_runtime.cpp, ihipChooseDevice). */
static int zbl_chooseDevice(int *device, const void *properties) {
  ZBL_REFUSE(device == NULL || properties == NULL, ZB_ERR_VALUE);
  *device = 0;
  return zbl_said(zbl.count > 0 ? ZB_OK : ZB_ERR_NO_DEVICE);
}

static int zbl_chooseDevice6(int *device, const void *properties) {
  return zbl_chooseDevice(device, properties);
}
