/* What a rank does for itself, from a thread or a process of its own: every collective,
 * messages, buffers that grow, streams and events made meanwhile, and an abort. */
#ifndef CLIENT_ALL_H
#define CLIENT_ALL_H

enum { BLOCK = N / RANKS };

static void client_sync(client *c) { CHECK(hipStreamSynchronize(c->stream) == hipSuccess); }

static void reductions(client *c) {
  float mine = (float)c->rank;
  client_fill(c);
  CHECK(ncclReduceScatter(c->send, c->recv, BLOCK, ncclFloat, ncclSum, c->comm, c->stream) == ncclSuccess);
  client_sync(c);
  CHECK(c->recv[3] == summed(c->rank * BLOCK + 3));
  CHECK(ncclReduce(c->send, c->recv, N, ncclFloat, ncclMax, 5, c->comm, c->stream) == ncclSuccess);
  client_sync(c);
  CHECK(c->rank != 5 || c->recv[9] == RANKS - 1 + 9);
  CHECK(ncclAllReduce(c->send, c->recv, N, ncclFloat, ncclAvg, c->comm, c->stream) == ncclSuccess);
  client_sync(c);
  CHECK(c->recv[8] == summed(8) / RANKS);
  CHECK(hipMemcpy(c->send, &mine, sizeof mine, hipMemcpyHostToDevice) == hipSuccess);
}

static void moves(client *c) {
  client_fill(c);
  CHECK(ncclAllGather(c->send, c->recv, BLOCK, ncclFloat, c->comm, c->stream) == ncclSuccess);
  client_sync(c);
  CHECK(c->recv[6 * BLOCK + 2] == 6 + 2);
  CHECK(ncclBroadcast(c->send, c->recv, N, ncclFloat, 2, c->comm, c->stream) == ncclSuccess);
  client_sync(c);
  CHECK(c->recv[N - 1] == 2 + N - 1);
  CHECK(ncclAllToAll(c->send, c->recv, BLOCK, ncclFloat, c->comm, c->stream) == ncclSuccess);
  client_sync(c);
  CHECK(c->recv[4 * BLOCK] == 4 + c->rank * BLOCK);
  CHECK(ncclScatter(c->send, c->recv, BLOCK, ncclFloat, 1, c->comm, c->stream) == ncclSuccess);
  client_sync(c);
  CHECK(c->recv[1] == 1 + c->rank * BLOCK + 1);
  CHECK(ncclGather(c->send, c->recv, BLOCK, ncclFloat, 0, c->comm, c->stream) == ncclSuccess);
  client_sync(c);
  CHECK(c->rank != 0 || c->recv[7 * BLOCK + 5] == 7 + 5);
}

/* A ring, on a stream and an event of its own. */
static void ring(client *c) {
  int next = (c->rank + 1) % RANKS, before = (c->rank + RANKS - 1) % RANKS;
  hipStream_t stream;
  hipEvent_t done;
  CHECK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking) == hipSuccess);
  CHECK(hipEventCreate(&done) == hipSuccess);
  client_fill(c);
  CHECK(ncclGroupStart() == ncclSuccess);
  CHECK(ncclSend(c->send, N, ncclFloat, next, c->comm, stream) == ncclSuccess);
  CHECK(ncclRecv(c->recv, N, ncclFloat, before, c->comm, stream) == ncclSuccess);
  CHECK(ncclGroupEnd() == ncclSuccess);
  CHECK(hipEventRecord(done, stream) == hipSuccess);
  while (hipEventQuery(done) == hipErrorNotReady) {
  }
  CHECK(c->recv[4] == (float)before + 4);
  CHECK(hipEventDestroy(done) == hipSuccess && hipStreamDestroy(stream) == hipSuccess);
}

/* More than goes through the memory at once: all CPUs take part. */
static void large(client *c) {
  size_t n = (size_t)1 << 20;
  float *send, *recv;
  CHECK(hipMalloc((void **)&send, n * sizeof *send) == hipSuccess);
  CHECK(hipMalloc((void **)&recv, n * sizeof *recv) == hipSuccess);
  CHECK(hipMemset(send, 0, n * sizeof *send) == hipSuccess);
  CHECK(hipDeviceSynchronize() == hipSuccess);
  send[n - 1] = (float)c->rank;
  for (int i = 0; i < 2; i++) {
    CHECK(ncclAllReduce(send, recv, n, ncclFloat, ncclSum, c->comm, c->stream) == ncclSuccess);
    client_sync(c);
  }
  CHECK(recv[0] == 0 && recv[n - 1] == RANKS * (RANKS - 1) / 2);
  CHECK(hipFree(send) == hipSuccess && hipFree(recv) == hipSuccess);
}

/* The last call of the communicator: rank 0 does not take part, and all give it up
 * (nccl.h, ncclCommAbort), each when it has found that the work does not end. One that comes
 * after another has gone is told so. The streams are free afterwards. */
static void give_up(client *c) {
  ncclResult_t error = ncclSuccess, code = ncclInvalidUsage;
  if (c->rank != 0) {
    code = ncclAllReduce(c->send, c->recv, N, ncclFloat, ncclSum, c->comm, c->stream);
    CHECK(code == ncclSuccess || code == ncclInvalidUsage);
  }
  if (code == ncclSuccess) {
    CHECK(hipStreamQuery(c->stream) == hipErrorNotReady);
    CHECK(ncclCommGetAsyncError(c->comm, &error) == ncclSuccess && error == ncclSuccess);
  }
  CHECK(ncclCommAbort(c->comm) == ncclSuccess);
  client_sync(c);
}

static void every_call(client *c) {
  for (int i = 0; i < 3; i++) {
    reductions(c);
    moves(c);
    ring(c);
  }
  large(c);
}

#endif
