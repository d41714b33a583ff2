/* Memory between processes: each opens that of the one before it, reads it, writes to it, and
 * closes it. */

enum { OPENING = 3, SHARED_BYTES = 3 << 20, AT = 1000 };

/* Brings all ranks together. */
static void meet(client *c) {
  CHECK(ncclAllReduce(c->send, c->recv, 1, ncclFloat, ncclSum, c->comm, c->stream) == ncclSuccess);
  CHECK(hipStreamSynchronize(c->stream) == hipSuccess);
}

/* What the process before this one has; its handle is of an address within the memory. */
static float *open_before(client *c, const hipIpcMemHandle_t *before) {
  float *p = NULL, *again = NULL;
  size_t bytes = 0, room, less;
  void *base;
  CHECK(hipMemGetInfo(&room, NULL) == hipSuccess);
  CHECK(hipIpcOpenMemHandle((void **)&p, *before, hipIpcMemLazyEnablePeerAccess) == hipSuccess);
  CHECK(hipIpcOpenMemHandle((void **)&again, *before, hipIpcMemLazyEnablePeerAccess) == hipSuccess);
  CHECK(p != NULL && p == again && hipIpcCloseMemHandle(again) == hipSuccess);
  CHECK(hipMemGetInfo(&less, NULL) == hipSuccess && less == room); /* it is the other's room */
  CHECK(hipMemGetAddressRange(&base, &bytes, p) == hipSuccess);
  CHECK(bytes == SHARED_BYTES && (char *)p == (char *)base + AT * sizeof(float));
  CHECK(hipFree(base) == hipErrorInvalidValue); /* it is closed, not freed */
  CHECK(p[-1] == 0 && p[0] == (float)((c->rank + OPENING - 1) % OPENING));
  return p;
}

static void opens(client *c, int from, int to) {
  float *mine, *before, value = (float)(100 + c->rank);
  hipIpcMemHandle_t handle, other;
  CHECK(hipMalloc((void **)&mine, SHARED_BYTES) == hipSuccess);
  CHECK(hipMemset(mine, 0, SHARED_BYTES) == hipSuccess);
  mine[AT] = (float)c->rank; /* before it moves into the file */
  CHECK(hipIpcGetMemHandle(&handle, mine + AT) == hipSuccess);
  CHECK(mine[AT] == (float)c->rank);
  CHECK(write(to, &handle, sizeof handle) == (ssize_t)sizeof handle);
  CHECK(read(from, &other, sizeof other) == (ssize_t)sizeof other);
  CHECK(hipIpcOpenMemHandle((void **)&before, handle, hipIpcMemLazyEnablePeerAccess) ==
        hipErrorInvalidContext);
  before = open_before(c, &other);
  meet(c);
  CHECK(hipMemcpyAsync(before + 7, &value, sizeof value, hipMemcpyDefault, c->stream) == hipSuccess);
  CHECK(ncclAllReduce(before + 7, before + 8, 1, ncclFloat, ncclSum, c->comm, c->stream) == ncclSuccess);
  CHECK(hipStreamSynchronize(c->stream) == hipSuccess);
  meet(c);
  CHECK(mine[AT + 7] == (float)(100 + (c->rank + 1) % OPENING) && mine[AT + 8] == 303);
  if (c->rank == 0) { /* who has opened it still has it, whatever its owner allocates next */
    CHECK(hipFree(mine) == hipSuccess);
    CHECK(hipMalloc((void **)&mine, SHARED_BYTES) == hipSuccess);
    CHECK(hipIpcGetMemHandle(&handle, mine) == hipSuccess);
    CHECK(hipMemset(mine, 0, SHARED_BYTES) == hipSuccess);
  }
  meet(c);
  CHECK(before[8] == 303 && hipIpcCloseMemHandle(before) == hipSuccess);
  CHECK(hipIpcCloseMemHandle(before) == hipErrorInvalidValue);
  meet(c);
  CHECK(c->rank != 1 || hipIpcOpenMemHandle((void **)&before, other, hipIpcMemLazyEnablePeerAccess) ==
                            17); /* all of it is gone: hipErrorInvalidDevicePointer */
  CHECK(hipFree(mine) == hipSuccess);
}

static void opening(int rank, int ids[2], int pipes[OPENING][2]) {
  char first[16];
  client c;
  ncclUniqueId got;
  snprintf(first, sizeof first, "%d", rank);
  CHECK(setenv("ZBENCH_LOOPBACK_FIRST", first, 1) == 0);
  CHECK(setenv("ZBENCH_LOOPBACK_COUNT", "1", 1) == 0);
  client_open(&c, rank, 0);
  if (rank == 0) {
    CHECK(ncclGetUniqueId(&got) == ncclSuccess);
  }
  for (int i = 1; rank == 0 && i < OPENING; i++) {
    CHECK(write(ids[1], &got, sizeof got) == (ssize_t)sizeof got);
  }
  CHECK(rank == 0 || read(ids[0], &got, sizeof got) == (ssize_t)sizeof got);
  CHECK(ncclCommInitRank(&c.comm, OPENING, got, rank) == ncclSuccess);
  opens(&c, pipes[rank][0], pipes[(rank + 1) % OPENING][1]);
  client_close(&c);
}

static void ipc(const char *file) {
  int ids[2], pipes[OPENING][2], status;
  CHECK(setenv("ZBENCH_LOOPBACK", getenv("MACHINE"), 1) == 0);
  CHECK(setenv("ZBENCH_LOOPBACK_SHARED", file, 1) == 0);
  CHECK(pipe(ids) == 0);
  for (int i = 0; i < OPENING; i++) {
    CHECK(pipe(pipes[i]) == 0);
  }
  for (int i = 0; i < OPENING; i++) {
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
      opening(i, ids, pipes);
      exit(failures > 0);
    }
  }
  for (int i = 0; i < OPENING; i++) {
    CHECK(wait(&status) > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
}
