/* A world that several threads or processes drive: share_test threads, or
 * share_test processes FILE. Exits 0 when all is as it should be. */
#include "../unity.c"

#include <sys/wait.h>

static const char machine[] =
    "zbench-machine 1\nranks 4\ngpus_per_process 1\nhbm_bytes 1073741824\n"
    "launch 1.03e-5\nexit_jitter 1e-7\nnoise 0.01\nevent 2e-7\nseed 7\n"
    "curve all_reduce 0 4 1 3e+11 1e-05 0.0001 1e-05 1.5\n"
    "curve send_recv 0 4 1 3e+11 1e-05 0.0001 1e-05 1\n"
    "fault late 1 4e-7\n";

enum { RANKS = 4, ROUNDS = 20, ELEMENTS = 256 };

static int failures;

#define CHECK(what)                                                            \
  do {                                                                         \
    if (!(what)) {                                                             \
      fprintf(stderr, "%s:%d: %s\n", __func__, __LINE__, #what);               \
      __atomic_add_fetch(&failures, 1, __ATOMIC_RELAXED);                      \
    }                                                                          \
  } while (0)

/* One rank, with its own driver. */
typedef struct rank {
  zb_table t;
  int device, number;
  void *comm, *stream, *send, *recv;
  int64_t ended; /* virtual nanoseconds */
} rank;

static zb_unique_id id_of(int n) {
  zb_unique_id id = {{0}};
  snprintf(id.internal, sizeof id.internal, "zbl %d", n);
  return id;
}

static void begin(rank *r, const zbl_share *how, int number) {
  char why[256] = "";
  *r = (rank){.number = number, .device = number - how->first};
  CHECK(zbl_join_world(machine, how, why, sizeof why));
  if (why[0] != '\0') {
    fprintf(stderr, "%s\n", why);
  }
  zbl_fill(&r->t);
  CHECK(r->t.setDevice(r->device) == 0 && r->t.streamCreate(&r->stream, 1) == 0);
  CHECK(r->t.mallocDevice(&r->send, ELEMENTS * 4) == 0);
  CHECK(r->t.mallocDevice(&r->recv, ELEMENTS * 4) == 0);
  r->t.caseBegin(5);
  CHECK(r->t.commInitRank(&r->comm, RANKS, id_of(1), number) == 0);
}

static void enqueue(rank *r) {
  float *send = r->send;
  for (int i = 0; i < ELEMENTS; i++) {
    send[i] = (float)(r->number + i);
  }
  for (int k = 0; k < ROUNDS; k++) {
    CHECK(r->t.allReduce(r->send, r->recv, ELEMENTS, 7, 0, r->comm, r->stream) == 0);
    CHECK(r->t.groupStart() == 0);
    CHECK(r->t.sendTo(r->send, 4, 7, (r->number + 1) % RANKS, r->comm, r->stream) == 0);
    CHECK(r->t.recvFrom((char *)r->recv + 512, 4, 7, (r->number + 3) % RANKS, r->comm, r->stream) == 0);
    CHECK(r->t.groupEnd() == 0);
  }
}

/* Polls, and tells how often work that is coming was called unfinished. */
static void synchronise(rank *r) {
  const float *recv = r->recv;
  int code, from = (r->number + 3) % RANKS;
  for (int i = 0; (code = r->t.streamQuery(r->stream)) == ZB_ERR_NOT_READY && i < 1000; i++) {
  }
  CHECK(code == ZB_OK);
  r->ended = r->t.nowNs();
  for (int i = 0; i < ELEMENTS; i++) {
    CHECK(recv[i] == (i >= 128 && i < 132 ? (float)(from + i - 128) : (float)(6 + 4 * i)));
  }
}

static void end(rank *r) {
  CHECK(r->t.commDestroy(r->comm) == 0 && r->t.streamDestroy(r->stream) == 0);
  CHECK(r->t.freeDevice(r->send) == 0 && r->t.freeDevice(r->recv) == 0);
  zbl_shutdown();
}

static void barrier(rank *r) {
  const int32_t device = r->device;
  while (!r->t.hostBarrier(&device, 4, 1)) {
  }
}

/* All of it by one rank's driver. */
static int64_t drive_one(const zbl_share *how, int number) {
  rank r;
  begin(&r, how, number);
  barrier(&r);
  r.t.moveData(1);
  enqueue(&r);
  synchronise(&r);
  barrier(&r);
  end(&r);
  return r.ended;
}

static void *thread(void *number) {
  const zbl_share how = {.several = 1};
  return (void *)(intptr_t)drive_one(&how, (int)(intptr_t)number);
}

/* What a rank's clock shows at the end must be the same in threads and processes. */
static void in_threads(int64_t *ended) {
  pthread_t threads[RANKS];
  const zbl_share how = {.several = 1};
  char why[256];
  CHECK(zbl_join_world(machine, &how, why, sizeof why)); /* till all have gone */
  for (intptr_t i = 0; i < RANKS; i++) {
    CHECK(pthread_create(&threads[i], NULL, thread, (void *)i) == 0);
  }
  for (int i = 0; i < RANKS; i++) {
    void *out;
    CHECK(pthread_join(threads[i], &out) == 0);
    ended[i] = (int64_t)(intptr_t)out;
  }
  zbl_shutdown();
}

static zbl_share of_process(const char *path, int i) {
  return (zbl_share){.path = path, .first = i, .count = 1};
}

/* Ends a child with what it found. */
static void leave(void) { _exit(failures > 0); }

/* Waits for all children but those that were killed. */
static void join(const pid_t *child, int killed) {
  for (int i = 0; i < RANKS; i++) {
    int status = 0;
    CHECK(waitpid(child[i], &status, 0) == child[i]);
    CHECK(i == killed || (WIFEXITED(status) && WEXITSTATUS(status) == 0));
  }
}

static void in_processes(const char *path, const int64_t *want) {
  pid_t child[RANKS];
  for (int i = 0; i < RANKS; i++) {
    if ((child[i] = fork()) == 0) {
      zbl_share how = of_process(path, i);
      CHECK(drive_one(&how, i) == want[i]);
      leave();
    }
  }
  join(child, -1);
}

/* A host that waits elsewhere, as in MPI_Barrier, does not hold up the GPUs: rank 0
 * ends its wait before it lets the others begin theirs. */
static void in_order(const char *path) {
  pid_t child[RANKS];
  int gate[2];
  char byte;
  CHECK(pipe(gate) == 0);
  for (int i = 0; i < RANKS; i++) {
    if ((child[i] = fork()) == 0) {
      zbl_share how = of_process(path, i);
      rank r;
      alarm(60);
      begin(&r, &how, i);
      barrier(&r);
      r.t.moveData(1);
      enqueue(&r);
      if (i > 0) {
        CHECK(read(gate[0], &byte, 1) == 1);
      }
      synchronise(&r);
      if (i == 0) {
        CHECK(write(gate[1], "123", RANKS - 1) == RANKS - 1);
      }
      barrier(&r);
      end(&r);
      leave();
    }
  }
  join(child, -1);
  close(gate[0]);
  close(gate[1]);
}

/* A process that dies is an asynchronous error to its peers, and a barrier does not
 * wait for it. */
static void lost(const char *path) {
  pid_t child[RANKS];
  for (int i = 0; i < RANKS; i++) {
    if ((child[i] = fork()) == 0) {
      zbl_share how = of_process(path, i);
      rank r;
      int error = 0;
      alarm(60);
      begin(&r, &how, i);
      barrier(&r);
      if (i == 2) {
        kill(getpid(), SIGKILL);
      }
      r.t.moveData(1);
      enqueue(&r);
      while (error == 0 && r.t.streamQuery(r.stream) == ZB_ERR_NOT_READY) {
        CHECK(r.t.commGetAsyncError(r.comm, &error) == 0);
      }
      CHECK(error == ZB_COLL_REMOTE);
      barrier(&r);
      CHECK(r.t.commAbort(r.comm) == 0);
      zbl_shutdown();
      leave();
    }
  }
  join(child, 2);
}

/* A file that is of another machine, or is left over from a world that was killed. */
static void files(const char *path) {
  char other[sizeof machine], why[256] = "";
  zbl_share how = of_process(path, 0);
  pid_t child;
  int hold[2], status;
  char byte;
  memcpy(other, machine, sizeof machine);
  memcpy(strstr(other, "seed 7"), "seed 8", 6);
  CHECK(pipe(hold) == 0);
  if ((child = fork()) == 0) {
    rank r;
    how.count = 4;
    r = (rank){0};
    CHECK(zbl_join_world(machine, &how, why, sizeof why));
    zbl_fill(&r.t);
    CHECK(write(hold[1], "1", 1) == 1);
    pause();
  }
  CHECK(read(hold[0], &byte, 1) == 1);
  CHECK(!zbl_join_world(other, &how, why, sizeof why));
  CHECK(strstr(why, "another machine file") != NULL);
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
  CHECK(zbl_join_world(other, &how, why, sizeof why));
  zbl_shutdown();
  how = (zbl_share){.first = 3, .count = 2};
  CHECK(!zbl_join_world(machine, &how, why, sizeof why));
}

#include "share_ahead.h"
#include "share_cycles.h"
#include "share_memory.h"
#include "share_wake.h"

int main(int argc, char **argv) {
  int64_t end_of[RANKS], straight[RANKS];
  wake_each_other();
  a_host_attends_its_stream();
  in_threads(end_of);
  cycles_in_threads();
  for (int i = 0; i < RANKS; i++) {
    CHECK(end_of[i] > 0);
  }
  for (messages = 1; messages >= 0; messages--) {
    straight_alone(straight);
    straight_in_threads(straight);
  }
  messages = 0;
  if (argc > 1) {
    in_processes(argv[1], end_of);
    cycles_in_processes(argv[1]);
    straight_in_processes(argv[1], straight);
    kinds = 4;
    for (messages = 0; messages < 2; messages++) {
      straight_alone(straight);
      straight_in_processes(argv[1], straight);
      straight_lost(argv[1]);
    }
    in_order(argv[1]);
    lost(argv[1]);
    files(argv[1]);
    gives_memory_back(argv[1]);
  }
  return failures > 0;
}
