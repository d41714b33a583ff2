/* Waits for streams, events and devices, and queries about them. */
#include "../fake/event.h"
#include "more.h"

#include <stdlib.h>
#include <string.h>

static int zbl_streamCreatePlain(void **stream) { return zbl_streamCreate(stream, 0); }

static int zbl_streamGetPriority(void *stream, int *priority) {
  const zbl_stream *s;
  ZBL_ENTER;
  s = zbl_stream_of(stream);
  ZBL_REFUSE(s == NULL || priority == NULL, s == NULL ? ZBL_ERR_STREAM : ZB_ERR_VALUE);
  *priority = s->priority;
  return ZB_OK;
}

static int zbl_priorityRange(int *least, int *greatest) {
  if (least != NULL) {
    *least = ZBL_LEAST_PRIORITY;
  }
  if (greatest != NULL) {
    *greatest = ZBL_GREATEST_PRIORITY;
  }
  return ZB_OK;
}

/* Returns a stream's flags. In HIP the null stream has none (ROCm/clr,
 * hipamd/src/hip_stream.cpp, hipStreamGetFlags_common). */
static int zbl_streamGetFlags(void *stream, unsigned *flags) {
  zbl_stream *s;
  ZBL_ENTER;
  s = zbl_stream_of(stream);
  ZBL_REFUSE(stream == NULL && ZBL_VENDOR == ZB_ROCM, ZB_ERR_VALUE);
  ZBL_REFUSE(s == NULL || flags == NULL, s == NULL ? ZBL_ERR_STREAM : ZB_ERR_VALUE);
  *flags = s->blocking ? 0 : ZB_STREAM_NON_BLOCKING;
  return ZB_OK;
}

/* Returns a hipStreamCaptureStatus: none (0) or active (1). */
static int zbl_streamIsCapturing(void *stream, int *status) {
  zbl_stream *s;
  ZBL_ENTER;
  s = zbl_stream_of(stream);
  ZBL_REFUSE(s == NULL || status == NULL, s == NULL ? ZBL_ERR_STREAM : ZB_ERR_VALUE);
  *status = zbl_capture_of(s) != 0;
  return ZB_OK;
}

/* Returns the capture of a stream, as PyTorch queries it (ROCm/clr, hipamd/src/hip_graph.cpp,
 * hipStreamGetCaptureInfo_common). */
static int zbl_captureInfo(void *stream, int *status, unsigned long long *id) {
  zbl_stream *s;
  ZBL_ENTER;
  ZBL_REFUSE(status == NULL, ZB_ERR_VALUE);
  s = zbl_stream_of(stream);
  ZBL_REFUSE(s == NULL, ZBL_ERR_STREAM);
  *status = zbl_capture_of(s) != 0;
  if (*status && id != NULL) {
    *id = zbl_capture_of(s);
  }
  return ZB_OK;
}

/* Exchanges the thread's capture mode. In the relaxed mode the thread may make
 * calls that captures otherwise forbid (ROCm/clr, hipamd/src/hip_graph.cpp,
 * hipThreadExchangeStreamCaptureMode). */
static int zbl_captureMode(int *mode) {
  ZBL_REFUSE(mode == NULL || *mode < ZB_CAPTURE_GLOBAL || *mode > ZB_CAPTURE_RELAXED, ZB_ERR_VALUE);
  *mode = zbl_exchange_mode(*mode);
  return ZB_OK;
}

static int zbl_streamSynchronize(void *stream) {
  zbl_stream *s;
  ZBL_ENTER;
  s = zbl_stream_of(stream);
  ZBL_REFUSE(s == NULL, ZBL_ERR_STREAM);
  ZBL_REFUSE(zbl_refused_by_capture(s), ZB_ERR_CAPTURE);
  ZBL_REFUSE(s->error == 0 && !zbl_wait_for(s) && s->error == 0, ZB_ERR_NOT_READY);
  return zbl_said(s->error);
}

/* Waits for the current device. The call is refused while the thread captures,
 * because it could wait for the capture (ROCm/clr, hipamd/src/hip_device_runtime.cpp,
 * hipDeviceSynchronize). */
static int zbl_deviceSynchronize(void) {
  ZBL_ENTER;
  ZBL_REFUSE(zbl_refused_in_capture(), ZB_ERR_CAPTURE);
  return zbl_said(zbl.count > 0 ? zbl_wait_for_device(zbl_current_device()) : ZB_ERR_NO_DEVICE);
}

/* Frees the memory and the streams of the current device. */
static int zbl_deviceReset(void) {
  int device;
  ZBL_ENTER;
  ZBL_REFUSE(zbl.count <= 0, ZB_ERR_NO_DEVICE);
  device = zbl_current_device();
  while (zbl.devices[device].blocks != NULL) {
    zbl_forget_block(zbl.devices[device].blocks);
  }
  for (zbl_stream *s = zbl_streams; s != NULL;) {
    zbl_stream *next = s->all;
    if (s->device == device && s->head == NULL && s->capture == NULL) {
      if (zbl.devices[device].null == s) {
        zbl.devices[device].null = NULL;
      }
      zbl_free_stream(s);
    }
    s = next;
  }
  return ZB_OK;
}

/* hipEventDisableTiming and hipEventInterprocess; then the flags for how an event releases
 * memory: hipEventDisableSystemFence, hipEventReleaseToDevice, hipEventReleaseToSystem.
 * hipEventBlockingSync has no effect. */
enum { ZBL_DISABLE_TIMING = 2, ZBL_INTERPROCESS = 4 };
static const unsigned zbl_release_flags[] = {0x20000000, 0x40000000, 0x80000000};

/* Reports whether an event's flags are valid. At most one way to release memory is
 * allowed, and an event between processes must have timing disabled (ROCm/clr,
 * hipamd/src/hip_event.cpp, ihipEventCreateWithFlags). */
static int zbl_event_flags_ok(unsigned flags) {
  unsigned rest = flags & ~7u;
  for (int i = 0; i < 3; i++) {
    rest = rest == zbl_release_flags[i] ? 0 : rest;
  }
  return rest == 0 && ((flags & ZBL_INTERPROCESS) == 0 || (flags & ZBL_DISABLE_TIMING) != 0);
}

static int zbl_eventCreateFlags(void **event, unsigned flags) {
  int code = zbl_event_flags_ok(flags) ? zbl_eventCreate(event) : zbl_said(ZB_ERR_VALUE);
  if (code == ZB_OK) {
    zbl_event_of(*event)->untimed = (flags & ZBL_DISABLE_TIMING) != 0;
  }
  return code;
}

/* Reports whether the capture in which an event was recorded is still open. A finished capture
 * leaves the event in its earlier state (ROCm/clr, hipamd/src/hip_event.cpp,
 * hipEventSynchronize). */
static int zbl_capture_open(const zbl_event *e) {
  const zbl_stream *s = e->captured != 0 ? zbl_streams : NULL;
  while (s != NULL && zbl_capture_of(s) != e->captured) {
    s = s->all;
  }
  return s != NULL;
}

static int zbl_eventSynchronize(void *event) {
  zbl_event *e;
  ZBL_ENTER;
  e = zbl_event_of(event);
  ZBL_REFUSE(e == NULL, ZB_ERR_HANDLE);
  ZBL_REFUSE(zbl_capture_open(e), ZB_ERR_CAPTURE);
  for (uint64_t made = e->made; e->done < made;) {
    zbl_stream *s = e->on;
    zbl_look(s);
    if (e->done < made) {
      zbl_decided(s);
    }
  }
  while (!zbl_host_sees(e->at)) {
  }
  if (e->recorded) {
    double *h = zbl_host_clock(e->device);
    *h = zbl_later(*h, e->at);
  }
  zbl_event_proves(e);
  return ZB_OK;
}

/* Instantiates a graph, in the form without flags. The log would have the errors
 * of instantiation; there are none. */
static int zbl_graphInstantiateLog(void **exec, void *graph, void **node, char *log,
                                   size_t bytes) {
  int code = zbl_graphInstantiate(exec, graph, 0);
  if (node != NULL) {
    *node = NULL;
  }
  if (log != NULL && bytes > 0) {
    log[0] = '\0';
  }
  return code;
}
