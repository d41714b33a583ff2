/* On the model's clock: a process's time is the kernel's until it launches work, and stands
 * while the host computes from then on. It never goes back. */
#include <sys/syscall.h>

enum { SPIN_NS = 20000000 };

static int64_t clock_of_kernel(void) {
  struct timespec now;
  syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int64_t clock_of_program(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void spin(void) {
  int64_t until = clock_of_kernel() + SPIN_NS;
  while (clock_of_kernel() < until) {
  }
}

/* A thread that launches nothing sees the time of the one that does. */
static void *onlooker(void *seen) {
  spin();
  *(int64_t *)seen = clock_of_program();
  return NULL;
}

static void clock_before_work(void) {
  int64_t opened, waited, worked, seen = 0;
  int count = 0;
  pthread_t thread;
  void *device;
  CHECK(hipGetDeviceCount(&count) == hipSuccess && count == RANKS);
  CHECK(hipMalloc(&device, sizeof count) == hipSuccess);
  opened = clock_of_program();
  spin();
  waited = clock_of_program();
  CHECK(waited - opened >= SPIN_NS);
  spin(); /* nobody reads the clock: none of it counts */
  CHECK(hipMemsetAsync(device, 0, sizeof count, NULL) == hipSuccess);
  worked = clock_of_program();
  CHECK(worked > waited && worked - waited < SPIN_NS);
  spin();
  CHECK(clock_of_program() == worked);
  CHECK(pthread_create(&thread, NULL, onlooker, &seen) == 0);
  CHECK(pthread_join(thread, NULL) == 0);
  CHECK(seen == worked);
  usleep(SPIN_NS / 1000);
  CHECK(clock_of_program() - worked >= SPIN_NS && clock_of_program() - worked < 2 * SPIN_NS);
  CHECK(hipFree(device) == hipSuccess);
}

/* Each call of RCCL's takes time, if it launches nothing: a program divides by that. */
static void clock_of_nothing(void) {
  int64_t before = clock_of_program(), now;
  ncclComm_t comm;
  hipStream_t stream;
  hipGraph_t graph;
  hipGraphExec_t replay;
  int count;
#define TAKES_TIME(call)                                                       \
  CHECK((call) == 0);                                                          \
  now = clock_of_program();                                                    \
  CHECK(now > before && now - before < SPIN_NS);                               \
  before = now
  CHECK(ncclCommInitAll(&comm, 1, NULL) == ncclSuccess);
  CHECK(hipStreamCreate(&stream) == hipSuccess);
  before = clock_of_program();
  TAKES_TIME(ncclCommCount(comm, &count));
  TAKES_TIME(ncclCommUserRank(comm, &count));
  TAKES_TIME(ncclAllReduce(NULL, NULL, 0, ncclFloat, ncclSum, comm, stream));
  CHECK(ncclGroupStart() == ncclSuccess);
  TAKES_TIME(ncclGroupEnd());
  CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeThreadLocal) == hipSuccess);
  CHECK(hipStreamEndCapture(stream, &graph) == hipSuccess);
  CHECK(hipGraphInstantiate(&replay, graph, NULL, NULL, 0) == hipSuccess);
  TAKES_TIME(hipGraphLaunch(replay, stream));
#undef TAKES_TIME
  CHECK(hipGraphExecDestroy(replay) == hipSuccess && hipGraphDestroy(graph) == hipSuccess);
  CHECK(ncclCommDestroy(comm) == ncclSuccess && hipStreamDestroy(stream) == hipSuccess);
}
