/* How tiles of both operands come into shared memory, one ZB_DEPTH after the
 * other, while the ones before are multiplied:
 *
 *   begin()      starts
 *   advance(j)   ends when all threads may read stage j at slot(j); what is
 *                after the next is on its way then. Stages in order, from 0
 *
 * On AMD the two halves of advance have the work of the stage before around
 * them, and begin ends with stage 0 there to be read:
 *
 *   turn(j)      writes stage j to slot(j) and asks for the one behind it; all
 *                have read what was there when they were at the last barrier
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
ZB_FN zb_spot zb_spot_of(const zb_quad *p) {
  zb_u64 at;
  asm("cvta.to.shared.u64 %0, %1;" : "=l"(at) : "l"(p));
  return (zb_spot)at;
}
ZB_FN void zb_copy_async(zb_spot to, const zb_quad *from, bool there) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
               :
               : "r"(to), "l"(from), "r"(there ? 16 : 0)
               : "memory");
}
#define ZB_SPOT_OF(p) zb_spot_of(p)
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

#if defined(ZB_NVIDIA)
  enum {
    B = 16 * OPERAND, /* where B's rows begin in a slot */
    BYTES = 16 * SLOT,
    APART = THREADS / ZB_DEPTH_QUADS /* a thread's rows, one from the next */
  };
  /* The stage that a thread copies next: where the first of its rows begins in
   * both operands, the depth there, and how many of its rows there are. */
  const zb_quad *next_a, *next_b;
  zb_u32 k, rows_a, rows_b;
  zb_spot base, full, own; /* the first slot, the one that is read, own place */

  ZB_METHOD zb_spot slot(zb_u32) const { return full; }

  static ZB_METHOD zb_u32 there(const zb_rows &of, zb_u32 row) {
    return row < of.rows ? (of.rows - row + APART - 1) / APART : 0;
  }

  /* A thread's rows are turned alike, so they are as far apart there as here.
   * What is not there is not read, whatever the address. */
  ZB_METHOD void copy(const zb_quad *at, zb_u32 rows, zb_spot to) const {
    ZB_UNROLLED
    for (zb_u32 i = 0; i < SHARE; i++) {
      ZB_COPY_ASYNC(to + 16 * ZB_DEPTH_QUADS * APART * i,
                    at + (zb_u64)quads * (APART * i), i < rows);
    }
  }

  /* Every stage is a group, the ones that there are not too: they are counted. */
  ZB_METHOD void start(zb_u32 j, zb_spot to) {
    if (j < stages) {
      copy(next_a, k < quads ? rows_a : 0, to + own);
      copy(next_b, k < quads ? rows_b : 0, to + own + B);
      next_a += ZB_DEPTH_QUADS;
      next_b += ZB_DEPTH_QUADS;
      k += ZB_DEPTH_QUADS;
    }
    ZB_COPY_COMMIT();
  }

  ZB_METHOD void begin() {
    zb_u32 row = threadIdx.x / ZB_DEPTH_QUADS;
    k = threadIdx.x % ZB_DEPTH_QUADS;
    next_a = a.at + (zb_u64)row * quads + k;
    next_b = b.at + (zb_u64)row * quads + k;
    rows_a = there(a, row);
    rows_b = there(b, row);
    base = ZB_SPOT_OF(shared);
    own = 16 * zb_tile_at(row, k);
    full = base + (ZB_SLOTS - 1) * BYTES;
    ZB_UNROLLED
    for (zb_u32 j = 0; j < ZB_SLOTS - 1; j++) {
      start(j, base + j * BYTES);
    }
  }

  /* The barrier also says that all have read the stage before: its slot is free. */
  ZB_METHOD void advance(zb_u32 j) {
    zb_spot free = full;
    full = full == base + (ZB_SLOTS - 1) * BYTES ? base : full + BYTES;
    ZB_COPY_WAIT(ZB_SLOTS - 2);
    ZB_BARRIER();
    start(j + ZB_SLOTS - 1, free);
  }
#else
  enum { B = OPERAND };

  ZB_METHOD zb_quad *slot(zb_u32 j) const {
    return shared + j % ZB_SLOTS * SLOT;
  }

  /* The next stage waits in registers while this one is multiplied. */
  zb_quad next_a[SHARE], next_b[SHARE];

  /* A thread's i-th element of a stage, and whether it is there. */
  struct place {
    zb_u32 row, k;
    bool there;
  };
  ZB_METHOD place at(const zb_rows &of, zb_u32 j, int i) const {
    zb_u32 n = threadIdx.x + i * THREADS, row = n / ZB_DEPTH_QUADS;
    zb_u32 k = n % ZB_DEPTH_QUADS;
    return {row, k, row < of.rows && j * ZB_DEPTH_QUADS + k < quads};
  }

  /* For what is not there anything that is: put makes it zero. Here a selection
   * would wait for the memory, ahead of the stage that is multiplied meanwhile. */
  ZB_METHOD zb_quad fetched(const zb_rows &from, zb_u32 j, int i) const {
    place p = at(from, j, i);
    zb_u32 quad = p.row * quads + j * ZB_DEPTH_QUADS + p.k;
    return *(const zb_quad *)((const zb_u8 *)from.at + (p.there ? 16 * quad : 0));
  }

  ZB_METHOD void put(const zb_rows &of, zb_u32 j, int i, const zb_quad &from,
                     zb_quad *to) const {
    place p = at(of, j, i);
    zb_quad q;
    ZB_UNROLLED
    for (int w = 0; w < 4; w++) {
      q.w[w] = p.there ? from.w[w] : 0;
    }
    to[zb_tile_at(p.row, p.k)] = q;
  }

  ZB_METHOD void fetch(zb_u32 j) {
    ZB_MMA_UNROLLED
    for (int i = 0; i < SHARE; i++) {
      next_a[i] = fetched(a, j, i);
      next_b[i] = fetched(b, j, i);
    }
  }

#if defined(ZB_AMD)
  ZB_METHOD void turn(zb_u32 j) {
    ZB_UNROLLED
    for (int i = 0; i < SHARE; i++) {
      put(a, j, i, next_a[i], slot(j));
      next_a[i] = fetched(a, j + 1, i);
      put(b, j, i, next_b[i], slot(j) + OPERAND);
      next_b[i] = fetched(b, j + 1, i);
    }
  }

  ZB_METHOD void begin() {
    fetch(0);
    turn(0);
    ZB_BARRIER();
  }
#else
  ZB_METHOD void begin() { fetch(0); }

  /* One barrier is enough: a thread behind it has read the slot that the stage
   * after this one goes to. */
  ZB_METHOD void advance(zb_u32 j) {
    for (int i = 0; i < SHARE; i++) {
      put(a, j, i, next_a[i], slot(j));
      put(b, j, i, next_b[i], slot(j) + OPERAND);
    }
    ZB_BARRIER();
    if (j + 1 < stages) {
      fetch(j + 1);
    }
  }
#endif
#endif
};

#endif
