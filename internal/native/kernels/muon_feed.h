/* How tiles of both operands come into shared memory, one ZB_DEPTH after the
 * other, while the ones before are multiplied:
 *
 *   begin()      starts
 *   advance(j)   ends when all threads may read stage j at slot(j); what is
 *                further away is on its way then. Stages in order, from 0
 *
 * Rows and columns that are not there come as zeros. */
#ifndef ZB_MUON_FEED_H
#define ZB_MUON_FEED_H

/* TILE rows of a matrix whose rows are quads times 16 bytes. */
struct zb_rows {
  const zb_quad *at;
  zb_u32 rows; /* there are, from the tile's first on */
};

#if defined(ZB_NVIDIA)
enum { ZB_SLOTS = 3 }; /* 48 KiB: what a block has without asking for more */

#ifndef ZB_COPY_ASYNC
ZB_FN void zb_copy_async(zb_quad *to, const zb_quad *from, bool there) {
  zb_u64 at;
  asm("cvta.to.shared.u64 %0, %1;" : "=l"(at) : "l"(to));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
               :
               : "r"((zb_u32)at), "l"(from), "r"(there ? 16 : 0)
               : "memory");
}
#define ZB_COPY_ASYNC(to, from, there) zb_copy_async(to, from, there)
#define ZB_COPY_COMMIT() asm volatile("cp.async.commit_group;" ::: "memory")
/* Waits until all but the latest left groups have come. */
#define ZB_COPY_WAIT(left)                                                     \
  asm volatile("cp.async.wait_group %0;" : : "n"(left) : "memory")
#endif
#else
enum { ZB_SLOTS = 2 };
#endif

template <int TILE> struct zb_feed {
  enum {
    THREADS = 4 * zb_mma::WAVE,
    OPERAND = TILE * ZB_DEPTH_QUADS,
    SLOT = 2 * OPERAND,
    SHARE = OPERAND / THREADS
  };
  zb_quad *shared; /* ZB_SLOTS * SLOT */
  zb_rows a, b;
  zb_u32 quads, stages;

  ZB_METHOD zb_quad *slot(zb_u32 j) const {
    return shared + j % ZB_SLOTS * SLOT;
  }

#if defined(ZB_NVIDIA)
  ZB_METHOD void copy(const zb_rows &from, zb_u32 j, zb_quad *to) const {
    ZB_UNROLLED
    for (int i = 0; i < SHARE; i++) {
      zb_u32 at = threadIdx.x + i * THREADS, row = at / ZB_DEPTH_QUADS;
      zb_u32 quad = at % ZB_DEPTH_QUADS, k = j * ZB_DEPTH_QUADS + quad;
      bool there = row < from.rows && k < quads;
      ZB_COPY_ASYNC(to + zb_tile_at(row, quad),
                    from.at + (there ? row * quads + k : 0), there);
    }
  }

  /* Every stage is a group, the ones that there are not too: they are counted. */
  ZB_METHOD void start(zb_u32 j) const {
    if (j < stages) {
      copy(a, j, slot(j));
      copy(b, j, slot(j) + OPERAND);
    }
    ZB_COPY_COMMIT();
  }

  ZB_METHOD void begin() {
    ZB_UNROLLED
    for (int j = 0; j < ZB_SLOTS - 1; j++) {
      start(j);
    }
  }

  /* The barrier also says that all have read the stage before, whose slot is
   * the next one's. */
  ZB_METHOD void advance(zb_u32 j) {
    ZB_COPY_WAIT(ZB_SLOTS - 2);
    ZB_BARRIER();
    start(j + ZB_SLOTS - 1);
  }
#else
  /* The next stage waits in registers while this one is multiplied. */
  zb_quad next_a[SHARE], next_b[SHARE];

  ZB_METHOD void fetch(const zb_rows &from, zb_u32 j, zb_quad *to) const {
    ZB_MMA_UNROLLED
    for (int i = 0; i < SHARE; i++) {
      zb_u32 at = threadIdx.x + i * THREADS, row = at / ZB_DEPTH_QUADS;
      zb_u32 k = j * ZB_DEPTH_QUADS + at % ZB_DEPTH_QUADS;
      bool there = row < from.rows && k < quads;
      zb_quad q = from.at[there ? row * quads + k : 0];
      ZB_UNROLLED
      for (int w = 0; w < 4; w++) {
        to[i].w[w] = there ? q.w[w] : 0;
      }
    }
  }

  ZB_METHOD void put(const zb_quad *from, zb_quad *to) const {
    ZB_MMA_UNROLLED
    for (int i = 0; i < SHARE; i++) {
      zb_u32 at = threadIdx.x + i * THREADS;
      to[zb_tile_at(at / ZB_DEPTH_QUADS, at % ZB_DEPTH_QUADS)] = from[i];
    }
  }

  ZB_METHOD void begin() {
    fetch(a, 0, next_a);
    fetch(b, 0, next_b);
  }

  /* One barrier is enough: who is behind it has read the slot that the stage
   * after this one goes to. */
  ZB_METHOD void advance(zb_u32 j) {
    put(next_a, slot(j));
    put(next_b, slot(j) + OPERAND);
    ZB_BARRIER();
    if (j + 1 < stages) {
      fetch(a, j + 1, next_a);
      fetch(b, j + 1, next_b);
    }
  }
#endif
};

#endif
