/* How streams go through memory, and how they compute their elements; see stream.hip. */

enum { ZB_OF_write, ZB_OF_copy, ZB_OF_scale, ZB_OF_add, ZB_OF_triad };

/* In folded kernels the number of loads makes no difference, so one body serves all. */
#ifdef ZB_FOLDED
#define ZB_LOADS(u) 4
#else
#define ZB_LOADS(u) u
#endif

/* Calls work.vectors(first, step) for the tiles of this block, and work.one(i) for
 * the remaining elements. A thread's vectors are `step` elements apart. `tiles` is
 * the number of whole tiles in n, and `run` is the number of consecutive tiles per
 * block. The host computes both, so that no block of a GPU has to divide. In a
 * folded kernel a part belongs to one CPU, and works in one run on the memory that
 * the CPU was the first to touch. */
template <typename T, int U, class Work>
ZB_FN void zb_stream(zb_u64 n, zb_u64 tiles, zb_u64 run, Work &work) {
  const zb_u64 width = ZB_VECTOR / sizeof(T);
  zb_u64 step = ZB_LANES * width, tile = step * U, stride;
#ifdef ZB_FOLDED
  tiles = n / tile;
  run = (tiles + gridDim.x - 1) / gridDim.x;
#endif
  stride = run * gridDim.x;
  for (zb_u64 first = blockIdx.x * run; first < tiles; first += stride) {
    zb_u64 last = tiles - first < run ? tiles : first + run;
    for (zb_u64 t = first; t < last; t++) {
      work.vectors(t * tile + ZB_LANE * width, step);
    }
  }
  if (blockIdx.x == gridDim.x - 1) {
    for (zb_u64 i = tiles * tile + ZB_LANE; i < n; i += ZB_LANES) {
      work.one(i);
    }
  }
}

/* Does the same as zb_stream, for kernels that are not timed. */
template <typename T, int U, class Work>
ZB_FN void zb_stream_all(zb_u64 n, Work &work) {
  zb_u64 tiles = n / (ZB_LANES * (ZB_VECTOR / sizeof(T)) * U);
  zb_stream<T, U>(n, tiles, (tiles + gridDim.x - 1) / gridDim.x, work);
}

template <int OP, class V, typename T> ZB_FN V zb_made(V x, V y, V fill, T s) {
  return OP == ZB_OF_write   ? fill
         : OP == ZB_OF_copy  ? x
         : OP == ZB_OF_scale ? s * x
         : OP == ZB_OF_add   ? x + y
                             : x + s * y;
}
