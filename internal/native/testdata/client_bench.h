/* What an all_reduce of 256 MiB over 8 ranks takes of the host, with its data: by one
 * thread, by a thread a rank, by a process a rank. Each process writes a line for each
 * round: its number, seconds by the host's clock, and of the CPUs. */
#ifndef CLIENT_BENCH_H
#define CLIENT_BENCH_H

#include <sys/resource.h>
#include <sys/stat.h>

#ifndef BENCH_BYTES
#define BENCH_BYTES ((size_t)256 << 20)
#endif

enum { BENCH_ROUNDS = 3 };

typedef struct bench_rank {
  client own; /* its stream and communicator */
  void *send, *recv;
  int dtype;
} bench_rank;

static bench_rank bench_ranks[RANKS];

static double seconds_of(struct timeval t) { return (double)t.tv_sec + (double)t.tv_usec * 1e-6; }

/* Of this process, and of those that it has waited for. */
static double cpu_seconds(void) {
  double s = 0;
  for (int who = RUSAGE_CHILDREN; who <= RUSAGE_SELF; who++) {
    struct rusage used;
    getrusage(who, &used);
    s += seconds_of(used.ru_utime) + seconds_of(used.ru_stime);
  }
  return s;
}

static double wall_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* The last column is what the file where processes meet has on its file system. */
static void bench_print(int round, double wall, double cpu) {
  const char *file = getenv("ZBENCH_LOOPBACK_SHARED");
  struct stat st = {.st_blocks = 0};
  CHECK(file == NULL || stat(file, &st) == 0);
  printf("%d %.3f %.3f %lld\n", round, wall, cpu, (long long)st.st_blocks * 512);
}

/* The vendor's number of a type. */
static int bench_type(const char *name) {
  return strcmp(name, "half") == 0 ? 6 : strcmp(name, "bfloat16") == 0 ? 9 : 7;
}

static void bench_open(bench_rank *r, int rank, int device, const char *type) {
  client_open(&r->own, rank, device);
  r->dtype = bench_type(type);
  CHECK(hipMalloc(&r->send, BENCH_BYTES) == hipSuccess && hipMalloc(&r->recv, BENCH_BYTES) == hipSuccess);
  CHECK(hipMemset(r->send, 1, BENCH_BYTES) == hipSuccess && hipDeviceSynchronize() == hipSuccess);
}

static void bench_launch(bench_rank *r) {
  size_t count = BENCH_BYTES / (r->dtype == 7 ? 4 : 2);
  CHECK(ncclAllReduce(r->send, r->recv, count, (ncclDataType_t)r->dtype, ncclSum, r->own.comm, r->own.stream) == ncclSuccess);
}

static void bench_sync(bench_rank *r) {
  CHECK(hipStreamSynchronize(r->own.stream) == hipSuccess);
}

static void *bench_thread(void *rank) {
  CHECK(hipSetDevice(((bench_rank *)rank)->own.device) == hipSuccess);
  bench_launch((bench_rank *)rank);
  bench_sync((bench_rank *)rank);
  return NULL;
}

static void bench_together(void) {
  CHECK(ncclGroupStart() == ncclSuccess);
  for (int i = 0; i < RANKS; i++) {
    bench_launch(&bench_ranks[i]);
  }
  CHECK(ncclGroupEnd() == ncclSuccess);
  for (int i = 0; i < RANKS; i++) {
    bench_sync(&bench_ranks[i]);
  }
}

static void bench_apart(void) {
  pthread_t threads[RANKS];
  for (int i = 0; i < RANKS; i++) {
    CHECK(pthread_create(&threads[i], NULL, bench_thread, &bench_ranks[i]) == 0);
  }
  for (int i = 0; i < RANKS; i++) {
    CHECK(pthread_join(threads[i], NULL) == 0);
  }
}

/* All ranks in this process: of one thread, or of a thread each. */
static void bench(int threads, const char *type) {
  ncclComm_t comms[RANKS];
  CHECK(ncclCommInitAll(comms, RANKS, NULL) == ncclSuccess);
  for (int i = 0; i < RANKS; i++) {
    bench_open(&bench_ranks[i], i, i, type);
    bench_ranks[i].own.comm = comms[i];
  }
  for (int round = 0; round < BENCH_ROUNDS; round++) {
    double wall = wall_seconds(), cpu = cpu_seconds();
    if (threads) {
      bench_apart();
    } else {
      bench_together();
    }
    bench_print(round, wall_seconds() - wall, cpu_seconds() - cpu);
  }
}

/* One rank, in a process of its own. */
static void bench_process(int rank, int from, int to, const char *type) {
  bench_rank *r = &bench_ranks[0];
  bench_open(r, rank, 0, type);
  client_join(&r->own, from, to);
  for (int round = 0; round < BENCH_ROUNDS; round++) {
    double wall = wall_seconds(), cpu = cpu_seconds();
    bench_launch(r);
    bench_sync(r);
    bench_print(round, wall_seconds() - wall, cpu_seconds() - cpu);
  }
}

#endif
