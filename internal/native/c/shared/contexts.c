/* Contexts, which HIP has for programs ported from CUDA's driver interface. Each device has only
 * its primary context. Each thread has a stack of contexts. */
#include "../fake/world.h"
#include "more.h"

enum { ZBL_MOST_CONTEXTS = 64 };

/* The handle of a context is the address of the array element whose index is the device's
 * number. */
static char zbl_context_of[1 << 12];

static _Thread_local struct {
  int device[ZBL_MOST_CONTEXTS]; /* the API's device numbers */
  int n;
} zbl_contexts;

/* Returns the device of a context; −1 if the handle is invalid. */
static int zbl_device_of_context(const void *context) {
  uintptr_t at = (uintptr_t)context - (uintptr_t)zbl_context_of;
  return at < (uintptr_t)zbl.count && at < sizeof zbl_context_of ? (int)at : -1;
}

static void zbl_push_context(int device) {
  if (zbl_contexts.n == ZBL_MOST_CONTEXTS) { /* the lowest context is dropped */
    for (int i = 1; i < ZBL_MOST_CONTEXTS; i++) {
      zbl_contexts.device[i - 1] = zbl_contexts.device[i];
    }
    zbl_contexts.n--;
  }
  zbl_contexts.device[zbl_contexts.n++] = device;
}

/* Each function follows HIP's function of the same name in ROCm/clr, hipamd/src/hip_context.cpp.
 * Creating a context does not change the current device. */
static int zbl_contextCreate(void **context, unsigned flags, int device) {
  ZBL_ENTER;
  ZBL_REFUSE(context == NULL || !zbl_known_device(device), ZB_ERR_VALUE);
  *context = &zbl_context_of[device];
  zbl.devices[zbl.first + device].flags = flags;
  zbl_push_context(device);
  return ZB_OK;
}

static int zbl_contextDestroy(void *context) {
  int device = zbl_device_of_context(context);
  ZBL_REFUSE(device < 0, ZB_ERR_VALUE);
  if (zbl_contexts.n > 0 && zbl_contexts.device[zbl_contexts.n - 1] == device) {
    zbl_contexts.n--;
  }
  return ZB_OK;
}

static int zbl_contextSet(void *context) {
  int device = zbl_device_of_context(context);
  ZBL_REFUSE(context != NULL && device < 0, ZBL_ERR_CONTEXT);
  zbl_contexts.n -= zbl_contexts.n > 0;
  if (context != NULL) {
    zbl_push_context(device);
  }
  return context != NULL ? zbl_setDevice(device) : ZB_OK;
}

static int zbl_contextGet(void **context) {
  int device = 0, code = zbl_getDevice(&device);
  ZBL_REFUSE(context == NULL, ZB_ERR_VALUE);
  *context = &zbl_context_of[device];
  return code;
}

static int zbl_contextPush(void *context) {
  int device = zbl_device_of_context(context);
  ZBL_REFUSE(device < 0, ZBL_ERR_CONTEXT);
  zbl_push_context(device);
  return zbl_setDevice(device);
}

/* Pops a context. The current device does not change. */
static int zbl_contextPop(void **context) {
  ZBL_REFUSE(zbl_contexts.n == 0, ZBL_ERR_CONTEXT);
  zbl_contexts.n--;
  if (context != NULL) {
    *context = &zbl_context_of[zbl_contexts.device[zbl_contexts.n]];
  }
  return ZB_OK;
}

static int zbl_contextDevice(int *device) { return zbl_getDevice(device); }

/* Functions that HIP does not implement. */
static int zbl_contextSynchronize(void) { return zbl_said(ZB_ERR_NOT_SUPPORTED); }

static int zbl_primaryRetain(void **context, int device) {
  ZBL_REFUSE(!zbl_known_device(device) || context == NULL,
             zbl_known_device(device) ? ZB_ERR_VALUE : ZB_ERR_DEVICE);
  *context = &zbl_context_of[device];
  return ZB_OK;
}

static int zbl_primaryRelease(int device) {
  return zbl_said(zbl_known_device(device) ? ZB_OK : ZB_ERR_DEVICE);
}

static int zbl_primaryReset(int device) {
  (void)device;
  return ZB_OK;
}

/* Refuses the flags of a primary context, which is in use from the beginning. */
static int zbl_primaryFlags(int device, unsigned flags) {
  enum { ZBL_ERR_IN_USE = 216 }; /* hipErrorContextAlreadyInUse */
  (void)flags;
  return zbl_said(zbl_known_device(device) ? ZBL_ERR_IN_USE : ZB_ERR_DEVICE);
}

/* Reports the state of a device. It is active if it has a stream or memory (ROCm/clr,
 * hipamd/src/hip_device.cpp, GetActiveStatus). */
static int zbl_primaryState(int device, unsigned *flags, int *active) {
  ZBL_ENTER;
  ZBL_REFUSE(!zbl_known_device(device), ZB_ERR_DEVICE);
  if (flags != NULL) {
    *flags = 0;
  }
  if (active != NULL) {
    const zbl_stream *s = zbl_streams;
    while (s != NULL && s->device != zbl.first + device) {
      s = s->all;
    }
    *active = s != NULL || zbl.devices[zbl.first + device].used > 0;
  }
  return ZB_OK;
}
