/* The table of kernels, and the way from HIP's kernelParams to a call. */
#include "table.h"

#include <string.h>

namespace {

/* Counts without the standard library: 0, 1, …, n-1 as a type. */
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

  static void run(kernel k, unsigned grid, unsigned block, void **params) {
    gridDim = {grid, 1, 1};
    blockDim = {block, 1, 1};
    for (unsigned b = 0; b < grid; b++) {
      blockIdx = {b, 0, 0};
      for (unsigned t = 0; t < block; t++) {
        threadIdx = {t, 0, 0};
        call(k, params, typename zbk_count<count>::type());
      }
    }
  }
};

/* Lets the arguments of a kernel be deduced from its address. */
template <typename... A> zbk_args<A...> zbk_args_of(void (*)(A...)) {
  return {};
}

} // namespace

#if ZBK_WIDE
#define ZBK_FOLDED(name)                                                       \
  (__builtin_cpu_supports("avx2") ? zbk_wide::name : zbk_plain::name)
#else
#define ZBK_FOLDED(name) zbk_plain::name
#endif

#define ZBK_RUNNERS(name)                                                      \
  typedef decltype(zbk_args_of(zbk_plain::name)) zbk_args_##name;              \
  static void zbk_host_##name(unsigned, unsigned, void **params) {             \
    zbk_args_##name::run(ZBK_FOLDED(name), 1, 1, params);                      \
  }                                                                            \
  static void zbk_threads_##name(unsigned grid, unsigned block,                \
                                 void **params) {                              \
    zbk_args_##name::run(zbk_threads::name, grid, block, params);              \
  }
#define ZBK_ROW(name, file)                                                    \
  {#name,           zbk_args_##name::count, zbk_args_##name::size,             \
   zbk_host_##name, zbk_threads_##name,     file},

/* A new kernel is one row here. */
#define ZBK_KERNELS(ROW)                                                       \
  ROW(zb_fill, "verify.hip")                                                   \
  ROW(zb_poison, "verify.hip")                                                 \
  ROW(zb_check, "verify.hip")                                                  \
  ROW(zb_explain, "verify.hip")                                                \
  ROW(zb_delay, "delay.hip")

#define ZBK_RUNNERS_ROW(name, file) ZBK_RUNNERS(name)
ZBK_KERNELS(ZBK_RUNNERS_ROW)

static const zbl_kernel zbk_table[] = {ZBK_KERNELS(ZBK_ROW)};

int zbl_kernel_count(void) {
  return static_cast<int>(sizeof zbk_table / sizeof zbk_table[0]);
}

const zbl_kernel *zbl_kernel_at(int i) { return &zbk_table[i]; }

const zbl_kernel *zbl_kernel_find(const char *name) {
  for (const zbl_kernel &k : zbk_table) {
    if (strcmp(k.name, name) == 0) {
      return &k;
    }
  }
  return nullptr;
}

void zbk_run(const zbl_kernel *k, unsigned grid, unsigned block, int folded,
             void **params) {
  (folded ? k->host : k->threads)(grid, block, params);
}
