/* A program that is not zbench, on the loopback's shared libraries: it times all_reduce
 * as rccl-tests does, by its own clock. One thread drives GPUS GPUs; there are THREADS
 * threads in each of the processes that OMPI_COMM_WORLD_SIZE counts.
 *
 *   client GPUS THREADS ITERATIONS MICROSECONDS BYTES…
 *
 * MICROSECONDS is slept in each timed burst. One line for each thread and size: rank,
 * bytes, seconds for an operation by the monotonic, the realtime and gettimeofday's
 * clock, elements that are wrong. It ends with 3 when an operation takes longer than
 * CLIENT_TIMEOUT seconds. Processes hand the id over in CLIENT_ID. */
#include "program.h"

enum { MOST = 64, TO_DEVICE = 1, TO_HOST = 2, NOT_READY = 600, TIMED_OUT = 3 };

static int gpus, threads, iterations, microseconds, ranks, process, local, sizes;
static size_t bytes[MOST];
static double timeout = 600;
static ncclUniqueId id;

static int number(const char *name, int otherwise) {
  return getenv(name) != NULL ? atoi(getenv(name)) : otherwise;
}

static double day(void) {
  struct timeval tv;
  gettimeofday(&tv, NULL);
  return (double)tv.tv_sec + (double)tv.tv_usec * 1e-6;
}

typedef struct {
  int first; /* rank */
  void *comm[MOST], *stream[MOST], *send[MOST], *recv[MOST];
} driver;

/* A process sees the GPUs of its node. */
static int device(const driver *d, int i) {
  return d->first + (local - process) * threads * gpus + i;
}

static void wait_for(driver *d, double begun) {
  for (int i = 0; i < gpus; i++) {
    int code;
    CHECK(hipSetDevice(device(d, i)));
    while ((code = hipStreamQuery(d->stream[i])) == NOT_READY) {
      if (seconds(CLOCK_MONOTONIC) - begun > timeout) {
        fprintf(stderr, "rank %d: timed out\n", d->first + i);
        leave(TIMED_OUT);
      }
    }
    CHECK(code);
  }
}

static void burst(driver *d, size_t size, int n) {
  for (int k = 0; k < n; k++) {
    CHECK(ncclGroupStart());
    for (int i = 0; i < gpus; i++) {
      CHECK(ncclAllReduce(d->send[i], d->recv[i], size / 4, 7, 0, d->comm[i], d->stream[i]));
    }
    CHECK(ncclGroupEnd());
  }
}

static int wrong(driver *d, size_t size) {
  size_t n = size / 4 < 1024 ? size / 4 : 1024;
  float got[1024];
  int bad = 0;
  for (int i = 0; i < gpus; i++) {
    CHECK(hipSetDevice(device(d, i)));
    CHECK(hipMemcpy(got, d->recv[i], n * 4, TO_HOST));
    for (size_t k = 0; k < n; k++) {
      bad += got[k] != (float)ranks * (float)(ranks + 1) / 2;
    }
  }
  return bad;
}

static void one_size(driver *d, size_t size) {
  double mono, real, today;
  burst(d, size, 5);
  wait_for(d, seconds(CLOCK_MONOTONIC));
  mono = seconds(CLOCK_MONOTONIC);
  real = seconds(CLOCK_REALTIME);
  today = day();
  if (microseconds > 0) {
    usleep((useconds_t)microseconds);
  }
  burst(d, size, iterations);
  wait_for(d, mono);
  mono = seconds(CLOCK_MONOTONIC) - mono;
  real = seconds(CLOCK_REALTIME) - real;
  today = day() - today;
  printf("%d %zu %.9g %.9g %.9g %d\n", d->first, size, mono / iterations, real / iterations,
         today / iterations, wrong(d, size));
}

static void *drive(void *at) {
  driver *d = at;
  size_t most = 0;
  for (int i = 0; i < sizes; i++) {
    most = bytes[i] > most ? bytes[i] : most;
  }
  for (int i = 0; i < gpus; i++) {
    float ones[1024];
    CHECK(hipSetDevice(device(d, i)));
    CHECK(hipMalloc(&d->send[i], most));
    CHECK(hipMalloc(&d->recv[i], most));
    for (int k = 0; k < 1024; k++) {
      ones[k] = (float)(d->first + i + 1);
    }
    CHECK(hipMemcpy(d->send[i], ones, most < sizeof ones ? most : sizeof ones, TO_DEVICE));
    CHECK(hipStreamCreateWithFlags(&d->stream[i], 1));
  }
  CHECK(ncclGroupStart());
  for (int i = 0; i < gpus; i++) {
    CHECK(hipSetDevice(device(d, i)));
    CHECK(ncclCommInitRank(&d->comm[i], ranks, id, d->first + i));
  }
  CHECK(ncclGroupEnd());
  for (int i = 0; i < sizes; i++) {
    one_size(d, bytes[i]);
  }
  return NULL;
}

int main(int argc, char **argv) {
  static driver d[MOST];
  pthread_t thread[MOST];
  if (argc < 6 || argc - 5 > MOST) {
    return 2;
  }
  gpus = atoi(argv[1]);
  threads = atoi(argv[2]);
  iterations = atoi(argv[3]);
  microseconds = atoi(argv[4]);
  for (int i = 5; i < argc; i++) {
    bytes[sizes++] = strtoull(argv[i], NULL, 10);
  }
  process = number("OMPI_COMM_WORLD_RANK", 0);
  local = number("OMPI_COMM_WORLD_LOCAL_RANK", 0);
  ranks = gpus * threads * number("OMPI_COMM_WORLD_SIZE", 1);
  timeout = number("CLIENT_TIMEOUT", 600);
  meet(&id, process);
  for (int i = 0; i < threads; i++) {
    d[i].first = (process * threads + i) * gpus;
    CHECK(threads > 1 ? pthread_create(&thread[i], NULL, drive, &d[i]) : (drive(&d[i]), 0));
  }
  for (int i = 0; threads > 1 && i < threads; i++) {
    CHECK(pthread_join(thread[i], NULL));
  }
  return 0;
}
