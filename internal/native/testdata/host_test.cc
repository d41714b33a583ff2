/* Kernels whose threads wait for each other, on the host: barriers, shared
 * memory, shuffles, three dimensions, and what must be refused. Built and run by
 * TestToolchainHostKernels on stacks switched in assembly and by ucontext, with waves of
 * 64 and 32, and under the sanitizers. */
#include "../kernels/host.h"
#include "../kernels/prelude.h"

#include "../kernels/host_run.h"
#include "check.h"

namespace kernels {

/* The sum of a block's elements in every one of its threads: by shuffles within
 * waves, by shared memory between them. */
ZB_FN double sum_of_block(double v, unsigned t, unsigned threads) {
  ZB_SHARED(double, waves, 1024 / ZB_WAVE);
  for (unsigned w = 0; w < t / ZB_WAVE; w++) { /* waves need not keep step */
    v = ZB_SHFL_XOR(ZB_SHFL_XOR(v, 1), 1);
  }
  for (unsigned m = ZB_WAVE / 2; m > 0; m /= 2) {
    v += ZB_SHFL_XOR(v, m);
  }
  if (t % ZB_WAVE == 0) {
    waves[t / ZB_WAVE] = v;
  }
  ZB_BARRIER();
  v = 0;
  for (unsigned w = 0; w < threads / ZB_WAVE; w++) {
    v += waves[w];
  }
  ZB_BARRIER();
  return v;
}

ZB_KERNEL(block_sums)(const float *x, double *sums, unsigned rounds) {
  unsigned plane = blockDim.x * blockDim.y;
  unsigned t = threadIdx.x + threadIdx.y * blockDim.x + threadIdx.z * plane;
  unsigned b = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  double total = 0;
  for (unsigned r = 0; r < rounds; r++) {
    float v = x[(b * rounds + r) * plane * blockDim.z + t];
    total += sum_of_block((double)v, t, plane * blockDim.z);
  }
  sums[b * plane * blockDim.z + t] = total;
}

/* A matrix turned over through shared memory of the size the launch gives. */
ZB_KERNEL(turn)(const int *from, int *to, unsigned rows, unsigned columns) {
  ZB_SHARED_AT_LAUNCH(int, tile);
  unsigned n = blockDim.x, x = blockIdx.x * n, y = blockIdx.y * n;
  if (y + threadIdx.y < rows && x + threadIdx.x < columns) {
    tile[threadIdx.y * (n + 1) + threadIdx.x] =
        from[(y + threadIdx.y) * columns + x + threadIdx.x];
  }
  ZB_BARRIER();
  if (x + threadIdx.y < columns && y + threadIdx.x < rows) {
    to[(x + threadIdx.y) * rows + y + threadIdx.x] =
        tile[threadIdx.x * (n + 1) + threadIdx.y];
  }
}

/* Shared memory that was not written: its own, and the launch's. */
ZB_KERNEL(unwritten)(float *own, double *launched) {
  ZB_SHARED(float, a, 3);
  ZB_SHARED_AT_LAUNCH(double, b);
  if (blockIdx.x == 1) {
    own[threadIdx.x] = a[threadIdx.x];
    launched[threadIdx.x] = b[threadIdx.x];
  }
  ZB_BARRIER();
  a[threadIdx.x] = 1;
  b[threadIdx.x] = 1;
}

enum { SKIPPED, RETURNED, ELSEWHERE, HALF_WAVE, NO_LANE, MIXED, TOO_MUCH };

ZB_KERNEL(wrong)(int how, int *after) {
  unsigned t = threadIdx.x;
  switch (how) {
  case SKIPPED:
    if (t != 3) {
      ZB_BARRIER();
    }
    break;
  case RETURNED:
    if (t == blockDim.x - 1) {
      return;
    }
    ZB_BARRIER();
    break;
  case ELSEWHERE:
    if (t & 1) {
      ZB_BARRIER();
    } else {
      ZB_BARRIER();
    }
    break;
  case HALF_WAVE:
    if (t % ZB_WAVE < ZB_WAVE / 2) {
      *after += ZB_SHFL_XOR(1, 1);
    }
    break;
  case NO_LANE:
    *after += ZB_SHFL_XOR(1, ZB_WAVE);
    break;
  case MIXED:
    if (t == 0) {
      ZB_BARRIER();
    } else {
      *after += ZB_SHFL_XOR(1, 1);
    }
    break;
  case TOO_MUCH: {
    ZB_SHARED(char, a, 40 << 10);
    ZB_SHARED(char, b, 24 << 10);
    ZB_SHARED(char, c, 1);
    a[t] = b[t] = c[0] = 1;
    break;
  }
  }
  *after = 1;
}

} // namespace kernels

template <class Kernel, typename... A>
static int run(Kernel k, zbk_launch l, char *why, A... args) {
  void *params[] = {&args...};
  return decltype(zbk_args_of(k))::waiting(k, &l, params, why, 160);
}

static void sums_equal_serial_ones(zbk_launch l) {
  enum { ROUNDS = 3 };
  unsigned blocks = l.grid[0] * l.grid[1] * l.grid[2];
  unsigned threads = l.block[0] * l.block[1] * l.block[2];
  unsigned n = blocks * threads;
  float *x = static_cast<float *>(malloc(n * ROUNDS * sizeof *x));
  double *sums = static_cast<double *>(malloc(n * sizeof *sums));
  char why[160] = "";
  for (unsigned i = 0; i < n * ROUNDS; i++) {
    x[i] = (float)(i % 1009) - 500;
  }
  CHECK(run(kernels::block_sums, l, why, (const float *)x, sums,
            (unsigned)ROUNDS) == 0);
  CHECK(why[0] == '\0');
  for (unsigned b = 0; b < blocks; b++) {
    double want = 0;
    for (unsigned i = 0; i < ROUNDS * threads; i++) {
      want += (double)x[b * ROUNDS * threads + i];
    }
    for (unsigned t = 0; t < threads; t++) {
      if (sums[b * threads + t] != want) {
        CHECK(sums[b * threads + t] == want);
        b = blocks;
        break;
      }
    }
  }
  free(x);
  free(sums);
}

static void matrices_turn(unsigned rows, unsigned columns) {
  enum { N = 16 };
  int *from = static_cast<int *>(malloc(rows * columns * sizeof(int)));
  int *to = static_cast<int *>(malloc(rows * columns * sizeof(int)));
  char why[160];
  zbk_launch l = {{(columns + N - 1) / N, (rows + N - 1) / N, 1},
                  {N, N, 1},
                  N * (N + 1) * sizeof(int)};
  int wrong = 0;
  for (unsigned i = 0; i < rows * columns; i++) {
    from[i] = (int)i;
  }
  CHECK(run(kernels::turn, l, why, (const int *)from, to, rows, columns) == 0);
  for (unsigned r = 0; r < rows; r++) {
    for (unsigned c = 0; c < columns; c++) {
      wrong += to[c * rows + r] != from[r * columns + c];
    }
  }
  CHECK(wrong == 0);
  free(from);
  free(to);
}

static void shared_memory_begins_as_nothing(void) {
  float own[3] = {};
  double launched[3] = {};
  char why[160];
  zbk_launch l = {{2, 1, 1}, {3, 1, 1}, 24};
  CHECK(run(kernels::unwritten, l, why, own + 0, launched + 0) == 0);
  for (int i = 0; i < 3; i++) {
    CHECK(own[i] != own[i] && launched[i] != launched[i]);
  }
}

static void wrong_kernels_end(void) {
  static const struct {
    int how;
    const char *why;
  } cases[] = {
      {kernels::SKIPPED, "a barrier that not all threads of the block reach"},
      {kernels::RETURNED, "a barrier that not all threads of the block reach"},
      {kernels::ELSEWHERE, "a barrier that not all threads of the block reach"},
      {kernels::HALF_WAVE, "a shuffle that not all lanes of the wave reach"},
      {kernels::NO_LANE, "a shuffle from a lane that does not exist"},
      {kernels::MIXED, "a shuffle that not all lanes of the wave reach"},
      {kernels::TOO_MUCH, "more than 64 KiB of shared memory"},
  };
  for (auto &c : cases) {
    char why[160] = "";
    int after = 0;
    zbk_launch l = {{2, 1, 1}, {128, 1, 1}, 0};
    CHECK(run(kernels::wrong, l, why, c.how, &after) == 1);
    CHECK(strncmp(why, c.why, strlen(c.why)) == 0);
    sums_equal_serial_ones(l); /* and the next launch is none the worse */
  }
}

int main(void) {
  sums_equal_serial_ones({{1, 1, 1}, {64, 1, 1}, 0});
  sums_equal_serial_ones({{5, 1, 1}, {256, 1, 1}, 0});
  sums_equal_serial_ones({{2, 3, 4}, {16, 8, 2}, 0});
  sums_equal_serial_ones({{1, 2, 1}, {1024, 1, 1}, 0});
  matrices_turn(1, 1);
  matrices_turn(63, 65);
  matrices_turn(33, 4097);
  shared_memory_begins_as_nothing();
  wrong_kernels_end();
  return failures != 0;
}
