/* The handles that are there: HIP looks a stream, an event or a graph up before it
 * touches it, and so does the loopback. What is behind a handle begins with the magic
 * number of its kind. The caller holds the lock. */
#include "world.h"

#include <stdlib.h>

/* A set of addresses: each lies at its hash, or behind it before the next empty place. */
static struct {
  const void **at;
  size_t count, room; /* room: a power of two, at least twice the count */
} zbl_handles;

static size_t zbl_handle_hash(const void *p) {
  const uint64_t golden = 0x9e3779b97f4a7c15ull; /* 2⁶⁴ over the golden ratio */
  return (size_t)(((uint64_t)(uintptr_t)p * golden) >> 32) & (zbl_handles.room - 1);
}

/* Where the handle is, or the empty place where it would be. */
static size_t zbl_handle_place(const void *p) {
  size_t i = zbl_handle_hash(p);
  while (zbl_handles.at[i] != NULL && zbl_handles.at[i] != p) {
    i = (i + 1) & (zbl_handles.room - 1);
  }
  return i;
}

static void zbl_more_handles(void) {
  const void **old = zbl_handles.at;
  size_t room = zbl_handles.room;
  zbl_handles.room = room > 0 ? 2 * room : 256;
  zbl_handles.at = calloc(zbl_handles.room, sizeof *zbl_handles.at);
  if (zbl_handles.at == NULL) {
    abort();
  }
  for (size_t i = 0; i < room; i++) {
    if (old[i] != NULL) {
      zbl_handles.at[zbl_handle_place(old[i])] = old[i];
    }
  }
  free(old);
}

void zbl_add_handle(const void *p) {
  if (2 * (zbl_handles.count + 1) > zbl_handles.room) {
    zbl_more_handles();
  }
  zbl_handles.at[zbl_handle_place(p)] = p;
  zbl_handles.count++;
}

/* What lies behind it may have to move up: it would not be found beyond an empty place. */
void zbl_remove_handle(const void *p) {
  size_t mask = zbl_handles.room - 1, i;
  if (zbl_handles.room == 0 || zbl_handles.at[i = zbl_handle_place(p)] == NULL) {
    return;
  }
  zbl_handles.at[i] = NULL;
  zbl_handles.count--;
  for (i = (i + 1) & mask; zbl_handles.at[i] != NULL; i = (i + 1) & mask) {
    const void *moved = zbl_handles.at[i];
    zbl_handles.at[i] = NULL;
    zbl_handles.at[zbl_handle_place(moved)] = moved;
  }
}

/* What is behind a handle of that kind, NULL where it is none. */
void *zbl_behind(void *handle, uint32_t magic) {
  return handle != NULL && zbl_handles.room > 0 &&
                 zbl_handles.at[zbl_handle_place(handle)] != NULL && *(uint32_t *)handle == magic
             ? handle
             : NULL;
}

/* The world ends. */
void zbl_forget_handles(void) {
  free(zbl_handles.at);
  zbl_handles.at = NULL;
  zbl_handles.count = zbl_handles.room = 0;
}
