/* The instances of the norms: both kinds for three types, each with vectors of 16
 * bytes or, if rows are not whole vectors, element by element, and each with
 * three ways of sharing a row. */
#define ZB_NORM_WAYS(X, kind, t, wide)                                         \
  X(kind, t, wide, wave)                                                       \
  X(kind, t, wide, block)                                                      \
  X(kind, t, wide, large)
#define ZB_NORM_KIND(X, kind)                                                  \
  ZB_NORM_WAYS(X, kind, bf16, 1)                                               \
  ZB_NORM_WAYS(X, kind, bf16, 0)                                               \
  ZB_NORM_WAYS(X, kind, f16, 1)                                                \
  ZB_NORM_WAYS(X, kind, f16, 0)                                                \
  ZB_NORM_WAYS(X, kind, f32, 1)                                                \
  ZB_NORM_WAYS(X, kind, f32, 0)
#define ZB_NORMS(X) ZB_NORM_KIND(X, rms) ZB_NORM_KIND(X, layer)

/* The instances of the separate kernels in norm_steps.hip. */
#define ZB_STEPS_OF(X, t)                                                      \
  X(t, 1)                                                                      \
  X(t, 0)
#define ZB_STEPS(X) ZB_STEPS_OF(X, bf16) ZB_STEPS_OF(X, f16) ZB_STEPS_OF(X, f32)
