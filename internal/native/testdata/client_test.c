/* A client of the loopback's shared libraries:
 *   client_test one | threads | processes FILE [TYPE] | first FILE | ipc FILE | clock | stuck |
 *               bench one|threads TYPE
 * It knows nothing of zbench but two variables of the environment. Exits 0 when every
 * result and every error code is what the real libraries give. */

#include "client.h"

#ifndef CLIENT_RANKS
#define CLIENT_RANKS 8
#endif
enum { RANKS = CLIENT_RANKS, N = 1024, BYTES = N * 4 };

/* One rank's part of a world. */
typedef struct client {
  int rank, device;
  ncclComm_t comm;
  hipStream_t stream;
  float *send, *recv;
} client;

static inline void client_open(client *c, int rank, int device) {
  c->rank = rank;
  c->device = device;
  CHECK(hipSetDevice(device) == hipSuccess);
  CHECK(hipStreamCreateWithFlags(&c->stream, hipStreamNonBlocking) == hipSuccess);
  CHECK(hipMalloc((void **)&c->send, BYTES) == hipSuccess);
  CHECK(hipMalloc((void **)&c->recv, BYTES) == hipSuccess);
}

/* The communicator is gone. */
static inline void client_leave(client *c) {
  CHECK(hipSetDevice(c->device) == hipSuccess);
  CHECK(hipStreamDestroy(c->stream) == hipSuccess);
  CHECK(hipFree(c->send) == hipSuccess && hipFree(c->recv) == hipSuccess);
}

static inline void client_close(client *c) {
  CHECK(ncclCommDestroy(c->comm) == ncclSuccess);
  client_leave(c);
}

/* What each rank sends: its number and where the element is. */
static inline void client_fill(client *c) {
  for (int i = 0; i < N; i++) {
    c->send[i] = (float)(c->rank + i);
  }
}

static inline float summed(int i) { return (float)(RANKS * i + RANKS * (RANKS - 1) / 2); }

/* What a rank does for itself, from a thread or a process of its own: every collective,
 * messages, buffers that grow, streams and events made meanwhile, and an abort. */
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

/* What a capture refuses beyond one stream. */
enum { CAPTURE_UNSUPPORTED = 900, CAPTURE_MERGE = 902, CAPTURE_UNMATCHED };

static hipStream_t captured, other_stream;
static hipEvent_t mark;

static void begin_capture(hipStream_t stream) {
  CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeThreadLocal) == hipSuccess);
}

static void end_capture(hipStream_t stream, int want) {
  hipGraph_t graph = NULL;
  CHECK((int)hipStreamEndCapture(stream, &graph) == want);
  CHECK(graph == NULL || hipGraphDestroy(graph) == hipSuccess);
}

/* The default stream has no capture (ROCm/clr, hipamd/src/hip_graph.cpp,
 * hipStreamBeginCapture_common). */
static void no_capture_of_the_null_stream(void) {
  CHECK((int)hipStreamBeginCapture(NULL, hipStreamCaptureModeThreadLocal) == CAPTURE_UNSUPPORTED);
}

/* A stream is in one capture (CUDA Driver API, CUDA_ERROR_STREAM_CAPTURE_MERGE; HIP has the
 * number, and makes a graph of it that lacks the order: hipStreamWaitEvent_common). */
static void captures_do_not_merge(void) {
  begin_capture(captured);
  begin_capture(other_stream);
  CHECK(hipEventRecord(mark, captured) == hipSuccess);
  CHECK((int)hipStreamWaitEvent(other_stream, mark, 0) == CAPTURE_MERGE);
  end_capture(other_stream, hipSuccess);
  end_capture(captured, hipSuccess);
}

/* The stream that began a capture ends it (hip_runtime_api.h, hipStreamEndCapture;
 * hipErrorStreamCaptureUnmatched). */
static void a_capture_ends_where_it_began(void) {
  begin_capture(captured);
  CHECK(hipEventRecord(mark, captured) == hipSuccess);
  CHECK(hipStreamWaitEvent(other_stream, mark, 0) == hipSuccess);
  end_capture(other_stream, CAPTURE_UNMATCHED);
  CHECK(hipEventRecord(mark, other_stream) == hipSuccess);
  CHECK(hipStreamWaitEvent(captured, mark, 0) == hipSuccess);
  end_capture(captured, hipSuccess);
}

/* An event of a capture that has ended is as it was before, here never recorded: nobody
 * waits for it (ROCm/clr, hipamd/src/hip_stream.cpp, hipStreamWaitEvent_common, and
 * hip_event.cpp, Event::streamWait and hipEventSynchronize). */
static void an_ended_capture_leaves_its_events(void) {
  begin_capture(captured);
  CHECK(hipEventRecord(mark, captured) == hipSuccess);
  CHECK((int)hipEventSynchronize(mark) == CAPTURE_UNSUPPORTED);
  end_capture(captured, hipSuccess);
  CHECK(hipEventSynchronize(mark) == hipSuccess);
  CHECK(hipStreamWaitEvent(other_stream, mark, 0) == hipSuccess);
  CHECK(hipStreamSynchronize(other_stream) == hipSuccess);
}

static void captures(void) {
  CHECK(hipSetDevice(0) == hipSuccess && hipEventCreate(&mark) == hipSuccess);
  CHECK(hipStreamCreate(&captured) == hipSuccess && hipStreamCreate(&other_stream) == hipSuccess);
  no_capture_of_the_null_stream();
  captures_do_not_merge();
  a_capture_ends_where_it_began();
  an_ended_capture_leaves_its_events();
  CHECK(hipEventDestroy(mark) == hipSuccess);
  CHECK(hipStreamDestroy(captured) == hipSuccess && hipStreamDestroy(other_stream) == hipSuccess);
}

/* One thread drives all ranks. Each rule of the real libraries has its source. */

static client all[RANKS];

static void start_all(void) {
  for (int i = 0; i < RANKS; i++) {
    client_fill(&all[i]);
  }
}

static void sync_all(void) {
  for (int i = 0; i < RANKS; i++) {
    CHECK(hipStreamSynchronize(all[i].stream) == hipSuccess);
  }
}

/* ROCm/rccl, src/init.cc, ncclCommInitAll_impl. */
static void init_all(void) {
  ncclComm_t comms[RANKS];
  const int twice[] = {1, 1}, none[] = {0, RANKS};
  int n, version;
  CHECK(hipGetDeviceCount(&n) == hipSuccess && n == RANKS);
  CHECK(ncclCommInitAll(comms, -1, NULL) == ncclInvalidArgument);
  CHECK(ncclCommInitAll(NULL, 2, NULL) == ncclInvalidArgument);
  CHECK(ncclCommInitAll(comms, 2, twice) == ncclInvalidUsage);
  CHECK(ncclCommInitAll(comms, 2, none) == ncclUnhandledCudaError);
  CHECK(hipSetDevice(3) == hipSuccess);
  CHECK(ncclCommInitAll(comms, RANKS, NULL) == ncclSuccess);
  CHECK(hipGetDevice(&n) == hipSuccess && n == 3);
  CHECK(ncclGetVersion(&version) == ncclSuccess && version >= 22200);
  for (int i = 0; i < RANKS; i++) {
    int ranks, rank, device;
    client_open(&all[i], i, i);
    all[i].comm = comms[i];
    CHECK(ncclCommCount(comms[i], &ranks) == ncclSuccess && ranks == RANKS);
    CHECK(ncclCommUserRank(comms[i], &rank) == ncclSuccess && rank == i);
    CHECK(ncclCommCuDevice(comms[i], &device) == ncclSuccess && device == i);
  }
  CHECK(ncclCommCount(NULL, &n) == ncclInvalidArgument);
  CHECK(ncclCommCount(comms[0], NULL) == ncclInvalidArgument);
}

/* What runs on a stream sees what ran before it there, without a wait between. */
static void chains(void) {
  start_all();
  CHECK(ncclGroupStart() == ncclSuccess);
  for (int i = 0; i < RANKS; i++) { /* in place: the block of the rank */
    client *c = &all[i];
    CHECK(ncclReduceScatter(c->send, c->send + i * N / RANKS, N / RANKS, ncclFloat, ncclSum, c->comm, c->stream) == ncclSuccess);
  }
  CHECK(ncclGroupEnd() == ncclSuccess);
  CHECK(ncclGroupStart() == ncclSuccess);
  for (int i = 0; i < RANKS; i++) {
    client *c = &all[i];
    CHECK(ncclAllGather(c->send + i * N / RANKS, c->recv, N / RANKS, ncclFloat, c->comm, c->stream) == ncclSuccess);
  }
  CHECK(ncclGroupEnd() == ncclSuccess);
  for (int round = 0; round < 2; round++) { /* twice in place: × ranks each time */
    CHECK(ncclGroupStart() == ncclSuccess);
    for (int i = 0; i < RANKS; i++) {
      client *c = &all[i];
      CHECK(ncclAllReduce(c->recv, c->recv, N, ncclFloat, ncclSum, c->comm, c->stream) == ncclSuccess);
    }
    CHECK(ncclGroupEnd() == ncclSuccess);
  }
  sync_all();
  for (int i = 0; i < RANKS; i++) {
    for (int k = 0; k < N; k += 37) {
      CHECK(all[i].recv[k] == RANKS * RANKS * summed(k));
    }
  }
}

/* Each rank's operator has a number and a scalar of its own (nccl.h,
 * ncclRedOpCreatePreMulSum); its type is the call's (src/enqueue.cc, hostToDevRedOp). */
static void operators(void) {
  ncclRedOp_t ops[RANKS];
  float scalar;
  start_all();
  CHECK(ncclGroupStart() == ncclSuccess);
  for (int i = 0; i < RANKS; i++) {
    client *c = &all[i];
    scalar = (float)(i % 2);
    CHECK(ncclRedOpCreatePreMulSum(&ops[i], &scalar, ncclFloat, ncclScalarHostImmediate, c->comm) == ncclSuccess);
    CHECK(ncclAllReduce(c->send, c->recv, N, ncclFloat, ops[i], c->comm, c->stream) == ncclSuccess);
    CHECK(ncclRedOpDestroy(ops[i], c->comm) == ncclSuccess);
  }
  CHECK(ncclGroupEnd() == ncclSuccess);
  sync_all();
  CHECK(all[2].recv[10] == 1 + 3 + 5 + 7 + 4 * 10);
  CHECK(ncclRedOpDestroy(ops[0], all[0].comm) == ncclInvalidArgument);
  CHECK(ncclRedOpDestroy(ncclSum, all[0].comm) == ncclInvalidArgument);
  CHECK(ncclRedOpCreatePreMulSum(&ops[0], &scalar, ncclDouble, ncclScalarDevice, all[0].comm) == ncclInvalidArgument);
  CHECK(ncclRedOpCreatePreMulSum(&ops[0], all[0].send, ncclFloat, ncclScalarDevice, all[0].comm) == ncclSuccess);
  CHECK(ncclAllReduce(all[0].send, all[0].recv, 2, ncclInt32, ops[0], all[0].comm, all[0].stream) == ncclInvalidArgument);
  CHECK(ncclAllReduce(all[1].send, all[1].recv, 2, ncclFloat, ops[0], all[1].comm, all[1].stream) == ncclInvalidArgument);
  CHECK(ncclRedOpDestroy(ops[0], all[0].comm) == ncclSuccess);
}

/* Rank i sends i + 1 elements to each, its number (ROCm/rccl, src/collectives.cc). */
static void all_to_allv(void) {
  size_t sends[RANKS], send_at[RANKS], recvs[RANKS], recv_at[RANKS];
  start_all();
  CHECK(ncclGroupStart() == ncclSuccess);
  for (int i = 0; i < RANKS; i++) {
    for (int j = 0; j < RANKS; j++) {
      sends[j] = (size_t)i + 1;
      send_at[j] = 16 * (size_t)j;
      recvs[j] = (size_t)j + 1;
      recv_at[j] = 32 * (size_t)j;
    }
    CHECK(ncclAllToAllv(all[i].send, sends, send_at, all[i].recv, recvs, recv_at, ncclFloat, all[i].comm, all[i].stream) == ncclSuccess);
  }
  CHECK(ncclGroupEnd() == ncclSuccess);
  sync_all();
  for (int i = 0; i < RANKS; i++) {
    CHECK(all[i].recv[32 * 5] == 5 + 16 * i && all[i].recv[32 * 5 + 5] == 5 + 16 * i + 5);
  }
  for (int i = 0; i < RANKS; i++) {
    CHECK(ncclBcast(all[i].send, N, ncclFloat, 6, all[i].comm, all[i].stream) == ncclSuccess);
  }
  sync_all();
  CHECK(all[1].send[9] == 6 + 9);
}

/* Memory that devices reach: another's (peers, ROCm/rccl, src/transport/p2p.cc; pointers
 * are looked at with NCCL_CHECK_POINTERS alone, src/misc/argcheck.cc), the host's that
 * HIP gave out or was told of, managed. Not other memory. */
static void memories(void) {
  static float own[N], plain[N];
  float *buffers[RANKS] = {all[0].recv, all[7].recv};
  void *handle;
  CHECK(hipHostMalloc((void **)&buffers[2], BYTES, 0) == hipSuccess);
  CHECK(hipMallocManaged((void **)&buffers[3], BYTES, hipMemAttachGlobal) == hipSuccess);
  CHECK(hipMallocManaged((void **)&buffers[4], 0, hipMemAttachGlobal) == hipErrorInvalidValue);
  CHECK(hipHostRegister(own, BYTES, 0) == hipSuccess);
  CHECK(ncclMemAlloc((void **)&buffers[5], BYTES) == ncclSuccess);
  CHECK(ncclCommRegister(all[5].comm, buffers[5], BYTES, &handle) == ncclSuccess);
  buffers[4] = own;
  buffers[6] = all[6].recv;
  buffers[7] = all[1].recv;
  start_all();
  CHECK(ncclAllReduce(all[0].send, plain, N, ncclFloat, ncclSum, all[0].comm, all[0].stream) == ncclInvalidArgument);
  CHECK(ncclGroupStart() == ncclSuccess);
  for (int i = 0; i < RANKS; i++) {
    CHECK(ncclAllReduce(all[i].send, buffers[i], N, ncclFloat, ncclSum, all[i].comm, all[i].stream) == ncclSuccess);
  }
  CHECK(ncclGroupEnd() == ncclSuccess);
  sync_all();
  for (int i = 0; i < RANKS; i++) {
    CHECK(buffers[i][N - 1] == summed(N - 1));
  }
  CHECK(ncclCommDeregister(all[5].comm, handle) == ncclSuccess);
  CHECK(ncclMemFree(buffers[5]) == ncclSuccess);
  CHECK(hipFree(own) == hipErrorInvalidValue); /* the program's (hip_memory.cpp, ihipFree) */
  CHECK(hipHostUnregister(own) == hipSuccess && hipHostUnregister(own) != hipSuccess);
  CHECK(hipHostFree(buffers[2]) == hipSuccess && hipFree(buffers[3]) == hipSuccess);
}

/* Copies go by where their ends are, whatever the kind says and whichever device is
 * current (ROCm/clr, hipamd/src/hip_memory.cpp, ihipMemcpy_validate). */
static void copies(void) {
  float got = 0, put = 3;
  CHECK(hipSetDevice(5) == hipSuccess);
  CHECK(hipMemcpy(all[2].send, &put, 4, hipMemcpyDeviceToHost) == hipSuccess);
  CHECK(hipMemcpy(all[3].send, all[2].send, 4, hipMemcpyHostToDevice) == hipSuccess);
  CHECK(hipSetDevice(3) == hipSuccess && hipDeviceSynchronize() == hipSuccess);
  CHECK(hipSetDevice(5) == hipSuccess && hipDeviceSynchronize() == hipSuccess);
  CHECK(hipMemcpy(&got, all[3].send, 4, hipMemcpyDefault) == hipSuccess && got == 3);
  CHECK(hipMemcpy(&got, all[3].send, 4, (hipMemcpyKind)9) == hipErrorInvalidMemcpyDirection);
  CHECK(hipMemcpy(&got, NULL, 4, hipMemcpyDefault) == hipErrorInvalidValue);
  CHECK(hipMemcpy(all[2].send, all[3].send + N - 1, 8, hipMemcpyDefault) == hipErrorInvalidValue);
  CHECK(hipMemset(all[4].send, 0x11, 8) == hipSuccess && hipDeviceSynchronize() == hipSuccess);
  CHECK(hipSetDevice(4) == hipSuccess && hipDeviceSynchronize() == hipSuccess);
  CHECK(((const unsigned char *)all[4].send)[7] == 0x11);
  CHECK(hipMemset(all[4].send, 0, BYTES + 1) == hipErrorInvalidValue);
}

/* A stream waits for another's event; in a capture that makes it take part, and it has
 * to come back (ROCm/clr, hipamd/src/hip_stream.cpp, hipStreamWaitEvent_common). */
static void events(void) {
  hipEvent_t before, after, untimed;
  hipStream_t side;
  hipGraph_t graph = NULL;
  hipGraphExec_t exec;
  float ms;
  CHECK(hipSetDevice(0) == hipSuccess && hipStreamCreate(&side) == hipSuccess);
  CHECK(hipEventCreate(&before) == hipSuccess && hipEventCreate(&after) == hipSuccess);
  CHECK(hipEventCreateWithFlags(&untimed, hipEventDisableTiming) == hipSuccess);
  start_all();
  CHECK(hipEventRecord(before, all[0].stream) == hipSuccess);
  CHECK(ncclGroupStart() == ncclSuccess);
  for (int i = 0; i < RANKS; i++) {
    CHECK(ncclAllReduce(all[i].send, all[i].recv, N, ncclFloat, ncclSum, all[i].comm, all[i].stream) == ncclSuccess);
  }
  CHECK(ncclGroupEnd() == ncclSuccess);
  CHECK(hipEventRecord(after, all[0].stream) == hipSuccess);
  CHECK(hipStreamWaitEvent(side, after, 0) == hipSuccess);
  CHECK(hipMemcpyAsync(all[0].send, all[0].recv, BYTES, hipMemcpyDefault, side) == hipSuccess);
  CHECK(hipEventRecord(untimed, side) == hipSuccess);
  CHECK(hipEventSynchronize(untimed) == hipSuccess && all[0].send[3] == summed(3));
  CHECK(hipEventElapsedTime(&ms, before, after) == hipSuccess && ms > 0);
  CHECK(hipEventElapsedTime(&ms, before, untimed) == hipErrorInvalidHandle);
  sync_all();
  for (int joined = 0; joined < 2; joined++) {
    CHECK(hipStreamBeginCapture(all[0].stream, hipStreamCaptureModeThreadLocal) == hipSuccess);
    CHECK(hipEventRecord(before, all[0].stream) == hipSuccess);
    CHECK(hipStreamWaitEvent(side, before, 0) == hipSuccess);
    CHECK(hipMemsetAsync(all[0].recv, 0, 4, side) == hipSuccess);
    CHECK(hipEventRecord(after, side) == hipSuccess);
    CHECK(!joined || hipStreamWaitEvent(all[0].stream, after, 0) == hipSuccess);
    CHECK(hipStreamEndCapture(all[0].stream, &graph) == (joined ? hipSuccess : hipErrorStreamCaptureUnjoined));
  }
  CHECK(all[0].recv[0] == summed(0));
  CHECK(hipGraphInstantiate(&exec, graph, NULL, NULL, 0) == hipSuccess);
  CHECK(hipGraphLaunch(exec, all[0].stream) == hipSuccess);
  CHECK(hipStreamSynchronize(all[0].stream) == hipSuccess && all[0].recv[0] == 0);
  CHECK(hipGraphExecDestroy(exec) == hipSuccess && hipGraphDestroy(graph) == hipSuccess);
  CHECK(hipEventDestroy(before) == hipSuccess && hipEventDestroy(after) == hipSuccess);
  CHECK(hipEventDestroy(untimed) == hipSuccess && hipStreamDestroy(side) == hipSuccess);
}

/* Messages in groups, as programs write them: one thread drives all ranks. A group that
 * never ends would hang here: main's alarm ends it. */

/* All sends of a ring first, then all receives: the messages of a rank are one kernel,
 * wherever they stand in the group (ROCm/rccl, src/enqueue.cc, ncclLaunchPrepare). */
static void rings(void) {
  start_all();
  CHECK(ncclGroupStart() == ncclSuccess);
  for (int i = 0; i < RANKS; i++) {
    CHECK(ncclSend(all[i].send, N, ncclFloat, (i + 1) % RANKS, all[i].comm, all[i].stream) == ncclSuccess);
  }
  for (int i = 0; i < RANKS; i++) {
    CHECK(ncclRecv(all[i].recv, N, ncclFloat, (i + RANKS - 1) % RANKS, all[i].comm, all[i].stream) == ncclSuccess);
  }
  CHECK(ncclGroupEnd() == ncclSuccess);
  sync_all();
  for (int i = 0; i < RANKS; i++) {
    CHECK(all[i].recv[5] == (float)((i + RANKS - 1) % RANKS + 5));
  }
}

/* The peers outside, the ranks inside: several messages between each pair arrive in the
 * order of their calls. */
static void exchange(void) {
  const size_t part = N / RANKS / 2;
  start_all();
  CHECK(ncclGroupStart() == ncclSuccess);
  for (size_t k = 0; k < 2 * RANKS; k++) {
    for (int i = 0; i < RANKS; i++) {
      int peer = (int)(k / 2);
      CHECK(ncclSend(all[i].send + k * part, part, ncclFloat, peer, all[i].comm, all[i].stream) == ncclSuccess);
      CHECK(ncclRecv(all[i].recv + k * part, part, ncclFloat, peer, all[i].comm, all[i].stream) == ncclSuccess);
    }
  }
  CHECK(ncclGroupEnd() == ncclSuccess);
  sync_all();
  for (int i = 0; i < RANKS; i++) {
    for (size_t k = 0; k < 2 * RANKS; k++) {
      size_t peer = k / 2, from = (2 * (size_t)i + k % 2) * part;
      CHECK(all[i].recv[k * part + 1] == (float)(peer + from + 1));
    }
  }
}

/* A rank's collectives come before its messages, in whichever order it has called them
 * (ncclLaunchPrepare again). */
static void mixed(void) {
  start_all();
  CHECK(ncclGroupStart() == ncclSuccess);
  CHECK(ncclSend(all[0].send, 8, ncclFloat, 1, all[0].comm, all[0].stream) == ncclSuccess);
  for (int i = 0; i < RANKS; i++) {
    CHECK(ncclAllReduce(all[i].send + 8, all[i].recv + 8, N - 8, ncclFloat, ncclSum, all[i].comm, all[i].stream) == ncclSuccess);
  }
  CHECK(ncclRecv(all[1].recv, 8, ncclFloat, 0, all[1].comm, all[1].stream) == ncclSuccess);
  CHECK(ncclGroupEnd() == ncclSuccess);
  sync_all();
  CHECK(all[1].recv[3] == 3 && all[1].recv[8] == summed(8) && all[7].recv[N - 1] == summed(N - 1));
}

static void groups(void) {
  rings();
  exchange();
  mixed();
}

/* A configuration that was not initialised (ROCm/rccl, src/init.cc, parseCommConfig). */
static void configurations(void) {
  ncclConfig_t config;
  ncclComm_t comm;
  ncclUniqueId id;
  memset(&config, 0, sizeof config);
  CHECK(ncclGetUniqueId(&id) == ncclSuccess);
  CHECK(ncclCommInitRankConfig(&comm, 1, id, 0, &config) == ncclInvalidArgument);
  CHECK(ncclCommInitRankConfig(&comm, 1, id, 0, NULL) == ncclSuccess);
  CHECK(ncclAllReduce(all[0].send, all[0].recv, 4, ncclFloat, ncclSum, comm, NULL) != ncclInvalidUsage);
  CHECK(hipDeviceSynchronize() == hipSuccess && ncclCommDestroy(comm) == ncclSuccess);
}

/* A kernel with a host version runs in its turn; one without is an error of the launch
 * and of its stream (zbench_kernels.h). */
static void kernels(void) {
  static const char known = 0, unknown = 0, stranger = 0;
  const dim3 grid = {2, 1, 1}, block = {64, 1, 1};
  void **module = __hipRegisterFatBinary("no code");
  float value = 4;
  int n = 128;
  void *args[] = {&all[0].recv, &value, &n};
  __hipRegisterFunction(module, &known, NULL, "_Z4fillPffi", 0, NULL, NULL, NULL, NULL, NULL);
  __hipRegisterFunction(module, &unknown, NULL, "_Z5otherv", 0, NULL, NULL, NULL, NULL, NULL);
  CHECK(hipSetDevice(0) == hipSuccess);
  CHECK(hipLaunchKernel(&known, grid, block, args, 0, all[0].stream) == hipSuccess);
  value = 5; /* it was taken at the launch */
  CHECK(hipStreamSynchronize(all[0].stream) == hipSuccess);
  CHECK(all[0].recv[0] == 4 && all[0].recv[127] == 4 && all[0].recv[128] != 4);
  CHECK(hipLaunchKernel(&stranger, grid, block, args, 0, all[0].stream) == 98);
  CHECK(hipGetLastError() == 98 && hipStreamSynchronize(all[0].stream) == hipSuccess);
  CHECK(hipLaunchKernel(&unknown, grid, block, args, 0, all[0].stream) == 209);
  CHECK(hipStreamSynchronize(all[0].stream) == 209 && hipDeviceSynchronize() == 209);
  __hipUnregisterFatBinary(module);
}

/* Communicators that do not block (ROCm/rccl at rocm-6.2.2: src/group.cc,
 * ncclGroupEndInternal and ncclAsyncLaunch; src/init.cc, ncclCommInitRankConfig_impl,
 * ncclCommSplit_impl, ncclCommFinalize_impl and ncclCommEnsureReady). One thread drives all
 * ranks. */

static ncclConfig_t not_blocking(void) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  return config;
}

/* Polls as NCCL's documentation has it, for a while. */
static ncclResult_t settled(ncclComm_t comm) {
  ncclResult_t state = ncclInProgress;
  for (int i = 0; i < 1000000 && state == ncclInProgress; i++) {
    CHECK(ncclCommGetAsyncError(comm, &state) == ncclSuccess);
  }
  return state;
}

/* In a group an init has not begun: its state is no error, and no progress either. The end
 * tells that it has. */
static void init_later(ncclComm_t *comms, int first, int ranks, ncclUniqueId unique, int all) {
  ncclConfig_t config = not_blocking();
  ncclResult_t state;
  CHECK(ncclGroupStart() == ncclSuccess);
  for (int i = first; i < first + ranks; i++) {
    CHECK(hipSetDevice(i) == hipSuccess);
    CHECK(ncclCommInitRankConfig(&comms[i], all, unique, i, &config) == ncclSuccess);
    CHECK(ncclCommGetAsyncError(comms[i], &state) == ncclSuccess && state == ncclSuccess);
  }
  CHECK(ncclGroupEnd() == ncclInProgress);
}

/* What is under way can be asked for its state alone. */
static void unready(ncclComm_t comm) {
  int n;
  ncclComm_t half;
  client *c = &all[0];
  CHECK(ncclCommCount(comm, &n) == ncclInvalidArgument);
  CHECK(ncclCommFinalize(comm) == ncclInvalidArgument);
  CHECK(ncclCommSplit(comm, 0, 0, &half, NULL) == ncclInvalidArgument);
  CHECK(ncclSend(c->send, 4, ncclFloat, 1, comm, c->stream) == ncclInvalidArgument);
  CHECK(ncclAllReduce(c->send, c->recv, N, ncclFloat, ncclSum, comm, c->stream) == ncclInvalidArgument);
}

/* A communicator that blocks is not of the same group. */
static void both_kinds(ncclUniqueId unique) {
  ncclComm_t c[2];
  ncclConfig_t config = not_blocking();
  CHECK(ncclGroupStart() == ncclSuccess);
  CHECK(hipSetDevice(0) == hipSuccess);
  CHECK(ncclCommInitRankConfig(&c[0], 2, unique, 0, &config) == ncclSuccess);
  CHECK(hipSetDevice(1) == hipSuccess);
  CHECK(ncclCommInitRank(&c[1], 2, unique, 1) == ncclInvalidArgument);
  CHECK(ncclGroupEnd() == ncclInvalidArgument);
  CHECK(ncclCommAbort(c[0]) == ncclSuccess);
}

/* A call on a communicator that does not block may return before it is done. */
static void begun(ncclResult_t code) { CHECK(code == ncclSuccess || code == ncclInProgress); }

static void sum_all(ncclComm_t *comms, float want) {
  start_all();
  CHECK(ncclGroupStart() == ncclSuccess);
  for (int i = 0; i < RANKS; i++) {
    CHECK(ncclAllReduce(all[i].send, all[i].recv, N, ncclFloat, ncclSum, comms[i], all[i].stream) == ncclSuccess);
  }
  begun(ncclGroupEnd());
  for (int i = 0; i < RANKS; i++) {
    CHECK(settled(comms[i]) == ncclSuccess);
  }
  sync_all();
  CHECK(all[1].recv[0] == want && all[RANKS - 1].recv[0] == want);
}

/* A split's state is that of what is split, and its handle is not there before it is done. */
static void split_later(ncclComm_t *comms) {
  ncclComm_t parts[RANKS], whole[RANKS], one;
  ncclUniqueId unique;
  CHECK(ncclGetUniqueId(&unique) == ncclSuccess && hipSetDevice(0) == hipSuccess);
  CHECK(ncclGroupStart() == ncclSuccess && ncclCommInitRank(&one, 1, unique, 0) == ncclSuccess);
  CHECK(ncclCommSplit(comms[0], 0, 0, &parts[0], NULL) == ncclInvalidArgument);
  CHECK(ncclGroupEnd() == ncclInvalidArgument && ncclCommDestroy(one) == ncclSuccess);
  for (int i = 0; i < RANKS - 1; i++) { /* alone: the last rank has not called it */
    CHECK(ncclCommSplit(comms[i], 0, -i, &parts[i], NULL) == ncclInProgress);
    CHECK(parts[i] == NULL);
  }
  unready(comms[0]);
  CHECK(ncclCommSplit(comms[RANKS - 1], 0, -RANKS, &parts[RANKS - 1], NULL) == ncclSuccess);
  for (int i = 0; i < RANKS; i++) {
    int rank = -1;
    CHECK(settled(comms[i]) == ncclSuccess && parts[i] != NULL);
    CHECK(ncclCommUserRank(parts[i], &rank) == ncclSuccess && rank == RANKS - 1 - i);
  }
  sum_all(parts, summed(0));
  CHECK(ncclGroupStart() == ncclSuccess);
  for (int i = 0; i < RANKS; i++) {
    CHECK(ncclCommSplit(parts[i], 0, i, &whole[i], NULL) == ncclSuccess && whole[i] == NULL);
  }
  CHECK(ncclGroupEnd() == ncclInProgress);
  for (int i = 0; i < RANKS; i++) {
    CHECK(settled(parts[i]) == ncclSuccess && whole[i] != NULL);
    CHECK(ncclCommDestroy(parts[i]) == ncclSuccess);
  }
  sum_all(whole, summed(0));
  for (int i = 0; i < RANKS; i++) {
    CHECK(ncclCommDestroy(whole[i]) == ncclSuccess);
  }
}

/* The end of a communicator waits for its work, and who called it does not. */
static void finalize_later(ncclComm_t *comms) {
  client *c = &all[0];
  CHECK(ncclAllReduce(c->send, c->recv, N, ncclFloat, ncclSum, comms[0], c->stream) == ncclInProgress);
  CHECK(settled(comms[0]) == ncclSuccess);
  CHECK(ncclCommFinalize(comms[0]) == ncclInProgress); /* the others have not called it */
  CHECK(ncclCommFinalize(comms[0]) == ncclInvalidArgument);
  CHECK(ncclGroupStart() == ncclSuccess);
  for (int i = 1; i < RANKS; i++) {
    CHECK(ncclAllReduce(all[i].send, all[i].recv, N, ncclFloat, ncclSum, comms[i], all[i].stream) == ncclSuccess);
  }
  begun(ncclGroupEnd());
  for (int i = 1; i < RANKS; i++) {
    CHECK(settled(comms[i]) == ncclSuccess);
    CHECK(settled(comms[0]) == ncclSuccess);
    ncclResult_t code = ncclCommFinalize(comms[i]);
    CHECK(code == ncclSuccess || code == ncclInProgress);
    CHECK(settled(comms[i]) == ncclSuccess);
  }
}

/* The world of one() is open. */
static void later(void) {
  ncclComm_t comms[RANKS];
  ncclUniqueId unique;
  ncclResult_t state;
  CHECK(ncclGetUniqueId(&unique) == ncclSuccess);
  both_kinds(unique);
  CHECK(ncclGetUniqueId(&unique) == ncclSuccess);
  init_later(comms, 0, RANKS - 1, unique, RANKS);
  CHECK(ncclCommGetAsyncError(comms[0], &state) == ncclSuccess && state == ncclInProgress);
  unready(comms[0]);
  init_later(comms, RANKS - 1, 1, unique, RANKS);
  for (int i = 0; i < RANKS; i++) {
    CHECK(settled(comms[i]) == ncclSuccess);
  }
  sum_all(comms, summed(0));
  split_later(comms);
  finalize_later(comms);
  for (int i = 0; i < RANKS; i++) {
    CHECK(ncclCommDestroy(comms[i]) == ncclSuccess);
  }
}

/* What only some programs call. */

/* Ranks with numbers of their own share a device; two of one number do not (ROCm/rccl at
 * rocm-5.7.0, src/init.cc, ncclCommInitRankMulti and initTransportsRank). */
static void several_of_a_device(void) {
  ncclUniqueId id;
  ncclComm_t comms[2];
  hipStream_t streams[2];
  float *buffers[2];
  int n = 0;
  CHECK(ncclGetUniqueId(&id) == ncclSuccess && hipSetDevice(0) == hipSuccess);
  CHECK(ncclGroupStart() == ncclSuccess);
  CHECK(ncclCommInitRankMulti(&comms[0], 2, id, 0, 7) == ncclSuccess);
  CHECK(ncclCommInitRankMulti(&comms[1], 2, id, 1, 8) == ncclSuccess);
  CHECK(ncclGroupEnd() == ncclSuccess);
  CHECK(pncclCommCount(comms[1], &n) == ncclSuccess && n == 2);
  CHECK(ncclGroupStart() == ncclSuccess);
  for (int i = 0; i < 2; i++) {
    CHECK(hipMalloc((void **)&buffers[i], BYTES) == hipSuccess);
    CHECK(hipStreamCreate(&streams[i]) == hipSuccess);
    buffers[i][3] = (float)(i + 1);
    CHECK(ncclAllReduce(buffers[i], buffers[i], N, ncclFloat, ncclSum, comms[i],
                        streams[i]) == ncclSuccess);
  }
  CHECK(ncclGroupEnd() == ncclSuccess && hipDeviceSynchronize() == hipSuccess);
  for (int i = 0; i < 2; i++) {
    CHECK(buffers[i][3] == 3 && hipStreamDestroy(streams[i]) == hipSuccess);
    CHECK(hipFree(buffers[i]) == hipSuccess && ncclCommDestroy(comms[i]) == ncclSuccess);
  }
  CHECK(ncclGetUniqueId(&id) == ncclSuccess && ncclGroupStart() == ncclSuccess);
  CHECK(ncclCommInitRankMulti(&comms[0], 2, id, 0, 7) == ncclSuccess);
  CHECK(ncclCommInitRankMulti(&comms[1], 2, id, 1, 7) == ncclInvalidUsage);
  CHECK(ncclGroupEnd() != ncclSuccess);
}

/* ROCm/clr, hipamd/src/hip_stream.cpp. */
static void kinds_of_streams(void) {
  const uint32_t mask[] = {0xffffffff, 1};
  hipStream_t stream;
  int priority = 9;
  CHECK(hipExtStreamCreateWithCUMask(NULL, 2, mask) == hipErrorInvalidHandle);
  CHECK(hipExtStreamCreateWithCUMask(&stream, 0, mask) == hipErrorInvalidValue);
  CHECK(hipExtStreamCreateWithCUMask(&stream, 2, NULL) == hipErrorInvalidValue);
  CHECK(hipExtStreamCreateWithCUMask(&stream, 2, mask) == hipSuccess);
  CHECK(hipStreamGetPriority(stream, &priority) == hipSuccess && priority == 0);
  CHECK(hipStreamDestroy(stream) == hipSuccess);
  CHECK(hipStreamCreateWithPriority(&stream, hipStreamNonBlocking, -5) == hipSuccess);
  CHECK(hipStreamGetPriority(stream, &priority) == hipSuccess && priority == -1);
  CHECK(hipStreamGetPriority(stream, NULL) == hipErrorInvalidValue);
  CHECK(hipStreamDestroy(stream) == hipSuccess);
  CHECK(hipStreamGetPriority(NULL, &priority) == hipSuccess && priority == 0);
  (void)hipGetLastError();
}

/* ROCm/clr, hipamd/src/hip_memory.cpp. */
static void copies_by_direction(void) {
  char host[64], back[64], *a, *b;
  hipDeviceptr_t base;
  size_t bytes;
  hipStream_t s = all[0].stream;
  memset(host, 7, sizeof host);
  CHECK(hipMalloc((void **)&a, 64) == hipSuccess && hipMalloc((void **)&b, 64) == hipSuccess);
  CHECK(hipMemcpyHtoD(a, host, 64) == hipSuccess && hipMemcpyDtoD(b, a, 64) == hipSuccess);
  CHECK(hipMemcpyDtoH(back, b, 64) == hipSuccess && back[63] == 7);
  memset(host, 9, sizeof host);
  CHECK(hipMemcpyHtoDAsync(a, host, 64, s) == hipSuccess);
  CHECK(hipMemcpyDtoDAsync(b, a, 64, s) == hipSuccess);
  CHECK(hipMemcpyDtoHAsync(back, b, 64, s) == hipSuccess);
  CHECK(hipStreamSynchronize(s) == hipSuccess && back[0] == 9);
  memset(back, 0, sizeof back);
  CHECK(hipMemcpyWithStream(back, b, 64, hipMemcpyDeviceToHost, s) == hipSuccess);
  CHECK(back[63] == 9); /* it has waited */
  CHECK(hipMemGetAddressRange(&base, &bytes, a + 5) == hipSuccess);
  CHECK(base == (hipDeviceptr_t)a && bytes == 64);
  CHECK(hipMemGetAddressRange(&base, &bytes, host) == hipErrorNotFound);
  CHECK(hipFree(a) == hipSuccess && hipFree(b) == hipSuccess);
  (void)hipGetLastError();
}

/* What a device is, and nowhere to put the answer (ROCm/clr, hipamd/src/hip_device.cpp and
 * hip_memory.cpp; ROCm/rccl, src/init.cc and src/misc/argcheck.cc). */
static void questions(void) {
  size_t total = 0, left;
  int major = 0, minor = 0, value = 0;
  ncclComm_t comm = all[0].comm;
  ncclUniqueId id;
  CHECK(hipMemGetInfo(NULL, &total) == hipSuccess && total > 0);
  CHECK(hipMemGetInfo(&left, NULL) == hipSuccess && left > 0 && left <= total);
  CHECK(hipMemGetInfo(NULL, NULL) == hipSuccess);
  CHECK(hipDeviceTotalMem(&left, 1) == hipSuccess && left == total);
  CHECK(hipDeviceTotalMem(NULL, RANKS) == hipErrorInvalidDevice);
  CHECK(hipDeviceTotalMem(NULL, 0) == hipErrorInvalidValue);
  CHECK(hipDeviceComputeCapability(&major, &minor, 0) == hipSuccess && major == 9 && minor == 4);
  CHECK(hipDeviceComputeCapability(&major, NULL, 0) == hipErrorInvalidValue);
  CHECK(hipDeviceGetAttribute(&value, hipDeviceAttributeMaxThreadsPerMultiProcessor, 0) == hipSuccess);
  CHECK(value == 2048);
  CHECK(hipDeviceGetAttribute(&value, hipDeviceAttributeMaxGridDimX, 0) == hipSuccess && value == 2147483647);
  CHECK(hipDeviceGetAttribute(&value, hipDeviceAttributeManagedMemory, 0) == hipSuccess && value == 1);
  CHECK(hipDeviceGetAttribute(&value, hipDeviceAttributeUnifiedAddressing, 0) == hipSuccess && value == 1);
  CHECK(hipDeviceGetAttribute(&value, hipDeviceAttributeIsLargeBar, 0) == hipSuccess && value == 1);
  CHECK(hipDeviceGetAttribute(NULL, hipDeviceAttributeIsLargeBar, 0) == hipErrorInvalidValue);
  CHECK(hipGetDeviceCount(NULL) == hipErrorInvalidValue);
  CHECK(hipRuntimeGetVersion(NULL) == hipErrorInvalidValue);
  CHECK(hipDriverGetVersion(NULL) == hipErrorInvalidValue);
  CHECK(ncclGetVersion(NULL) == ncclInvalidArgument);
  CHECK(ncclGetUniqueId(NULL) == ncclInvalidArgument);
  CHECK(ncclCommGetAsyncError(comm, NULL) == ncclInvalidArgument);
  CHECK(ncclGetUniqueId(&id) == ncclSuccess);
  CHECK(ncclCommInitRank(NULL, 1, id, 0) == ncclInvalidArgument);
  (void)hipGetLastError();
}

static void more(void) {
  copies_by_direction();
  questions();
  several_of_a_device();
  kinds_of_streams();
}

static void one(void) {
  init_all();
  chains();
  operators();
  all_to_allv();
  memories();
  copies();
  events();
  captures();
  groups();
  configurations();
  later();
  more();
  kernels();
  for (int i = 0; i < RANKS; i++) {
    client_close(&all[i]);
  }
  CHECK(hipSetDevice(0) == hipSuccess && hipDeviceReset() == hipSuccess);
}

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

/* What an all_reduce of 256 MiB over 8 ranks takes of the host, with its data: by one
 * thread, by a thread a rank, by a process a rank. Each process writes a line for each
 * round: its number, seconds by the host's clock, and of the CPUs. */

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

/* On the model's clock: a process's time is the kernel's until it launches work, and stands
 * while the host computes from then on. It never goes back. */

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

/* A GPU whose runtime has stopped answering: who wants memory of it waits for ever, and
 * others do not. */

enum { STUCK = 5, PATIENCE = 2 };

/* How a process ends that wants memory of a GPU, and has an alarm where it is the one. */
static int asking_of(int device) {
  int status = -1;
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    void *memory = NULL;
    alarm(device == STUCK ? PATIENCE : TOO_LONG);
    _exit(hipSetDevice(device) != hipSuccess || hipMalloc(&memory, 64) != hipSuccess);
  }
  CHECK(waitpid(child, &status, 0) == child);
  return status;
}

static void stuck_gpu(void) {
  int status = asking_of(STUCK - 1);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  status = asking_of(STUCK);
  CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM);
}

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
