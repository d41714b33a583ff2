/* The kernels compiled into the binary: what the loopback launches. */
#ifndef ZBL_KERNELS_TABLE_H
#define ZBL_KERNELS_TABLE_H

#ifdef __cplusplus
extern "C" {
#endif

/* params is HIP's kernelParams: one pointer to each argument, nparams of them.
 * host runs a launch folded into one thread, whatever its grid and block (with
 * the plain loops of the kernels here that changes no result); threads runs
 * every thread of every block, as a GPU does, and is slow. */
typedef struct zbl_kernel {
  const char *name;
  int nparams;
  const unsigned char *size; /* of each argument in bytes */
  void (*host)(unsigned grid, unsigned block, void **params);
  void (*threads)(unsigned grid, unsigned block, void **params);
  const char *file; /* the source's name in this folder */
} zbl_kernel;

/* NULL when unknown */
const zbl_kernel *zbl_kernel_find(const char *name);

int zbl_kernel_count(void);
const zbl_kernel *zbl_kernel_at(int i);

/* For Go, which cannot call a function pointer. */
void zbk_run(const zbl_kernel *k, unsigned grid, unsigned block, int folded,
             void **params);

#ifdef __cplusplus
}
#endif

#endif
