/* Many tensors of different shapes in one launch: each block finds out which tensor it works on. */
#ifndef ZB_MUON_TENSORS_H
#define ZB_MUON_TENSORS_H

/* One weight matrix. Its parts are at byte offsets, multiples of 16, from the
 * memory that a launch gets. The bf16 parts have rows that are padded to a
 * multiple of eight elements; the other parts have rows times cols elements
 * without gaps. */
struct zb_tensor {
  zb_u64 gradient; /* float or bf16 */
  zb_u64 momentum; /* float */
  zb_u64 weight;   /* float */
  zb_u64 cast;     /* bf16, rows x cols: the matrix to orthogonalise */
  zb_u64 flipped;  /* bf16, cols x rows: the transpose of cast */
  zb_u64 update;   /* bf16, rows x cols: the orthogonalised matrix */
  zb_u32 rows, cols;
  zb_u32 chunk, tile; /* the number of the tensor's first chunk and tile in a launch over all
                       * tensors */
  float scale;        /* factor of the update */
  zb_u32 unused;
};

static_assert(sizeof(zb_tensor) == 72, "the layout that Go fills");

enum { ZB_CHUNK = 8192, ZB_STEP_THREADS = 256 };

ZB_FN zb_u32 zb_first(const zb_tensor &t, bool tiles) {
  return tiles ? t.tile : t.chunk;
}

/* Returns the last tensor that begins at or before the block. */
ZB_FN zb_u32 zb_tensor_of(const zb_tensor *tensors, zb_u32 n, zb_u32 block,
                          bool tiles) {
  zb_u32 low = 0, high = n;
  while (high - low > 1) {
    zb_u32 middle = (low + high) / 2;
    if (zb_first(tensors[middle], tiles) <= block) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

/* Eight elements as floats. */
struct zb_eight {
  float v[8];
};

ZB_FN zb_eight zb_load_float(const zb_u8 *p) {
  const zb_quad *q = (const zb_quad *)p;
  zb_quad low = q[0], high = q[1];
  zb_eight x;
  ZB_UNROLLED
  for (int i = 0; i < 4; i++) {
    x.v[i] = zb_float_of(low.w[i]);
    x.v[i + 4] = zb_float_of(high.w[i]);
  }
  return x;
}

ZB_FN void zb_store_float(zb_u8 *p, const zb_eight &x) {
  zb_quad low, high;
  ZB_UNROLLED
  for (int i = 0; i < 4; i++) {
    low.w[i] = zb_bits_of(x.v[i]);
    high.w[i] = zb_bits_of(x.v[i + 4]);
  }
  ((zb_quad *)p)[0] = low;
  ((zb_quad *)p)[1] = high;
}

ZB_FN zb_eight zb_load_bf16(const zb_u8 *p) {
  zb_quad q = *(const zb_quad *)p;
  zb_eight x;
  ZB_UNROLLED
  for (int i = 0; i < 8; i++) {
    x.v[i] = q.widened(i);
  }
  return x;
}

ZB_FN zb_quad zb_narrow8(const zb_eight &x) {
  zb_quad q;
  ZB_UNROLLED
  for (int i = 0; i < 4; i++) {
    q.w[i] = zb_narrow2(x.v[2 * i], x.v[2 * i + 1]);
  }
  return q;
}

/* Returns the place of element i of rows x cols elements, if rows are padded. */
ZB_FN zb_u64 zb_padded(const zb_tensor &t, zb_u32 i) {
  return (zb_u64)(i / t.cols) * (zb_quads(t.cols) * 8) + i % t.cols;
}

/* Returns the sum over the threads of a block. The order of the additions is
 * always the same, so that every device gives the same bits. */
ZB_FN float zb_block_sum(float *shared, float mine) {
  zb_u32 me = threadIdx.x;
  shared[me] = mine;
  for (zb_u32 n = ZB_STEP_THREADS / 2; n > 0; n /= 2) {
    ZB_BARRIER();
    if (me < n) {
      shared[me] += shared[me + n];
    }
  }
  return shared[0]; /* only valid in thread 0 */
}

#endif
