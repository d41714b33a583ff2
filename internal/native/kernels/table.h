/* The kernels compiled into the binary: what the loopback launches. */
#ifndef ZBL_KERNELS_TABLE_H
#define ZBL_KERNELS_TABLE_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A launch: blocks and threads by dimension, and bytes of shared memory that
 * each block gets besides the kernel's own. */
typedef struct zbk_launch {
  unsigned grid[3], block[3], shared;
} zbk_launch;

enum { ZBK_MOST_THREADS = 1024, ZBK_MOST_SHARED = 64 << 10 };

/* params is HIP's kernelParams: one pointer to each argument, nparams of them.
 *
 * part runs the work of a launch folded into loops of a thread, whatever its
 * grid and block, or one part of parts of it, which may run at once; NULL for
 * kernels whose threads wait for each other. threads runs every thread of every
 * block, as a GPU does, and is slow; it returns 0, or 1 with the reason. */
typedef struct zbl_kernel {
  const char *name;
  const char *file; /* the source's name in this folder */
  int nparams;
  const unsigned char *size; /* of each argument in bytes */
  int barrier;               /* whether its threads wait for each other */
  void (*part)(unsigned part, unsigned parts, void **params);
  int (*threads)(const zbk_launch *l, void **params, char *why, size_t size);
} zbl_kernel;

/* NULL when unknown */
const zbl_kernel *zbl_kernel_find(const char *name);

int zbl_kernel_count(void);
const zbl_kernel *zbl_kernel_at(int i);

/* Runs a launch in this thread, folded if that is asked for and possible. */
int zbk_run(const zbl_kernel *k, const zbk_launch *l, int folded, void **params,
            char *why, size_t size);

/* What the counters of a unit show to the kernels that this thread runs next. */
void zbk_set_counters(unsigned long long cycles, unsigned long long ns);

#ifdef __cplusplus
}
#endif

#endif
