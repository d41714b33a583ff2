/* The subset of HIP's and CUDA's language that kernels are written in, on the
 * host. A launch runs block after block in the calling thread.
 *
 * Kernels of plain loops walk their work from ZB_LANE in steps of ZB_LANES.
 * unity.cc includes their sources more than once: with lane 0 of 1, where a
 * block is one thread, and a tile one plain loop that the compiler turns into
 * vector code (nothing is shared between the threads of these kernels, so
 * folding them changes no result), and with real lanes, where each thread of
 * each block runs as on a GPU and tests see its strides. Kernels that wait for
 * each other exist with real lanes alone; see host_block.h. */
#ifndef ZB_HOST_H
#define ZB_HOST_H

#define ZB_HOST 1
#define ZB_KERNEL(name) static void name
#define ZB_KERNEL_OF(name, most) static void name
#define ZB_FN static inline __attribute__((always_inline))
#define ZB_METHOD inline __attribute__((always_inline))
/* a body that several kernels share; on a GPU each has its own */
#define ZB_APART static __attribute__((noinline))

#define ZB_ROLLED
#define ZB_UNROLLED _Pragma("GCC unroll 64")

struct zbk_dim3 {
  unsigned x, y, z;
};
static thread_local zbk_dim3 threadIdx, blockIdx, blockDim, gridDim;

/* What the counters of a unit show; see clock.hip. */
static thread_local struct {
  unsigned long long cycles, ns;
} zbk_counters __attribute__((unused)); /* a test's program may have no clock */

/* Ranks in several threads may share a result. */
#define ZB_ATOMIC_ADD(p, v) __atomic_fetch_add(p, v, __ATOMIC_RELAXED)
#define ZB_ATOMIC_MIN(p, v) zbk_atomic_min(p, v)

static inline void zbk_atomic_min(unsigned long long *at,
                                  unsigned long long value) {
  unsigned long long seen = __atomic_load_n(at, __ATOMIC_RELAXED);
  while (value < seen &&
         !__atomic_compare_exchange_n(at, &seen, value, true, __ATOMIC_RELAXED,
                                      __ATOMIC_RELAXED)) {
  }
}

#endif
