/* Finds the owner of an address. Every allocation, and every range that the client has registered,
 * is a block. An address is looked up among the blocks of all devices. */
#include "exported.h"
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Returns the number of blocks that begin at or below an address. */
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

static int zbl_holds(const zbl_block *b, const void *ptr) {
  return b != NULL && (size_t)((const char *)ptr - b->base) < b->bytes;
}

/* Returns the block that contains the address; NULL if there is none. Most addresses are in the
 * newest block of the current device, the rank's arena, which is tried first: searching the blocks
 * of 1,024 ranks took a sixth of a sweep. */
zbl_block *zbl_block_of(const void *ptr) {
  zbl_block *b = zbl.count > 0 ? zbl.devices[zbl_current_device()].blocks : NULL;
  size_t at;
  if (zbl_holds(b, ptr)) {
    return b;
  }
  at = zbl_blocks_below(ptr);
  b = at > 0 ? zbl.blocks[at - 1] : NULL;
  return zbl_holds(b, ptr) ? b : NULL;
}

/* Tells a program once why an allocation is refused, because most programs print only the error. */
void zbl_tell_memory(const char *format, uint64_t bytes, uint64_t left) {
  static int told;
  if (zbl.waits && !told) {
    told = 1;
    fprintf(stderr, format, (double)bytes * 1e-9, (double)left * 1e-9);
  }
}

/* Reports whether this kind of memory is taken from the device's own memory. */
int zbl_counts(int kind) {
  return kind == ZBL_OF_DEVICE || kind == ZBL_MANAGED;
}

/* Reports whether a block takes some of its device's memory. */
static int zbl_counted(const zbl_block *block) { return zbl_counts(block->kind) && !block->opened; }

/* Reserves a block's share of the host's memory. Returns 0 if not enough is left. */
int zbl_take_room(size_t bytes) {
  uint64_t taken = __atomic_load_n(&zbl.hub->taken, __ATOMIC_RELAXED);
  uint64_t left = zbl.hub->room > taken ? zbl.hub->room - taken : 0;
  if (zbl.hub->room > 0 && bytes > left) {
    zbl_tell_memory("zbench loopback: %.1f GB of GPU memory are refused: the host has memory for %.1f GB "
                    "more. Choose smaller sizes, or --no-data. A program that does not touch what it "
                    "allocates runs with ZBENCH_LOOPBACK_OVERCOMMIT=1\n",
                    bytes, left);
    return 0;
  }
  __atomic_fetch_add(&zbl.hub->taken, bytes, __ATOMIC_RELAXED);
  zbl.taken += bytes;
  return 1;
}

/* Gives back a block's share of the host's memory. This function takes no lock: at the end of the
 * process another thread may hold the lock. */
void zbl_leave_room(size_t bytes) {
  __atomic_fetch_sub(&zbl.hub->taken, bytes, __ATOMIC_RELAXED);
  zbl.taken -= bytes;
}

/* Remembers the newest block of a device. Most lookups are for addresses in it. */
static void zbl_note_newest(zbl_device *d) {
  d->newest = d->blocks != NULL ? d->blocks->base : NULL;
  d->bytes = d->blocks != NULL ? d->blocks->bytes : 0;
}

/* Adds a block to a device. Returns 0 if there is no memory for the block's entry. */
int zbl_note_block(zbl_block *block) {
  static uint32_t ids;
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
  block->id = ++ids;
  block->next = zbl.devices[block->device].blocks;
  zbl.devices[block->device].blocks = block;
  zbl_note_newest(&zbl.devices[block->device]);
  if (zbl_counted(block)) {
    zbl.devices[block->device].used += block->bytes;
  }
  return 1;
}

/* Counts a block's bytes in a usage. */
void zbl_use(zbl_block *block, zbl_usage *usage) {
  block->usage = usage;
  usage->now += block->bytes;
  usage->high = usage->now > usage->high ? usage->now : usage->high;
}

/* Releases memory that the process has exported or opened. The last process frees it. */
void zbl_unexport(zbl_ref at) {
  zbl_exported *e = at != 0 ? zbl_at(at) : NULL;
  if (e != NULL && --e->users == 0) {
    e->magic = 0;
    zbl_drop(e);
  }
}

/* Forgets a block. Memory that the client registered is not freed. */
void zbl_forget_block(zbl_block *block) {
  size_t at = zbl_blocks_below(block->base);
  zbl_block **in;
  zbl_forget_range(block->base, block->bytes);
  memmove(&zbl.blocks[at - 1], &zbl.blocks[at],
          (zbl.block_count-- - at) * sizeof *zbl.blocks);
  for (in = &zbl.devices[block->device].blocks; *in != block; in = &(*in)->next) {
  }
  *in = block->next;
  zbl_note_newest(&zbl.devices[block->device]);
  if (zbl_counted(block)) {
    zbl.devices[block->device].used -= block->bytes;
  }
  if (block->usage != NULL) {
    block->usage->now -= block->bytes;
  }
  if (block->kind != ZBL_REGISTERED) {
    munmap(block->base, block->bytes);
  }
  if (block->kind != ZBL_REGISTERED && !block->opened) {
    zbl_leave_room(block->bytes);
  }
  zbl_unexport(block->exported);
  free(block);
}

/* Reports whether [ptr, ptr+bytes) lies inside one allocation that devices can access: their own
 * memory, a peer's memory (RCCL enables peer access itself, ROCm/rccl, src/transport/p2p.cc), or
 * host memory that the runtime allocated or registered. */
int zbl_valid_range(const void *ptr, uint64_t bytes) {
  const zbl_block *b;
  if (zbl.count > 0 && zbl_in_newest(zbl_current_device(), ptr, bytes)) {
    return 1;
  }
  b = zbl_block_of(ptr);
  return b != NULL && bytes <= b->bytes - (uint64_t)((const char *)ptr - b->base);
}

/* Returns the device whose own memory contains the address; −1 for host memory. */
int zbl_owner(const void *ptr) {
  const zbl_block *b = zbl_block_of(ptr);
  return b != NULL && b->kind == ZBL_OF_DEVICE ? b->device : -1;
}

/* Reports whether a copy may begin or end at ptr. HIP looks up where both ends are and treats the
 * kind of the copy as a hint (ROCm/clr, hipamd/src/hip_memory.cpp, ihipMemcpy_validate and
 * ihipMemcpyCommand). A copy must not run past the end of its allocation. Any device may be
 * current. */
int zbl_copyable(const void *ptr, size_t bytes) {
  return ptr != NULL && (zbl_block_of(ptr) == NULL || zbl_valid_range(ptr, bytes));
}
