/* The table of kernels. */
#include "host_run.h"

#if ZBK_WIDE
#define ZBK_PICKED(name)                                                       \
  (__builtin_cpu_supports("avx2") ? zbk_wide::name : zbk_plain::name)
#else
#define ZBK_PICKED(name) zbk_plain::name
#endif

/* A kernel of plain loops; see host.h. */
#define ZBK_LOOPS(name, file)                                                  \
  typedef decltype(zbk_args_of(zbk_threads::name)) zbk_args_##name;            \
  static void zbk_part_##name(unsigned part, unsigned parts, void **params) {  \
    zbk_args_##name::part(ZBK_PICKED(name), part, parts, params);              \
  }                                                                            \
  static int zbk_threads_##name(const zbk_launch *l, void **params, char *,    \
                                size_t) {                                      \
    return zbk_args_##name::threads(zbk_threads::name, l, params);             \
  }
#define ZBK_LOOPS_ROW(name, file)                                              \
  {#name, file, zbk_args_##name::count, zbk_args_##name::size,                 \
   0,     zbk_part_##name, zbk_threads_##name},

/* A kernel that cannot be folded into loops, although its threads do not wait for each other. */
#define ZBK_PLAIN(name, file)                                                  \
  typedef decltype(zbk_args_of(zbk_threads::name)) zbk_args_##name;            \
  static int zbk_threads_##name(const zbk_launch *l, void **params, char *,    \
                                size_t) {                                      \
    return zbk_args_##name::threads(zbk_threads::name, l, params);             \
  }

#define ZBK_PLAIN_ROW(name, file)                                              \
  {#name, file,    zbk_args_##name::count, zbk_args_##name::size,              \
   0,     nullptr, zbk_threads_##name},

/* A kernel whose threads wait for each other. */
#define ZBK_WAITS(name, file)                                                  \
  typedef decltype(zbk_args_of(zbk_threads::name)) zbk_args_##name;            \
  static int zbk_threads_##name(const zbk_launch *l, void **params, char *why, \
                                size_t size) {                                 \
    return zbk_args_##name::waiting(zbk_threads::name, l, params, why, size);  \
  }
#define ZBK_WAITS_ROW(name, file)                                              \
  {#name, file,    zbk_args_##name::count, zbk_args_##name::size,              \
   1,     nullptr, zbk_threads_##name},

/* A kernel of plain loops whose threads wait for each other only to combine their
 * results. It can run folded, or with one call per GPU thread. */
#define ZBK_SUMS(name, file)                                                   \
  ZBK_WAITS(name, file)                                                        \
  static void zbk_part_##name(unsigned part, unsigned parts, void **params) {  \
    zbk_args_##name::part(ZBK_PICKED(name), part, parts, params);              \
  }
#define ZBK_SUMS_ROW(name, file)                                               \
  {#name, file, zbk_args_##name::count, zbk_args_##name::size,                 \
   1,     zbk_part_##name, zbk_threads_##name},

/* The kernels. A new kernel is one row here: LOOPS, WAITS or SUMS. */
#define ZBK_KERNELS(LOOPS, WAITS, SUMS)                                        \
  LOOPS(zb_fill, "verify.hip")                                                 \
  LOOPS(zb_poison, "verify.hip")                                               \
  LOOPS(zb_check, "verify.hip")                                                \
  LOOPS(zb_explain, "verify.hip")                                              \
  LOOPS(zb_delay, "delay.hip")                                                 \
  LOOPS(zb_data_fill_f32, "data.hip")                                          \
  LOOPS(zb_data_fill_f64, "data.hip")                                          \
  LOOPS(zb_data_check_f32, "data.hip")                                         \
  LOOPS(zb_data_check_f64, "data.hip")                                         \
  SUMS(zb_data_sum_f32, "data.hip")                                            \
  SUMS(zb_data_sum_f64, "data.hip")                                            \
  WAITS(zb_muon_prepare, "muon_step.hip")                                      \
  WAITS(zb_muon_norm, "muon_step.hip")                                         \
  WAITS(zb_muon_orient, "muon_step.hip")                                       \
  WAITS(zb_muon_apply, "muon_step.hip")                                        \
  WAITS(zb_triangle_128, "muon_product.hip")                                   \
  WAITS(zb_triangle_64, "muon_product.hip")                                    \
  WAITS(zb_product_128, "muon_product.hip")                                    \
  WAITS(zb_product_64, "muon_product.hip")                                     \
  WAITS(zb_mirror, "muon_mirror.hip")

/* The instances of stream_list.h, one row each. */
#define ZBK_INSTANCE(op, t, u, nt) zb_##op##_##t##_##u##_##nt, "stream.hip"
#define ZBK_CALL(macro, ...) macro(__VA_ARGS__)
#define ZBK_MAP(op, t, type, u, nt) ZBK_CALL(ZBK_LOOPS, ZBK_INSTANCE(op, t, u, nt))
#define ZBK_SUM(op, t, type, u, nt) ZBK_CALL(ZBK_SUMS, ZBK_INSTANCE(op, t, u, nt))
#define ZBK_MAP_ROW(op, t, type, u, nt)                                        \
  ZBK_CALL(ZBK_LOOPS_ROW, ZBK_INSTANCE(op, t, u, nt))
#define ZBK_SUM_ROW(op, t, type, u, nt)                                        \
  ZBK_CALL(ZBK_SUMS_ROW, ZBK_INSTANCE(op, t, u, nt))

/* The instances of norm_list.h. */
#define ZBK_NORM_NAME(kind, t, wide, by)                                       \
  zb_##kind##norm_##t##_##wide##_##by, "norm.hip"
#define ZBK_NORM(kind, t, wide, by)                                            \
  ZBK_CALL(ZBK_WAITS, ZBK_NORM_NAME(kind, t, wide, by))
#define ZBK_NORM_ROW(kind, t, wide, by)                                        \
  ZBK_CALL(ZBK_WAITS_ROW, ZBK_NORM_NAME(kind, t, wide, by))
#define ZBK_STEPS_BY(PLAIN, WAITS, t, wide)                                    \
  ZBK_CALL(PLAIN, zb_step_add_##t##_##wide, "norm_steps.hip")                  \
  ZBK_CALL(WAITS, zb_step_stats_##t##_##wide, "norm_steps.hip")                \
  ZBK_CALL(PLAIN, zb_step_apply_##t##_##wide, "norm_steps.hip")                \
  ZBK_CALL(PLAIN, zb_step_affine_##t##_##wide, "norm_steps.hip")
#define ZBK_STEP(t, wide) ZBK_STEPS_BY(ZBK_PLAIN, ZBK_WAITS, t, wide)
#define ZBK_STEP_ROW(t, wide) ZBK_STEPS_BY(ZBK_PLAIN_ROW, ZBK_WAITS_ROW, t, wide)
#define ZBK_PLAINS(X)                                                           \
  X(zb_clock, "clock.hip")                                                     \
  X(zb_step_fill_bf16, "norm_steps.hip")                                       \
  X(zb_step_fill_f16, "norm_steps.hip")                                        \
  X(zb_step_fill_f32, "norm_steps.hip")                                        \
  X(zb_accumulate_bf16, "accumulate.hip")                                      \
  X(zb_accumulate_f16, "accumulate.hip")                                       \
  X(zb_accumulate_f32, "accumulate.hip")                                       \
  X(zb_accumulate_cast_bf16, "accumulate.hip")                                 \
  X(zb_accumulate_cast_f16, "accumulate.hip")                                  \
  X(zb_accumulate_cast_f32, "accumulate.hip")

ZB_NORMS(ZBK_NORM)
ZB_STEPS(ZBK_STEP)
ZBK_PLAINS(ZBK_PLAIN)
ZBK_KERNELS(ZBK_LOOPS, ZBK_WAITS, ZBK_SUMS)
ZB_STREAM_MAPS(ZBK_MAP)
ZB_STREAM_SUMS(ZBK_SUM)

static const zbl_kernel zbk_table[] = {
    ZBK_KERNELS(ZBK_LOOPS_ROW, ZBK_WAITS_ROW, ZBK_SUMS_ROW)
        ZB_STREAM_MAPS(ZBK_MAP_ROW) ZB_STREAM_SUMS(ZBK_SUM_ROW)
            ZB_NORMS(ZBK_NORM_ROW) ZB_STEPS(ZBK_STEP_ROW)
                ZBK_PLAINS(ZBK_PLAIN_ROW)};

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

void zbk_set_counters(unsigned long long cycles, unsigned long long ns) {
  zbk_counters = {cycles, ns};
}

int zbk_run(const zbl_kernel *k, const zbk_launch *l, int folded, void **params,
            char *why, size_t size) {
  if (folded && k->part != nullptr) {
    k->part(0, 1, params);
    return 0;
  }
  return k->threads(l, params, why, size);
}
