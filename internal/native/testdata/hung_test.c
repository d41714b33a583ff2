/* A program of four ranks that hangs, or does not: hung_test threads|processes KIND [FOLDER].
 * It knows nothing of what it is told; the test in Go looks at what the loopback prints. It
 * ends by itself after a few seconds. */
#define ZB_NAMES 0
#include "../c/shared/runtime.c"
#include "check.h"

#include <sys/wait.h>

enum { RANKS = 4, ODD = 3, SUM = 0, INT32 = 2, FLOAT = 7 };

static char kind[32];
static int ids[2];

static int is(const char *name) { return strcmp(kind, name) == 0; }

/* Seconds until the program ends: an init that lacks a rank is explained after five. */
static unsigned patience(void) { return is("missing init") || is("stuck") ? 10 : 4; }

static void over(int signal) {
  (void)signal;
  _exit(0);
}

/* The communicator's id goes from rank 0 to the others by a pipe. */
static zb_unique_id shared_id(int rank) {
  zb_unique_id id;
  if (rank > 0) {
    CHECK(read(ids[0], &id, sizeof id) == (ssize_t)sizeof id);
    return id;
  }
  CHECK(zbs_getUniqueId(&id) == 0);
  for (int i = 1; i < RANKS; i++) {
    CHECK(write(ids[1], &id, sizeof id) == (ssize_t)sizeof id);
  }
  return id;
}

/* What rank ODD calls instead of what all others call. */
static void last_call(int rank, void *a, void *b, void *comm, void *stream) {
  int odd = rank == ODD;
  if (is("missing call") && odd) {
    return;
  }
  if (is("another collective") && odd) {
    zbs_allGather(a, b, 16, FLOAT, comm, stream);
  } else if (is("another root")) {
    zbs_broadcast(a, b, 64, FLOAT, odd, comm, stream);
  } else if (is("receive without send")) {
    if (odd) {
      zbs_recvFrom(b, 64, FLOAT, 1, comm, stream);
    }
  } else if (is("send without receive")) {
    if (odd) {
      zbs_sendTo(a, 64, FLOAT, 1, comm, stream);
    }
  } else if (is("another length")) {
    if (odd) {
      zbs_sendTo(a, 64, FLOAT, 1, comm, stream);
    } else if (rank == 1) {
      zbs_recvFrom(b, 32, FLOAT, ODD, comm, stream);
    }
  } else {
    zbs_allReduce(a, b, is("another count") && odd ? 32 : 64, is("another type") && odd ? INT32 : FLOAT, SUM, comm, stream);
  }
}

/* Rank ODD has the calls of two communicators in the other order. */
static void other_order(int rank, void *a, void *b, void *comm, void *stream) {
  void *both[2] = {comm, NULL};
  int first = rank == ODD;
  CHECK(zbs_commSplit(comm, 0, rank, &both[1], NULL) == 0);
  for (int k = 0; k < 2; k++) {
    zbs_allReduce(a, b, 64, FLOAT, SUM, both[k == 0 ? first : !first], stream);
  }
}

static void drive(int rank, int device) {
  void *comm = NULL, *stream, *a, *b;
  zb_unique_id id = shared_id(rank);
  CHECK(zbs_setDevice(device) == 0 && zbs_streamCreatePlain(&stream) == 0);
  CHECK(zbs_mallocDevice(&a, 4096) == 0 && zbs_mallocDevice(&b, 4096) == 0);
  if (is("late init") && rank == ODD) {
    sleep(2);
  }
  if (!(is("missing init") && rank == ODD)) {
    CHECK(zbs_commInitRank(&comm, RANKS, id, rank) == 0);
    zbs_allReduce(a, b, 64, FLOAT, SUM, comm, stream);
    if (is("other order")) {
      other_order(rank, a, b, comm, stream);
    } else {
      last_call(rank, a, b, comm, stream);
    }
  }
  zbs_streamSynchronize(stream);
}

static void *thread(void *rank) {
  drive((int)(intptr_t)rank, (int)(intptr_t)rank);
  return NULL;
}

static void threads(void) {
  pthread_t of[RANKS];
  for (int i = 0; i < RANKS; i++) {
    CHECK(pthread_create(&of[i], NULL, thread, (void *)(intptr_t)i) == 0);
  }
  for (int i = 0; i < RANKS; i++) {
    pthread_join(of[i], NULL);
  }
}

static void processes(const char *file) {
  pid_t of[RANKS];
  setenv("ZBENCH_LOOPBACK_SHARED", file, 1);
  for (int i = 0; i < RANKS; i++) {
    if ((of[i] = fork()) == 0) {
      char rank[16];
      snprintf(rank, sizeof rank, "%d", i);
      setenv("ZBENCH_LOOPBACK_FIRST", rank, 1);
      setenv("ZBENCH_LOOPBACK_COUNT", "1", 1);
      alarm(patience());
      drive(i, 0);
      if (!is("none") && !is("late init")) {
        pause(); /* a rank that is gone is another kind */
      }
      exit(failures > 0);
    }
  }
  for (int i = 0; i < RANKS; i++) {
    int status = -1;
    CHECK(waitpid(of[i], &status, 0) == of[i] && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
}

int main(int argc, char **argv) {
  CHECK(argc > 3 && pipe(ids) == 0);
  snprintf(kind, sizeof kind, "%s", argv[2]);
  signal(SIGALRM, over);
  if (strcmp(argv[1], "threads") == 0) {
    alarm(patience());
    threads();
  } else {
    processes(argv[3]);
  }
  return failures > 0;
}
