/* Devices and errors: the current device, access between devices, the names of errors. */
#include "../fake/world.h"
#include "more.h"

#include <stdio.h>
#include <string.h>

static int zbl_init(unsigned flags) {
  return zbl_said(flags != 0 ? ZB_ERR_VALUE : zbl.count > 0 ? ZB_OK : ZB_ERR_NO_DEVICE);
}

static int zbl_getDevice(int *device) {
  ZBL_REFUSE(device == NULL, ZB_ERR_VALUE);
  ZBL_REFUSE(zbl.count <= 0, ZB_ERR_NO_DEVICE);
  *device = zbl_current_device() - zbl.first;
  return ZB_OK;
}

static int zbl_deviceGet(int *device, int ordinal) {
  ZBL_REFUSE(device == NULL || ordinal < 0 || ordinal >= zbl.count,
             device == NULL ? ZB_ERR_VALUE : ZB_ERR_DEVICE);
  *device = ordinal;
  return ZB_OK;
}

static int zbl_peekLastError(void) { return zbl_error_last; }

enum { ZBL_ERR_PEER_ENABLED = 704, ZBL_ERR_PEER_NOT_ENABLED = 705 };

/* Reports whether a device can access a peer. Every device of the process can access every other,
 * but not itself (ROCm/clr, hipamd/src/hip_peer.cpp, canAccessPeer). */
static int zbl_canAccessPeer(int *can, int device, int peer) {
  ZBL_REFUSE(can == NULL, ZB_ERR_VALUE);
  ZBL_REFUSE(device < 0 || device >= zbl.count || peer < 0 || peer >= zbl.count, ZB_ERR_DEVICE);
  *can = device != peer;
  return ZB_OK;
}

/* For each device, the peers that it has been allowed to access, one bit each. Only the first 64
 * devices of a process are covered. */
enum { ZBL_PEERS = 64 };
static uint64_t zbl_peers[ZBL_PEERS];

static int zbl_change_peer(int peer, int on) {
  int device = zbl_current_device() - zbl.first;
  uint64_t bit;
  if (peer < 0 || peer >= zbl.count || peer == device) {
    return ZB_ERR_DEVICE;
  }
  if (peer >= ZBL_PEERS || device >= ZBL_PEERS) {
    return ZB_OK;
  }
  bit = (uint64_t)1 << peer;
  if (on == ((zbl_peers[device] & bit) != 0)) {
    return on ? ZBL_ERR_PEER_ENABLED : ZBL_ERR_PEER_NOT_ENABLED;
  }
  zbl_peers[device] ^= bit;
  return ZB_OK;
}

static int zbl_enablePeerAccess(int peer, unsigned flags) {
  ZBL_ENTER;
  return zbl_said(flags != 0 ? ZB_ERR_VALUE : zbl_change_peer(peer, 1));
}

static int zbl_disablePeerAccess(int peer) {
  ZBL_ENTER;
  return zbl_said(zbl_change_peer(peer, 0));
}

static int zbl_deviceByPCI(int *device, const char *address) {
  unsigned domain, bus, slot;
  int number;
  ZBL_REFUSE(device == NULL || address == NULL ||
             sscanf(address, "%x:%x:%x", &domain, &bus, &slot) != 3, ZB_ERR_VALUE);
  number = (int)(domain << 8 | bus) - zbl.first; /* as in zbl_devicePCI */
  ZBL_REFUSE(number < 0 || number >= zbl.count, ZB_ERR_VALUE);
  *device = number;
  return ZB_OK;
}

static const char *zbl_runtimeErrorName(int error) {
  static const struct {
    int code;
    const char *name;
  } names[] = {{ZB_OK, "hipSuccess"},
               {ZB_ERR_VALUE, "hipErrorInvalidValue"},
               {ZB_ERR_MEMORY, "hipErrorOutOfMemory"},
               {ZB_ERR_DIRECTION, "hipErrorInvalidMemcpyDirection"},
               {98, "hipErrorInvalidDeviceFunction"},
               {ZB_ERR_NO_DEVICE, "hipErrorNoDevice"},
               {ZB_ERR_DEVICE, "hipErrorInvalidDevice"},
               {12, "hipErrorInvalidPitchValue"},
               {13, "hipErrorInvalidSymbol"},
               {17, "hipErrorInvalidDevicePointer"},
               {201, "hipErrorInvalidContext"},
               {209, "hipErrorNoBinaryForGpu"},
               {215, "hipErrorUnsupportedLimit"},
               {216, "hipErrorContextAlreadyInUse"},
               {218, "hipErrorInvalidKernelFile"},
               {301, "hipErrorFileNotFound"},
               {ZB_ERR_HANDLE, "hipErrorInvalidHandle"},
               {ZB_ERR_STATE, "hipErrorIllegalState"},
               {ZB_ERR_NOT_FOUND, "hipErrorNotFound"},
               {ZB_ERR_NOT_READY, "hipErrorNotReady"},
               {ZBL_ERR_PEER_ENABLED, "hipErrorPeerAccessAlreadyEnabled"},
               {ZBL_ERR_PEER_NOT_ENABLED, "hipErrorPeerAccessNotEnabled"},
               {709, "hipErrorContextIsDestroyed"},
               {712, "hipErrorHostMemoryAlreadyRegistered"},
               {713, "hipErrorHostMemoryNotRegistered"},
               {ZB_ERR_LAUNCH, "hipErrorLaunchFailure"},
               {ZB_ERR_NOT_SUPPORTED, "hipErrorNotSupported"},
               {ZB_ERR_CAPTURE, "hipErrorStreamCaptureUnsupported"},
               {ZB_ERR_CAPTURE_INVALID, "hipErrorStreamCaptureInvalidated"},
               {ZB_ERR_CAPTURE_MERGE, "hipErrorStreamCaptureMerge"},
               {ZB_ERR_CAPTURE_UNMATCHED, "hipErrorStreamCaptureUnmatched"},
               {ZB_ERR_CAPTURE_UNJOINED, "hipErrorStreamCaptureUnjoined"},
               {ZB_ERR_CAPTURE_ISOLATION, "hipErrorStreamCaptureIsolation"},
               {ZB_ERR_CAPTURE_THREAD, "hipErrorStreamCaptureWrongThread"}};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    if (names[i].code == error) {
      return names[i].name;
    }
  }
  return "hipErrorUnknown";
}
