/* Host versions of a program's own GPU kernels, for the loopback.
 *
 * The loopback runs no GPU code. A kernel that a program launches needs a host version.
 * Without a host version its launch fails (hipErrorNoBinaryForGpu), and so does everything
 * that waits for its stream. The owner of the kernels can supply host versions in a shared
 * object that exports zbench_kernel, and name it in ZBENCH_LOOPBACK_KERNELS. Several objects
 * are separated by ':'; the first object that knows a kernel is used. C and C++ can include
 * this file. */
#ifndef ZBENCH_KERNELS_H
#define ZBENCH_KERNELS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { ZBENCH_MOST_PARAMS = 32 };

/* A launch: blocks and threads in each dimension, and bytes of shared memory per block. The
 * function `symbol` returns the address, on the launch's device, of a variable of the device code
 * (__device__, __constant__, __managed__), or NULL. Its argument is the name that the compiler gave
 * the variable. It may be called while the kernel's version runs. */
typedef struct zbench_launch {
  unsigned grid[3], block[3];
  size_t shared;
  void *(*symbol)(const char *name);
} zbench_launch;

/* The host version of a kernel: the sizes of its arguments in bytes, and a function that does the
 * work of a whole launch. The array `args` has a pointer to each argument. The function runs when
 * the stream has reached the launch. It may read and write device memory at the addresses that it
 * gets as arguments, but must not call HIP or RCCL. */
typedef struct zbench_kernel_version {
  int params;
  size_t size[ZBENCH_MOST_PARAMS];
  void (*run)(const zbench_launch *launch, void **args);
} zbench_kernel_version;

/* Fills in the version of the kernel with the given name and returns 1; returns 0 for a
 * kernel that it does not know. The name is as the compiler wrote it into the program (in
 * C++ mangled). */
int zbench_kernel(const char *name, zbench_kernel_version *version);

#ifdef __cplusplus
}
#endif

#endif
