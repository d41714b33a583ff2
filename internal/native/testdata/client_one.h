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

#include "client_groups.h"

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

#include "client_later.h"
#include "client_more.h"

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
