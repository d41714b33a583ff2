/* The symbol list: every function zbench calls, one row each. A provider fills
 * a zb_table from it; the loopback fills it with its own zbl_* functions.
 * SYM(field, need, return, args, rocm library, rocm name, cuda library, cuda name)
 *   need     REQUIRED, or OPTIONAL with the loss if it is absent
 *   library  RUNTIME (HIP, CUDA runtime), COLLECTIVES (RCCL, NCCL), COMPILER
 *            (hiprtc, nvrtc), DRIVER (CUDA's alone: HIP has it in the runtime),
 *            LOOPBACK (the loopback's runtime alone has it) or NONE
 * hipError_t, cudaError_t, CUresult and ncclResult_t are C enums and have the type
 * int here; handles are pointers. Values below are the same in HIP, CUDA and
 * CUresult (CUDA 10.1). */
#ifndef ZB_ABI_H
#define ZB_ABI_H

#include <stddef.h>
#include <stdint.h>

/* The columns of all lists. bench/hardware/backend uses the same ones. */
enum { ZB_ROCM = 0, ZB_CUDA = 1, ZB_VENDORS = 2 };

/* The columns of a row as data. ZB_COLUMNS gives the libraries and names of a row of
 * ZB_SYMBOLS. ZB_WORDS gives names that are written as words, "" where a vendor has none. */
#define ZB_COLUMNS(rlib, rname, clib, cname) {rlib, clib}, {rname, cname}
#define ZB_WORDS(rocm, cuda) {#rocm, #cuda}

/* The attributes of devices that zbench reads, by name, because the vendors' numbers differ.
 * ATTR(field, rocm, cuda) has the values of hipDeviceAttribute_t and of cudaDeviceAttr, 0 where a
 * vendor has none. The units are kHz for clocks, bytes for memory, and bits for the width of the
 * memory bus. HIP reports the number of dies (XCCs) from 7.0 on. */
#define ZB_ATTRIBUTES(ATTR)                                                    \
  ATTR(clockRate, 5, 13)                                                       \
  ATTR(l2CacheSize, 19, 38)                                                    \
  ATTR(capabilityMajor, 23, 75)                                                \
  ATTR(capabilityMinor, 61, 76)                                                \
  ATTR(maxThreadsPerBlock, 56, 1)                                              \
  ATTR(memoryBusWidth, 59, 37)                                                 \
  ATTR(memoryClockRate, 60, 36)                                                \
  ATTR(multiprocessorCount, 63, 16)                                            \
  ATTR(maxSharedPerBlock, 74, 8)                                               \
  ATTR(maxSharedPerBlockOptin, 75, 97)                                         \
  ATTR(warpSize, 87, 10)                                                       \
  ATTR(dieCount, 10018, 0)

/* An attribute as data: its name and each vendor's number. */
typedef struct zb_attribute {
  const char *field;
  int number[ZB_VENDORS]; /* indexed by ZB_ROCM, ZB_CUDA */
} zb_attribute;

enum {
  ZB_NONE = 0,
  ZB_RUNTIME = 1,
  ZB_COLLECTIVES = 2,
  ZB_COMPILER = 3,
  ZB_DRIVER = 4,
  ZB_LOOPBACK = 5,
  ZB_LIBRARIES = 6
};
enum { /* hipError_t and cudaError_t */
  ZB_OK = 0,
  ZB_ERR_VALUE = 1,
  ZB_ERR_MEMORY = 2,
  ZB_ERR_DRIVER = 35, /* the driver is older than the runtime; in CUDA also: there is no driver */
  ZB_ERR_DIRECTION = 21, /* the direction of a copy is invalid */
  ZB_ERR_NO_DEVICE = 100,
  ZB_ERR_DEVICE = 101,
  ZB_ERR_IMAGE = 200,
  ZB_ERR_HANDLE = 400,
  ZB_ERR_STATE = 401,
  ZB_ERR_NOT_FOUND = 500,
  ZB_ERR_NOT_READY = 600,
  ZB_ERR_LAUNCH = 719,
  ZB_ERR_NOT_SUPPORTED = 801,
  ZB_ERR_CAPTURE = 900, /* not allowed while the stream, or the thread, captures */
  ZB_ERR_CAPTURE_INVALID = 901,
  ZB_ERR_CAPTURE_MERGE = 902,
  ZB_ERR_CAPTURE_UNMATCHED = 903,
  ZB_ERR_CAPTURE_UNJOINED = 904,
  ZB_ERR_CAPTURE_ISOLATION = 905,
  ZB_ERR_CAPTURE_THREAD = 908
};
enum { /* ncclResult_t */
  ZB_COLL_UNHANDLED = 1,
  ZB_COLL_INTERNAL = 3,
  ZB_COLL_ARGUMENT = 4,
  ZB_COLL_USAGE = 5,
  ZB_COLL_REMOTE = 6,
  ZB_COLL_IN_PROGRESS = 7 /* since NCCL 2.14: a call on a non-blocking communicator continues */
};
enum { ZB_SCALAR_HOST = 1 }; /* ncclScalarResidence_t: the library reads the scalar in the call */
/* The operator of zbench that a library makes for each communicator; ncclNumOps in both vendors'
 * headers. The ranks multiply by a base to the power of ZB_MULSUM_POWER. */
enum { ZB_MULSUM = 5 };
#define ZB_MULSUM_POWER(rank) (1 + ((rank)&1))
enum { ZB_FINE_GRAINED = 1 }; /* a flag of hipExtMallocWithFlags; CUDA has none */
enum { ZB_STREAM_NON_BLOCKING = 1 };
/* hipStreamCaptureMode and cudaStreamCaptureMode */
enum { ZB_CAPTURE_GLOBAL = 0, ZB_CAPTURE_THREAD = 1, ZB_CAPTURE_RELAXED = 2 };
enum { /* hipMemcpyKind and cudaMemcpyKind */
       ZB_HOST_TO_HOST = 0, ZB_TO_DEVICE = 1, ZB_TO_HOST = 2,
       ZB_DEVICE_TO_DEVICE = 3, ZB_INFERRED = 4 };

enum { /* hiprtcResult and nvrtcResult */
  ZB_RTC_INPUT = 3,
  ZB_RTC_PROGRAM = 4,
  ZB_RTC_OPTION = 5,
  ZB_RTC_COMPILATION = 6
};
/* CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES. Only CUDA needs this attribute, for more than 48
 * KiB. */
enum { ZB_FUNCTION_MAX_SHARED = 8, ZB_SHARED_UNASKED = 48 << 10 };

typedef struct zb_unique_id { /* ncclUniqueId, passed by value */
  char internal[128];
} zb_unique_id;

#define ZB_REQUIRED NULL
#define ZB_OPTIONAL(lost) lost
#define ZB_RT(name) ZB_RUNTIME, name
#define ZB_CO(name) ZB_COLLECTIVES, name
#define ZB_RTC(name) ZB_COMPILER, name
#define ZB_DR(name) ZB_DRIVER, name
#define ZB_LB(name) ZB_LOOPBACK, name

#define ZB_GRAPHS_LOST "bursts replayed from a graph (-G)"
#define ZB_MULSUM_LOST "-o mulsum"
#define ZB_KERNELS_LOST "kernels: verification, the delay of isolated timing"

/* A part of a collective's buffers, in elements: its place in the senders' and in
 * the receivers' buffers. `from` and `to` are ranks; −1 means all ranks. */
typedef struct zb_block {
  uint64_t send_at, recv_at, count;
  int32_t from, to;
} zb_block;

#define ZB_SYMBOLS(SYM)                                                        \
  SYM(getDeviceCount, ZB_REQUIRED, int, (int *count),                          \
      ZB_RT("hipGetDeviceCount"), ZB_RT("cudaGetDeviceCount"))                 \
  SYM(runtimeGetVersion, ZB_REQUIRED, int, (int *version),                     \
      ZB_RT("hipRuntimeGetVersion"), ZB_RT("cudaRuntimeGetVersion"))           \
  SYM(setDevice, ZB_REQUIRED, int, (int device), ZB_RT("hipSetDevice"),        \
      ZB_RT("cudaSetDevice"))                                                  \
  SYM(mallocDevice, ZB_REQUIRED, int, (void **ptr, size_t bytes),              \
      ZB_RT("hipMalloc"), ZB_RT("cudaMalloc"))                                 \
  SYM(extMalloc, ZB_OPTIONAL("--memory_type fine"), int,                       \
      (void **p, size_t bytes, unsigned flags),                                \
      ZB_RT("hipExtMallocWithFlags"), ZB_NONE, NULL)                           \
  SYM(freeDevice, ZB_REQUIRED, int, (void *ptr), ZB_RT("hipFree"),             \
      ZB_RT("cudaFree"))                                                       \
  SYM(memGetInfo, ZB_REQUIRED, int, (size_t * free, size_t * total),           \
      ZB_RT("hipMemGetInfo"), ZB_RT("cudaMemGetInfo"))                         \
  SYM(streamCreate, ZB_REQUIRED, int, (void **stream, unsigned flags),         \
      ZB_RT("hipStreamCreateWithFlags"), ZB_RT("cudaStreamCreateWithFlags"))   \
  SYM(streamPriority, ZB_OPTIONAL("streams of high priority (zbench soak)"),   \
      int, (void **stream, unsigned flags, int priority),                      \
      ZB_RT("hipStreamCreateWithPriority"),                                    \
      ZB_RT("cudaStreamCreateWithPriority"))                                   \
  SYM(streamWithMask, ZB_OPTIONAL("--cumask"), int,                            \
      (void **stream, uint32_t words, const uint32_t *mask),                   \
      ZB_RT("hipExtStreamCreateWithCUMask"), ZB_NONE, NULL)                    \
  SYM(streamDestroy, ZB_REQUIRED, int, (void *stream),                         \
      ZB_RT("hipStreamDestroy"), ZB_RT("cudaStreamDestroy"))                   \
  SYM(streamQuery, ZB_REQUIRED, int, (void *stream), ZB_RT("hipStreamQuery"),  \
      ZB_RT("cudaStreamQuery"))                                                \
  SYM(streamWaitEvent, ZB_OPTIONAL("zbench replay"), int,                      \
      (void *stream, void *event, unsigned flags), ZB_RT("hipStreamWaitEvent"), \
      ZB_RT("cudaStreamWaitEvent"))                                            \
  SYM(streamBeginCapture, ZB_OPTIONAL(ZB_GRAPHS_LOST), int,                    \
      (void *stream, int mode), ZB_RT("hipStreamBeginCapture"),                \
      ZB_RT("cudaStreamBeginCapture"))                                         \
  SYM(streamEndCapture, ZB_OPTIONAL(ZB_GRAPHS_LOST), int,                      \
      (void *stream, void **graph), ZB_RT("hipStreamEndCapture"),              \
      ZB_RT("cudaStreamEndCapture"))                                           \
  SYM(graphInstantiate, ZB_OPTIONAL(ZB_GRAPHS_LOST), int,                      \
      (void **exec, void *graph, unsigned long long flags),                    \
      ZB_RT("hipGraphInstantiateWithFlags"),                                   \
      ZB_RT("cudaGraphInstantiateWithFlags"))                                  \
  SYM(graphLaunch, ZB_OPTIONAL(ZB_GRAPHS_LOST), int,                           \
      (void *exec, void *stream), ZB_RT("hipGraphLaunch"),                     \
      ZB_RT("cudaGraphLaunch"))                                                \
  SYM(graphExecDestroy, ZB_OPTIONAL(ZB_GRAPHS_LOST), int, (void *exec),        \
      ZB_RT("hipGraphExecDestroy"), ZB_RT("cudaGraphExecDestroy"))             \
  SYM(graphDestroy, ZB_OPTIONAL(ZB_GRAPHS_LOST), int, (void *graph),           \
      ZB_RT("hipGraphDestroy"), ZB_RT("cudaGraphDestroy"))                     \
  SYM(eventCreate, ZB_REQUIRED, int, (void **event), ZB_RT("hipEventCreate"),  \
      ZB_RT("cudaEventCreate"))                                                \
  SYM(eventDestroy, ZB_REQUIRED, int, (void *event),                           \
      ZB_RT("hipEventDestroy"), ZB_RT("cudaEventDestroy"))                     \
  SYM(eventRecord, ZB_REQUIRED, int, (void *event, void *stream),              \
      ZB_RT("hipEventRecord"), ZB_RT("cudaEventRecord"))                       \
  SYM(eventElapsed, ZB_REQUIRED, int, (float *ms, void *start, void *stop),    \
      ZB_RT("hipEventElapsedTime"), ZB_RT("cudaEventElapsedTime"))             \
  SYM(eventQuery, ZB_OPTIONAL("how far each rank got in a hang"), int,         \
      (void *event), ZB_RT("hipEventQuery"), ZB_RT("cudaEventQuery"))          \
  SYM(lastError, ZB_OPTIONAL("a failed call told to the collectives, too"),    \
      int, (void), ZB_RT("hipGetLastError"), ZB_RT("cudaGetLastError"))        \
  SYM(copy, ZB_REQUIRED, int,                                                  \
      (void *to, const void *from, size_t bytes, int kind),                    \
      ZB_RT("hipMemcpy"), ZB_RT("cudaMemcpy"))                                 \
  SYM(copyAsync, ZB_REQUIRED, int,                                             \
      (void *to, const void *from, size_t bytes, int kind, void *stream),      \
      ZB_RT("hipMemcpyAsync"), ZB_RT("cudaMemcpyAsync"))                       \
  SYM(driverGetVersion, ZB_OPTIONAL("the driver's version in the record"), int, \
      (int *version), ZB_RT("hipDriverGetVersion"),                            \
      ZB_RT("cudaDriverGetVersion"))                                           \
  SYM(deviceAttribute, ZB_REQUIRED, int,                                       \
      (int *value, int attribute, int device),                                 \
      ZB_RT("hipDeviceGetAttribute"), ZB_RT("cudaDeviceGetAttribute"))         \
  SYM(deviceName, ZB_OPTIONAL("the GPU's name, and with it its peaks"), int,   \
      (char *name, int len, int device), ZB_RT("hipDeviceGetName"),            \
      ZB_DR("cuDeviceGetName"))                                                \
  SYM(devicePCI, ZB_OPTIONAL("PCI addresses in the record"), int,              \
      (char *address, int len, int device), ZB_RT("hipDeviceGetPCIBusId"),     \
      ZB_RT("cudaDeviceGetPCIBusId"))                                          \
  SYM(moduleLoad, ZB_OPTIONAL(ZB_KERNELS_LOST), int,                           \
      (void **module, const void *image), ZB_RT("hipModuleLoadData"),          \
      ZB_DR("cuModuleLoadData"))                                               \
  SYM(moduleUnload, ZB_OPTIONAL(ZB_KERNELS_LOST), int, (void *module),         \
      ZB_RT("hipModuleUnload"), ZB_DR("cuModuleUnload"))                       \
  SYM(moduleFunction, ZB_OPTIONAL(ZB_KERNELS_LOST), int,                       \
      (void **function, void *module, const char *name),                       \
      ZB_RT("hipModuleGetFunction"), ZB_DR("cuModuleGetFunction"))             \
  SYM(launchKernel, ZB_OPTIONAL(ZB_KERNELS_LOST), int,                         \
      (void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,     \
       unsigned by, unsigned bz, unsigned shared, void *stream, void **params, \
       void **extra),                                                          \
      ZB_RT("hipModuleLaunchKernel"), ZB_DR("cuLaunchKernel"))                 \
  SYM(functionAttribute,                                                       \
      ZB_OPTIONAL("kernels with more than 48 KiB of shared memory"), int,      \
      (void *function, int attribute, int value), ZB_NONE, NULL,               \
      ZB_DR("cuFuncSetAttribute"))                                             \
  SYM(rtcVersion, ZB_OPTIONAL(ZB_KERNELS_LOST), int, (int *major, int *minor), \
      ZB_RTC("hiprtcVersion"), ZB_RTC("nvrtcVersion"))                         \
  SYM(rtcCreate, ZB_OPTIONAL(ZB_KERNELS_LOST), int,                            \
      (void **program, const char *source, const char *name, int headers,      \
       const char *const *texts, const char *const *names),                    \
      ZB_RTC("hiprtcCreateProgram"), ZB_RTC("nvrtcCreateProgram"))             \
  SYM(rtcCompile, ZB_OPTIONAL(ZB_KERNELS_LOST), int,                           \
      (void *program, int count, const char *const *options),                  \
      ZB_RTC("hiprtcCompileProgram"), ZB_RTC("nvrtcCompileProgram"))           \
  SYM(rtcLogSize, ZB_OPTIONAL(ZB_KERNELS_LOST), int,                           \
      (void *program, size_t *bytes), ZB_RTC("hiprtcGetProgramLogSize"),       \
      ZB_RTC("nvrtcGetProgramLogSize"))                                        \
  SYM(rtcLog, ZB_OPTIONAL(ZB_KERNELS_LOST), int, (void *program, char *log),   \
      ZB_RTC("hiprtcGetProgramLog"), ZB_RTC("nvrtcGetProgramLog"))             \
  SYM(rtcCodeSize, ZB_OPTIONAL(ZB_KERNELS_LOST), int,                          \
      (void *program, size_t *bytes), ZB_RTC("hiprtcGetCodeSize"),             \
      ZB_RTC("nvrtcGetCUBINSize"))                                             \
  SYM(rtcCode, ZB_OPTIONAL(ZB_KERNELS_LOST), int, (void *program, char *code), \
      ZB_RTC("hiprtcGetCode"), ZB_RTC("nvrtcGetCUBIN"))                        \
  SYM(rtcDestroy, ZB_OPTIONAL(ZB_KERNELS_LOST), int, (void **program),         \
      ZB_RTC("hiprtcDestroyProgram"), ZB_RTC("nvrtcDestroyProgram"))           \
  SYM(rtcErrorString, ZB_OPTIONAL(ZB_KERNELS_LOST), const char *, (int error), \
      ZB_RTC("hiprtcGetErrorString"), ZB_RTC("nvrtcGetErrorString"))           \
  SYM(runtimeErrorString, ZB_REQUIRED, const char *, (int error),              \
      ZB_RT("hipGetErrorString"), ZB_RT("cudaGetErrorString"))                 \
  SYM(collGetVersion, ZB_REQUIRED, int, (int *version),                        \
      ZB_CO("ncclGetVersion"), ZB_CO("ncclGetVersion"))                        \
  SYM(getUniqueId, ZB_REQUIRED, int, (zb_unique_id * id),                      \
      ZB_CO("ncclGetUniqueId"), ZB_CO("ncclGetUniqueId"))                      \
  SYM(commInitRank, ZB_REQUIRED, int,                                          \
      (void **comm, int nranks, zb_unique_id id, int rank),                    \
      ZB_CO("ncclCommInitRank"), ZB_CO("ncclCommInitRank"))                    \
  SYM(commDestroy, ZB_REQUIRED, int, (void *comm), ZB_CO("ncclCommDestroy"),   \
      ZB_CO("ncclCommDestroy"))                                                \
  SYM(groupStart, ZB_REQUIRED, int, (void), ZB_CO("ncclGroupStart"),           \
      ZB_CO("ncclGroupStart"))                                                 \
  SYM(groupEnd, ZB_REQUIRED, int, (void), ZB_CO("ncclGroupEnd"),               \
      ZB_CO("ncclGroupEnd"))                                                   \
  SYM(allReduce, ZB_REQUIRED, int,                                             \
      (const void *send, void *recv, size_t count, int dtype, int op,          \
       void *comm, void *stream),                                              \
      ZB_CO("ncclAllReduce"), ZB_CO("ncclAllReduce"))                          \
  SYM(reduceScatter, ZB_REQUIRED, int,                                         \
      (const void *send, void *recv, size_t count, int dtype, int op,          \
       void *comm, void *stream),                                              \
      ZB_CO("ncclReduceScatter"), ZB_CO("ncclReduceScatter"))                  \
  SYM(allGather, ZB_REQUIRED, int,                                             \
      (const void *send, void *recv, size_t count, int dtype, void *comm,      \
       void *stream),                                                          \
      ZB_CO("ncclAllGather"), ZB_CO("ncclAllGather"))                          \
  SYM(broadcast, ZB_REQUIRED, int,                                             \
      (const void *send, void *recv, size_t count, int dtype, int root,        \
       void *comm, void *stream),                                              \
      ZB_CO("ncclBroadcast"), ZB_CO("ncclBroadcast"))                          \
  SYM(reduce, ZB_REQUIRED, int,                                                \
      (const void *send, void *recv, size_t count, int dtype, int op,          \
       int root, void *comm, void *stream),                                    \
      ZB_CO("ncclReduce"), ZB_CO("ncclReduce"))                                \
  SYM(sendTo, ZB_REQUIRED, int,                                                \
      (const void *send, size_t count, int dtype, int peer, void *comm,        \
       void *stream),                                                          \
      ZB_CO("ncclSend"), ZB_CO("ncclSend"))                                    \
  SYM(recvFrom, ZB_REQUIRED, int,                                              \
      (void *recv, size_t count, int dtype, int peer, void *comm,              \
       void *stream),                                                          \
      ZB_CO("ncclRecv"), ZB_CO("ncclRecv"))                                    \
  SYM(allToAll, ZB_OPTIONAL("nothing: all_to_all is made of messages"), int,   \
      (const void *send, void *recv, size_t count, int dtype, void *comm,      \
       void *stream),                                                          \
      ZB_CO("ncclAllToAll"), ZB_CO("ncclAlltoAll"))                            \
  SYM(gather, ZB_OPTIONAL("nothing: gather is made of messages"), int,         \
      (const void *send, void *recv, size_t count, int dtype, int root,        \
       void *comm, void *stream),                                              \
      ZB_CO("ncclGather"), ZB_CO("ncclGather"))                                \
  SYM(scatter, ZB_OPTIONAL("nothing: scatter is made of messages"), int,       \
      (const void *send, void *recv, size_t count, int dtype, int root,        \
       void *comm, void *stream),                                              \
      ZB_CO("ncclScatter"), ZB_CO("ncclScatter"))                              \
  SYM(collErrorString, ZB_REQUIRED, const char *, (int error),                 \
      ZB_CO("ncclGetErrorString"), ZB_CO("ncclGetErrorString"))                \
  SYM(commGetAsyncError, ZB_OPTIONAL("errors found before the deadline"), int, \
      (void *comm, int *error), ZB_CO("ncclCommGetAsyncError"),                \
      ZB_CO("ncclCommGetAsyncError"))                                          \
  SYM(commAbort, ZB_OPTIONAL("giving up a communicator that failed"), int,     \
      (void *comm), ZB_CO("ncclCommAbort"), ZB_CO("ncclCommAbort"))            \
  SYM(commSplit, ZB_OPTIONAL("communicators by a split (zbench soak)"), int,   \
      (void *comm, int color, int key, void **out, void *config),              \
      ZB_CO("ncclCommSplit"), ZB_CO("ncclCommSplit"))                          \
  SYM(opCreate, ZB_OPTIONAL(ZB_MULSUM_LOST), int,                              \
      (int *op, void *scalar, int dtype, int residence, void *comm),           \
      ZB_CO("ncclRedOpCreatePreMulSum"), ZB_CO("ncclRedOpCreatePreMulSum"))    \
  SYM(opDestroy, ZB_OPTIONAL(ZB_MULSUM_LOST), int, (int op, void *comm),       \
      ZB_CO("ncclRedOpDestroy"), ZB_CO("ncclRedOpDestroy"))                    \
  /* for windows, policies of compute units and non-blocking init */           \
  SYM(commInitConfig, ZB_OPTIONAL("--cta-policy, --nonblocking"), int,         \
      (void **comm, int nranks, zb_unique_id id, int rank, void *config),      \
      ZB_CO("ncclCommInitRankConfig"), ZB_CO("ncclCommInitRankConfig"))        \
  SYM(collMalloc, ZB_OPTIONAL("--register"), int, (void **p, size_t bytes),    \
      ZB_CO("ncclMemAlloc"), ZB_CO("ncclMemAlloc"))                            \
  SYM(collFree, ZB_OPTIONAL("--register"), int, (void *p),                     \
      ZB_CO("ncclMemFree"), ZB_CO("ncclMemFree"))                              \
  SYM(commRegister, ZB_OPTIONAL("--register buffer"), int,                     \
      (void *comm, void *p, size_t bytes, void **handle),                      \
      ZB_CO("ncclCommRegister"), ZB_CO("ncclCommRegister"))                    \
  SYM(commDeregister, ZB_OPTIONAL("--register buffer"), int,                   \
      (void *comm, void *handle), ZB_CO("ncclCommDeregister"),                 \
      ZB_CO("ncclCommDeregister"))                                             \
  SYM(windowRegister, ZB_OPTIONAL("--register window"), int,                   \
      (void *comm, void *p, size_t bytes, void **out, int flags),              \
      ZB_CO("ncclCommWindowRegister"), ZB_CO("ncclCommWindowRegister"))        \
  SYM(windowDeregister, ZB_OPTIONAL("--register window"), int,                 \
      (void *comm, void *window), ZB_CO("ncclCommWindowDeregister"),           \
      ZB_CO("ncclCommWindowDeregister"))                                       \
  SYM(collImpl, ZB_OPTIONAL("what ran a policy's calls, without a log"), int,  \
      (void *comm, int function, uint64_t count, int dtype, int op,            \
       const void *send, void *recv, int graph, int *algo, int *protocol,      \
       int *channels), ZB_CO("rcclGetCollImplInfo"), ZB_NONE, NULL)            \
  SYM(algoName, ZB_OPTIONAL("what ran a policy's calls, without a log"), int,  \
      (int algo, const char **name), ZB_CO("rcclGetAlgoName"), ZB_NONE, NULL)  \
  /* the loopback's clock of the current device's process, in nanoseconds */   \
  SYM(nowNs, ZB_OPTIONAL(""), int64_t, (void), ZB_LB("zbench_nowNs"),          \
      ZB_LB("zbench_nowNs"))                                                   \
  /* a barrier for the clocks of all modelled processes: n devices arrive;     \
   * their numbers are `stride` bytes apart; returns 0 if the caller must call \
   * again, because the barrier is not over */                                 \
  SYM(hostBarrier, ZB_OPTIONAL(""), int,                                       \
      (const int32_t *device, size_t stride, int n),                           \
      ZB_LB("zbench_hostBarrier"), ZB_LB("zbench_hostBarrier"))                \
  /* sets whether launches move data; timed launches need none */              \
  SYM(moveData, ZB_OPTIONAL(""), void, (int on), ZB_LB("zbench_moveData"),     \
      ZB_LB("zbench_moveData"))                                                \
  /* makes the next collectives move only these n blocks; NULL, 0: all data */ \
  SYM(moveBlocks, ZB_OPTIONAL(""), void, (const zb_block *blocks, int n),      \
      ZB_LB("zbench_moveBlocks"), ZB_LB("zbench_moveBlocks"))                  \
  /* begins a case of the current device's process; the key seeds its noise */ \
  SYM(caseBegin, ZB_OPTIONAL(""), void, (uint64_t key),                        \
      ZB_LB("zbench_caseBegin"), ZB_LB("zbench_caseBegin"))                    \
  /* whether the model of a collective over n ranks has unmeasured parts */    \
  SYM(extrapolated, ZB_OPTIONAL(""), int,                                      \
      (const char *collective, int n, int stride),                             \
      ZB_LB("zbench_extrapolated"), ZB_LB("zbench_extrapolated"))

/* The other names of functions that were renamed (RCCL: ROCm/rocm-systems,
 * nccl.h.in): OTHER(field, rocm library, rocm name, cuda library, cuda name) */
#define ZB_OTHER_NAMES(OTHER)                                                  \
  OTHER(allToAll, ZB_CO("ncclAlltoAll"), ZB_NONE, NULL)

typedef struct zb_table {
#define ZB_FIELD(field, need, ret, args, ...) ret(*field) args;
  ZB_SYMBOLS(ZB_FIELD)
#undef ZB_FIELD
} zb_table;

/* Clears the thread's last error after a failed call, because RCCL would report that error as its
 * own. Returns the code. */
static inline int zb_told(const zb_table *t, int code) {
  return code != 0 && t->lastError != NULL ? (t->lastError(), code) : code;
}

#endif
