/* after: prelude.h mix.h vector.h reduce.h walk.h value.h */
/* Fills the arrays of the streams, and checks the results that the streams leave. */

template <typename T>
ZB_FN T zb_datum(zb_u64 seed, zb_u32 array, int zeros, zb_u64 i) {
  return zeros ? (T)0 : zb_values<T>::at(seed, array, i);
}

/* Calls Work for each element in the order of the streams, so that each CPU is the first to touch
 * the memory that it will work on. */
template <class Work> struct zb_each : Work {
  ZB_METHOD void vectors(zb_u64 i, zb_u64 step) {
    for (int u = 0; u < ZB_LOADS(4); u++) {
      for (zb_u64 k = 0; k < ZB_VECTOR / sizeof(typename Work::type); k++) {
        this->one(i + u * step + k);
      }
    }
  }
};

template <typename T> struct zb_data_filling {
  typedef T type;
  T *out;
  zb_u64 seed;
  zb_u32 array;
  int zeros;
  ZB_METHOD void one(zb_u64 i) {
    out[i] = zb_datum<T>(seed, array, zeros, i);
  }
};

/* Sets element i of the array to zb_value, or to zero. */
template <typename T>
ZB_FN void zb_data_fill(T *out, zb_u64 n, zb_u32 array, zb_u64 seed,
                        int zeros) {
  zb_each<zb_data_filling<T>> work;
  work.out = out;
  work.seed = seed;
  work.array = array;
  work.zeros = zeros;
  zb_stream_all<T, ZB_LOADS(4)>(n, work);
}

template <int OP, typename T> struct zb_data_checking {
  typedef T type;
  const T *out;
  zb_u64 seed;
  T s;
  int zeros;
  zb_u64 wrong, lowest, seen;
  ZB_METHOD void one(zb_u64 i) {
    T x = zb_datum<T>(seed, 0, zeros, i), y = zb_datum<T>(seed, 1, zeros, i);
    T want = zb_made<OP>(x, y, s, s);
    /* written so that a NaN, which marks an element that was not written, counts as wrong */
    if (!(want == out[i])) {
      wrong++;
      lowest = i < lowest ? i : lowest;
    }
    seen++;
  }
};

template <int OP, typename T>
ZB_FN void zb_data_check_of(const T *out, zb_u64 n, double s, zb_u64 seed,
                            int zeros, zb_u64 *found) {
  zb_each<zb_data_checking<OP, T>> work;
  work.out = out;
  work.seed = seed;
  work.s = (T)s;
  work.zeros = zeros;
  work.wrong = work.seen = 0;
  work.lowest = ~(zb_u64)0;
  zb_stream_all<T, ZB_LOADS(4)>(n, work);
  ZB_ATOMIC_ADD(&found[0], work.wrong);
  ZB_ATOMIC_MIN(&found[1], work.lowest);
  ZB_ATOMIC_ADD(&found[2], work.seen);
}

/* Adds to `found` the number of wrong elements, the index of the lowest one,
 * and the number of checked elements. `op` is the number in the table of
 * streams. */
template <typename T>
ZB_FN void zb_data_check(int op, const T *out, zb_u64 n, double s, zb_u64 seed,
                         int zeros, zb_u64 *found) {
  switch (op) {
  case ZB_OF_write:
    return zb_data_check_of<ZB_OF_write>(out, n, s, seed, zeros, found);
  case ZB_OF_copy:
    return zb_data_check_of<ZB_OF_copy>(out, n, s, seed, zeros, found);
  case ZB_OF_scale:
    return zb_data_check_of<ZB_OF_scale>(out, n, s, seed, zeros, found);
  case ZB_OF_add:
    return zb_data_check_of<ZB_OF_add>(out, n, s, seed, zeros, found);
  case ZB_OF_triad:
    return zb_data_check_of<ZB_OF_triad>(out, n, s, seed, zeros, found);
  }
}

template <typename T> struct zb_data_summing {
  typedef T type;
  zb_u64 seed;
  int zeros;
  zb_u32 words;
  double dot, size;
  ZB_METHOD void one(zb_u64 i) {
    T x = zb_datum<T>(seed, 0, zeros, i), y = zb_datum<T>(seed, 1, zeros, i);
    double product = (double)x * (double)y;
    union {
      T value;
      zb_u32 word[sizeof(T) / 4];
    } c;
    c.value = x;
    for (zb_u32 k = 0; k < sizeof x / 4; k++) {
      words += c.word[k];
    }
    dot += product;
    size += product < 0 ? -product : product;
  }
};

/* Computes the expected results of read and dot without the arrays. For each block
 * it returns the sum of the words of x, the sum of x y, and the sum of |x y|,
 * which bounds the rounding error. */
template <typename T>
ZB_FN void zb_data_sum(zb_u64 n, zb_u64 seed, int zeros, zb_u64 *words,
                       double *sums) {
  zb_each<zb_data_summing<T>> work;
  work.seed = seed;
  work.zeros = zeros;
  work.words = 0;
  work.dot = work.size = 0;
  zb_stream_all<T, ZB_LOADS(4)>(n, work);
  work.words = zb_block_sum(work.words);
  work.dot = zb_block_sum(work.dot);
  work.size = zb_block_sum(work.size);
  if (ZB_LANE == 0) {
    words[blockIdx.x] = work.words;
    sums[2 * blockIdx.x] = work.dot;
    sums[2 * blockIdx.x + 1] = work.size;
  }
}

#define ZB_DATA_KERNELS(t, type)                                               \
  ZB_KERNEL(zb_data_fill_##t)                                                  \
  (type * out, zb_u64 n, int array, zb_u64 seed, int zeros) {                  \
    zb_data_fill(out, n, (zb_u32)array, seed, zeros);                          \
  }                                                                            \
  ZB_KERNEL(zb_data_check_##t)                                                 \
  (int op, const type *out, zb_u64 n, double s, zb_u64 seed, int zeros,        \
   zb_u64 *found) {                                                            \
    zb_data_check(op, out, n, s, seed, zeros, found);                          \
  }                                                                            \
  ZB_KERNEL(zb_data_sum_##t)                                                   \
  (zb_u64 n, zb_u64 seed, int zeros, zb_u64 *words, double *sums) {            \
    zb_data_sum<type>(n, seed, zeros, words, sums);                            \
  }
ZB_DATA_KERNELS(f32, float)
ZB_DATA_KERNELS(f64, double)
