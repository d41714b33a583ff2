/* The HIP runtime of the loopback: devices and memory. It refuses everything that the real
 * runtime may refuse, such as a foreign pointer. */
#include "world.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* As in HIP, each thread has its own current device and last error. */
static _Thread_local int zbl_device_now, zbl_error_last;

/* Returns the result of a runtime call and keeps an error as the thread's last error. Success does
 * not clear the last error, and unfinished work is not an error (ROCm/rocm-systems,
 * hip_internal.hpp, HIP_UPDATE_ERROR_STATE). */
int zbl_said(int code) {
  if (code != ZB_OK && zbl.count <= 0) { /* there is no world, because the machine file was not
                                          * read */
    code = ZB_ERR_NO_DEVICE;
  }
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

/* Returns the number of the current device in the world. */
int zbl_current_device(void) {
  return zbl.first + (zbl_device_now < zbl.count ? zbl_device_now : 0);
}

static int zbl_getDeviceCount(int *count) {
  ZBL_REFUSE(count == NULL, ZB_ERR_VALUE);
  *count = zbl.count;
  ZBL_REFUSE(zbl.count <= 0, ZB_ERR_NO_DEVICE);
  return ZB_OK;
}

static int zbl_runtimeGetVersion(int *version) {
  ZBL_REFUSE(version == NULL, ZB_ERR_VALUE);
  *version = zbl_api_version;
  return ZB_OK;
}

static int zbl_setDevice(int device) {
  ZBL_REFUSE(device < 0 || device >= zbl.count, ZB_ERR_DEVICE);
  zbl_device_now = device;
  return ZB_OK;
}

/* Allocates memory on the current device. Only address space is reserved: untouched pages cost
 * nothing. */
int zbl_allocate(void **ptr, size_t bytes, int kind) {
  return zbl_allocate_on(ptr, bytes, kind, zbl_current_device());
}

int zbl_allocate_on(void **ptr, size_t bytes, int kind, int device) {
  *ptr = NULL;
  ZBL_REFUSE(zbl.count <= 0, ZB_ERR_NO_DEVICE);
  ZBL_REFUSE(zbl_refused_in_capture(), ZB_ERR_CAPTURE);
  return zbl_said(bytes > 0 ? zbl_map_block(ptr, bytes, kind, device) : ZB_OK);
}

/* Allocates memory on a device, even during a capture. */
int zbl_map_block(void **ptr, size_t bytes, int kind, int device) {
  zbl_block *block;
  uint64_t left = zbl.hbm_bytes - zbl.devices[device].used;
  if (zbl_counts(kind) && bytes > left) {
    zbl_tell_memory("zbench loopback: %.1f GB of GPU memory are refused: the GPU has %.1f GB left\n",
                    bytes, left);
    return ZB_ERR_MEMORY;
  }
  if (!zbl_take_room(bytes)) {
    return ZB_ERR_MEMORY;
  }
  block = malloc(sizeof *block);
  if (block == NULL) {
    zbl_leave_room(bytes);
    return ZB_ERR_MEMORY;
  }
  block->base = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (block->base == MAP_FAILED) {
    zbl_leave_room(bytes);
    free(block);
    return ZB_ERR_MEMORY;
  }
  if (zbl.wall) { /* huge pages, because the page tables would otherwise dominate the time */
    madvise(block->base, bytes, MADV_HUGEPAGE);
  }
  block->bytes = bytes;
  block->kind = kind;
  block->flags = 0;
  block->device = device;
  block->usage = NULL;
  block->exported = 0;
  block->opened = block->opens = 0;
  if (!zbl_note_block(block)) {
    zbl_leave_room(bytes);
    munmap(block->base, bytes);
    free(block);
    return ZB_ERR_MEMORY;
  }
  *ptr = block->base;
  return ZB_OK;
}

static int zbl_mallocDevice(void **ptr, size_t bytes) {
  zbl_stalled(ZBL_STALL_RUNTIME, zbl_current_device());
  ZBL_ENTER;
  ZBL_REFUSE(ptr == NULL, ZB_ERR_VALUE);
  return zbl_allocate(ptr, bytes, ZBL_OF_DEVICE);
}

/* Allocates fine-grained, uncached or signal memory, which is ordinary device memory
 * here. A signal has 8 bytes (ROCm/clr, hipamd/src/hip_memory.cpp,
 * hipExtMallocWithFlags). */
static int zbl_extMalloc(void **p, size_t bytes, unsigned flags) {
  enum { ZBL_SIGNAL = 2, ZBL_LAST_FLAG = 4 }; /* hipMallocSignalMemory, hipDeviceMallocContiguous */
  ZBL_REFUSE(flags > ZBL_LAST_FLAG || (flags == ZBL_SIGNAL && bytes != 8), ZB_ERR_VALUE);
  return zbl_mallocDevice(p, bytes);
}

static int zbl_freeDevice(void *ptr) {
  zbl_block *block;
  ZBL_ENTER;
  ZBL_REFUSE(zbl_refused_in_capture(), ZB_ERR_CAPTURE);
  if (ptr == NULL) {
    return ZB_OK;
  }
  block = zbl_block_of(ptr);
  ZBL_REFUSE(block == NULL || block->base != (char *)ptr || block->kind == ZBL_REGISTERED ||
             block->opened, ZB_ERR_VALUE);
  if (zbl.waits) { /* a free waits for the device (ROCm/clr, hipamd/src/hip_memory.cpp, ihipFree) */
    zbl_wait_for_device(block->device);
    block = zbl_block_of(ptr);
  }
  if (block != NULL) {
    zbl_forget_block(block);
  }
  return ZB_OK;
}

static int zbl_memGetInfo(size_t *free_bytes, size_t *total) {
  ZBL_REFUSE(zbl.count <= 0, ZB_ERR_NO_DEVICE);
  zbl_stalled(ZBL_STALL_RUNTIME, zbl_current_device());
  ZBL_ENTER;
  if (total != NULL) { /* either pointer may be NULL (ROCm/clr, hip_memory.cpp, hipMemGetInfo) */
    *total = zbl.hbm_bytes;
  }
  if (free_bytes == NULL) {
    return ZB_OK;
  }
  *free_bytes = zbl.hbm_bytes - zbl.devices[zbl_current_device()].used;
  return ZB_OK;
}

static const char *zbl_runtimeErrorString(int error) {
  static const struct {
    int code;
    const char *text;
  } errors[] = {{ZB_OK, "no error"},
                {ZB_ERR_VALUE, "invalid argument"},
                {ZB_ERR_MEMORY, "out of memory"},
                {12, "invalid pitch argument"},
                {13, "invalid device symbol"},
                {17, "invalid device pointer"},
                {ZB_ERR_DIRECTION, "invalid copy direction for memcpy"},
                {98, "invalid device function"},
                {ZB_ERR_NO_DEVICE, "no device"},
                {ZB_ERR_DEVICE, "invalid device ordinal"},
                {201, "invalid device context"},
                {209, "no kernel image is available for execution on the device"},
                {215, "limit is not supported on this architecture"},
                {216, "exclusive-thread device already in use by a different thread"},
                {218, "invalid kernel file"},
                {301, "file not found"},
                {ZB_ERR_HANDLE, "invalid resource handle"},
                {ZB_ERR_STATE, "the operation cannot be performed in the present state"},
                {ZB_ERR_NOT_FOUND, "named symbol not found"},
                {ZB_ERR_NOT_READY, "device not ready"},
                {704, "peer access is already enabled"},
                {705, "peer access has not been enabled"},
                {709, "context is destroyed"},
                {712, "part or all of the requested memory range is already mapped"},
                {713, "pointer does not correspond to a registered memory region"},
                {ZB_ERR_LAUNCH, "unspecified launch failure"},
                {ZB_ERR_NOT_SUPPORTED, "operation not supported"},
                {ZB_ERR_CAPTURE, "operation not permitted when stream is capturing"},
                {ZB_ERR_CAPTURE_INVALID, "operation failed due to a previous error during capture"},
                {ZB_ERR_CAPTURE_MERGE, "the operation would merge two captures"},
                {ZB_ERR_CAPTURE_UNMATCHED, "the capture was not initiated in this stream"},
                {ZB_ERR_CAPTURE_UNJOINED, "a stream that took part in the capture has not joined its origin"},
                {ZB_ERR_CAPTURE_ISOLATION, "the dependency would cross the bounds of the capture"},
                {ZB_ERR_CAPTURE_THREAD, "attempt to terminate a thread-local capture sequence from another thread"}};
  for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
    if (errors[i].code == error) {
      return errors[i].text;
    }
  }
  return "unknown error";
}

/* Gives the pages of all device memory back to the host. The memory then reads as zeros. */
void zbl_empty_devices(void) {
  for (size_t i = 0; i < zbl.block_count; i++) {
    const zbl_block *b = zbl.blocks[i];
    if (b->kind == ZBL_OF_DEVICE) {
      madvise(b->base, b->bytes, MADV_DONTNEED);
    }
  }
}

void zbl_free_devices(void) {
  free(zbl.blocks);
  zbl.blocks = NULL;
  zbl.block_count = zbl.block_room = 0;
  for (int i = 0; i < zbl.ranks; i++) {
    while (zbl.devices[i].blocks != NULL) {
      zbl_block *b = zbl.devices[i].blocks;
      zbl.devices[i].blocks = b->next;
      if (b->kind != ZBL_REGISTERED) {
        munmap(b->base, b->bytes);
      }
      zbl_unexport(b->exported);
      free(b);
    }
  }
  zbl_device_now = 0;
  zbl_error_last = ZB_OK;
}
