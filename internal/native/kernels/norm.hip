/* after: prelude.h reduce.h number.h norm_list.h norm_held.h */
/* Residual addition, RMSNorm or LayerNorm, weight and bias in one pass:
 *
 *   r = round(x + residual)       written back, and used in all that follows
 *   y = round((r - mean) * scale * weight + bias)
 *
 * where scale = 1 / sqrt(mean of squares + eps). RMSNorm has no mean and no bias.
 * A row stays in registers between reading and writing, so that memory reads x,
 * residual and the weights once, and writes r and y once.
 *
 *   wave   a wave per row, many rows per block: up to 1,024 elements
 *   block  256 threads per row: up to 8,192
 *   large  1,024 threads per row: 32,768 elements stay in registers; further
 *          elements of r are read again from memory
 *
 * Except on AMD, a launch of `block` or `large` may have fewer threads, in
 * whole waves.
 *
 * If `wide` is 1, rows are whole vectors and a thread takes 16 bytes at once.
 * Otherwise a thread holds at most 16 elements and reads further elements again.
 * Sums are floats: at most 64 additions per thread, then a tree. */

/* Returns the sum over the threads that share a row. */
template <int BY> ZB_FN float zb_row_sum(float v) {
  if (BY == ZB_BY_wave) {
    ZB_UNROLLED
    for (int m = ZB_WAVE / 2; m > 0; m /= 2) {
      v += ZB_SHFL_XOR(v, m);
    }
    return v;
  }
  return zb_block_sum(v);
}

template <class T, int KIND, int WIDE, int BY>
ZB_FN void zb_norm(typename T::bits *r_out, typename T::bits *y,
                   const typename T::bits *x, const typename T::bits *residual,
                   const typename T::bits *weight,
                   const typename T::bits *bias, zb_u64 rows, zb_u32 hidden,
                   float eps) {
  typedef typename T::bits bits;
  typedef zb_shape<BY> shape;
  typedef zb_held<T, KIND, WIDE, BY> held;
  enum { N = held::N, HELD = held::HELD };
  typedef zb_few<bits, N> few;
  zb_u32 sharers = zb_sharers<BY>(), mine = zb_row_in_block<BY>();
  zb_u32 lane = threadIdx.x - mine * sharers;
  zb_u64 row =
      (zb_u64)blockIdx.x * ((int)shape::BLOCK / (int)shape::THREADS) + mine;
  zb_u64 start = row * hidden;
  float sum, mean = 0, scale;
  held part;
  /* begin of this thread's share of the elements that no thread holds in registers */
  zb_u32 step = sharers * N, rest = HELD * step + lane * N;
  if (row >= rows) {
    return; /* this ends a whole wave or a whole block */
  }
  part.start = start;
  part.lane = lane;
  part.hidden = hidden;
  sum = part.take(r_out, x, residual);
  ZB_ROLLED
  for (zb_u32 i = rest; i < hidden; i += step) {
    few a = *(const few *)(x + start + i);
    few b = *(const few *)(residual + start + i);
    ZB_UNROLLED
    for (int e = 0; e < N; e++) {
      float f;
      a.at[e] = T::narrow(T::wide(a.at[e]) + T::wide(b.at[e]));
      f = T::wide(a.at[e]);
      sum += KIND == ZB_NORM_layer ? f : f * f;
    }
    *(few *)(r_out + start + i) = a;
  }
  sum = zb_row_sum<BY>(sum);
  if (KIND == ZB_NORM_layer) {
    mean = sum / (float)hidden;
    sum = zb_squares(part, mean);
    ZB_ROLLED
    for (zb_u32 i = rest; i < hidden; i += step) {
      few a = *(const few *)(r_out + start + i);
      ZB_UNROLLED
      for (int e = 0; e < N; e++) {
        float d = T::wide(a.at[e]) - mean;
        sum += d * d;
      }
    }
    sum = zb_row_sum<BY>(sum);
  }
  scale = 1.0f / ZB_SQRT(sum / (float)hidden + eps);
  part.give(y, weight, bias, mean, scale);
  ZB_ROLLED
  for (zb_u32 i = rest; i < hidden; i += step) {
    few a = *(const few *)(r_out + start + i), w = *(const few *)(weight + i);
    few b = {};
    if (KIND == ZB_NORM_layer) {
      b = *(const few *)(bias + i);
    }
    ZB_UNROLLED
    for (int e = 0; e < N; e++) {
      float f = (T::wide(a.at[e]) - mean) * scale * T::wide(w.at[e]);
      a.at[e] = T::narrow(f + T::wide(b.at[e]));
    }
    *(few *)(y + start + i) = a;
  }
}

#define ZB_NORM_KERNEL(kind, t, wide, by)                                      \
  ZB_KERNEL_OF(zb_##kind##norm_##t##_##wide##_##by,                            \
               zb_shape<ZB_BY_##by>::BLOCK)                                    \
  (zb_##t::bits * r_out, zb_##t::bits * y, const zb_##t::bits *x,              \
   const zb_##t::bits *residual, const zb_##t::bits *weight,                   \
   const zb_##t::bits *bias, zb_u64 rows, zb_u32 hidden, float eps) {          \
    zb_norm<zb_##t, ZB_NORM_##kind, wide, ZB_BY_##by>(                         \
        r_out, y, x, residual, weight, bias, rows, hidden, eps);               \
  }
ZB_NORMS(ZB_NORM_KERNEL)
