/* Writes a tile of C. The sums become α·sum + β·S, are rounded once, are
 * gathered in shared memory, and are written in units of 16 bytes, both as they
 * are and transposed. */
#ifndef ZB_MUON_OUT_H
#define ZB_MUON_OUT_H

/* A product of bf16 matrices stored by rows. Each row is padded with zeros to a
 * multiple of eight elements:
 *
 *   C = alpha·A·Bᵀ + beta·S    C, S: m x n; A: m x k; B: n x k
 *   T = Cᵀ if T is not null
 *
 * Several products of one shape follow each other in each operand. */
struct zb_product_job {
  zb_u16 *c, *t;
  const zb_u16 *a, *b, *s;
  float alpha, beta;
  zb_u32 m, n, k;
};

ZB_FN zb_u32 zb_quads(zb_u32 elements) { return (elements + 7) / 8; }

template <int TILE> struct zb_out {
  enum { QUADS = TILE / 8, THREADS = 4 * zb_mma::WAVE };
  zb_quad *shared; /* TILE * QUADS */
  zb_u32 row0, col0; /* position of the tile in C */

  /* Returns the place of an element group. Rows are rotated so that 16 rows of
   * one column use different banks, and so do rows that are 8 apart. */
  static ZB_METHOD zb_u32 at(zb_u32 row, zb_u32 quad) {
    return row * QUADS + (quad ^ ((row ^ row >> 3) & (QUADS - 1)));
  }

  ZB_METHOD zb_u32 word(zb_u32 row, zb_u32 col) const {
    return shared[at(row, col / 8)].w[col % 8 / 2];
  }

  /* Reads S, padded with zeros, to the place of the sums. A thread first requests
   * all of its elements and then waits for them. A selection after each load, or a
   * write before the next load, would wait for each load separately. */
  ZB_METHOD void read(const zb_product_job &job) const {
    enum { SHARE = TILE * QUADS / THREADS, AHEAD = SHARE < 8 ? SHARE : 8 };
    const zb_quad *s = (const zb_quad *)job.s;
    zb_u32 quads = zb_quads(job.n);
    for (int from = 0; from < SHARE; from += AHEAD) {
      zb_quad q[AHEAD];
      ZB_MMA_UNROLLED
      for (int k = 0; k < AHEAD; k++) {
        zb_u64 i = threadIdx.x + (from + k) * THREADS;
        zb_u64 row = row0 + i / QUADS, quad = col0 / 8 + i % QUADS;
        q[k] = s[row < job.m && quad < quads ? row * quads + quad : 0];
      }
      ZB_MMA_UNROLLED
      for (int k = 0; k < AHEAD; k++) {
        zb_u32 i = threadIdx.x + (from + k) * THREADS;
        zb_u32 row = i / QUADS, quad = i % QUADS;
        bool there = row0 + row < job.m && col0 / 8 + quad < quads;
        ZB_UNROLLED
        for (int w = 0; w < 4; w++) {
          q[k].w[w] = there ? q[k].w[w] : 0;
        }
        shared[at(row, quad)] = q[k];
      }
    }
  }

  /* Adds beta·S, and shift on the diagonal, to the elements that this thread has read. */
  ZB_METHOD void add(const zb_product_job &job, float shift) const {
    const zb_quad *s = (const zb_quad *)job.s;
    zb_u32 quads = zb_quads(job.n);
    ZB_MMA_UNROLLED
    for (int k = 0; k < TILE * QUADS / THREADS; k++) {
      zb_u32 i = threadIdx.x + k * THREADS, row = i / QUADS, quad = i % QUADS;
      if (row0 + row < job.m && col0 / 8 + quad < quads) {
        zb_quad q = s[(zb_u64)(row0 + row) * quads + col0 / 8 + quad];
        zb_quad &sum = shared[at(row, quad)];
        ZB_UNROLLED
        for (zb_u32 w = 0; w < 4; w++) {
          zb_u32 below = row0 + row - (col0 + quad * 8 + 2 * w); /* 0 or 1 on the diagonal */
          float x = zb_widen(sum.w[w] & 0xffff) + job.beta * zb_widen(q.w[w] & 0xffff);
          float y = zb_widen(sum.w[w] >> 16) + job.beta * zb_widen(q.w[w] >> 16);
          sum.w[w] = zb_narrow2(x + (below == 0 ? shift : 0), y + (below == 1 ? shift : 0));
        }
      }
    }
  }

  /* Writes the sums of the 16 x 16 tile at (row, col) of this tile; WITH_S is
   * set if `read` has read S. */
  template <bool WITH_S>
  ZB_METHOD void put(const zb_product_job &job, const zb_mma::acc &c,
                     zb_u32 row, zb_u32 col, zb_u32 lane) const {
    enum { GROUP = zb_mma::PACK < 8 ? zb_mma::PACK : 8 };
    ZB_UNROLLED
    for (int i = 0; i < zb_mma::PACKS * zb_mma::PACK; i += GROUP) {
      int pack = i / zb_mma::PACK, from = i % zb_mma::PACK;
      zb_u32 j = col + zb_mma::col(lane, pack) + from;
      zb_u32 *w = (zb_u32 *)(shared + at(row + zb_mma::row(lane, pack), j / 8)) +
                  j % 8 / 2;
      ZB_UNROLLED
      for (int e = 0; e < GROUP; e += 2) {
        zb_u32 s = WITH_S ? w[e / 2] : 0;
        float x = job.alpha * zb_mma::value(c, pack, from + e);
        float y = job.alpha * zb_mma::value(c, pack, from + e + 1);
        x += job.beta * zb_widen(s & 0xffff);
        y += job.beta * zb_widen(s >> 16);
        w[e / 2] = zb_narrow2(x, y);
      }
    }
  }

  /* Returns elements of a tile on the diagonal. Elements above the diagonal are copies of the
   * elements below, so that both have the same bits. */
  ZB_METHOD zb_quad folded(zb_u32 row, zb_u32 quad) const {
    zb_quad q;
    ZB_UNROLLED
    for (zb_u32 w = 0; w < 4; w++) {
      zb_u32 half[2];
      ZB_UNROLLED
      for (zb_u32 h = 0; h < 2; h++) {
        zb_u32 col = quad * 8 + 2 * w + h;
        zb_u32 r = row > col ? row : col, c = row > col ? col : row;
        half[h] = word(r, c) >> (16 * (c % 2)) & 0xffff;
      }
      q.w[w] = half[0] | half[1] << 16;
    }
    return q;
  }

  ZB_METHOD void write(const zb_product_job &job, bool diagonal) const {
    zb_quad *c = (zb_quad *)job.c;
    zb_u32 quads = zb_quads(job.n);
    for (zb_u32 i = threadIdx.x; i < TILE * QUADS; i += THREADS) {
      zb_u32 r = i / QUADS, quad = i % QUADS;
      if (row0 + r < job.m && col0 / 8 + quad < quads) {
        c[(zb_u64)(row0 + r) * quads + col0 / 8 + quad] =
            diagonal ? folded(r, quad) : shared[at(r, quad)];
      }
    }
  }

  /* Writes the transposed tile. Two columns at a time become two rows: the words of eight rows are
   * split and recombined. */
  ZB_METHOD void transpose(const zb_product_job &job) const {
    zb_quad *t = (zb_quad *)job.t;
    zb_u32 quads = zb_quads(job.m);
    for (zb_u32 i = threadIdx.x; i < TILE * QUADS / 2; i += THREADS) {
      zb_u32 quad = i % QUADS, j = i / QUADS * 2;
      zb_quad even, odd;
      ZB_UNROLLED
      for (zb_u32 w = 0; w < 4; w++) {
        zb_u32 x = word(quad * 8 + 2 * w, j);
        zb_u32 y = word(quad * 8 + 2 * w + 1, j);
        even.w[w] = (x & 0xffff) | y << 16;
        odd.w[w] = x >> 16 | (y & 0xffff0000);
      }
      zb_u64 to = (zb_u64)(col0 + j) * quads + row0 / 8 + quad;
      if (row0 / 8 + quad < quads && col0 + j < job.n) {
        t[to] = even;
        if (col0 + j + 1 < job.n) {
          t[to + quads] = odd;
        }
      }
    }
  }
};

#endif
