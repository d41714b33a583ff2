/* Valid handles. HIP looks up a stream, an event or a graph before it uses it, and so does the
 * loopback. The memory behind a handle begins with a magic number for its kind, or with 0 if it is
 * not in use. All handles lie in chunks of memory. A lookup therefore needs only the small set of
 * chunks and the handle's first cache line, which the caller reads next anyway. The caller holds
 * the lock. */
#include "world.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#ifdef __has_feature /* clang's way to detect the address sanitizer */
#if __has_feature(address_sanitizer) && !defined __SANITIZE_ADDRESS__
#define __SANITIZE_ADDRESS__ 1
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#include <sanitizer/lsan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#define ASAN_UNPOISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#define __lsan_register_root_region(p, n) ((void)(p), (void)(n))
#define __lsan_unregister_root_region(p, n) ((void)(p), (void)(n))
#endif

enum {
  ZBL_HANDLE_CHUNK = 1 << 20, /* size and alignment, in bytes */
  ZBL_LINE = 64,              /* in bytes; a handle has whole lines */
  ZBL_GRAIN = 8,              /* in bytes; the granularity of ASan's poisoning */
  ZBL_HANDLE_LINES = 3        /* the number of lines of the largest handle, a stream */
};

/* A handle that is not in use. Under ASan everything except the magic number is poisoned. */
typedef struct zbl_gap {
  uint32_t magic; /* always 0 */
  struct zbl_gap *next;
} zbl_gap;

/* The first cache line of a chunk. All handles in a chunk have the same size, so that handles
 * that are used together lie together. */
typedef struct zbl_chunk {
  uint32_t magic; /* always 0: the line is no handle */
  uint32_t size;  /* index into zbl_handles.of */
  size_t used;    /* in bytes */
} zbl_chunk;

/* The set of chunks, a hash table with linear probing. */
static struct {
  zbl_chunk **at;
  size_t count, room;      /* room is a power of two, at least twice the count */
  const zbl_chunk *recent; /* the chunk of the last lookup, or NULL */
  struct {
    zbl_chunk *newest;
    zbl_gap *gaps; /* handles that were freed */
  } of[ZBL_HANDLE_LINES];
} zbl_handles;

/* Returns the index of an address's chunk in the table, or of the empty entry where it would go. */
static size_t zbl_chunk_place(uintptr_t chunk) {
  const uint64_t golden = 0x9e3779b97f4a7c15ull; /* 2⁶⁴ divided by the golden ratio */
  size_t mask = zbl_handles.room - 1;
  size_t i = (size_t)(((uint64_t)chunk * golden) >> 32) & mask;
  while (zbl_handles.at[i] != NULL && (uintptr_t)zbl_handles.at[i] != chunk) {
    i = (i + 1) & mask;
  }
  return i;
}

static void zbl_more_chunks(void) {
  zbl_chunk **old = zbl_handles.at;
  size_t room = zbl_handles.room;
  zbl_handles.room = room > 0 ? 2 * room : 16;
  zbl_handles.at = calloc(zbl_handles.room, sizeof *zbl_handles.at);
  if (zbl_handles.at == NULL) {
    abort();
  }
  for (size_t i = 0; i < room; i++) {
    if (old[i] != NULL) {
      zbl_handles.at[zbl_chunk_place((uintptr_t)old[i])] = old[i];
    }
  }
  free(old);
}

/* Maps a chunk of zeros, and unmaps the excess that the alignment needed. Returns NULL if there is
 * no memory. */
static zbl_chunk *zbl_map_chunk(void) {
  char *p = mmap(NULL, 2 * ZBL_HANDLE_CHUNK, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  size_t ahead;
  if (p == MAP_FAILED) {
    return NULL;
  }
  ahead = (size_t)(-(uintptr_t)p % ZBL_HANDLE_CHUNK);
  if (ahead > 0) {
    munmap(p, ahead);
  }
  munmap(p + ahead + ZBL_HANDLE_CHUNK, ZBL_HANDLE_CHUNK - ahead);
  __lsan_register_root_region(p + ahead, ZBL_HANDLE_CHUNK);
  return (zbl_chunk *)(void *)(p + ahead);
}

static zbl_chunk *zbl_add_chunk(uint32_t size) {
  zbl_chunk *chunk = zbl_map_chunk();
  if (chunk == NULL) {
    return NULL;
  }
  if (2 * (zbl_handles.count + 1) > zbl_handles.room) {
    zbl_more_chunks();
  }
  *chunk = (zbl_chunk){.size = size, .used = ZBL_LINE};
  zbl_handles.at[zbl_chunk_place((uintptr_t)chunk)] = chunk;
  zbl_handles.count++;
  return zbl_handles.of[size].newest = chunk;
}

static size_t zbl_handle_bytes(uint32_t size) { return (size + 1) * (size_t)ZBL_LINE; }

static zbl_chunk *zbl_chunk_of(void *p) {
  return (zbl_chunk *)(void *)((char *)p - (uintptr_t)p % ZBL_HANDLE_CHUNK);
}

void *zbl_new_handle(size_t bytes) {
  uint32_t size = (uint32_t)((bytes - 1) / ZBL_LINE);
  size_t whole = zbl_handle_bytes(size);
  zbl_chunk *chunk;
  zbl_gap *gap;
  if (size >= ZBL_HANDLE_LINES) {
    abort(); /* too small: raise ZBL_HANDLE_LINES */
  }
  gap = zbl_handles.of[size].gaps;
  if (gap != NULL) {
    ASAN_UNPOISON_MEMORY_REGION(gap, whole);
    zbl_handles.of[size].gaps = gap->next;
    return memset(gap, 0, whole);
  }
  chunk = zbl_handles.of[size].newest;
  if (chunk == NULL || chunk->used + whole > ZBL_HANDLE_CHUNK) {
    chunk = zbl_add_chunk(size);
  }
  if (chunk == NULL) {
    return NULL;
  }
  chunk->used += whole;
  return (char *)chunk + chunk->used - whole;
}

void zbl_free_handle(void *p) {
  uint32_t size = zbl_chunk_of(p)->size;
  zbl_gap *gap = p;
  *gap = (zbl_gap){.next = zbl_handles.of[size].gaps}; /* ASan reports this write if the handle is
                                                        * already free */
  zbl_handles.of[size].gaps = gap;
  ASAN_POISON_MEMORY_REGION((char *)p + ZBL_GRAIN, zbl_handle_bytes(size) - ZBL_GRAIN);
}

/* Returns the object behind a handle; NULL if the handle is invalid. A line inside an object could
 * pass as a handle only if it began with the magic number, with a chance of 1 in 2³². A host
 * launches on its streams in the order in which it made them, so this function prefetches the next
 * stream's line. */
void *zbl_behind(void *handle, uint32_t magic) {
  const zbl_chunk *chunk;
  if ((uintptr_t)handle % ZBL_LINE != 0 || (uintptr_t)handle < ZBL_HANDLE_CHUNK) {
    return NULL; /* no chunk is at address 0, the initial value of `recent` */
  }
  chunk = zbl_chunk_of(handle);
  if (chunk != zbl_handles.recent) {
    if (zbl_handles.count == 0 || zbl_handles.at[zbl_chunk_place((uintptr_t)chunk)] == NULL) {
      return NULL;
    }
    zbl_handles.recent = chunk;
  }
  __builtin_prefetch((const char *)handle + ZBL_HANDLE_LINES * ZBL_LINE);
  return *(uint32_t *)handle == magic ? handle : NULL;
}

/* Forgets all handles when the world ends. */
void zbl_forget_handles(void) {
  for (size_t i = 0; i < zbl_handles.room; i++) {
    if (zbl_handles.at[i] != NULL) {
      ASAN_UNPOISON_MEMORY_REGION(zbl_handles.at[i], ZBL_HANDLE_CHUNK);
      __lsan_unregister_root_region(zbl_handles.at[i], ZBL_HANDLE_CHUNK);
      munmap(zbl_handles.at[i], ZBL_HANDLE_CHUNK);
    }
  }
  free(zbl_handles.at);
  memset(&zbl_handles, 0, sizeof zbl_handles);
}
