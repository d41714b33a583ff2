/* A client of the loopback's shared libraries:
 *   client_test one | threads | processes FILE [TYPE] | first FILE | ipc FILE | clock | stuck |
 *               bench one|threads TYPE
 * It knows nothing of zbench but two variables of the environment. Exits 0 when every
 * result and every error code is what the real libraries give. */
#include "client.h"

#include "client_all.h"
#include "client_captures.h"
#include "client_one.h"

enum { TOO_LONG = 300 }; /* seconds */

/* All ranks' calls of a round that leaves the sum in recv. */
static void sum_up(client *c) {
  client_fill(c);
  CHECK(ncclAllReduce(c->send, c->recv, N, ncclFloat, ncclSum, c->comm, c->stream) == ncclSuccess);
  CHECK(hipStreamSynchronize(c->stream) == hipSuccess);
  for (int i = 0; i < N; i += 101) {
    CHECK(c->recv[i] == summed(i));
  }
}

/* Ranks of equal parity make a communicator, the highest first. */
static void halves(client *c) {
  ncclComm_t half = NULL, whole = c->comm;
  int rank = -1, ranks = 0, sum = RANKS / 2 * (RANKS / 2 - 1) + (c->rank % 2 == 0 ? 0 : RANKS / 2);
  CHECK(ncclCommSplit(whole, c->rank % 2, -c->rank, &half, NULL) == ncclSuccess);
  CHECK(half != NULL && ncclCommUserRank(half, &rank) == ncclSuccess);
  CHECK(ncclCommCount(half, &ranks) == ncclSuccess);
  CHECK(ranks == RANKS / 2 && rank == (RANKS - 1 - c->rank) / 2);
  client_fill(c);
  CHECK(ncclAllReduce(c->send, c->recv, N, ncclFloat, ncclSum, half, c->stream) == ncclSuccess);
  CHECK(hipStreamSynchronize(c->stream) == hipSuccess);
  CHECK(c->recv[7] == (float)(sum + 7 * RANKS / 2));
  CHECK(ncclCommFinalize(half) == ncclSuccess);
  CHECK(ncclCommFinalize(half) == ncclInvalidArgument);
  CHECK(ncclCommDestroy(half) == ncclSuccess);
  CHECK(ncclCommSplit(whole, c->rank == 0 ? -1 : 3, 0, &half, NULL) == ncclSuccess);
  CHECK((half == NULL) == (c->rank == 0));
  CHECK(half == NULL || ncclCommDestroy(half) == ncclSuccess);
}

/* A ring of messages, and a graph of a sum, replayed. */
static void replay(client *c) {
  hipGraph_t graph;
  hipGraphExec_t exec;
  CHECK(hipStreamBeginCapture(c->stream, hipStreamCaptureModeThreadLocal) == hipSuccess);
  CHECK(hipMemsetAsync(c->recv, 0, BYTES, c->stream) == hipSuccess);
  CHECK(ncclAllReduce(c->send, c->recv, N, ncclFloat, ncclSum, c->comm, c->stream) == ncclSuccess);
  CHECK(hipStreamEndCapture(c->stream, &graph) == hipSuccess);
  CHECK(hipGraphInstantiate(&exec, graph, NULL, NULL, 0) == hipSuccess);
  client_fill(c);
  for (int i = 0; i < 3; i++) {
    CHECK(hipGraphLaunch(exec, c->stream) == hipSuccess);
  }
  CHECK(hipStreamSynchronize(c->stream) == hipSuccess);
  CHECK(c->recv[5] == summed(5) && c->recv[N - 1] == summed(N - 1));
  CHECK(hipGraphExecDestroy(exec) == hipSuccess && hipGraphDestroy(graph) == hipSuccess);
}

static void drive(client *c) {
  CHECK(hipSetDevice(c->device) == hipSuccess);
  for (int i = 0; i < 20; i++) {
    sum_up(c);
  }
  halves(c);
  replay(c);
  every_call(c);
}

static ncclUniqueId id;
static client clients[RANKS];

/* A thread a rank, whose communicator is there already. */
static void *with_comm(void *c) {
  drive((client *)c);
  return NULL;
}

/* A thread a rank, which joins by itself. */
static void *with_id(void *at) {
  client *c = (client *)at;
  int rank = (int)(c - clients);
  client_open(c, rank, rank);
  CHECK(ncclCommInitRank(&c->comm, RANKS, id, rank) == ncclSuccess);
  drive(c);
  give_up(c);
  client_leave(c);
  return NULL;
}

static void in_threads(void *(*body)(void *)) {
  pthread_t threads[RANKS];
  for (int i = 0; i < RANKS; i++) {
    CHECK(pthread_create(&threads[i], NULL, body, &clients[i]) == 0);
  }
  for (int i = 0; i < RANKS; i++) {
    CHECK(pthread_join(threads[i], NULL) == 0);
  }
}

static void threads(void) {
  ncclComm_t comms[RANKS];
  CHECK(ncclCommInitAll(comms, RANKS, NULL) == ncclSuccess);
  for (int i = 0; i < RANKS; i++) {
    client_open(&clients[i], i, i);
    clients[i].comm = comms[i];
  }
  in_threads(with_comm);
  for (int i = 0; i < RANKS; i++) {
    client_close(&clients[i]);
  }
  CHECK(ncclGetUniqueId(&id) == ncclSuccess);
  in_threads(with_id);
}

/* The ranks of several processes join: rank 0 makes the id and hands it to the others. */
static void client_join(client *c, int from, int to) {
  ncclUniqueId got;
  if (c->rank == 0) {
    CHECK(ncclGetUniqueId(&got) == ncclSuccess);
    for (int i = 1; i < RANKS; i++) {
      CHECK(write(to, &got, sizeof got) == (ssize_t)sizeof got);
    }
  } else {
    CHECK(read(from, &got, sizeof got) == (ssize_t)sizeof got);
  }
  CHECK(ncclCommInitRank(&c->comm, RANKS, got, c->rank) == ncclSuccess);
}

static void process(int rank, int from, int to) {
  client c;
  client_open(&c, rank, 0);
  client_join(&c, from, to);
  drive(&c);
  give_up(&c);
  client_leave(&c);
}

#include "client_bench.h"
#include "client_clock.h"
#include "client_first.h"
#include "client_ipc.h"
#include "client_stuck.h"

/* Starts this program anew for each rank, as a launcher does; with a type each measures an
 * all_reduce of it. */
static void processes(const char *program, const char *file, const char *type) {
  pid_t child[RANKS];
  int ids[2];
  CHECK(pipe(ids) == 0);
  for (int i = 0; i < RANKS; i++) {
    char rank[16], from[16], to[16];
    snprintf(rank, sizeof rank, "%d", i);
    snprintf(from, sizeof from, "%d", ids[0]);
    snprintf(to, sizeof to, "%d", ids[1]);
    if ((child[i] = fork()) == 0) {
      setenv("ZBENCH_LOOPBACK", getenv("MACHINE"), 1);
      setenv("ZBENCH_LOOPBACK_SHARED", file, 1);
      setenv("ZBENCH_LOOPBACK_FIRST", rank, 1);
      setenv("ZBENCH_LOOPBACK_COUNT", "1", 1);
      execl(program, program, "rank", rank, from, to, type, (char *)NULL);
      _exit(127);
    }
  }
  for (int i = 0; i < RANKS; i++) {
    int status = -1;
    CHECK(waitpid(child[i], &status, 0) == child[i]);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
}

int main(int argc, char **argv) {
  const char *what = argc > 1 ? argv[1] : "";
  alarm(TOO_LONG); /* a hang is a failure */
  if (strcmp(what, "one") == 0) {
    one();
  } else if (strcmp(what, "threads") == 0) {
    threads();
  } else if (strcmp(what, "first") == 0) {
    first_call(argv[2]);
  } else if (strcmp(what, "stuck") == 0) {
    stuck_gpu();
  } else if (strcmp(what, "clock") == 0) {
    clock_before_work();
    clock_of_nothing();
  } else if (strcmp(what, "ipc") == 0) {
    ipc(argv[2]);
  } else if (strcmp(what, "bench") == 0) {
    bench(strcmp(argv[2], "threads") == 0, argv[3]);
  } else if (strcmp(what, "rank") == 0) {
    if (argc > 5) {
      bench_process(atoi(argv[2]), atoi(argv[3]), atoi(argv[4]), argv[5]);
    } else {
      process(atoi(argv[2]), atoi(argv[3]), atoi(argv[4]));
    }
  } else {
    processes(argv[0], argv[2], argc > 3 ? argv[3] : NULL);
  }
  return failures > 0;
}
