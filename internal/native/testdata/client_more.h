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

#endif
