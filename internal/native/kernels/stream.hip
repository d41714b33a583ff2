/* after: prelude.h vector.h reduce.h walk.h stream_list.h */
/* Streams through memory. The name, such as zb_copy_f64_4_1, gives the operation, the type, the
 * number of vectors that a thread loads before it stores any, and whether accesses are
 * non-temporal.
 *
 *   write out = s          copy out = x           scale out = s x
 *   add   out = x + y      triad out = x + s y
 *   read  sums the 32-bit words of x, per block, modulo 2^32
 *   dot   sums x y in double, per block
 *
 * All kernels take any grid, and blocks of at most 1,024 threads (for sums in whole waves). The
 * arrays begin at a multiple of 16 bytes; n, the number of elements, is arbitrary. The threads of a
 * block share a tile of block * loads consecutive vectors. There are `tiles` whole tiles, and a
 * block takes `run` consecutive ones. The array `sums` has 8 bytes per block. The factor s is a
 * power of two, so that every stream except dot is exact, whether or not the compiler fuses the
 * multiplication with the addition. */

template <int OP, typename T, int U, int NT> struct zb_mapping {
  typedef typename zb_vec<T>::type vec;
  enum { INPUTS = OP == ZB_OF_write ? 0 : OP <= ZB_OF_scale ? 1 : 2 };
  T *out;
  const T *x, *y;
  T s;

  ZB_METHOD void vectors(zb_u64 i, zb_u64 step) {
    vec fill = zb_splat<T>(s), a[U], b[U];
    ZB_UNROLLED
    for (int u = 0; u < U; u++) {
      a[u] = INPUTS > 0 ? zb_load<T, NT>(x + i + u * step) : fill;
      b[u] = INPUTS > 1 ? zb_load<T, NT>(y + i + u * step) : fill;
    }
    ZB_UNROLLED
    for (int u = 0; u < U; u++) {
      zb_store<T, NT>(out + i + u * step, zb_made<OP>(a[u], b[u], fill, s));
    }
  }
  ZB_METHOD void one(zb_u64 i) {
    T a = INPUTS > 0 ? x[i] : s, b = INPUTS > 1 ? y[i] : s;
    out[i] = zb_made<OP>(a, b, s, s);
  }
};

/* Waits for non-temporal stores. On a CPU only a fence orders them; on a GPU a
 * kernel ends when all of its stores are done. */
ZB_FN void zb_stores_done() {
#if defined(ZB_HOST) && defined(__x86_64__)
  __builtin_ia32_sfence();
#endif
}

template <int OP, typename T, int U, int NT>
ZB_APART void zb_map(T *out, const T *x, const T *y, double s, zb_u64 n,
                     zb_u64 tiles, zb_u64 run) {
  zb_mapping<OP, T, U, NT> work = {out, x, y, (T)s};
  zb_stream<T, U>(n, tiles, run, work);
  if (NT) {
    zb_stores_done();
  }
}

template <typename T, int U, int NT> struct zb_reading {
  const T *x;
  typename zb_vec<zb_u32>::type sum;

  ZB_METHOD void vectors(zb_u64 i, zb_u64 step) {
    typename zb_vec<zb_u32>::type a[U];
    ZB_UNROLLED
    for (int u = 0; u < U; u++) {
      a[u] = zb_load<zb_u32, NT>((const zb_u32 *)(x + i + u * step));
    }
    ZB_UNROLLED
    for (int u = 0; u < U; u++) {
      sum = sum + a[u];
    }
  }
  ZB_METHOD void one(zb_u64 i) {
    const zb_u32 *w = (const zb_u32 *)(x + i);
    for (zb_u32 k = 0; k < sizeof(T) / 4; k++) {
      sum[0] += w[k];
    }
  }
};

template <typename T, int U, int NT>
ZB_APART zb_u64 zb_sum_of_read(const T *x, const T *, zb_u64 n, zb_u64 tiles, zb_u64 run) {
  zb_reading<T, U, NT> work = {x, zb_splat<zb_u32>(0)};
  zb_u32 sum = 0;
  zb_stream<T, U>(n, tiles, run, work);
  ZB_UNROLLED
  for (int k = 0; k < ZB_VECTOR / 4; k++) {
    sum += work.sum[k];
  }
  return zb_block_sum(sum);
}

template <typename T, int U, int NT> struct zb_dotting {
  typedef typename zb_vec<T>::type vec;
  const T *x, *y;
  typename zb_doubles<T>::type sum;

  ZB_METHOD void vectors(zb_u64 i, zb_u64 step) {
    vec a[U], b[U];
    ZB_UNROLLED
    for (int u = 0; u < U; u++) {
      a[u] = zb_load<T, NT>(x + i + u * step);
      b[u] = zb_load<T, NT>(y + i + u * step);
    }
    ZB_UNROLLED
    for (int u = 0; u < U; u++) {
      zb_add_products<T>(sum, a[u], b[u]);
    }
  }
  ZB_METHOD void one(zb_u64 i) { sum[0] += (double)x[i] * (double)y[i]; }
};

template <typename T, int U, int NT>
ZB_APART zb_u64 zb_sum_of_dot(const T *x, const T *y, zb_u64 n, zb_u64 tiles, zb_u64 run) {
  zb_dotting<T, U, NT> work = {x, y, {}};
  double sum = 0;
  union {
    double value;
    zb_u64 bits;
  } whole;
  zb_stream<T, U>(n, tiles, run, work);
  ZB_UNROLLED
  for (int k = 0; k < (int)(ZB_VECTOR / sizeof(T)); k++) {
    sum += work.sum[k];
  }
  whole.value = zb_block_sum(sum);
  return whole.bits;
}

#define ZB_MAP_KERNEL(op, t, type, u, nt)                                      \
  ZB_KERNEL_OF(zb_##op##_##t##_##u##_##nt, 1024)                               \
  (type * out, const type *x, const type *y, double s, zb_u64 n, zb_u64 tiles, zb_u64 run,     \
   zb_u64 *) {                                                                 \
    zb_map<ZB_OF_##op, type, ZB_LOADS(u), nt>(out, x, y, s, n, tiles, run);          \
  }
#define ZB_SUM_KERNEL(op, t, type, u, nt)                                      \
  ZB_KERNEL_OF(zb_##op##_##t##_##u##_##nt, 1024)                               \
  (type *, const type *x, const type *y, double, zb_u64 n, zb_u64 tiles, zb_u64 run,           \
   zb_u64 *sums) {                                                             \
    zb_u64 sum = zb_sum_of_##op<type, ZB_LOADS(u), nt>(x, y, n, tiles, run);         \
    if (ZB_LANE == 0) {                                                        \
      sums[blockIdx.x] = sum;                                                  \
    }                                                                          \
  }

ZB_STREAM_MAPS(ZB_MAP_KERNEL)
ZB_STREAM_SUMS(ZB_SUM_KERNEL)
