/* A program of HIP and RCCL with four ranks, of which one does something else than the others:
 *   hung_test threads|processes KIND wrong|right FILE
 * With `right` all ranks do the same, and the program ends by itself. With `wrong` it hangs, and
 * ends after a few seconds. It knows nothing of zbench: processes get the variables of a launcher,
 * and FILE takes the communicator's id to them. The test in Go looks at what the loopback prints. */
#include "client.h"

enum { RANKS = 4, ODD = 3 };

static const char *kind, *file;
static int wrong;

static int is(const char *name) { return strcmp(kind, name) == 0; }

static void over(int signal) {
  (void)signal;
  _exit(!wrong);
}

/* Ends the program if it hangs. The loopback explains an init that lacks a rank after five seconds. */
static void limit(void) {
  signal(SIGALRM, over);
  alarm(!wrong ? 120 : is("missing init") || is("stuck") ? 10 : 4);
}

/* Rank 0 writes the communicator's id to FILE; the others wait for it. */
static ncclUniqueId shared_id(int rank) {
  ncclUniqueId id;
  char part[4096];
  FILE *f;
  if (rank == 0) {
    CHECK(ncclGetUniqueId(&id) == ncclSuccess);
    snprintf(part, sizeof part, "%s.part", file);
    f = fopen(part, "wb");
    CHECK(f != NULL && fwrite(&id, sizeof id, 1, f) == 1 && fclose(f) == 0 && rename(part, file) == 0);
    return id;
  }
  while ((f = fopen(file, "rb")) == NULL) {
    usleep(1000);
  }
  CHECK(fread(&id, sizeof id, 1, f) == 1 && fclose(f) == 0);
  return id;
}

/* The calls after the first all_reduce. `odd` is set for rank ODD of a wrong program. */
static void last_call(int rank, int odd, void *a, void *b, ncclComm_t comm, hipStream_t stream) {
  if (is("missing call") && odd) {
    return;
  }
  if (is("another collective") && odd) {
    ncclAllGather(a, b, 16, ncclFloat, comm, stream);
  } else if (is("another root")) {
    ncclBroadcast(a, b, 64, ncclFloat, odd ? ODD : 0, comm, stream);
  } else if (is("receive without send") || is("send without receive") || is("another length")) {
    if (rank == ODD && !(odd && is("receive without send"))) {
      ncclSend(a, 64, ncclFloat, 1, comm, stream);
    } else if (rank == 1 && !(wrong && is("send without receive"))) {
      ncclRecv(b, wrong && is("another length") ? 32 : 64, ncclFloat, ODD, comm, stream);
    }
  } else {
    ncclAllReduce(a, b, is("another count") && odd ? 32 : 64, is("another type") && odd ? ncclInt32 : ncclFloat, ncclSum,
                  comm, stream);
  }
}

/* Calls on two communicators, which share a stream. A wrong program's rank ODD has them in the other order. */
static void two_communicators(int rank, int odd, void *a, void *b, ncclComm_t comm, hipStream_t stream) {
  ncclComm_t both[2] = {comm, NULL};
  CHECK(ncclCommSplit(comm, 0, rank, &both[1], NULL) == ncclSuccess);
  for (int k = 0; k < 2; k++) {
    ncclAllReduce(a, b, 64, ncclFloat, ncclSum, both[k == 0 ? odd : !odd], stream);
  }
}

static void drive(int rank) {
  ncclComm_t comm = NULL;
  hipStream_t stream;
  void *a, *b;
  int odd = wrong && rank == ODD;
  ncclUniqueId id = shared_id(rank);
  CHECK(hipSetDevice(rank) == hipSuccess && hipStreamCreate(&stream) == hipSuccess);
  CHECK(hipMalloc(&a, 4096) == hipSuccess && hipMalloc(&b, 4096) == hipSuccess);
  if (is("late init") && rank == ODD) {
    sleep(2);
  }
  if (!(is("missing init") && odd)) {
    CHECK(ncclCommInitRank(&comm, RANKS, id, rank) == ncclSuccess);
    ncclAllReduce(a, b, 64, ncclFloat, ncclSum, comm, stream);
    if (is("other order")) {
      two_communicators(rank, odd, a, b, comm, stream);
    } else {
      last_call(rank, odd, a, b, comm, stream);
    }
  }
  hipStreamSynchronize(stream);
  while (wrong) {
    pause(); /* a rank that has ended would be another kind */
  }
}

static void *thread(void *rank) {
  drive((int)(intptr_t)rank);
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

static void set_number(const char *name, int value) {
  char text[16];
  snprintf(text, sizeof text, "%d", value);
  setenv(name, text, 1);
}

static void processes(void) {
  pid_t of[RANKS];
  set_number("WORLD_SIZE", RANKS);
  set_number("LOCAL_WORLD_SIZE", RANKS);
  for (int i = 0; i < RANKS; i++) {
    if ((of[i] = fork()) == 0) {
      set_number("RANK", i);
      set_number("LOCAL_RANK", i);
      limit();
      drive(i);
      exit(failures > 0);
    }
  }
  for (int i = 0; i < RANKS; i++) {
    int status = -1;
    CHECK(waitpid(of[i], &status, 0) == of[i] && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
}

int main(int argc, char **argv) {
  if (argc != 5) {
    fprintf(stderr, "usage: hung_test threads|processes KIND wrong|right FILE\n");
    return 2;
  }
  kind = argv[2];
  wrong = strcmp(argv[3], "wrong") == 0;
  file = argv[4];
  if (strcmp(argv[1], "threads") == 0) {
    limit();
    threads();
  } else {
    processes();
  }
  return failures > 0;
}
