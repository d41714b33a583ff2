/* norm.hip as NVIDIA's compiler gets it against norm.hip as the others do, on
 * the host: the same bits from the same threads, and from fewer threads a row
 * the same sum and an output that is off by a rounding at the most. */
#include "../kernels/host.h"
#include "../kernels/prelude.h"

#include "../kernels/host_run.h"
#include "../kernels/norm_list.h"

namespace others {
#include "../kernels/reduce.h"
#include "../kernels/number.h"
#include "../kernels/norm_held.h"
#include "../kernels/norm.hip"
}
#define ZB_NVIDIA 1
namespace nvidia {
#include "../kernels/reduce.h"
#include "../kernels/number.h"
#include "../kernels/norm_held.h"
#include "../kernels/norm.hip"
}

enum { ROWS = 3, MOST = 40000, BYTES = ROWS * MOST * 4 };

static unsigned state = 7;
static unsigned next(void) { return state = state * 1664525 + 1013904223; }

struct matrix {
  alignas(16) unsigned char at[BYTES + 64];
};
static matrix x, residual, weight, bias, sums[2], out[2];

/* Between 0.5 and 4 with either sign. */
static void fill(matrix &m, unsigned width, bool half) {
  for (unsigned i = 0; i < BYTES / width; i++) {
    unsigned r = next() >> 8;
    if (width == 4) {
      r = (r & 0x807fffff) | (126 + r % 3) << 23;
      r |= (next() & 0x10000) << 15;
      memcpy(m.at + 4 * i, &r, 4);
    } else {
      unsigned short h = half ? (unsigned short)((r & 0x83ff) | (14 + r % 3) << 10)
                              : (unsigned short)((r & 0x807f) | (126 + r % 3) << 7);
      memcpy(m.at + 2 * i, &h, 2);
    }
  }
}

static double value(const matrix &m, unsigned width, bool half, unsigned i) {
  unsigned u = 0;
  memcpy(&u, m.at + (size_t)width * i, width);
  return width == 4 ? others::zb_f32::wide(u)
         : half     ? others::zb_f16::wide((unsigned short)u)
                    : others::zb_bf16::wide((unsigned short)u);
}

template <class Kernel>
static int run(Kernel kernel, int to, unsigned blocks, unsigned threads, unsigned hidden) {
  void *r = sums[to].at, *y = out[to].at, *p = x.at, *q = residual.at;
  void *w = weight.at, *b = bias.at;
  unsigned long long rows = ROWS;
  float eps = 1e-5f;
  void *params[] = {&r, &y, &p, &q, &w, &b, &rows, &hidden, &eps};
  zbk_launch l = {{blocks, 1, 1}, {threads, 1, 1}, 0};
  char why[160] = "";
  memset(sums[to].at, 0xee, sizeof sums[to].at);
  memset(out[to].at, 0xee, sizeof out[to].at);
  if (decltype(zbk_args_of(kernel))::waiting(kernel, &l, params, why, sizeof why)) {
    printf("%s\n", why);
    return 1;
  }
  return 0;
}

template <class Kernel>
static int same(const char *name, Kernel theirs, Kernel ours, unsigned width,
                bool half, unsigned most, bool wave, unsigned hidden,
                unsigned threads) {
  unsigned blocks = wave ? (ROWS + 256 / ZB_WAVE - 1) / (256 / ZB_WAVE) : ROWS;
  /* one rounding of a number, and of those that it is the sum of */
  double slack = threads == most ? 0 : width == 4 ? 4e-6 : half ? 0x1p-10 : 0x1p-7;
  if (run(theirs, 0, blocks, most, hidden) || run(ours, 1, blocks, threads, hidden)) {
    return 1;
  }
  if (memcmp(sums[0].at, sums[1].at, sizeof sums[0].at) != 0) {
    printf("%s, %u elements, %u threads: another sum\n", name, hidden, threads);
    return 1;
  }
  for (unsigned i = 0; i < sizeof out[0].at / width; i++) {
    double a = value(out[0], width, half, i), b = value(out[1], width, half, i);
    if (slack > 0 && i < ROWS * hidden ? !(__builtin_fabs(a - b) <= slack * (__builtin_fabs(a) + 4))
                          : memcmp(out[0].at + i * width, out[1].at + i * width, width) != 0) {
      printf("%s, %u elements, %u threads: element %u\n", name, hidden, threads, i);
      return 1;
    }
  }
  return 0;
}

/* rows that end inside a thread's vectors, behind its last and not at all */
static const unsigned lengths[] = {8, 264, 1024, 2056, 8192, 33000};

template <typename B>
using norm = void (*)(B *, B *, const B *, const B *, const B *, const B *,
                      unsigned long long, unsigned, float);

template <typename B>
static int all(const char *type, norm<B> theirs, norm<B> ours) {
  bool wave = strstr(type, "_wave") != NULL, large = strstr(type, "_large") != NULL;
  bool half = strstr(type, "_f16") != NULL;
  unsigned most = large ? 1024 : 256, failures = 0;
  matrix *inputs[] = {&x, &residual, &weight, &bias};
  for (matrix *m : inputs) {
    fill(*m, sizeof(B), half);
  }
  for (unsigned hidden : lengths) {
    if (hidden > 4096 && !large) {
      continue;
    }
    for (unsigned threads = wave ? most : 64; threads <= most; threads *= most > 256 ? 4 : 2) {
      failures += (unsigned)same(type, theirs, ours, sizeof(B), half, most, wave, hidden, threads);
    }
  }
  return (int)failures;
}

int main(void) {
  int failures = 0;
#define RUN(kind, t, wide, by)                                                 \
  failures += all("zb_" #kind "norm_" #t "_" #wide "_" #by,                    \
                  others::zb_##kind##norm_##t##_##wide##_##by,                 \
                  nvidia::zb_##kind##norm_##t##_##wide##_##by);
  ZB_NORMS(RUN)
  return failures != 0;
}
