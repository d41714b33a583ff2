/* The symbol list: every function zbench calls, one row each. A provider fills
 * a zb_table from it; the loopback fills it with its own zbl_* functions.
 *
 * SYM(field, need, return, args, rocm library, rocm name, cuda library, cuda name)
 *   need     REQUIRED or OPTIONAL; an absent optional symbol can be asked for
 *   library  RUNTIME (HIP, CUDA runtime), COLLECTIVES (RCCL, NCCL) or NONE
 *            (the loopback alone has it)
 *
 * hipError_t, cudaError_t and ncclResult_t are C enums, so int; handles are
 * pointers. The values used below are the same in HIP and CUDA.
 */
#ifndef ZB_ABI_H
#define ZB_ABI_H

#include <stddef.h>
#include <stdint.h>

enum { ZB_OPTIONAL = 0, ZB_REQUIRED = 1 };
enum { ZB_NONE = 0, ZB_RUNTIME = 1, ZB_COLLECTIVES = 2 };
enum { ZB_ROCM = 0, ZB_CUDA = 1 };

/* hipError_t and cudaError_t */
enum {
  ZB_OK = 0,
  ZB_ERR_VALUE = 1,
  ZB_ERR_MEMORY = 2,
  ZB_ERR_NO_DEVICE = 100,
  ZB_ERR_DEVICE = 101,
  ZB_ERR_HANDLE = 400,
  ZB_ERR_STATE = 401,
  ZB_ERR_NOT_FOUND = 500,
  ZB_ERR_NOT_READY = 600,
  ZB_ERR_NOT_SUPPORTED = 801,
  ZB_ERR_CAPTURE = 900, /* not while the stream, or the thread, captures */
  ZB_ERR_CAPTURE_INVALID = 901,
  ZB_ERR_CAPTURE_THREAD = 908
};
/* ncclResult_t */
enum {
  ZB_COLL_UNHANDLED = 1,
  ZB_COLL_INTERNAL = 3,
  ZB_COLL_ARGUMENT = 4,
  ZB_COLL_USAGE = 5,
  ZB_COLL_REMOTE = 6
};
enum { ZB_STREAM_NON_BLOCKING = 1 };
/* hipStreamCaptureMode and cudaStreamCaptureMode */
enum { ZB_CAPTURE_GLOBAL = 0, ZB_CAPTURE_THREAD = 1, ZB_CAPTURE_RELAXED = 2 };
/* hipMemcpyKind and cudaMemcpyKind */
enum { ZB_TO_DEVICE = 1, ZB_TO_HOST = 2 };

/* ncclUniqueId, passed by value */
typedef struct zb_unique_id {
  char internal[128];
} zb_unique_id;

#define ZB_RT(name) ZB_RUNTIME, name
#define ZB_CO(name) ZB_COLLECTIVES, name

#define ZB_SYMBOLS(SYM)                                                        \
  SYM(getDeviceCount, ZB_REQUIRED, int, (int *count),                          \
      ZB_RT("hipGetDeviceCount"), ZB_RT("cudaGetDeviceCount"))                 \
  SYM(runtimeGetVersion, ZB_REQUIRED, int, (int *version),                     \
      ZB_RT("hipRuntimeGetVersion"), ZB_RT("cudaRuntimeGetVersion"))           \
  SYM(setDevice, ZB_REQUIRED, int, (int device), ZB_RT("hipSetDevice"),        \
      ZB_RT("cudaSetDevice"))                                                  \
  SYM(mallocDevice, ZB_REQUIRED, int, (void **ptr, size_t bytes),              \
      ZB_RT("hipMalloc"), ZB_RT("cudaMalloc"))                                 \
  SYM(freeDevice, ZB_REQUIRED, int, (void *ptr), ZB_RT("hipFree"),             \
      ZB_RT("cudaFree"))                                                       \
  SYM(memGetInfo, ZB_REQUIRED, int, (size_t * free, size_t * total),           \
      ZB_RT("hipMemGetInfo"), ZB_RT("cudaMemGetInfo"))                         \
  SYM(streamCreate, ZB_REQUIRED, int, (void **stream, unsigned flags),         \
      ZB_RT("hipStreamCreateWithFlags"), ZB_RT("cudaStreamCreateWithFlags"))   \
  SYM(streamDestroy, ZB_REQUIRED, int, (void *stream),                         \
      ZB_RT("hipStreamDestroy"), ZB_RT("cudaStreamDestroy"))                   \
  SYM(streamQuery, ZB_REQUIRED, int, (void *stream), ZB_RT("hipStreamQuery"),  \
      ZB_RT("cudaStreamQuery"))                                                \
  SYM(streamBeginCapture, ZB_OPTIONAL, int, (void *stream, int mode),          \
      ZB_RT("hipStreamBeginCapture"), ZB_RT("cudaStreamBeginCapture"))         \
  SYM(streamEndCapture, ZB_OPTIONAL, int, (void *stream, void **graph),        \
      ZB_RT("hipStreamEndCapture"), ZB_RT("cudaStreamEndCapture"))             \
  SYM(graphInstantiate, ZB_OPTIONAL, int,                                      \
      (void **exec, void *graph, unsigned long long flags),                    \
      ZB_RT("hipGraphInstantiateWithFlags"),                                   \
      ZB_RT("cudaGraphInstantiateWithFlags"))                                  \
  SYM(graphLaunch, ZB_OPTIONAL, int, (void *exec, void *stream),               \
      ZB_RT("hipGraphLaunch"), ZB_RT("cudaGraphLaunch"))                       \
  SYM(graphExecDestroy, ZB_OPTIONAL, int, (void *exec),                        \
      ZB_RT("hipGraphExecDestroy"), ZB_RT("cudaGraphExecDestroy"))             \
  SYM(graphDestroy, ZB_OPTIONAL, int, (void *graph),                           \
      ZB_RT("hipGraphDestroy"), ZB_RT("cudaGraphDestroy"))                     \
  SYM(eventCreate, ZB_REQUIRED, int, (void **event), ZB_RT("hipEventCreate"),  \
      ZB_RT("cudaEventCreate"))                                                \
  SYM(eventDestroy, ZB_REQUIRED, int, (void *event),                           \
      ZB_RT("hipEventDestroy"), ZB_RT("cudaEventDestroy"))                     \
  SYM(eventRecord, ZB_REQUIRED, int, (void *event, void *stream),              \
      ZB_RT("hipEventRecord"), ZB_RT("cudaEventRecord"))                       \
  SYM(eventElapsed, ZB_REQUIRED, int, (float *ms, void *start, void *stop),    \
      ZB_RT("hipEventElapsedTime"), ZB_RT("cudaEventElapsedTime"))             \
  SYM(copy, ZB_REQUIRED, int,                                                  \
      (void *to, const void *from, size_t bytes, int kind),                    \
      ZB_RT("hipMemcpy"), ZB_RT("cudaMemcpy"))                                 \
  SYM(moduleLoad, ZB_OPTIONAL, int, (void **module, const void *image),        \
      ZB_RT("hipModuleLoadData"), ZB_NONE, NULL)                               \
  SYM(moduleUnload, ZB_OPTIONAL, int, (void *module),                          \
      ZB_RT("hipModuleUnload"), ZB_NONE, NULL)                                 \
  SYM(moduleFunction, ZB_OPTIONAL, int,                                        \
      (void **function, void *module, const char *name),                       \
      ZB_RT("hipModuleGetFunction"), ZB_NONE, NULL)                            \
  SYM(launchKernel, ZB_OPTIONAL, int,                                          \
      (void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,     \
       unsigned by, unsigned bz, unsigned shared, void *stream, void **params, \
       void **extra),                                                          \
      ZB_RT("hipModuleLaunchKernel"), ZB_NONE, NULL)                           \
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
  SYM(allToAll, ZB_OPTIONAL, int,                                              \
      (const void *send, void *recv, size_t count, int dtype, void *comm,      \
       void *stream),                                                          \
      ZB_CO("ncclAllToAll"), ZB_CO("ncclAlltoAll"))                            \
  SYM(gather, ZB_OPTIONAL, int,                                                \
      (const void *send, void *recv, size_t count, int dtype, int root,        \
       void *comm, void *stream),                                              \
      ZB_CO("ncclGather"), ZB_CO("ncclGather"))                                \
  SYM(scatter, ZB_OPTIONAL, int,                                               \
      (const void *send, void *recv, size_t count, int dtype, int root,        \
       void *comm, void *stream),                                              \
      ZB_CO("ncclScatter"), ZB_CO("ncclScatter"))                              \
  SYM(collErrorString, ZB_REQUIRED, const char *, (int error),                 \
      ZB_CO("ncclGetErrorString"), ZB_CO("ncclGetErrorString"))                \
  SYM(commGetAsyncError, ZB_OPTIONAL, int, (void *comm, int *error),           \
      ZB_CO("ncclCommGetAsyncError"), ZB_CO("ncclCommGetAsyncError"))          \
  SYM(commAbort, ZB_OPTIONAL, int, (void *comm), ZB_CO("ncclCommAbort"),       \
      ZB_CO("ncclCommAbort"))                                                  \
  /* the loopback's clock of the current device's process, in nanoseconds */   \
  SYM(nowNs, ZB_OPTIONAL, int64_t, (void), ZB_NONE, NULL, ZB_NONE, NULL)       \
  /* brings the clocks of all modelled processes together, as a barrier does */\
  SYM(hostBarrier, ZB_OPTIONAL, void, (void), ZB_NONE, NULL, ZB_NONE, NULL)    \
  /* whether launches move data: the timed ones need none */                   \
  SYM(moveData, ZB_OPTIONAL, void, (int on), ZB_NONE, NULL, ZB_NONE, NULL)     \
  /* names the case that follows, so that its noise depends on nothing else */ \
  SYM(caseBegin, ZB_OPTIONAL, void, (uint64_t key), ZB_NONE, NULL, ZB_NONE,    \
      NULL)

typedef struct zb_table {
#define ZB_FIELD(field, need, ret, args, ...) ret(*field) args;
  ZB_SYMBOLS(ZB_FIELD)
#undef ZB_FIELD
} zb_table;

/* One row of the list as data, for lookup and for asking what is there. */
typedef struct zb_symbol {
  const char *field;
  size_t offset;
  int required;
  int library[2]; /* by ZB_ROCM, ZB_CUDA */
  const char *name[2];
} zb_symbol;

#endif
