/* What only some programs call. */
#ifndef CLIENT_MORE_H
#define CLIENT_MORE_H

#include "client.h"

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

static void more(void) {
  several_of_a_device();
  kinds_of_streams();
}

#endif
