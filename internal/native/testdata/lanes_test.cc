/* Runs the product kernels as AMD's or NVIDIA's lanes would (-DZB_AMD=1, or
 * -DZB_NVIDIA=1 -DZB_WAVE=32), on instructions made of their manuals. Reads
 * launches from standard input and writes C and Cᵀ of each: see muon_lanes_test.go.
 * With an argument n it writes the tiles of the blocks 0 to n - 1 instead. */
#include "../kernels/host.h"
#include "../kernels/prelude.h"

#include "../kernels/host_run.h"

#include "lanes.h"

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
