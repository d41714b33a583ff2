/* The subset of HIP's and CUDA's language in which kernels are written, for the
 * host. A launch runs block after block in the calling thread.
 *
 * A kernel of plain loops walks over its work from ZB_LANE in steps of ZB_LANES.
 * unity.cc includes the sources of such kernels in two variants. In the folded
 * variant, with lane 0 of 1, a block is one thread, and a tile is one plain loop
 * that the compiler vectorises. The threads of these kernels share nothing, so
 * this folding changes no result. In the other variant, with real lanes, each
 * thread of each block runs as on a GPU, so that tests see its strides. Kernels
 * whose threads wait for each other exist only with real lanes; see
 * host_block.h. */
#ifndef ZB_HOST_H
#define ZB_HOST_H

#define ZB_HOST 1
#define ZB_KERNEL(name) static void name
#define ZB_KERNEL_OF(name, most) static void name
#define ZB_FN static inline __attribute__((always_inline))
#define ZB_METHOD inline __attribute__((always_inline))
/* A function body that several kernels share on the host; on a GPU each kernel inlines it. */
#define ZB_APART static __attribute__((noinline))

#define ZB_ROLLED
#define ZB_UNROLLED _Pragma("GCC unroll 64")

struct zbk_dim3 {
  unsigned x, y, z;
};
static thread_local zbk_dim3 threadIdx, blockIdx, blockDim, gridDim;

/* The counters of a unit that zb_clock reads; see clock.hip. */
static thread_local struct {
  unsigned long long cycles, ns;
} zbk_counters __attribute__((unused)); /* a test's program may not use the clock */

/* Atomic, because ranks in several threads may share a result. */
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
