/* The runtime's half of the fake: devices and memory. It refuses what the real
 * one may refuse, a foreign pointer for one. */
#include "world.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* The current device is per thread, as HIP has it. */
static _Thread_local int zbl_device_now;

int zbl_current_device(void) {
  return zbl_device_now < zbl.ranks ? zbl_device_now : 0;
}

static int zbl_getDeviceCount(int *count) {
  *count = zbl.ranks;
  return zbl.ranks > 0 ? ZB_OK : ZB_ERR_NO_DEVICE;
}

static int zbl_runtimeGetVersion(int *version) {
  *version = zbl_api_version;
  return ZB_OK;
}

static int zbl_setDevice(int device) {
  if (device < 0 || device >= zbl.ranks) {
    return ZB_ERR_DEVICE;
  }
  zbl_device_now = device;
  return ZB_OK;
}

/* Reserves address space only: what is never touched costs nothing. */
static int zbl_mallocDevice(void **ptr, size_t bytes) {
  zbl_device *d = &zbl.devices[zbl_current_device()];
  zbl_block *block;
  *ptr = NULL;
  if (zbl_refused_in_capture()) {
    return ZB_ERR_CAPTURE;
  }
  if (bytes == 0) {
    return ZB_OK;
  }
  if (bytes > zbl.hbm_bytes - d->used) {
    return ZB_ERR_MEMORY;
  }
  block = malloc(sizeof *block);
  if (block == NULL) {
    return ZB_ERR_MEMORY;
  }
  block->base = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (block->base == MAP_FAILED) {
    free(block);
    return ZB_ERR_MEMORY;
  }
  if (zbl.wall) { /* else the page tables are what is measured */
    madvise(block->base, bytes, MADV_HUGEPAGE);
  }
  block->bytes = bytes;
  block->next = d->blocks;
  d->blocks = block;
  d->used += bytes;
  *ptr = block->base;
  return ZB_OK;
}

static int zbl_freeDevice(void *ptr) {
  if (zbl_refused_in_capture()) {
    return ZB_ERR_CAPTURE;
  }
  if (ptr == NULL) {
    return ZB_OK;
  }
  for (int i = 0; i < zbl.ranks; i++) {
    for (zbl_block **at = &zbl.devices[i].blocks; *at != NULL;
         at = &(*at)->next) {
      zbl_block *block = *at;
      if (block->base != (char *)ptr) {
        continue;
      }
      *at = block->next;
      zbl.devices[i].used -= block->bytes;
      munmap(block->base, block->bytes);
      free(block);
      return ZB_OK;
    }
  }
  return ZB_ERR_VALUE;
}

static int zbl_memGetInfo(size_t *free_bytes, size_t *total) {
  *total = zbl.hbm_bytes;
  *free_bytes = zbl.hbm_bytes - zbl.devices[zbl_current_device()].used;
  return ZB_OK;
}

/* Whether [ptr, ptr+bytes) lies inside one allocation of the device. */
int zbl_valid_range(int device, const void *ptr, uint64_t bytes) {
  const char *p = ptr;
  for (zbl_block *b = zbl.devices[device].blocks; b != NULL; b = b->next) {
    if (p >= b->base && p < b->base + b->bytes) {
      return bytes <= (uint64_t)(b->base + b->bytes - p);
    }
  }
  return 0;
}

/* The device whose memory holds [ptr, ptr+bytes), −1 for none. */
static int zbl_owner(const void *ptr, uint64_t bytes) {
  int now = zbl_current_device();
  if (zbl_valid_range(now, ptr, bytes)) {
    return now;
  }
  for (int i = 0; i < zbl.ranks; i++) {
    if (zbl_valid_range(i, ptr, bytes)) {
      return i;
    }
  }
  return -1;
}

/* Whether one of the two lies in the current device's memory and the other in no
 * device's, by the kind. */
int zbl_copyable(const void *to, const void *from, size_t bytes, int kind) {
  const void *device = kind == ZB_TO_DEVICE ? to : from;
  const void *host = kind == ZB_TO_DEVICE ? from : to;
  return (kind == ZB_TO_DEVICE || kind == ZB_TO_HOST) &&
         zbl_owner(device, bytes) == zbl_current_device() &&
         zbl_owner(host, bytes) < 0;
}

/* A blocking copy between host and device. It waits for the null stream, which
 * nobody uses here, not for the others: what they have not proved done is
 * copied as it stands, poison and all. */
static int zbl_copy(void *to, const void *from, size_t bytes, int kind) {
  if (zbl_refused_in_capture()) {
    return ZB_ERR_CAPTURE;
  }
  if (!zbl_copyable(to, from, bytes, kind)) {
    return ZB_ERR_VALUE;
  }
  memcpy(to, from, bytes);
  return ZB_OK;
}

static const char *zbl_runtimeErrorString(int error) {
  switch (error) {
  case ZB_OK:
    return "no error";
  case ZB_ERR_VALUE:
    return "invalid argument";
  case ZB_ERR_MEMORY:
    return "out of memory";
  case ZB_ERR_NO_DEVICE:
    return "no device";
  case ZB_ERR_DEVICE:
    return "invalid device ordinal";
  case ZB_ERR_HANDLE:
    return "invalid resource handle";
  case ZB_ERR_NOT_FOUND:
    return "named symbol not found";
  case ZB_ERR_NOT_READY:
    return "device not ready";
  case ZB_ERR_LAUNCH:
    return "unspecified launch failure";
  case ZB_ERR_STATE:
    return "the operation cannot be performed in the present state";
  case ZB_ERR_NOT_SUPPORTED:
    return "operation not supported";
  case ZB_ERR_CAPTURE:
    return "operation not permitted when stream is capturing";
  case ZB_ERR_CAPTURE_INVALID:
    return "operation failed due to a previous error during capture";
  case ZB_ERR_CAPTURE_THREAD:
    return "attempt to terminate a thread-local capture sequence from another thread";
  }
  return "unknown error";
}

void zbl_free_devices(void) {
  for (int i = 0; i < zbl.ranks; i++) {
    while (zbl.devices[i].blocks != NULL) {
      zbl_block *b = zbl.devices[i].blocks;
      zbl.devices[i].blocks = b->next;
      munmap(b->base, b->bytes);
      free(b);
    }
  }
  zbl_device_now = 0;
}
