/* Memory of the arena: blocks of powers of two, kept by size when they are free.
 * The caller holds the lock. */
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

/* Stands before each block. */
typedef struct zbl_head {
  uint64_t class;
  zbl_ref next; /* of the free ones */
} zbl_head;

/* From this size on the host gets a free block's pages back. */
enum { ZBL_LARGE = 1 << 20, ZBL_PAGE = 4096 };

void *zbl_at(zbl_ref at) { return at == 0 ? NULL : zbl.arena + at; }

zbl_ref zbl_ref_of(const void *p) {
  return p == NULL ? 0 : (zbl_ref)((const char *)p - zbl.arena);
}

/* A block that holds so many bytes; what is in it is left over. */
void *zbl_new(size_t bytes) {
  unsigned class = 64 - (unsigned)__builtin_clzll(bytes + sizeof(zbl_head) + 63);
  zbl_head *head = zbl_at(class < ZBL_CLASSES ? zbl.hub->spare[class] : 0);
  uint64_t size = 1ull << class;
  if (head != NULL) {
    zbl.hub->spare[class] = head->next;
    zbl.kept = zbl.kept == head ? NULL : zbl.kept;
    return head + 1;
  }
  if (class >= ZBL_CLASSES || size > zbl.hub->bytes - zbl.hub->used) {
    fprintf(stderr, "zbench loopback: %zu bytes do not fit into the world's memory\n",
            bytes);
    abort();
  }
  head = zbl_at(zbl.hub->used);
  head->class = class;
  zbl.hub->used += size;
  return head + 1;
}

/* Gives a free block's pages back to the host; the one with the head stays. */
static void zbl_give_back(zbl_head *head) {
  uintptr_t from = ((uintptr_t)(head + 1) + ZBL_PAGE - 1) & ~(uintptr_t)(ZBL_PAGE - 1);
  uintptr_t to = ((uintptr_t)head + (1ull << head->class)) & ~(uintptr_t)(ZBL_PAGE - 1);
  madvise((void *)from, to - from, zbl.shared_fd >= 0 ? MADV_REMOVE : MADV_DONTNEED);
}

/* In one process the large block that was freed last keeps its pages: the next result is
 * as large, and clearing pages takes as long as computing it. */
void zbl_drop(void *p) {
  zbl_head *head, *last;
  if (p == NULL) {
    return;
  }
  head = (zbl_head *)p - 1;
  head->next = zbl.hub->spare[head->class];
  zbl.hub->spare[head->class] = zbl_ref_of(head);
  if (1ull << head->class < ZBL_LARGE) {
    return;
  }
  last = zbl.shared_fd >= 0 ? head : zbl.kept;
  zbl.kept = zbl.shared_fd >= 0 ? NULL : head;
  if (last != NULL) {
    zbl_give_back(last);
  }
}
