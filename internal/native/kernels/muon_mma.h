/* The product of two 16-row tiles, C += A·Bᵀ, for three kinds of device behind
 * one type. A tile is stored in shared memory as rows of ZB_DEPTH bf16.
 *
 *   WAVE               lanes that work on one tile together
 *   STEPS              number of load and mma steps for one ZB_DEPTH
 *   load_a, load_b     load 16 rows from row0 on, for one step of the depth
 *   mma                adds a product; a step takes PARTS independent calls
 *   PACKS, PACK        a lane holds PACKS groups of PACK neighbours in a row of C
 *   row, col, value    a group's place in the 16 x 16 tile, and its values
 *
 * The layouts are from AMD's "Matrix Instruction Calculator" for
 * v_mfma_f32_16x16x16_bf16, and from the PTX ISA for mma.m16n8k16 and
 * ldmatrix. */
#ifndef ZB_MUON_MMA_H
#define ZB_MUON_MMA_H

/* One lane of the host does the work of a wave, so its loops are not unrolled. */
#if defined(ZB_AMD) || defined(ZB_NVIDIA)
#define ZB_MMA_UNROLLED ZB_UNROLLED
#else
#define ZB_MMA_UNROLLED
#endif

enum { ZB_DEPTH = 32, ZB_DEPTH_QUADS = ZB_DEPTH / 8 };

/* Returns the place of eight neighbours of a row. The order of the four groups of
 * a row is rotated with the row, so that eight rows of one column are in eight
 * different places of the 128 bytes that are read at once. */
ZB_FN zb_u32 zb_tile_at(zb_u32 row, zb_u32 quad) {
  return row * ZB_DEPTH_QUADS + (quad ^ (row >> 1 & 3));
}

#if defined(ZB_AMD)

typedef float zb_float4 __attribute__((vector_size(16)));

/* A lane reads eight neighbours along the depth. The instruction of gfx950
 * takes all eight at once. The instruction of gfx942 takes four. Any four will
 * do, as long as both operands agree. */
#ifndef ZB_MFMA
#if defined(__gfx950__)
#define ZB_MFMA_PARTS 1
typedef __bf16 zb_bf16x8 __attribute__((ext_vector_type(8)));
#define ZB_MFMA(a, b, c)                                                       \
  __builtin_amdgcn_mfma_f32_16x16x32_bf16((zb_bf16x8)(a), (zb_bf16x8)(b), c, 0, 0, 0)
#else
#define ZB_MFMA_PARTS 2
#define ZB_MFMA(a, b, c)                                                       \
  __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(a, b, c, 0, 0, 0)
#endif
#endif
typedef short zb_mfma_operand __attribute__((vector_size(16 / ZB_MFMA_PARTS)));

/* Sets the order in which a wave issues instructions, kind by kind, for the
 * code up to the next ZB_IN_ORDER. */
#if defined(__AMDGCN__)
enum { ZB_COME_MFMA = 8, ZB_COME_FETCH = 32, ZB_COME_READ = 256, ZB_COME_WRITE = 512 };
#define ZB_NEXT_COME(kind, n) __builtin_amdgcn_sched_group_barrier(kind, n, 0)
#define ZB_IN_ORDER() __builtin_amdgcn_sched_barrier(0)
#else
#define ZB_NEXT_COME(kind, n)
#define ZB_IN_ORDER()
#endif

/* B is the instruction's first operand, so that a lane gets neighbours of a row of C. */
struct zb_mma {
  enum { WAVE = 64, STEPS = 1, PARTS = ZB_MFMA_PARTS, PACKS = 1, PACK = 4 };
  struct operand {
    zb_mfma_operand part[PARTS];
  };
  typedef operand a, b;
  typedef zb_float4 acc;

  static ZB_METHOD void load_a(a &to, const zb_quad *tile, zb_u32 row0, int,
                               zb_u32 lane) {
    zb_quad q = tile[zb_tile_at(row0 + lane % 16, lane / 16)];
    __builtin_memcpy(&to, &q, sizeof q);
  }
  static ZB_METHOD void load_b(b &to, const zb_quad *tile, zb_u32 row0,
                               int step, zb_u32 lane) {
    load_a(to, tile, row0, step, lane);
  }
  static ZB_METHOD void clear(acc &c) { c = acc{0, 0, 0, 0}; }
  static ZB_METHOD void mma(acc &c, const a &x, const b &y, int part) {
    c = ZB_MFMA(y.part[part], x.part[part], c);
  }
  static ZB_METHOD zb_u32 row(zb_u32 lane, int) { return lane % 16; }
  static ZB_METHOD zb_u32 col(zb_u32 lane, int) { return lane / 16 * 4; }
  static ZB_METHOD float value(const acc &c, int, int i) { return c[i]; }
};

#elif defined(ZB_NVIDIA)

#ifndef ZB_LDMATRIX
/* An address in shared memory, in bytes. A pointer would be converted to such
 * an address at every access. */
typedef zb_u32 zb_spot;
/* Loads four 8 x 8 matrices. Lane l gives the address of row l % 8 of matrix l / 8. */
ZB_FN void zb_ldmatrix(zb_u32 *to, zb_spot row) {
  asm volatile(
      "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
      : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
      : "r"(row));
}
/* Computes c += a·b for 16 x 8 x 16. */
ZB_FN void zb_mma_sync(float *c, const zb_u32 *a, zb_u32 b0, zb_u32 b1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
               "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
#define ZB_LDMATRIX(to, row) zb_ldmatrix(to, row)
#define ZB_MMA_SYNC(c, a, b0, b1) zb_mma_sync(c, a, b0, b1)
#endif

/* In A, matrices 0 and 2 are rows 0 to 7, and matrices 1 and 3 are rows 8 to 15.
 * In B, matrices 0 and 1 are rows 0 to 7, and matrices 2 and 3 are rows 8 to 15.
 * The two registers of each instruction are then neighbours, as it requires, and
 * no register is moved. */
struct zb_mma {
  enum { WAVE = 32, STEPS = 2, PARTS = 1, PACKS = 4, PACK = 2 };
  struct operand {
    zb_u32 w[4];
  };
  typedef operand a, b;
  struct acc {
    float v[8];
  };

  static ZB_METHOD void load_a(a &to, zb_spot tile, zb_u32 row0, int step,
                               zb_u32 lane) {
    ZB_LDMATRIX(to.w, tile + 16 * zb_tile_at(row0 + lane % 16,
                                             2 * step + lane / 16));
  }
  static ZB_METHOD void load_b(b &to, zb_spot tile, zb_u32 row0, int step,
                               zb_u32 lane) {
    ZB_LDMATRIX(to.w, tile + 16 * zb_tile_at(row0 + lane % 8 + lane / 16 * 8,
                                             2 * step + lane / 8 % 2));
  }
  static ZB_METHOD void clear(acc &c) {
    ZB_UNROLLED
    for (int i = 0; i < 8; i++) {
      c.v[i] = 0;
    }
  }
  static ZB_METHOD void mma(acc &c, const a &x, const b &y, int) {
    ZB_MMA_SYNC(c.v, x.w, y.w[0], y.w[1]);
    ZB_MMA_SYNC(c.v + 4, x.w, y.w[2], y.w[3]);
  }
  static ZB_METHOD zb_u32 row(zb_u32 lane, int pack) {
    return lane / 4 + pack % 2 * 8;
  }
  static ZB_METHOD zb_u32 col(zb_u32 lane, int pack) {
    return lane % 4 * 2 + pack / 2 * 8;
  }
  static ZB_METHOD float value(const acc &c, int pack, int i) {
    return c.v[pack * 2 + i];
  }
};

#else

/* Plain loops (host_mma.h). One lane computes the whole tile. */
struct zb_mma {
  enum { WAVE = 1, STEPS = 1, PARTS = 1, PACKS = 16, PACK = 16 };
  struct a {
    float v[16][ZB_DEPTH];
  };
  struct b {
    float v[ZB_DEPTH][16];
  };
  struct acc {
    float v[16][16];
  };

  static ZB_METHOD void load_a(a &to, const zb_quad *tile, zb_u32 row0, int,
                               zb_u32) {
    for (zb_u32 r = 0; r < 16; r++) {
      for (zb_u32 k = 0; k < ZB_DEPTH; k++) {
        to.v[r][k] = tile[zb_tile_at(row0 + r, k / 8)].widened(k % 8);
      }
    }
  }
  static ZB_METHOD void load_b(b &to, const zb_quad *tile, zb_u32 row0, int,
                               zb_u32) {
    for (zb_u32 r = 0; r < 16; r++) {
      for (zb_u32 k = 0; k < ZB_DEPTH; k++) {
        to.v[k][r] = tile[zb_tile_at(row0 + r, k / 8)].widened(k % 8);
      }
    }
  }
  static ZB_METHOD void clear(acc &c) {
    for (int i = 0; i < 256; i++) {
      c.v[i / 16][i % 16] = 0;
    }
  }
  static ZB_METHOD void mma(acc &c, const a &x, const b &y, int) {
    static_assert((int)ZB_DEPTH == (int)ZBK_MMA_DEPTH,
                  "the host's depth is the tile's");
    zbk_mma(c.v[0], x.v[0], y.v[0]);
  }
  static ZB_METHOD zb_u32 row(zb_u32, int pack) { return (zb_u32)pack; }
  static ZB_METHOD zb_u32 col(zb_u32, int) { return 0; }
  static ZB_METHOD float value(const acc &c, int pack, int i) {
    return c.v[pack][i];
  }
};

#endif
#endif
