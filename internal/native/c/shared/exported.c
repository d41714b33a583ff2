/* Moves device memory to a place where other processes can find it, and finds the memory of
 * other processes. The caller holds the lock, which all processes share. */
#include "../fake/exported.h"
#include "more.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { ZBL_EXPORTED_PAGE = 4096 };

/* Moves a block into the arena and returns its place. If the process is alone, the block keeps its
 * memory, because no other process can open it. Returns 0 if the new memory cannot be mapped. */
static zbl_ref zbl_export(zbl_block *b) {
  size_t pages = (b->bytes + ZBL_EXPORTED_PAGE - 1) / ZBL_EXPORTED_PAGE * ZBL_EXPORTED_PAGE;
  size_t room = sizeof(zbl_exported) + (zbl.shared_fd >= 0 ? ZBL_EXPORTED_PAGE + pages : 0);
  zbl_exported *e;
  if (b->exported != 0) {
    return b->exported;
  }
  e = zbl_new(room);
  *e = (zbl_exported){.magic = ZBL_EXPORTED, .bytes = b->bytes, .users = 1};
  if (zbl.shared_fd >= 0) {
    e->data = (zbl_ref_of(e + 1) + ZBL_EXPORTED_PAGE - 1) / ZBL_EXPORTED_PAGE * ZBL_EXPORTED_PAGE;
    memcpy(zbl_at(e->data), b->base, b->bytes);
    if (mmap(b->base, pages, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, zbl.shared_fd,
             (off_t)e->data) == MAP_FAILED) {
      e->magic = 0;
      zbl_drop(e);
      return 0;
    }
  }
  b->exported = zbl_ref_of(e);
  return b->exported;
}

/* Returns the memory behind another process's handle; NULL if it is gone or never existed. */
static zbl_exported *zbl_exported_of(zbl_ref at) {
  zbl_exported *e = at % _Alignof(zbl_exported) == 0 && at >= sizeof *zbl.hub &&
                            at < zbl.hub->used - sizeof(zbl_exported)
                        ? zbl_at(at)
                        : NULL;
  return e != NULL && e->magic == ZBL_EXPORTED ? e : NULL;
}

/* Maps exported memory into this process as memory of a device. It does not reduce the device's
 * free memory. */
static zbl_block *zbl_import(zbl_ref at, int device) {
  zbl_exported *e = zbl_exported_of(at);
  zbl_block *b = e != NULL && zbl.shared_fd >= 0 ? calloc(1, sizeof *b) : NULL;
  if (b == NULL) {
    return NULL;
  }
  *b = (zbl_block){.bytes = e->bytes, .kind = ZBL_OF_DEVICE, .device = device, .exported = at,
                   .opened = 1, .opens = 1};
  b->base = mmap(NULL, e->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, zbl.shared_fd, (off_t)e->data);
  if (b->base == MAP_FAILED || !zbl_note_block(b)) {
    free(b);
    return NULL;
  }
  e->users++;
  return b;
}
