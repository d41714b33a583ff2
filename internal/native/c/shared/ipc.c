/* Memory that processes share. HIP's handles contain the memory's place in the file where the
 * processes of a world meet. */
#include "../fake/stream.h"
#include "more.h"

#include <string.h>
#include <unistd.h>

enum { ZBL_ERR_CONTEXT = 201, ZBL_ERR_POINTER = 17, ZBL_LAZY = 1 };

/* The content of a handle. The field `bytes` is 0 if the handle was never filled. */
typedef struct zbl_memory_handle {
  uint64_t bytes, offset;
  zbl_ref at;
  int64_t owner; /* the exporting process */
} zbl_memory_handle;

/* Makes a handle. Any address of device memory is accepted, and the handle leads to that
 * address (ROCm/clr, hipamd/src/hip_memory.cpp, hipIpcGetMemHandle). */
static int zbl_ipcGet(void *handle, void *p) {
  zbl_memory_handle h = {.owner = getpid()};
  zbl_block *b;
  ZBL_ENTER;
  b = zbl_block_of(p);
  ZBL_REFUSE(handle == NULL || b == NULL || b->kind != ZBL_OF_DEVICE || b->opened, ZB_ERR_VALUE);
  h.at = zbl_export(b);
  ZBL_REFUSE(h.at == 0, ZB_ERR_MEMORY);
  h.bytes = b->bytes;
  h.offset = (uint64_t)((char *)p - b->base);
  memset(handle, 0, sizeof(zbs_ipc));
  memcpy(handle, &h, sizeof h);
  return ZB_OK;
}

/* Returns this process's block for memory that it has already opened; NULL if it has not. */
static zbl_block *zbl_opened(zbl_ref at) {
  for (size_t i = 0; i < zbl.block_count; i++) {
    if (zbl.blocks[i]->exported == at && zbl.blocks[i]->opened) {
      return zbl.blocks[i];
    }
  }
  return NULL;
}

/* Opens the memory of a handle. The flag is 1, or 0 in HIP's older headers. A process cannot open
 * its own memory. If the memory is already open, the same address is returned again (ROCm/clr,
 * hipamd/src/hip_memory.cpp, hipIpcOpenMemHandle, and rocclr/device/device.cpp, IpcAttach). */
static int zbl_ipcOpen(void **p, zbs_ipc handle, unsigned flags) {
  zbl_memory_handle h;
  zbl_exported *e;
  zbl_block *b;
  ZBL_ENTER;
  memcpy(&h, &handle, sizeof h);
  ZBL_REFUSE(p == NULL || flags > ZBL_LAZY || h.bytes == 0, ZB_ERR_VALUE);
  ZBL_REFUSE(h.owner == getpid(), ZBL_ERR_CONTEXT);
  e = zbl.count > 0 ? zbl_exported_of(h.at) : NULL;
  ZBL_REFUSE(e == NULL || e->bytes != h.bytes || h.offset >= h.bytes, ZBL_ERR_POINTER);
  b = zbl_opened(h.at);
  if (b != NULL) {
    b->opens++;
  } else if ((b = zbl_import(h.at, zbl_current_device())) == NULL) {
    return zbl_said(ZBL_ERR_POINTER);
  }
  *p = b->base + h.offset;
  return ZB_OK;
}

/* Closes opened memory, after waiting for the work of its device (ROCm/clr,
 * hipamd/src/hip_memory.cpp, hipIpcCloseMemHandle). */
static int zbl_ipcClose(void *p) {
  zbl_block *b;
  ZBL_ENTER;
  b = zbl_block_of(p);
  ZBL_REFUSE(b == NULL || !b->opened, ZB_ERR_VALUE);
  zbl_wait_for_device(b->device);
  b = zbl_block_of(p);
  if (b != NULL && b->opened && --b->opens == 0) {
    zbl_forget_block(b);
  }
  return ZB_OK;
}
