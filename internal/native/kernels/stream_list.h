/* The instances of the streams: each for both types, with 1 to 8 loads of 16
 * bytes before any store, with ordinary and with non-temporal accesses. */
#define ZB_STREAM_WAYS(X, op, t, type)                                         \
  X(op, t, type, 1, 0)                                                         \
  X(op, t, type, 2, 0)                                                         \
  X(op, t, type, 4, 0)                                                         \
  X(op, t, type, 8, 0)                                                         \
  X(op, t, type, 1, 1)                                                         \
  X(op, t, type, 2, 1)                                                         \
  X(op, t, type, 4, 1)                                                         \
  X(op, t, type, 8, 1)
#define ZB_STREAM_TYPES(X, op)                                                 \
  ZB_STREAM_WAYS(X, op, f32, float)                                            \
  ZB_STREAM_WAYS(X, op, f64, double)
/* streams that write an array, and streams that compute a sum */
#define ZB_STREAM_MAPS(X)                                                      \
  ZB_STREAM_TYPES(X, write)                                                    \
  ZB_STREAM_TYPES(X, copy)                                                     \
  ZB_STREAM_TYPES(X, scale)                                                    \
  ZB_STREAM_TYPES(X, add)                                                      \
  ZB_STREAM_TYPES(X, triad)
#define ZB_STREAM_SUMS(X)                                                      \
  ZB_STREAM_TYPES(X, read)                                                     \
  ZB_STREAM_TYPES(X, dot)
