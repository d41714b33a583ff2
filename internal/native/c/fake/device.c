/* The runtime's half of the fake: devices and memory. It refuses what the real
 * one may refuse, a foreign pointer for one. */
#include "world.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* The current device is per thread, as HIP has it, and so is the last error. */
static _Thread_local int zbl_device_now, zbl_error_last;

/* What a runtime call returns, kept for whoever asks next: success erases nothing,
 * and work that is not done yet is no error (ROCm/rocm-systems, hip_internal.hpp,
 * HIP_UPDATE_ERROR_STATE). */
int zbl_said(int code) {
  if (code != ZB_OK && code != ZB_ERR_NOT_READY) {
    zbl_error_last = code;
  }
  return code;
}

static int zbl_lastError(void) {
  int code = zbl_error_last;
  zbl_error_last = ZB_OK;
  return code;
}

/* The current device's number in the world. */
int zbl_current_device(void) {
  return zbl.first + (zbl_device_now < zbl.count ? zbl_device_now : 0);
}

static int zbl_getDeviceCount(int *count) {
  *count = zbl.count;
  if (zbl.count <= 0) {
    return zbl_said(ZB_ERR_NO_DEVICE);
  }
  return ZB_OK;
}

static int zbl_runtimeGetVersion(int *version) {
  *version = zbl_api_version;
  return ZB_OK;
}

static int zbl_setDevice(int device) {
  if (device < 0 || device >= zbl.count) {
    return zbl_said(ZB_ERR_DEVICE);
  }
  zbl_device_now = device;
  return ZB_OK;
}

/* The number of blocks that begin below an address, or at it. */
static size_t zbl_blocks_below(const void *ptr) {
  size_t low = 0, high = zbl.block_count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (zbl.blocks[middle]->base <= (const char *)ptr) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/* Notes a block of a device; 0 where there is no memory for it. */
static int zbl_note_block(zbl_block *block) {
  size_t at = zbl_blocks_below(block->base);
  if (zbl.block_count == zbl.block_room) {
    size_t room = zbl.block_room > 0 ? 2 * zbl.block_room : 64;
    zbl_block **grown = realloc(zbl.blocks, room * sizeof *grown);
    if (grown == NULL) {
      return 0;
    }
    zbl.blocks = grown;
    zbl.block_room = room;
  }
  memmove(&zbl.blocks[at + 1], &zbl.blocks[at],
          (zbl.block_count++ - at) * sizeof *zbl.blocks);
  zbl.blocks[at] = block;
  block->next = zbl.devices[block->device].blocks;
  zbl.devices[block->device].blocks = block;
  zbl.devices[block->device].used += block->bytes;
  return 1;
}

/* Reserves address space only: what is never touched costs nothing. */
static int zbl_mallocDevice(void **ptr, size_t bytes) {
  zbl_device *d = &zbl.devices[zbl_current_device()];
  zbl_block *block;
  ZBL_ENTER;
  *ptr = NULL;
  if (zbl_refused_in_capture()) {
    return zbl_said(ZB_ERR_CAPTURE);
  }
  if (bytes == 0) {
    return ZB_OK;
  }
  if (bytes > zbl.hbm_bytes - d->used) {
    return zbl_said(ZB_ERR_MEMORY);
  }
  block = malloc(sizeof *block);
  if (block == NULL) {
    return zbl_said(ZB_ERR_MEMORY);
  }
  block->base = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (block->base == MAP_FAILED) {
    free(block);
    return zbl_said(ZB_ERR_MEMORY);
  }
  if (zbl.wall) { /* else the page tables are what is measured */
    madvise(block->base, bytes, MADV_HUGEPAGE);
  }
  block->bytes = bytes;
  block->device = zbl_current_device();
  if (!zbl_note_block(block)) {
    munmap(block->base, bytes);
    free(block);
    return zbl_said(ZB_ERR_MEMORY);
  }
  *ptr = block->base;
  return ZB_OK;
}

static int zbl_freeDevice(void *ptr) {
  zbl_block **in, *block;
  size_t at;
  ZBL_ENTER;
  if (zbl_refused_in_capture()) {
    return zbl_said(ZB_ERR_CAPTURE);
  }
  if (ptr == NULL) {
    return ZB_OK;
  }
  at = zbl_blocks_below(ptr);
  if (at == 0 || zbl.blocks[at - 1]->base != (char *)ptr) {
    return zbl_said(ZB_ERR_VALUE);
  }
  block = zbl.blocks[at - 1];
  memmove(&zbl.blocks[at - 1], &zbl.blocks[at],
          (zbl.block_count-- - at) * sizeof *zbl.blocks);
  for (in = &zbl.devices[block->device].blocks; *in != block; in = &(*in)->next) {
  }
  *in = block->next;
  zbl.devices[block->device].used -= block->bytes;
  munmap(block->base, block->bytes);
  free(block);
  return ZB_OK;
}

static int zbl_memGetInfo(size_t *free_bytes, size_t *total) {
  zbl_stalled(ZBL_STALL_RUNTIME, zbl_current_device());
  ZBL_ENTER;
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

/* The device in whose memory the address is, −1 for none. */
static int zbl_owner(const void *ptr) {
  size_t at = zbl_blocks_below(ptr);
  const zbl_block *b = at > 0 ? zbl.blocks[at - 1] : NULL;
  return b != NULL && (size_t)((const char *)ptr - b->base) < b->bytes ? b->device
                                                                       : -1;
}

/* Whether a copy is of its kind: host memory lies in no device's, device memory in
 * the current one's. Between devices both may be anybody's. */
int zbl_copyable(const void *to, const void *from, size_t bytes, int kind) {
  static const struct {
    int to, from; /* 1: a device's */
  } kinds[] = {[ZB_HOST_TO_HOST] = {0, 0},
               [ZB_TO_DEVICE] = {1, 0},
               [ZB_TO_HOST] = {0, 1},
               [ZB_DEVICE_TO_DEVICE] = {1, 1}};
  int into = zbl_owner(to), out_of = zbl_owner(from);
  if (kind == ZB_INFERRED) {
    kind = (into >= 0 ? ZB_TO_DEVICE : 0) + (out_of >= 0 ? ZB_TO_HOST : 0);
  }
  if (kind < 0 || kind > ZB_DEVICE_TO_DEVICE ||
      kinds[kind].to != (into >= 0) || kinds[kind].from != (out_of >= 0) ||
      (into >= 0 && !zbl_valid_range(into, to, bytes)) ||
      (out_of >= 0 && !zbl_valid_range(out_of, from, bytes))) {
    return 0;
  }
  return kind == ZB_DEVICE_TO_DEVICE || kind == ZB_HOST_TO_HOST ||
         (into >= 0 ? into : out_of) == zbl_current_device();
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
  free(zbl.blocks);
  zbl.blocks = NULL;
  zbl.block_count = zbl.block_room = 0;
  for (int i = 0; i < zbl.ranks; i++) {
    while (zbl.devices[i].blocks != NULL) {
      zbl_block *b = zbl.devices[i].blocks;
      zbl.devices[i].blocks = b->next;
      munmap(b->base, b->bytes);
      free(b);
    }
  }
  zbl_device_now = 0;
  zbl_error_last = ZB_OK;
}
