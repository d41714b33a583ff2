/* Host versions of a program's own GPU kernels, for the loopback.
 *
 * The loopback runs no GPU code. A kernel that a program launches needs a version for the
 * host: without one the launch fails (hipErrorNoBinaryForGpu), and so does all that waits
 * for its stream. Whoever has the kernels can supply them in a shared object that
 * exports zbench_kernel, and name it in ZBENCH_LOOPBACK_KERNELS (several: with ':' between
 * them; the first that knows a kernel has it). C and C++ can include this file. */
#ifndef ZBENCH_KERNELS_H
#define ZBENCH_KERNELS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { ZBENCH_MOST_PARAMS = 32 };

/* A launch: blocks and threads by dimension, and bytes of shared memory of a block. symbol
 * gives the address of a variable of the device code (__device__, __constant__, __managed__)
 * on the launch's device, by the name that the compiler gave it, or NULL; it may be called
 * while the version runs. */
typedef struct zbench_launch {
  unsigned grid[3], block[3];
  size_t shared;
  void *(*symbol)(const char *name);
} zbench_launch;

/* A kernel: the sizes of its arguments in bytes, and what does the work of a whole
 * launch. args has a pointer to each argument. It runs when the stream has come to it, and
 * may read and write device memory at the addresses that it is given; calls of HIP's
 * or RCCL's from in there are not allowed. */
typedef struct zbench_kernel_version {
  int params;
  size_t size[ZBENCH_MOST_PARAMS];
  void (*run)(const zbench_launch *launch, void **args);
} zbench_kernel_version;

/* Fills in the version of the kernel with that name, as the compiler wrote it into the
 * program (in C++ mangled), and returns 1, or returns 0 for one that it does not know. */
int zbench_kernel(const char *name, zbench_kernel_version *version);

#ifdef __cplusplus
}
#endif

#endif
