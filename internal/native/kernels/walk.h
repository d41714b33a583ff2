/* How streams go through memory, and what they make of it; see stream.hip. */

enum { ZB_OF_write, ZB_OF_copy, ZB_OF_scale, ZB_OF_add, ZB_OF_triad };

/* Folded, a launch's loads make no difference: one body serves them all. */
#ifdef ZB_FOLDED
#define ZB_LOADS(u) 4
#else
#define ZB_LOADS(u) u
#endif

/* Calls work.vectors(first, step) for the tiles of this block and work.one(i)
 * for what is left over: this thread's vectors begin step elements apart. */
template <typename T, int U, class Work>
ZB_FN void zb_stream(zb_u64 n, int near, Work &work) {
  const zb_u64 width = ZB_VECTOR / sizeof(T);
  zb_u64 step = ZB_LANES * width, tile = step * U, tiles = n / tile;
  zb_u64 run = 1, stride;
#ifdef ZB_FOLDED
  near = 1; /* a part is a CPU's: it works on what it has touched first */
#endif
  if (near) {
    run = (tiles + gridDim.x - 1) / gridDim.x;
  }
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

template <int OP, class V, typename T> ZB_FN V zb_made(V x, V y, V fill, T s) {
  return OP == ZB_OF_write   ? fill
         : OP == ZB_OF_copy  ? x
         : OP == ZB_OF_scale ? s * x
         : OP == ZB_OF_add   ? x + y
                             : x + s * y;
}
