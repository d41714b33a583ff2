/* Allocates memory in the arena. Blocks have sizes that are powers of two, and free blocks are
 * kept by size. The caller holds the lock. */
#include "world.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

/* The header of a block. */
typedef struct zbl_head {
  uint32_t class, kept; /* kept: the block is free and has its pages */
  zbl_ref next;         /* the next free block of the class */
} zbl_head;

/* A free block of at least ZBL_LARGE bytes gives its pages back to the host. ZBL_KEEP bytes of
 * free blocks keep their pages, because the next launch moves as much data, and clearing pages
 * takes longer than computing their contents. */
enum { ZBL_LARGE = 1 << 20, ZBL_PAGE = 4096 };
static const uint64_t ZBL_KEEP = 8ull << 30; /* in bytes of address space, of which half may have
                                              * pages */

/* Returns the address of an offset. The sum is computed with integers, which wrap: a block that
 * only this process uses is outside of the arena. */
void *zbl_at(zbl_ref at) {
  return at == 0 ? NULL : (void *)((uintptr_t)zbl.arena + at);
}

zbl_ref zbl_ref_of(const void *p) {
  return p == NULL ? 0 : (uintptr_t)p - (uintptr_t)zbl.arena;
}

static unsigned zbl_class_of(size_t bytes) {
  return 64 - (unsigned)__builtin_clzll(bytes + sizeof(zbl_head) + 63);
}

__attribute__((noreturn)) static void zbl_does_not_fit(size_t bytes, const char *where) {
  fprintf(stderr, "zbench loopback: %zu bytes do not fit into %s\n", bytes, where);
  abort();
}

/* Reserves space on the file system for a large block in the file where processes meet. Without
 * space, a process that touches a page would be killed without a message. */
static void zbl_make_room(zbl_head *head, size_t bytes) {
  off_t from = (off_t)zbl_ref_of(head);
  if (zbl.shared_fd >= 0 && 1ull << head->class >= ZBL_LARGE &&
      fallocate(zbl.shared_fd, 0, from, (off_t)(bytes + sizeof *head)) != 0 && errno == ENOSPC) {
    zbl_does_not_fit(bytes, "the file system of the file where processes meet "
                            "(ZBENCH_LOOPBACK_SHARED): choose a folder with more by TMPDIR");
  }
}

/* Returns a free block of a size class; NULL if there is none. */
static zbl_head *zbl_take_spare(unsigned class) {
  zbl_head *head = zbl_at(class < ZBL_CLASSES ? zbl.hub->spare[class] : 0);
  if (head == NULL) {
    return NULL;
  }
  zbl.hub->spare[class] = head->next;
  zbl.kept = zbl.kept == head ? NULL : zbl.kept;
  if (head->kept) {
    head->kept = 0;
    zbl.hub->kept -= 1ull << class;
  }
  return head;
}

/* Returns a block of at least `bytes` bytes. Its old content is not cleared. */
void *zbl_new(size_t bytes) {
  unsigned class = zbl_class_of(bytes);
  zbl_head *head = zbl_take_spare(class);
  uint64_t size = 1ull << class;
  if (head == NULL) {
    if (class >= ZBL_CLASSES || size > zbl.hub->bytes - zbl.hub->used) {
      zbl_does_not_fit(bytes, "the world's memory");
    }
    head = zbl_at(zbl.hub->used);
    *head = (zbl_head){.class = class};
    zbl.hub->used += size;
  }
  zbl_make_room(head, bytes);
  return head + 1;
}

/* Returns a block that only this process reads. Large blocks of this kind are not in the file
 * where processes meet, so that they are not written to disk. */
void *zbl_new_own(size_t bytes) {
  unsigned class = zbl_class_of(bytes);
  zbl_head *head = zbl.kept;
  if (zbl.shared_fd < 0 || 1ull << class < ZBL_LARGE) {
    return zbl_new(bytes);
  }
  if (head != NULL && head->class == class) {
    zbl.kept = NULL;
    return head + 1;
  }
  head = mmap(NULL, 1ull << class, PROT_READ | PROT_WRITE,
              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (head == MAP_FAILED) {
    zbl_does_not_fit(bytes, "this process's memory");
  }
  *head = (zbl_head){.class = class};
  return head + 1;
}

static int zbl_is_own(const void *p) { return zbl_ref_of(p) >= zbl.mapped; }

/* Frees a block that only this process uses. The last one freed is kept for reuse. */
static void zbl_drop_own(zbl_head *head) {
  zbl_head *last = zbl.kept;
  zbl.kept = head;
  if (last != NULL) {
    munmap(last, 1ull << last->class);
  }
}

/* Frees the kept memory outside of the arena when the world ends. */
void zbl_free_own(void) {
  if (zbl.kept != NULL && zbl_is_own(zbl.kept)) {
    munmap(zbl.kept, 1ull << ((zbl_head *)zbl.kept)->class);
  }
  zbl.kept = NULL;
}

/* Gives the pages of a free block back to the host, except the page with the header. */
static void zbl_give_back(zbl_head *head) {
  uintptr_t from = ((uintptr_t)(head + 1) + ZBL_PAGE - 1) & ~(uintptr_t)(ZBL_PAGE - 1);
  uintptr_t to = ((uintptr_t)head + (1ull << head->class)) & ~(uintptr_t)(ZBL_PAGE - 1);
  madvise((void *)from, to - from, zbl.shared_fd >= 0 ? MADV_REMOVE : MADV_DONTNEED);
}

/* Frees a block. If one process drives the world, only the last freed large block keeps its pages;
 * otherwise as many blocks keep them as ZBL_KEEP allows. */
void zbl_drop(void *p) {
  zbl_head *head, *last;
  uint64_t size;
  if (p == NULL) {
    return;
  }
  head = (zbl_head *)p - 1;
  if (zbl_is_own(head)) {
    zbl_drop_own(head);
    return;
  }
  size = 1ull << head->class;
  head->next = zbl.hub->spare[head->class];
  zbl.hub->spare[head->class] = zbl_ref_of(head);
  if (size < ZBL_LARGE) {
    return;
  }
  if (zbl.shared_fd >= 0) {
    head->kept = zbl.hub->kept + size <= ZBL_KEEP;
    zbl.hub->kept += head->kept ? size : 0;
    last = head->kept ? NULL : head;
  } else {
    last = zbl.kept;
    zbl.kept = head;
  }
  if (last != NULL) {
    zbl_give_back(last);
  }
}
