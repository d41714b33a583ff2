/* Queries about devices and streams: links, limits, flags. */
#include "../fake/stream.h"
#include "more.h"

#include <string.h>

enum { ZBL_XGMI = 4 }; /* ROCm/ROCR-Runtime, hsa_ext_amd.h, HSA_AMD_LINK_INFO_TYPE_XGMI */

static int zbl_known_device(int device) { return device >= 0 && device < zbl.count; }

/* Returns the link between two devices. All devices of a process are directly connected, like
 * the GPUs of a node (ROCm/clr, hipamd/src/hip_peer.cpp, hipExtGetLinkTypeAndHopCount and
 * findLinkInfo). */
static int zbl_linkType(int device, int peer, uint32_t *type, uint32_t *hops) {
  ZBL_REFUSE(type == NULL || hops == NULL || device == peer || device < 0 || peer < 0,
             ZB_ERR_VALUE);
  ZBL_REFUSE(device >= zbl.count || peer >= zbl.count, ZB_ERR_DEVICE);
  *type = ZBL_XGMI;
  *hops = 1;
  return ZB_OK;
}

/* Returns a hipDeviceP2PAttr: rank, access, atomics, or access to arrays. The rank is
 * the type of the link (ROCm/clr, hipamd/src/hip_peer.cpp,
 * hipDeviceGetP2PAttribute). */
static int zbl_peerAttribute(int *value, int link, int device, int peer) {
  static const int values[] = {ZBL_XGMI, 1, 1, 1};
  ZBL_REFUSE(value == NULL, ZB_ERR_VALUE);
  ZBL_REFUSE(device == peer || !zbl_known_device(device) || !zbl_known_device(peer), ZB_ERR_DEVICE);
  ZBL_REFUSE(link < 0 || link > 3, ZB_ERR_VALUE);
  *value = values[link];
  return ZB_OK;
}

enum {
  ZBL_ERR_LIMIT = 215,
  ZBL_LIMIT_STACK = 0,
  ZBL_LIMIT_HEAP = 2,
  ZBL_LIMITS = 3,
  ZBL_FIRST_STACK = 1024
};
static const size_t zbl_most_stack = (128 << 10) - 16;

/* Sets a limit as in ROCm/clr, hipamd/src/hip_device_runtime.cpp,
 * hipDeviceSetLimit, and rocclr/device/device.cpp, UpdateStackSize and
 * UpdateInitialHeapSize. */
static int zbl_setLimit(int limit, size_t value) {
  ZBL_ENTER;
  ZBL_REFUSE(limit < 0 || limit >= ZBL_LIMITS, ZB_ERR_VALUE);
  ZBL_REFUSE(limit != ZBL_LIMIT_STACK && limit != ZBL_LIMIT_HEAP, ZBL_ERR_LIMIT);
  ZBL_REFUSE(zbl.count <= 0, ZB_ERR_NO_DEVICE);
  ZBL_REFUSE(limit == ZBL_LIMIT_STACK ? value > zbl_most_stack : value >= zbl.hbm_bytes,
             ZB_ERR_VALUE);
  if (limit == ZBL_LIMIT_STACK) {
    zbl.devices[zbl_current_device()].stack = value + 1;
  }
  return ZB_OK;
}

/* Returns a limit. For the heap, HIP always returns the size of the device's memory, whatever was
 * set (ROCm/clr, hipamd/src/hip_device_runtime.cpp, hipDeviceGetLimit). */
static int zbl_getLimit(size_t *value, int limit) {
  size_t stack;
  ZBL_ENTER;
  ZBL_REFUSE(value == NULL || limit < 0 || limit >= ZBL_LIMITS, ZB_ERR_VALUE);
  ZBL_REFUSE(limit != ZBL_LIMIT_STACK && limit != ZBL_LIMIT_HEAP, ZBL_ERR_LIMIT);
  ZBL_REFUSE(zbl.count <= 0, ZB_ERR_NO_DEVICE);
  stack = zbl.devices[zbl_current_device()].stack;
  *value = limit == ZBL_LIMIT_HEAP ? zbl.hbm_bytes : stack > 0 ? stack - 1 : ZBL_FIRST_STACK;
  return ZB_OK;
}

/* Sets how the host waits, which has no effect here. At most one way may be set. HIP keeps that
 * part of the flags (ROCm/clr, hipamd/src/hip_device_runtime.cpp, hipSetDeviceFlags). */
static int zbl_setDeviceFlags(unsigned flags) {
  const unsigned ways = 7, known = 0x1f;
  unsigned way = flags & ways;
  ZBL_ENTER;
  ZBL_REFUSE(zbl.count <= 0, ZB_ERR_NO_DEVICE);
  ZBL_REFUSE((flags & ~known) != 0 || (way & (way - 1)) != 0, ZB_ERR_VALUE);
  zbl.devices[zbl_current_device()].flags = way;
  return ZB_OK;
}

static int zbl_deviceFlags(unsigned *flags) {
  ZBL_ENTER;
  ZBL_REFUSE(flags == NULL || zbl.count <= 0, flags == NULL ? ZB_ERR_VALUE : ZB_ERR_NO_DEVICE);
  *flags = zbl.devices[zbl_current_device()].flags;
  return ZB_OK;
}

/* Returns the same UUID as the newer form of hipDeviceProp_t (properties.c). */
static int zbl_deviceUUID(void *uuid, int device) {
  char name[17];
  ZBL_REFUSE(!zbl_known_device(device) || uuid == NULL,
             zbl_known_device(device) ? ZB_ERR_VALUE : ZB_ERR_DEVICE);
  snprintf(name, sizeof name, "zbench%09d", device + zbl.first);
  memcpy(uuid, name, 16);
  return ZB_OK;
}

/* Returns the device of a stream. For the null stream it is the current device
 * (ROCm/clr, hipamd/src/hip_stream.cpp, hipStreamGetDevice). */
static int zbl_streamDevice(void *stream, int *device) {
  const zbl_stream *s;
  ZBL_ENTER;
  s = zbl_stream_of(stream);
  ZBL_REFUSE(device == NULL || s == NULL, device == NULL ? ZB_ERR_VALUE : ZBL_ERR_STREAM);
  *device = s->device - zbl.first;
  return ZB_OK;
}
