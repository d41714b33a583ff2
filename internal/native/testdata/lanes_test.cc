/* Runs the product kernels as AMD's or NVIDIA's lanes would (-DZB_AMD=1, or
 * -DZB_NVIDIA=1 -DZB_WAVE=32), on instructions made of their manuals. Reads
 * launches from standard input and writes C and Cᵀ of each: see muon_lanes_test.go.
 * With an argument n it writes the tiles of the blocks 0 to n - 1 instead. */
#include "../kernels/host.h"
#include "../kernels/prelude.h"

#include "../kernels/host_run.h"

/* The matrix instructions of AMD and NVIDIA as their manuals describe them, one
 * lane at a time on the host: what a lane gives and gets, and nothing of how the
 * kernels use them. AMD: "AMD Instinct MI300 Instruction Set Architecture",
 * V_MFMA_F32_16X16X16_BF16, that of CDNA4, V_MFMA_F32_16X16X32_BF16
 * (-DZB_MFMA_PARTS=1), and the Matrix Instruction Calculator. NVIDIA: "PTX
 * ISA", mma.m16n8k16, ldmatrix, cp.async. */
static unsigned lane_thread(void) {
  return (unsigned)(zbk_here->now - zbk_here->threads);
}
static unsigned lane_number(void) { return lane_thread() % ZB_WAVE; }

/* What the lanes of a wave give to one instruction. Two places in turn: who is
 * at the next one has read this one. */
template <typename T> struct lane_exchange {
  T given[2][ZBK_MOST_THREADS];
  unsigned turn[ZBK_MOST_THREADS];

  const T *all(const T &mine) {
    unsigned me = lane_thread(), now = turn[me]++ % 2;
    given[now][me] = mine;
    ZB_SHFL_XOR(0, 0); /* all lanes of the wave are here */
    return given[now] + me / ZB_WAVE * ZB_WAVE;
  }
};

static float lane_bf16(unsigned short bits) {
  unsigned u = (unsigned)bits << 16;
  float f;
  memcpy(&f, &u, sizeof f);
  return f;
}

#if defined(ZB_AMD)
#ifndef ZB_MFMA_PARTS
#define ZB_MFMA_PARTS 2
#endif
enum { LANE_DEPTH = 8 / ZB_MFMA_PARTS }; /* that a lane gives */
typedef short lane_operand __attribute__((vector_size(2 * LANE_DEPTH)));
typedef float lane_float4 __attribute__((vector_size(16)));
struct lane_operands {
  lane_operand a, b;
};
static lane_exchange<lane_operands> lane_mfma_given;

/* D = A·B + C of 16 x 16 x 16, or x 32. A's row and B's column are lane % 16,
 * their depth 4 (lane / 16) + e, or 8; D's column is lane % 16, its row 4 (lane / 16) + e. */
static lane_float4 lane_mfma(lane_operand a, lane_operand b, lane_float4 c) {
  const lane_operands *all = lane_mfma_given.all({a, b});
  unsigned lane = lane_number();
  for (unsigned e = 0; e < 4; e++) {
    unsigned row = 4 * (lane / 16) + e, col = lane % 16;
    for (unsigned k = 0; k < 4 * LANE_DEPTH; k++) {
      c[e] += lane_bf16((unsigned short)all[row + 16 * (k / LANE_DEPTH)].a[k % LANE_DEPTH]) *
              lane_bf16((unsigned short)all[col + 16 * (k / LANE_DEPTH)].b[k % LANE_DEPTH]);
    }
  }
  return c;
}
#define ZB_MFMA(a, b, c) lane_mfma(a, b, c)
#else
static unsigned short lane_half(unsigned word, unsigned i) {
  return (unsigned short)(word >> (16 * i));
}

/* Four 8 x 8 matrices, the rows of the i-th at lanes 8i to 8i + 7; a lane gets
 * of each the two neighbours 2 (lane % 4) of row lane / 4. */
static lane_exchange<const void *> lane_rows_given;
static void lane_ldmatrix(unsigned *to, const void *row) {
  const void *const *all = lane_rows_given.all(row);
  unsigned lane = lane_number();
  for (unsigned i = 0; i < 4; i++) {
    const char *at = static_cast<const char *>(all[8 * i + lane / 4]);
    memcpy(to + i, at + 4 * (lane % 4), 4);
  }
}

/* C += A·B of 16 x 8 x 16. g = lane / 4, t = 2 (lane % 4): A's words are rows
 * g, g + 8, g, g + 8 at depth t, t, t + 8, t + 8; B's column g at depth t, t + 8;
 * C's row g at columns t, t + 1, then row g + 8. */
struct lane_mma_operands {
  unsigned a[4], b[2];
};
static lane_exchange<lane_mma_operands> lane_mma_given;
static void lane_mma(float *c, const unsigned *a, unsigned b0, unsigned b1) {
  const lane_mma_operands *all =
      lane_mma_given.all({{a[0], a[1], a[2], a[3]}, {b0, b1}});
  unsigned lane = lane_number();
  for (unsigned i = 0; i < 4; i++) {
    unsigned row = lane / 4 + i / 2 * 8, col = 2 * (lane % 4) + i % 2;
    for (unsigned k = 0; k < 16; k++) {
      unsigned word = row / 8 + k / 8 * 2, from = k % 8 / 2;
      c[i] += lane_bf16(lane_half(all[row % 8 * 4 + from].a[word], k % 2)) *
              lane_bf16(lane_half(all[col * 4 + from].b[k / 8], k % 2));
    }
  }
}

/* Copies come when they are waited for, not before. */
struct lane_copies {
  struct {
    void *to;
    const void *from;
    bool there;
    unsigned group;
  } copy[256];
  unsigned first, last, group;
};
static lane_copies lane_pending[ZBK_MOST_THREADS];
static void lane_copy(void *to, const void *from, bool there) {
  lane_copies *p = &lane_pending[lane_thread()];
  p->copy[p->last++ % 256] = {to, from, there, p->group};
}
static void lane_wait(unsigned left) {
  lane_copies *p = &lane_pending[lane_thread()];
  while (p->first < p->last &&
         p->copy[p->first % 256].group + left < p->group) {
    auto &c = p->copy[p->first++ % 256];
    if (c.there) {
      memcpy(c.to, c.from, 16);
    } else {
      memset(c.to, 0, 16);
    }
  }
}
/* shared memory's addresses are the host's */
typedef unsigned long long zb_spot;
#define ZB_SPOT_OF(p) ((zb_spot)(p))
#define ZB_LDMATRIX(to, row) lane_ldmatrix(to, (const void *)(row))
#define ZB_MMA_SYNC(c, a, b0, b1) lane_mma(c, a, b0, b1)
#define ZB_COPY_ASYNC(to, from, there) lane_copy((void *)(to), from, there)
#define ZB_COPY_COMMIT() (lane_pending[lane_thread()].group++)
#define ZB_COPY_WAIT(left) lane_wait(left)
#endif

namespace kernels {
#include "../kernels/number.h"
#include "../kernels/quad.h"
#include "../kernels/muon_mma.h"
#include "../kernels/muon_feed.h"
#include "../kernels/muon_out.h"
#include "../kernels/muon_place.h"
#include "../kernels/muon_product.hip"
}

struct order {
  unsigned tile, triangle, blocks, batch, m, n, k;
  float alpha, beta;
};

static void *read_all(size_t bytes) {
  void *p = aligned_alloc(64, (bytes + 63) / 64 * 64 + 64);
  if (p == NULL || fread(p, 1, bytes, stdin) != bytes) {
    exit(2);
  }
  return p;
}

static size_t bytes(const order &o, unsigned rows, unsigned cols) {
  return (size_t)o.batch * rows * ((cols + 7) / 8 * 8) * 2;
}

int main(int argc, char **argv) {
  order o;
  if (argc > 1) {
    for (unsigned b = 0, n = (unsigned)atoi(argv[1]); b < n; b++) {
      printf("%u ", kernels::zb_near(b, n));
    }
    return 0;
  }
  while (fread(&o, sizeof o, 1, stdin) == 1) {
    size_t size = bytes(o, o.m, o.n), turned = bytes(o, o.n, o.m);
    void *a = read_all(bytes(o, o.m, o.k)), *b = read_all(bytes(o, o.n, o.k));
    void *s = read_all(o.beta != 0 ? size : 0);
    void *c = aligned_alloc(64, size + 64), *t = aligned_alloc(64, turned + 64);
    void *transposed = o.triangle ? NULL : t;
    void *params[] = {&c, &transposed, &a,   &b,   &s,
                      &o.alpha, &o.beta, &o.m, &o.n, &o.k};
    zbk_launch l = {{o.blocks, o.batch, 1}, {4 * kernels::zb_mma::WAVE, 1, 1}, 0};
    char why[160] = "";
    auto kernel = o.triangle ? (o.tile == 64 ? kernels::zb_triangle_64 : kernels::zb_triangle_128)
                             : (o.tile == 64 ? kernels::zb_product_64 : kernels::zb_product_128);
    memset(c, 0xff, size);
    memset(t, 0xff, turned);
    if (decltype(zbk_args_of(kernels::zb_product_64))::waiting(kernel, &l, params, why, sizeof why)) {
      fprintf(stderr, "%s\n", why);
      return 1;
    }
    fwrite(c, 1, size, stdout);
    fwrite(t, 1, turned, stdout);
    fflush(stdout);
    free(a), free(b), free(s), free(c), free(t);
  }
  return 0;
}
