/* Large copies, and other loops over bytes, on all CPUs of this process. */
#include "pool.h"
#include "world.h"

#include <string.h>
#include <sys/mman.h>

enum {
  ZBL_WIDE = 1 << 20, /* from this many bytes on, other threads are woken */
  ZBL_HUGE = 2 << 20  /* from this many bytes on, huge pages are requested */
};

/* Runs `work` on all of its parts. The caller holds the lock, so only one call runs at a time. */
void zbl_wide(void (*work)(unsigned part, unsigned parts, void **params),
              void **params, uint64_t bytes) {
  if (bytes < ZBL_WIDE) {
    work(0, 1, params);
    return;
  }
  if (zbl_pool_parts() == 0) {
    zbl_pool_start(zbl.cores > 0 ? zbl.cores : zbl_cpus());
  }
  zbl_pool_run(work, params);
}

/* Returns a part's share of n things in whole multiples of unit. *first is the start of the
 * share. */
uint64_t zbl_part_of(uint64_t n, uint64_t unit, unsigned part, unsigned parts,
                     uint64_t *first) {
  uint64_t each = ((n + parts - 1) / parts + unit - 1) / unit * unit;
  *first = each * part < n ? each * part : n;
  return each < n - *first ? each : n - *first;
}

/* Requests huge pages for bytes that are about to be read or written. All bytes will be used, and
 * one page fault replaces 512. */
void zbl_huge(char *to, uint64_t bytes) {
  uintptr_t from = ((uintptr_t)to + ZBL_HUGE - 1) & ~(uintptr_t)(ZBL_HUGE - 1);
  uintptr_t end = ((uintptr_t)to + bytes) & ~(uintptr_t)(ZBL_HUGE - 1);
  if (end > from) {
    madvise((void *)from, end - from, MADV_HUGEPAGE);
  }
}

static void zbl_copy_part(unsigned part, unsigned parts, void **params) {
  uint64_t first, bytes = zbl_part_of(*(uint64_t *)params[2], 4096, part, parts, &first);
  memcpy((char *)params[0] + first, (char *)params[1] + first, bytes);
}

void zbl_wide_copy(char *to, const char *from, uint64_t bytes) {
  void *params[] = {to, (void *)(uintptr_t)from, &bytes};
  zbl_huge(to, bytes);
  zbl_wide(zbl_copy_part, params, bytes);
}

static void zbl_fill_part(unsigned part, unsigned parts, void **params) {
  uint64_t first, bytes = zbl_part_of(*(uint64_t *)params[2], 4096, part, parts, &first);
  memset((char *)params[0] + first, *(int *)params[1], bytes);
}

void zbl_wide_fill(char *to, int value, uint64_t bytes) {
  void *params[] = {to, &value, &bytes};
  zbl_huge(to, bytes);
  zbl_wide(zbl_fill_part, params, bytes);
}
