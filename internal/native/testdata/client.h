/* What a client of HIP and RCCL includes: the vendors' headers where REAL_HEADERS is
 * set, else declarations of our own. What a set of headers is too old for is declared
 * here, with the names and types of NCCL 2.22. */
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifdef REAL_HEADERS
#define __HIP_PLATFORM_AMD__ 1
#define __HIP_DISABLE_CPP_FUNCTIONS__ 1
#include <hip/hip_runtime_api.h>
#include <rccl/rccl.h>
#else
typedef int hipError_t, hipMemcpyKind, hipStreamCaptureMode, ncclResult_t;
typedef int ncclDataType_t, ncclRedOp_t, ncclScalarResidence_t;
typedef void *hipDeviceptr_t;
typedef struct ihipStream_t *hipStream_t;
typedef struct ihipEvent_t *hipEvent_t;
typedef struct ihipGraph *hipGraph_t;
typedef struct hipGraphExec *hipGraphExec_t;
typedef struct hipGraphNode *hipGraphNode_t;
typedef struct ncclComm *ncclComm_t;
typedef struct { char internal[128]; } ncclUniqueId;
typedef struct { uint32_t x, y, z; } dim3;
enum { hipSuccess, hipErrorInvalidValue, hipErrorInvalidMemcpyDirection = 21,
       hipErrorInvalidDevice = 101, hipErrorInvalidHandle = 400, hipErrorNotReady = 600,
       hipErrorStreamCaptureUnjoined = 904 };
enum { hipMemcpyHostToDevice = 1, hipMemcpyDeviceToHost, hipMemcpyDeviceToDevice,
       hipMemcpyDefault };
enum { hipStreamCaptureModeThreadLocal = 1, hipMemAttachGlobal = 1 };
enum { hipStreamNonBlocking = 1, hipEventDisableTiming = 2 };
enum { ncclSuccess, ncclUnhandledCudaError, ncclSystemError, ncclInternalError,
       ncclInvalidArgument, ncclInvalidUsage };
enum { ncclInt32 = 2, ncclFloat = 7, ncclDouble = 8 };
enum { ncclSum, ncclProd, ncclMax, ncclMin, ncclAvg };
enum { ncclScalarDevice, ncclScalarHostImmediate };
hipError_t hipGetDeviceCount(int *), hipSetDevice(int), hipGetDevice(int *);
hipError_t hipMalloc(void **, size_t), hipFree(void *);
hipError_t hipHostMalloc(void **, size_t, unsigned), hipHostFree(void *);
hipError_t hipMallocManaged(void **, size_t, unsigned);
hipError_t hipHostRegister(void *, size_t, unsigned), hipHostUnregister(void *);
hipError_t hipMemset(void *, int, size_t);
hipError_t hipMemsetAsync(void *, int, size_t, hipStream_t);
hipError_t hipMemcpy(void *, const void *, size_t, hipMemcpyKind);
hipError_t hipMemcpyAsync(void *, const void *, size_t, hipMemcpyKind, hipStream_t);
hipError_t hipStreamCreate(hipStream_t *), hipStreamDestroy(hipStream_t);
hipError_t hipStreamCreateWithFlags(hipStream_t *, unsigned);
hipError_t hipStreamSynchronize(hipStream_t), hipStreamQuery(hipStream_t);
hipError_t hipStreamWaitEvent(hipStream_t, hipEvent_t, unsigned);
hipError_t hipStreamBeginCapture(hipStream_t, hipStreamCaptureMode);
hipError_t hipStreamEndCapture(hipStream_t, hipGraph_t *);
hipError_t hipGraphInstantiate(hipGraphExec_t *, hipGraph_t, hipGraphNode_t *, char *, size_t);
hipError_t hipGraphLaunch(hipGraphExec_t, hipStream_t);
hipError_t hipGraphExecDestroy(hipGraphExec_t), hipGraphDestroy(hipGraph_t);
hipError_t hipEventCreate(hipEvent_t *), hipEventDestroy(hipEvent_t);
hipError_t hipEventCreateWithFlags(hipEvent_t *, unsigned);
hipError_t hipEventRecord(hipEvent_t, hipStream_t), hipEventSynchronize(hipEvent_t);
hipError_t hipEventQuery(hipEvent_t);
hipError_t hipEventElapsedTime(float *, hipEvent_t, hipEvent_t);
hipError_t hipDeviceSynchronize(void), hipDeviceReset(void), hipGetLastError(void);
hipError_t hipLaunchKernel(const void *, dim3, dim3, void **, size_t, hipStream_t);
ncclResult_t ncclGetUniqueId(ncclUniqueId *), ncclGetVersion(int *);
ncclResult_t ncclCommInitAll(ncclComm_t *, int, const int *);
ncclResult_t ncclCommInitRank(ncclComm_t *, int, ncclUniqueId, int);
ncclResult_t ncclCommDestroy(ncclComm_t), ncclCommAbort(ncclComm_t);
ncclResult_t ncclCommCount(ncclComm_t, int *), ncclCommUserRank(ncclComm_t, int *);
ncclResult_t ncclCommCuDevice(ncclComm_t, int *), ncclGroupStart(void), ncclGroupEnd(void);
ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t *, void *, ncclDataType_t,
                                      ncclScalarResidence_t, ncclComm_t);
ncclResult_t ncclRedOpDestroy(ncclRedOp_t, ncclComm_t);
ncclResult_t ncclAllReduce(const void *, void *, size_t, ncclDataType_t, ncclRedOp_t,
                           ncclComm_t, hipStream_t);
ncclResult_t ncclReduceScatter(const void *, void *, size_t, ncclDataType_t, ncclRedOp_t,
                               ncclComm_t, hipStream_t);
ncclResult_t ncclAllGather(const void *, void *, size_t, ncclDataType_t, ncclComm_t,
                           hipStream_t);
ncclResult_t ncclBroadcast(const void *, void *, size_t, ncclDataType_t, int, ncclComm_t,
                           hipStream_t);
ncclResult_t ncclReduce(const void *, void *, size_t, ncclDataType_t, ncclRedOp_t, int,
                        ncclComm_t, hipStream_t);
ncclResult_t ncclAllToAll(const void *, void *, size_t, ncclDataType_t, ncclComm_t,
                          hipStream_t);
ncclResult_t ncclGather(const void *, void *, size_t, ncclDataType_t, int, ncclComm_t,
                        hipStream_t);
ncclResult_t ncclScatter(const void *, void *, size_t, ncclDataType_t, int, ncclComm_t,
                         hipStream_t);
ncclResult_t ncclSend(const void *, size_t, ncclDataType_t, int, ncclComm_t, hipStream_t);
ncclResult_t ncclRecv(void *, size_t, ncclDataType_t, int, ncclComm_t, hipStream_t);
ncclResult_t ncclCommGetAsyncError(ncclComm_t, ncclResult_t *);
ncclResult_t ncclBcast(void *, size_t, ncclDataType_t, int, ncclComm_t, hipStream_t);
ncclResult_t ncclAllToAllv(const void *, const size_t[], const size_t[], void *,
                           const size_t[], const size_t[], ncclDataType_t, ncclComm_t,
                           hipStream_t);
const char *ncclGetLastError(ncclComm_t);
#define NCCL_VERSION_CODE 0
#endif

#ifdef __cplusplus
extern "C" {
#endif
#if NCCL_VERSION_CODE < 21800
typedef struct {
  size_t size;
  unsigned magic, version;
  int blocking, cga, least, most;
  const char *net;
  int share;
} ncclConfig_t;
#define UNSET (-2147483647 - 1)
#define NCCL_CONFIG_INITIALIZER                                                      \
  {sizeof(ncclConfig_t), 0xcafebeef, 22203, UNSET, UNSET, UNSET, UNSET, NULL, UNSET}
#define ncclInProgress ((ncclResult_t)7)
ncclResult_t ncclCommInitRankConfig(ncclComm_t *, int, ncclUniqueId, int, ncclConfig_t *);
ncclResult_t ncclCommFinalize(ncclComm_t);
ncclResult_t ncclCommSplit(ncclComm_t, int, int, ncclComm_t *, ncclConfig_t *);
ncclResult_t ncclCommRegister(ncclComm_t, void *, size_t, void **);
ncclResult_t ncclCommDeregister(ncclComm_t, void *);
ncclResult_t ncclMemAlloc(void **, size_t);
ncclResult_t ncclMemFree(void *);
#endif
#ifndef REAL_HEADERS
hipError_t hipMemcpyHtoD(void *, void *, size_t), hipMemcpyDtoH(void *, void *, size_t);
hipError_t hipMemcpyDtoD(void *, void *, size_t);
hipError_t hipMemcpyHtoDAsync(void *, void *, size_t, hipStream_t);
hipError_t hipMemcpyDtoHAsync(void *, void *, size_t, hipStream_t);
hipError_t hipMemcpyDtoDAsync(void *, void *, size_t, hipStream_t);
hipError_t hipMemcpyWithStream(void *, const void *, size_t, hipMemcpyKind, hipStream_t);
hipError_t hipMemGetAddressRange(void **, size_t *, void *);
hipError_t hipMemGetInfo(size_t *, size_t *), hipRuntimeGetVersion(int *);
hipError_t hipDriverGetVersion(int *), hipDeviceTotalMem(size_t *, int);
hipError_t hipDeviceComputeCapability(int *, int *, int);
hipError_t hipDeviceGetAttribute(int *, int, int);
typedef struct { char reserved[64]; } hipIpcMemHandle_t;
hipError_t hipIpcGetMemHandle(hipIpcMemHandle_t *, void *);
hipError_t hipIpcOpenMemHandle(void **, hipIpcMemHandle_t, unsigned);
hipError_t hipIpcCloseMemHandle(void *);
enum { hipIpcMemLazyEnablePeerAccess = 1, hipErrorInvalidContext = 201 };
enum { hipErrorNotFound = 500, hipDeviceAttributeManagedMemory = 24,
       hipDeviceAttributeMaxGridDimX = 29, hipDeviceAttributeMaxThreadsPerMultiProcessor = 57,
       hipDeviceAttributePciBusId = 67, hipDeviceAttributeUnifiedAddressing = 85,
       hipDeviceAttributeIsLargeBar = 10011 };
hipError_t hipExtStreamCreateWithCUMask(hipStream_t *, uint32_t, const uint32_t *);
hipError_t hipStreamCreateWithPriority(hipStream_t *, unsigned, int);
hipError_t hipStreamGetPriority(hipStream_t, int *);
ncclResult_t ncclCommInitRankMulti(ncclComm_t *, int, ncclUniqueId, int, int);
ncclResult_t pncclCommCount(ncclComm_t, int *);
#endif
void **__hipRegisterFatBinary(const void *data);
void __hipUnregisterFatBinary(void **modules);
void __hipRegisterFunction(void **modules, const void *host, char *device, const char *name,
                           unsigned limit, void *tid, void *bid, void *block, void *grid,
                           int *size);
#ifdef __cplusplus
}
#endif

static int failures;

#define CHECK(what)                                                                  \
  do {                                                                               \
    if (!(what)) {                                                                   \
      fprintf(stderr, "%s:%d: %s (last: %s)\n", __func__, __LINE__, #what,           \
              ncclGetLastError(NULL));                                               \
      __atomic_add_fetch(&failures, 1, __ATOMIC_RELAXED);                            \
    }                                                                                \
  } while (0)
