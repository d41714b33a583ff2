/* The kernels that are compiled into the binary. The loopback launches them. */
#ifndef ZBL_KERNELS_TABLE_H
#define ZBL_KERNELS_TABLE_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A launch: blocks and threads in each dimension, and the bytes of shared
 * memory that each block gets in addition to the kernel's own. */
typedef struct zbk_launch {
  unsigned grid[3], block[3], shared;
} zbk_launch;

enum { ZBK_MOST_THREADS = 1024, ZBK_MOST_SHARED = 64 << 10 };

/* A kernel. `params` is HIP's kernelParams: nparams pointers, one to each argument.
 *
 * `part` runs the work of a launch folded into loops, whatever its grid and block.
 * It does the whole work, or one part of `parts`; the parts may run at the same
 * time. It is NULL for kernels whose threads wait for each other. `threads` runs
 * every thread of every block, as a GPU does, and is slow. It returns 0, or 1 with
 * the reason. */
typedef struct zbl_kernel {
  const char *name;
  const char *file; /* name of the source in this folder */
  int nparams;
  const unsigned char *size; /* size of each argument in bytes */
  int barrier;               /* 1 if the threads wait for each other */
  void (*part)(unsigned part, unsigned parts, void **params);
  int (*threads)(const zbk_launch *l, void **params, char *why, size_t size);
} zbl_kernel;

/* Returns NULL for an unknown name. */
const zbl_kernel *zbl_kernel_find(const char *name);

int zbl_kernel_count(void);
const zbl_kernel *zbl_kernel_at(int i);

/* Runs a launch in this thread, folded if `folded` is set and folding is possible. */
int zbk_run(const zbl_kernel *k, const zbk_launch *l, int folded, void **params,
            char *why, size_t size);

/* Sets the counters of a unit that zb_clock reads when this thread runs it. */
void zbk_set_counters(unsigned long long cycles, unsigned long long ns);

#ifdef __cplusplus
}
#endif

#endif
