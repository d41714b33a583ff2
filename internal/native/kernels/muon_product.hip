/* after: prelude.h number.h quad.h muon_mma.h muon_feed.h muon_out.h muon_place.h */
/* The products of Newton–Schulz: C = alpha·A·Bᵀ + beta·S, see muon_out.h.
 *
 *   zb_triangle_*   for a symmetric C: A = B, or A and B are symmetric and equal,
 *                   and S is symmetric. Blocks compute the tiles on and below the
 *                   diagonal and write each of them twice; m = n, t is not used.
 *                   Grid: T(T+1)/2 for T = ⌈m / tile⌉, times the batch in y
 *   zb_product_*    for any C. Grid: ⌈m / tile⌉ · ⌈n / tile⌉, times the batch in y
 *
 * A block consists of four waves of zb_mma::WAVE in a square. Its tile has side
 * 128 or 64. */

/* The number of dies. Blocks are assigned to the dies in turn, and each die has its
 * own cache. The program that compiles the kernel sets the number for the device. */
#ifndef ZB_DIES
#define ZB_DIES 1
#endif

/* Gives neighbouring tiles to the blocks of one die. The result is a permutation of 0 … n-1. */

ZB_FN zb_u32 zb_near(zb_u32 block, zb_u32 n) {
  zb_u32 die = block % ZB_DIES, each = n / ZB_DIES, more = n % ZB_DIES;
  return die * each + (die < more ? die : more) + block / ZB_DIES;
}

/* Returns the tile of a block: eight rows of tiles at a time, column by column,
 * so that blocks that run at the same time share operands. */
ZB_FN zb_place zb_in_square(zb_u32 block, zb_u32 rows, zb_u32 cols) {
  zb_u32 first = block / (8 * cols) * 8, at = block % (8 * cols);
  zb_u32 height = rows - first < 8 ? rows - first : 8;
  return {first + at % height, at / height};
}

template <int WIDTH> struct zb_tile {
  enum {
    TILE = 32 * WIDTH, /* two waves, each with WIDTH tiles of 16 */
    QUADS = ZB_SLOTS * zb_feed<TILE>::SLOT
  };
  struct operands {
    zb_mma::a a[WIDTH];
    zb_mma::b b[WIDTH];
  };
  zb_mma::acc c[WIDTH][WIDTH];
  zb_u32 lane, row, col; /* the lane, and the wave's position in the tile */

  template <class SLOT>
  ZB_METHOD void load(operands &to, SLOT slot, int step) const {
    ZB_MMA_UNROLLED
    for (int i = 0; i < WIDTH; i++) {
      zb_mma::load_a(to.a[i], slot, row + 16 * i, step, lane);
      zb_mma::load_b(to.b[i], slot + zb_feed<TILE>::B, col + 16 * i,
                     step, lane);
    }
  }

  /* Multiplies rows `from` to `end` of the wave's tiles. */
  ZB_METHOD void multiply(const operands &by, int from = 0, int end = WIDTH) {
    ZB_MMA_UNROLLED
    for (int i = from; i < end; i++) {
      ZB_MMA_UNROLLED
      for (int part = 0; part < zb_mma::PARTS; part++) {
        ZB_MMA_UNROLLED
        for (int j = 0; j < WIDTH; j++) {
          zb_mma::mma(c[i][j], by.a[i], by.b[j], part);
        }
      }
    }
  }

#if defined(ZB_AMD)
  /* Multiplies one stage. During the first half of its products, the next stage is
   * written to shared memory, and loading of the stage after the next one begins.
   * During the second half the operands of the next stage are read. Thus a wave
   * that multiplies waits for none of these loads, writes and reads. */
  ZB_METHOD void stage(zb_feed<TILE> &feed, zb_u32 j, const operands &by,
                       operands &next) {
    enum {
      HALF = WIDTH / 2 * WIDTH * zb_mma::PARTS,
      WRITES = 2 * zb_feed<TILE>::SHARE,
      READS = 2 * WIDTH,
      BETWEEN_WRITES = HALF / (WRITES + 1),
      BETWEEN_READS = HALF / READS
    };
    ZB_IN_ORDER();
    feed.turn(j + 1);
    multiply(by, 0, WIDTH / 2);
    ZB_UNROLLED
    for (int i = 0; i < WRITES; i++) {
      ZB_NEXT_COME(ZB_COME_MFMA, BETWEEN_WRITES);
      ZB_NEXT_COME(ZB_COME_WRITE, 1);
      ZB_NEXT_COME(ZB_COME_FETCH, 1);
    }
    ZB_NEXT_COME(ZB_COME_MFMA, HALF - WRITES * BETWEEN_WRITES);
    ZB_IN_ORDER();
    ZB_BARRIER();
    load(next, feed.slot(j + 1), 0);
    multiply(by, WIDTH / 2, WIDTH);
    ZB_UNROLLED
    for (int i = 0; i < READS; i++) {
      ZB_NEXT_COME(ZB_COME_READ, 1);
      ZB_NEXT_COME(ZB_COME_MFMA, BETWEEN_READS);
    }
    ZB_IN_ORDER();
  }
#endif

  ZB_METHOD void sum(zb_feed<TILE> &feed) {
    ZB_MMA_UNROLLED
    for (int i = 0; i < WIDTH * WIDTH; i++) {
      zb_mma::clear(c[i / WIDTH][i % WIDTH]);
    }
    feed.begin();
#if defined(ZB_AMD)
    /* Each iteration handles two stages, so that no operand moves to another
     * register. A stage that does not exist is zeros. */
    operands x, y;
    load(x, feed.slot(0), 0);
    ZB_ROLLED
    for (zb_u32 j = 0; j < feed.stages; j += 2) {
      stage(feed, j, x, y);
      stage(feed, j + 1, y, x);
    }
#else
    if constexpr (zb_mma::STEPS == 1) {
      operands x;
      ZB_ROLLED
      for (zb_u32 j = 0; j < feed.stages; j++) {
        feed.advance(j);
        load(x, feed.slot(j), 0);
        multiply(x);
      }
    } else {
      /* The operands of a step are read while the operands of the previous step are multiplied. */
      operands x, y;
      feed.advance(0);
      load(x, feed.slot(0), 0);
      ZB_ROLLED
      for (zb_u32 j = 0; j < feed.stages; j++) {
        load(y, feed.slot(j), 1);
        multiply(x);
        feed.advance(j + 1); /* called after the last stage too, to avoid a branch */
        load(x, feed.slot(j + 1), 0);
        multiply(y);
      }
    }
#endif
  }

  template <bool WITH_S>
  ZB_METHOD void put(const zb_out<TILE> &out, const zb_product_job &job) const {
    ZB_MMA_UNROLLED
    for (int i = 0; i < WIDTH; i++) {
      ZB_MMA_UNROLLED
      for (int j = 0; j < WIDTH; j++) {
        out.template put<WITH_S>(job, c[i][j], row + 16 * i, col + 16 * j, lane);
      }
    }
  }
};

template <int WIDTH, bool TRIANGLE>
ZB_FN void zb_multiply(zb_product_job job, zb_quad *shared) {
  typedef zb_tile<WIDTH> tile;
  zb_u32 rows = (job.m + tile::TILE - 1) / tile::TILE;
  zb_u32 cols = (job.n + tile::TILE - 1) / tile::TILE;
  zb_u32 block = zb_near(blockIdx.x, gridDim.x);
  zb_place at =
      TRIANGLE ? zb_in_triangle(block) : zb_in_square(block, rows, cols);
  zb_u64 c = (zb_u64)blockIdx.y * job.m * (zb_quads(job.n) * 8);
  zb_u64 t = (zb_u64)blockIdx.y * job.n * (zb_quads(job.m) * 8);
  zb_u32 quads = zb_quads(job.k), row0 = at.i * tile::TILE,
         col0 = at.j * tile::TILE, wave = threadIdx.x / zb_mma::WAVE;
  const zb_quad *a = (const zb_quad *)job.a, *b = (const zb_quad *)job.b;
  a += ((zb_u64)blockIdx.y * job.m + row0) * quads;
  b += ((zb_u64)blockIdx.y * job.n + col0) * quads;
  zb_feed<tile::TILE> feed;
  feed.shared = shared;
  feed.a = {a, job.m - row0};
  feed.b = {b, job.n - col0};
  feed.quads = quads;
  feed.stages = (job.k + ZB_DEPTH - 1) / ZB_DEPTH;
  tile sums;
  sums.lane = threadIdx.x % zb_mma::WAVE;
  sums.row = wave / 2 * (16 * WIDTH);
  sums.col = wave % 2 * (16 * WIDTH);
  sums.sum(feed);

  zb_out<tile::TILE> out = {shared, row0, col0};
  job.c += c;
  ZB_BARRIER(); /* all threads have read the last stage */
  if (job.beta != 0) {
    job.s += c;
    out.read(job);
    ZB_BARRIER();
    sums.template put<true>(out, job);
  } else {
    sums.template put<false>(out, job);
  }
  ZB_BARRIER();
  out.write(job, TRIANGLE && at.i == at.j);
  job.t = TRIANGLE ? job.c : job.t;
  if (TRIANGLE ? at.i != at.j : job.t != nullptr) {
    job.t += TRIANGLE ? 0 : t;
    out.transpose(job);
  }
}

#define ZB_PRODUCT_KERNEL(name, width, triangle)                               \
  ZB_KERNEL_OF(name, 4 * zb_mma::WAVE)                                         \
  (zb_u16 * c, zb_u16 * t, const zb_u16 *a, const zb_u16 *b,               \
   const zb_u16 *s, float alpha, float beta, zb_u32 m, zb_u32 n, zb_u32 k) {  \
    ZB_SHARED(zb_quad, shared, zb_tile<width>::QUADS);                         \
    zb_multiply<width, triangle>({c, t, a, b, s, alpha, beta, m, n, k},        \
                                 shared);                                      \
  }

ZB_PRODUCT_KERNEL(zb_triangle_128, 4, true)
ZB_PRODUCT_KERNEL(zb_triangle_64, 2, true)
ZB_PRODUCT_KERNEL(zb_product_128, 4, false)
ZB_PRODUCT_KERNEL(zb_product_64, 2, false)
