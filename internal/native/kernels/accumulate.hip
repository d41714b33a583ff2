/* after: prelude.h number.h */
/* sum = main + gradient, as a trainer adds the gradients of each microbatch to its
 * float32 gradients: fused, and as two kernels with the gradient in float32 between
 * them. The sum goes to a third matrix, so that a repeated launch has the same
 * input; the traffic is the same. */

template <typename B, int N> struct alignas(16) zb_accumulate_part { B at[N]; };

/* Calls F for each part of 8 elements, and for each element after the last whole part. */
template <typename S, typename D, class F>
ZB_FN void zb_accumulate_each(D *out, const S *in, const float *main, zb_u64 n, F of) {
  enum { N = 8 };
  typedef zb_accumulate_part<S, N> from;
  typedef zb_accumulate_part<D, N> to;
  typedef zb_accumulate_part<float, N> kept;
  zb_u64 whole = n / N * N;
  zb_u64 first = (zb_u64)blockIdx.x * blockDim.x + threadIdx.x;
  zb_u64 step = (zb_u64)gridDim.x * blockDim.x;
  for (zb_u64 i = first * N; i < whole; i += step * N) {
    from p = *(const from *)(in + i);
    kept q = {};
    to r;
    if (main) {
      q = *(const kept *)(main + i);
    }
    ZB_UNROLLED
    for (int e = 0; e < N; e++) {
      r.at[e] = of(p.at[e], q.at[e]);
    }
    *(to *)(out + i) = r;
  }
  for (zb_u64 i = whole + first; i < n; i += step) {
    out[i] = of(in[i], main ? main[i] : 0);
  }
}

template <class T> struct zb_accumulate_wide {
  ZB_METHOD float operator()(typename T::bits v, float main) const { return main + T::wide(v); }
};
template <class T> struct zb_accumulate_cast {
  ZB_METHOD float operator()(typename T::bits v, float) const { return T::wide(v); }
};

#define ZB_ACCUMULATE_KERNELS(t)                                               \
  ZB_KERNEL_OF(zb_accumulate_##t, 256)                                         \
  (float *out, const zb_##t::bits *gradient, const float *main, zb_u64 n) {    \
    zb_accumulate_each(out, gradient, main, n, zb_accumulate_wide<zb_##t>());  \
  }                                                                            \
  ZB_KERNEL_OF(zb_accumulate_cast_##t, 256)                                    \
  (float *out, const zb_##t::bits *gradient, zb_u64 n) {                       \
    zb_accumulate_each(out, gradient, (const float *)0, n,                     \
                       zb_accumulate_cast<zb_##t>());                          \
  }
ZB_ACCUMULATE_KERNELS(bf16)
ZB_ACCUMULATE_KERNELS(f16)
ZB_ACCUMULATE_KERNELS(f32)
