/* Keeps the old content of memory that a kernel or a copy overwrites. A planted fault makes a
 * rank send that content, as if its NIC had read the memory before the GPU wrote the data
 * back. */
#include "stream.h"

#include <stdlib.h>
#include <string.h>

/* The number of latest writes whose old content is kept, and the largest number of bytes that are
 * kept of each. */
enum { ZBL_KEPT = 4, ZBL_MOST_KEPT = 64 << 20 };

static struct {
  const char *at;
  char *held;
  size_t bytes, room;
  const zbl_stream *writer;
  int copied;
} zbl_kept[ZBL_KEPT];
static int zbl_kept_next;

/* Returns the slot for the content at an address: the slot of an earlier write there, otherwise
 * the oldest one. */
static int zbl_kept_place(const char *to) {
  for (int i = 0; i < ZBL_KEPT; i++) {
    if (zbl_kept[i].at == to) {
      return i;
    }
  }
  return zbl_kept_next = (zbl_kept_next + 1) % ZBL_KEPT;
}

/* Keeps the content of the faulty device's memory from address `to` on. */
void zbl_before_write(const zbl_stream *s, const char *to, int copied) {
  const zbl_block *b = NULL;
  size_t bytes;
  int i;
  if (zbl.faults.data.kind == ZBL_STALE_SEND && s->device == zbl.faults.data.rank && zbl_owner(to) == s->device) {
    b = zbl_block_of(to);
  }
  if (b == NULL) {
    return;
  }
  bytes = b->bytes - (size_t)(to - b->base);
  bytes = bytes < ZBL_MOST_KEPT ? bytes : ZBL_MOST_KEPT;
  i = zbl_kept_place(to);
  if (zbl_kept[i].room < bytes) {
    free(zbl_kept[i].held);
    zbl_kept[i].held = malloc(bytes);
    zbl_kept[i].room = zbl_kept[i].held != NULL ? bytes : 0;
  }
  zbl_kept[i].at = to;
  zbl_kept[i].bytes = bytes <= zbl_kept[i].room ? bytes : 0;
  zbl_kept[i].writer = s;
  zbl_kept[i].copied = copied;
  memcpy(zbl_kept[i].held, to, zbl_kept[i].bytes);
}

/* Finds the last kept write that begins at or below an address, and returns the old content there.
 * Returns NULL if no content is kept. Also returns NULL if the fault applies only to writes
 * of another stream, only to copies, or only to streams of high priority, and the case is another. */
const char *zbl_stale(const zbl_stream *s, const char *from, uint64_t bytes) {
  int near = -1;
  for (int i = 0; i < ZBL_KEPT; i++) {
    const char *at = zbl_kept[i].at;
    if (at != NULL && at <= from && from + bytes <= at + zbl_kept[i].bytes && (near < 0 || at > zbl_kept[near].at)) {
      near = i;
    }
  }
  return near < 0 || (zbl.faults.data.across & 1 && zbl_kept[near].writer == s) ||
                 (zbl.faults.data.across & 2 && !zbl_kept[near].copied) ||
                 (zbl.faults.data.across & 4 && s->priority >= 0)
             ? NULL
             : zbl_kept[near].held + (from - zbl_kept[near].at);
}

void zbl_forget_stale(void) {
  for (int i = 0; i < ZBL_KEPT; i++) {
    free(zbl_kept[i].held);
  }
  memset(zbl_kept, 0, sizeof zbl_kept);
}
