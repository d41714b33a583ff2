/* A small STREAM with non-temporal stores, with which compare.sh compares zbench's
 * figures for the host's memory. It shares no code with zbench: it uses OpenMP
 * instead of a thread pool, and one loop per kernel. It counts bytes like STREAM,
 * two arrays for copy and three for triad.
 *
 *   stream BYTES REPEATS    bytes of one array; prints the best rate in GB/s */
#include <immintrin.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

static double *make(size_t bytes) {
  double *p = aligned_alloc(2 << 20, (bytes + (2 << 20) - 1) >> 21 << 21);
  if (p == NULL) {
    exit(1);
  }
  madvise(p, bytes, MADV_HUGEPAGE);
  return p;
}

static void copy(double *c, const double *a, size_t n) {
#pragma omp parallel for schedule(static)
  for (size_t i = 0; i < n; i += 8) {
    _mm256_stream_pd(c + i, _mm256_load_pd(a + i));
    _mm256_stream_pd(c + i + 4, _mm256_load_pd(a + i + 4));
  }
}

static void triad(double *a, const double *b, const double *c, double s,
                  size_t n) {
  const __m256d v = _mm256_set1_pd(s);
#pragma omp parallel for schedule(static)
  for (size_t i = 0; i < n; i += 8) {
    _mm256_stream_pd(a + i, _mm256_add_pd(_mm256_load_pd(b + i),
                                          _mm256_mul_pd(v, _mm256_load_pd(c + i))));
    _mm256_stream_pd(a + i + 4,
                     _mm256_add_pd(_mm256_load_pd(b + i + 4),
                                   _mm256_mul_pd(v, _mm256_load_pd(c + i + 4))));
  }
}

int main(int argc, char **argv) {
  size_t n = argc > 1 ? strtoull(argv[1], NULL, 10) / 64 * 8 : 0;
  int repeats = argc > 2 ? atoi(argv[2]) : 0;
  double best[2] = {1e30, 1e30};
  double *a, *b, *c;
  if (n == 0 || repeats < 2) {
    fprintf(stderr, "usage: stream BYTES REPEATS\n");
    return 2;
  }
  a = make(n * 8), b = make(n * 8), c = make(n * 8);
#pragma omp parallel for schedule(static)
  for (size_t i = 0; i < n; i++) {
    a[i] = 1, b[i] = 2, c[i] = (double)i;
  }
  for (int r = 0; r < repeats; r++) {
    for (int kernel = 0; kernel < 2; kernel++) {
      double t = omp_get_wtime();
      if (kernel == 0) {
        copy(c, a, n);
      } else {
        triad(a, b, c, 0.5, n);
      }
      t = omp_get_wtime() - t;
      if (r > 0 && t < best[kernel]) {
        best[kernel] = t;
      }
    }
  }
  printf("copy %.3f\ntriad %.3f\n", 16e-9 * (double)n / best[0],
         24e-9 * (double)n / best[1]);
  return a[n - 1] == b[n - 1] ? 1 : 0; /* uses the results, so that the compiler keeps the loops */
}
