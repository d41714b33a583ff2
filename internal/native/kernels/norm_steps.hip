/* after: prelude.h mix.h value.h reduce.h number.h norm_list.h */
/* The work of norm.hip kernel by kernel, as in a framework without fusion:
 * addition, statistics, normalisation, affine. Each kernel rounds its results
 * to the type. */

template <typename B, int N> struct alignas(N * sizeof(B)) zb_part { B at[N]; };

template <class T, int WIDE> struct zb_step_type {
  typedef typename T::bits bits;
  enum { N = WIDE ? 16 / sizeof(bits) : 1 };
  typedef zb_part<bits, N> part;
};

/* Computes out = a + b for n elements. */
template <class T, int WIDE>
ZB_FN void zb_step_add(typename T::bits *out, const typename T::bits *a,
                       const typename T::bits *b, zb_u64 n) {
  typedef zb_step_type<T, WIDE> type;
  zb_u64 step = (zb_u64)gridDim.x * blockDim.x * type::N;
  for (zb_u64 i = ((zb_u64)blockIdx.x * blockDim.x + threadIdx.x) * type::N;
       i < n; i += step) {
    typename type::part p = *(const typename type::part *)(a + i);
    typename type::part q = *(const typename type::part *)(b + i);
    ZB_UNROLLED
    for (int e = 0; e < type::N; e++) {
      p.at[e] = T::narrow(T::wide(p.at[e]) + T::wide(q.at[e]));
    }
    *(typename type::part *)(out + i) = p;
  }
}

/* Sets stats[2 row] to the mean (0 unless centred) and stats[2 row + 1] to the
 * scale. One block per row. */
template <class T, int WIDE>
ZB_FN void zb_step_stats(float *stats, const typename T::bits *r,
                         zb_u32 hidden, float eps, int centred) {
  typedef zb_step_type<T, WIDE> type;
  const typename T::bits *row = r + (zb_u64)blockIdx.x * hidden;
  float sum = 0, mean = 0;
  for (int pass = centred ? 0 : 1; pass < 2; pass++) {
    sum = 0;
    for (zb_u32 i = threadIdx.x * type::N; i < hidden;
         i += blockDim.x * type::N) {
      typename type::part p = *(const typename type::part *)(row + i);
      ZB_UNROLLED
      for (int e = 0; e < type::N; e++) {
        float d = T::wide(p.at[e]) - mean;
        sum += pass ? d * d : d;
      }
    }
    sum = zb_block_sum(sum) / (float)hidden;
    mean = pass ? mean : sum;
  }
  if (threadIdx.x == 0) {
    stats[2 * (zb_u64)blockIdx.x] = mean;
    stats[2 * (zb_u64)blockIdx.x + 1] = 1.0f / ZB_SQRT(sum + eps);
  }
}

/* Computes out = (r - mean) scale. One block per row. */
template <class T, int WIDE>
ZB_FN void zb_step_apply(typename T::bits *out, const typename T::bits *r,
                         const float *stats, zb_u32 hidden) {
  typedef zb_step_type<T, WIDE> type;
  zb_u64 start = (zb_u64)blockIdx.x * hidden;
  float mean = stats[2 * (zb_u64)blockIdx.x];
  float scale = stats[2 * (zb_u64)blockIdx.x + 1];
  for (zb_u32 i = threadIdx.x * type::N; i < hidden;
       i += blockDim.x * type::N) {
    typename type::part p = *(const typename type::part *)(r + start + i);
    ZB_UNROLLED
    for (int e = 0; e < type::N; e++) {
      p.at[e] = T::narrow((T::wide(p.at[e]) - mean) * scale);
    }
    *(typename type::part *)(out + start + i) = p;
  }
}

/* Computes y = y weight + bias. Without a bias, bias is NULL. One block per row. */
template <class T, int WIDE>
ZB_FN void zb_step_affine(typename T::bits *y, const typename T::bits *weight,
                          const typename T::bits *bias, zb_u32 hidden) {
  typedef zb_step_type<T, WIDE> type;
  zb_u64 start = (zb_u64)blockIdx.x * hidden;
  for (zb_u32 i = threadIdx.x * type::N; i < hidden;
       i += blockDim.x * type::N) {
    typename type::part p = *(const typename type::part *)(y + start + i);
    typename type::part w = *(const typename type::part *)(weight + i), b = {};
    if (bias) {
      b = *(const typename type::part *)(bias + i);
    }
    ZB_UNROLLED
    for (int e = 0; e < type::N; e++) {
      p.at[e] = T::narrow(T::wide(p.at[e]) * T::wide(w.at[e]) +
                          T::wide(b.at[e]));
    }
    *(typename type::part *)(y + start + i) = p;
  }
}

/* Fills a matrix or a weight with the floats of kernels/data.hip, rounded to the type. */
template <class T>
ZB_FN void zb_step_fill(typename T::bits *out, zb_u64 n, zb_u32 array,
                        zb_u64 seed) {
  for (zb_u64 i = (zb_u64)blockIdx.x * blockDim.x + threadIdx.x; i < n;
       i += (zb_u64)gridDim.x * blockDim.x) {
    out[i] = T::narrow(zb_values<float>::at(seed, array, i));
  }
}

#define ZB_STEP_KERNELS(t, wide)                                               \
  ZB_KERNEL_OF(zb_step_add_##t##_##wide, 256)                                  \
  (zb_##t::bits * out, const zb_##t::bits *a, const zb_##t::bits *b,           \
   zb_u64 n) {                                                                 \
    zb_step_add<zb_##t, wide>(out, a, b, n);                                   \
  }                                                                            \
  ZB_KERNEL_OF(zb_step_stats_##t##_##wide, 256)                                \
  (float *stats, const zb_##t::bits *r, zb_u32 hidden, float eps,              \
   int centred) {                                                              \
    zb_step_stats<zb_##t, wide>(stats, r, hidden, eps, centred);               \
  }                                                                            \
  ZB_KERNEL_OF(zb_step_apply_##t##_##wide, 256)                                \
  (zb_##t::bits * out, const zb_##t::bits *r, const float *stats,              \
   zb_u32 hidden) {                                                            \
    zb_step_apply<zb_##t, wide>(out, r, stats, hidden);                        \
  }                                                                            \
  ZB_KERNEL_OF(zb_step_affine_##t##_##wide, 256)                               \
  (zb_##t::bits * y, const zb_##t::bits *weight, const zb_##t::bits *bias,     \
   zb_u32 hidden) {                                                            \
    zb_step_affine<zb_##t, wide>(y, weight, bias, hidden);                     \
  }
ZB_STEPS(ZB_STEP_KERNELS)

#define ZB_FILL_KERNEL(t)                                                      \
  ZB_KERNEL(zb_step_fill_##t)                                                  \
  (zb_##t::bits * out, zb_u64 n, zb_u32 array, zb_u64 seed) {                  \
    zb_step_fill<zb_##t>(out, n, array, seed);                                 \
  }
ZB_FILL_KERNEL(bf16)
ZB_FILL_KERNEL(f16)
ZB_FILL_KERNEL(f32)
