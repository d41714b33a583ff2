/* The first call opens the world: a program may fork before it, and set in main() what the
 * loopback reads. */

enum { FORKED = 4 };

/* Ranks that have no channel but the address where rank 0 listens, which can be used again. */
static void by_address(client *c, int rank) {
  ncclUniqueId unique;
  CHECK(setenv("NCCL_COMM_ID", "127.0.0.1", 1) == 0);
  CHECK(ncclGetUniqueId(&unique) == ncclInvalidArgument);
  CHECK(setenv("NCCL_COMM_ID", "127.0.0.1:47110", 1) == 0);
  CHECK(ncclGetUniqueId(&unique) == ncclSuccess);
  CHECK(ncclCommInitRank(&c->comm, FORKED, unique, rank) == ncclSuccess);
  CHECK(ncclBroadcast(c->send, c->recv, N, ncclFloat, 2, c->comm, c->stream) == ncclSuccess);
  CHECK(hipStreamSynchronize(c->stream) == hipSuccess);
  CHECK(c->recv[5] == 2 + 5);
}

/* A rank of those that were forked: the id comes from rank 0 through pipes. */
static void forked(int rank, int pipes[FORKED][2]) {
  char first[16];
  client c;
  ncclUniqueId got;
  snprintf(first, sizeof first, "%d", rank);
  CHECK(setenv("ZBENCH_LOOPBACK_FIRST", first, 1) == 0);
  CHECK(setenv("ZBENCH_LOOPBACK_COUNT", "1", 1) == 0);
  if (rank == 0) {
    CHECK(ncclGetUniqueId(&got) == ncclSuccess);
    for (int i = 1; i < FORKED; i++) {
      CHECK(write(pipes[i][1], &got, sizeof got) == (ssize_t)sizeof got);
    }
  } else {
    CHECK(read(pipes[rank][0], &got, sizeof got) == (ssize_t)sizeof got);
  }
  /* The first call of all ranks but one: the id is on the stack. */
  CHECK(ncclCommInitRank(&c.comm, FORKED, got, rank) == ncclSuccess);
  client_open(&c, rank, 0);
  client_fill(&c);
  CHECK(ncclAllReduce(c.send, c.recv, N, ncclFloat, ncclSum, c.comm, c.stream) == ncclSuccess);
  CHECK(hipStreamSynchronize(c.stream) == hipSuccess);
  CHECK(c.recv[3] == (float)(FORKED * (FORKED - 1) / 2 + 3 * FORKED));
  CHECK(ncclCommDestroy(c.comm) == ncclSuccess);
  by_address(&c, rank);
  by_address(&c, rank);
  give_up(&c);
  client_leave(&c);
}

/* Nothing but FILE and the machine is set when the program begins. */
static void first_call(const char *file) {
  int pipes[FORKED][2], status, count = -1;
  CHECK(getenv("ZBENCH_LOOPBACK") == NULL && getenv("MACHINE") != NULL);
  CHECK(setenv("ZBENCH_LOOPBACK", getenv("MACHINE"), 1) == 0);
  CHECK(setenv("ZBENCH_LOOPBACK_SHARED", file, 1) == 0);
  for (int i = 0; i < FORKED; i++) {
    CHECK(pipe(pipes[i]) == 0);
  }
  for (int i = 0; i < FORKED; i++) {
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
      forked(i, pipes);
      exit(failures > 0);
    }
  }
  for (int i = 0; i < FORKED; i++) {
    CHECK(wait(&status) > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  CHECK(access(file, F_OK) != 0); /* the last of the ranks has removed it */
  CHECK(hipGetDeviceCount(&count) == hipSuccess && count == RANKS);
}
