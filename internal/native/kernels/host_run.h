/* Runs a launch on the host: from HIP's kernelParams to the threads of a grid. */
#ifndef ZB_HOST_RUN_H
#define ZB_HOST_RUN_H

#include "host_block.h"
#include "table.h"

/* The stacks and the shared memory of a launch. They are kept for the next
 * launch, because making them takes longer than a small launch. If another thread
 * launches at the same time, it makes a place of its own. */
struct zbk_place {
  zbk_block block;
  zbk_thread threads[ZBK_MOST_THREADS];
  char *stacks;
  size_t stride;
  alignas(64) char shared[ZBK_SHARED_BYTES];
};

static zbk_place *zbk_kept;

static void zbk_place_free(zbk_place *p) {
  if (p != NULL && p->stacks != NULL) {
    munmap(p->stacks, ZBK_MOST_THREADS * p->stride);
  }
  free(p);
}

static zbk_place *zbk_place_take(void) {
  zbk_place *p = __atomic_exchange_n(&zbk_kept, (zbk_place *)NULL,
                                     __ATOMIC_ACQ_REL);
  if (p != NULL) {
    return p;
  }
  p = static_cast<zbk_place *>(aligned_alloc(64, (sizeof *p + 63) / 64 * 64));
  if (p == NULL) {
    return NULL;
  }
  memset(static_cast<void *>(p), 0, sizeof *p);
  p->stacks = zbk_stacks(ZBK_MOST_THREADS, &p->stride);
  if (p->stacks == NULL) {
    zbk_place_free(p);
    return NULL;
  }
  p->block.threads = p->threads;
  p->block.shared = p->shared;
  return p;
}

static void zbk_place_give(zbk_place *p) {
  zbk_place_free(__atomic_exchange_n(&zbk_kept, p, __ATOMIC_ACQ_REL));
}

/* Calls `each` for every block, with the first dimension varying fastest. Stops
 * when a call returns false. */
template <class Each>
static void zbk_blocks(const zbk_launch *l, Each each) {
  gridDim = {l->grid[0], l->grid[1], l->grid[2]};
  blockDim = {l->block[0], l->block[1], l->block[2]};
  for (unsigned z = 0; z < l->grid[2]; z++) {
    for (unsigned y = 0; y < l->grid[1]; y++) {
      for (unsigned x = 0; x < l->grid[0]; x++) {
        blockIdx = {x, y, z};
        if (!each()) {
          return;
        }
      }
    }
  }
}

static inline int zbk_waiting(const zbk_launch *l, void (*body)(void *),
                              void *argument, char *why, size_t size) {
  zbk_place *p = zbk_place_take();
  int failed;
  if (p == NULL) {
    snprintf(why, size, "no memory for the stacks of a block");
    return 1;
  }
  p->block.count = l->block[0] * l->block[1] * l->block[2];
  p->block.body = body;
  p->block.argument = argument;
  p->block.why[0] = '\0';
  zbk_blocks(l, [l, p] {
    zbk_block_run(&p->block, l->shared, p->stacks, p->stride);
    return p->block.why[0] == '\0';
  });
  failed = p->block.why[0] != '\0';
  snprintf(why, size, "%s", p->block.why);
  zbk_place_give(p);
  return failed;
}

/* The numbers 0, 1, …, n-1 as a type, without the standard library. */
template <int... I> struct zbk_indices {};
template <int N, int... I>
struct zbk_count : zbk_count<N - 1, N - 1, I...> {};
template <int... I> struct zbk_count<0, I...> {
  typedef zbk_indices<I...> type;
};

template <typename... A> struct zbk_args {
  typedef void (*kernel)(A...);
  static constexpr int count = sizeof...(A);
  static constexpr unsigned char size[] = {sizeof(A)...};

  template <int... I>
  static void call(kernel k, void **params, zbk_indices<I...>) {
    k(*static_cast<A *>(params[I])...);
  }
  static void call(kernel k, void **params) {
    call(k, params, typename zbk_count<count>::type());
  }

  static void part(kernel k, unsigned part, unsigned parts, void **params) {
    gridDim = {parts, 1, 1};
    blockDim = {1, 1, 1};
    blockIdx = {part, 0, 0};
    threadIdx = {0, 0, 0};
    call(k, params);
  }

  /* Runs every thread of every block, one after the other, for kernels that never wait. */
  static int threads(kernel k, const zbk_launch *l, void **params) {
    zbk_blocks(l, [=] {
      for (unsigned z = 0; z < l->block[2]; z++) {
        for (unsigned y = 0; y < l->block[1]; y++) {
          for (unsigned x = 0; x < l->block[0]; x++) {
            threadIdx = {x, y, z};
            call(k, params);
          }
        }
      }
      return true;
    });
    return 0;
  }

  /* Runs the threads of each block on their own stacks, for kernels that wait. */
  static int waiting(kernel k, const zbk_launch *l, void **params, char *why,
                     size_t size) {
    struct work {
      kernel k;
      void **params;
    } w = {k, params};
    return zbk_waiting(
        l,
        [](void *argument) {
          work *w = static_cast<work *>(argument);
          call(w->k, w->params);
        },
        &w, why, size);
  }
};

/* Deduces the types of a kernel's arguments from its address. */
template <typename... A> zbk_args<A...> zbk_args_of(void (*)(A...)) {
  return {};
}

#endif
