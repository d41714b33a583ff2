/* Brings tiles of both operands into shared memory, one stage of ZB_DEPTH after
 * the other, while earlier stages are multiplied:
 *
 *   begin()      starts the first stages
 *   advance(j)   returns when all threads may read stage j at slot(j); a later
 *                stage is then being loaded. Call it for 0, 1, 2, …
 *
 * On AMD, work of the previous stage is placed around the two halves of advance,
 * and begin() returns when stage 0 can be read:
 *
 *   turn(j)      writes stage j to slot(j) and starts loading stage j + 1; at the
 *                last barrier all threads had finished reading that slot
 *
 * Rows and columns outside of the matrix are zeros. */
#ifndef ZB_MUON_FEED_H
#define ZB_MUON_FEED_H

/* TILE rows of a matrix; each row has `quads` units of 16 bytes. */
struct zb_rows {
  const zb_quad *at;
  zb_u32 rows; /* rows of the matrix from the tile's first row on */
};

#if defined(ZB_NVIDIA)
enum { ZB_SLOTS = 3 }; /* 48 KiB, the shared memory that a block has by default */

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
/* Waits until only the latest `left` groups are incomplete. */
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
    B = 16 * OPERAND, /* where B's rows begin in a slot, in bytes */
    BYTES = 16 * SLOT,
    APART = THREADS / ZB_DEPTH_QUADS /* distance between two rows of the same thread */
  };
  /* The stage that the thread copies next: the address of its first row in both
   * operands, its position in the depth, and the number of its rows that
   * exist. */
  const zb_quad *next_a, *next_b;
  zb_u32 k, rows_a, rows_b;
  zb_spot base, full, own; /* the first slot, the slot that is read, and the thread's place in a
                            * slot */

  ZB_METHOD zb_spot slot(zb_u32) const { return full; }

  static ZB_METHOD zb_u32 there(const zb_rows &of, zb_u32 row) {
    return row < of.rows ? (of.rows - row + APART - 1) / APART : 0;
  }

  /* Starts copying a thread's rows. All of them are rotated by the same amount
   * (zb_tile_at), so they are equally spaced in shared memory too. A row that
   * does not exist is not read, whatever its address. */
  ZB_METHOD void copy(const zb_quad *at, zb_u32 rows, zb_spot to) const {
    ZB_UNROLLED
    for (zb_u32 i = 0; i < SHARE; i++) {
      ZB_COPY_ASYNC(to + 16 * ZB_DEPTH_QUADS * APART * i,
                    at + (zb_u64)quads * (APART * i), i < rows);
    }
  }

  /* Starts loading a stage. Every stage is a group of copies, even a stage past the end, because
   * the wait counts groups. */
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

  /* Waits for stage j and starts another one. The barrier also shows that all threads have read the
   * previous stage, so its slot is free. */
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

  /* The next stage, which is held in registers while this stage is multiplied. */
  zb_quad next_a[SHARE], next_b[SHARE];

  /* The place of a thread's i-th element in a stage, and whether the element exists. */
  struct place {
    zb_u32 row, k;
    bool there;
  };
  ZB_METHOD place at(const zb_rows &of, zb_u32 j, int i) const {
    zb_u32 n = threadIdx.x + i * THREADS, row = n / ZB_DEPTH_QUADS;
    zb_u32 k = n % ZB_DEPTH_QUADS;
    return {row, k, row < of.rows && j * ZB_DEPTH_QUADS + k < quads};
  }

  /* Loads the i-th element. For an element that does not exist it loads another one,
   * which put then replaces by zero. Selecting zero here would wait for the memory
   * before the current stage is multiplied. */
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

  /* Writes stage j and loads the next one. One barrier is enough: a thread that
   * has passed it has finished reading the slot to which the next stage goes. */
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
