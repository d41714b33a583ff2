/* Functions of the shared libraries that zbench does not call, one row each as in abi.h: functions
 * of HIP 6.0 and NCCL that other programs need. Nearly all of their state belongs to the
 * loopback. */
#ifndef ZBS_MORE_H
#define ZBS_MORE_H

#include "../abi.h"

/* Passed by value, like dim3 of HIP and CUDA. */
typedef struct zbs_dim3 {
  uint32_t x, y, z;
} zbs_dim3;

/* hipIpcMemHandle_t and hipIpcEventHandle_t, passed by value. */
typedef struct zbs_ipc {
  char reserved[64];
} zbs_ipc;

#define ZBS_HIP(SYM, field, ret, args, name)                                   \
  SYM(field, NULL, ret, args, ZB_RUNTIME, name, ZB_NONE, NULL)
#define ZBS_BOTH(SYM, field, ret, args, name)                                  \
  SYM(field, NULL, ret, args, ZB_RUNTIME, "hip" name, ZB_RUNTIME, "cuda" name)
#define ZBS_NCCL(SYM, field, ret, args, name)                                  \
  SYM(field, NULL, ret, args, ZB_COLLECTIVES, name, ZB_COLLECTIVES, name)
#define ZBS_RCCL(SYM, field, ret, args, name)                                  \
  SYM(field, NULL, ret, args, ZB_COLLECTIVES, name, ZB_NONE, NULL)

#define ZBS_MORE_MEMORY(SYM)                                                   \
  ZBS_HIP(SYM, mallocManaged, int, (void **p, size_t bytes, unsigned flags), "hipMallocManaged") \
  ZBS_HIP(SYM, hostMalloc, int, (void **p, size_t bytes, unsigned flags), "hipHostMalloc") \
  ZBS_HIP(SYM, extHostAlloc, int, (void **p, size_t bytes, unsigned flags), "hipExtHostAlloc") \
  ZBS_BOTH(SYM, hostAlloc, int, (void **p, size_t bytes, unsigned flags), "HostAlloc") \
  ZBS_BOTH(SYM, mallocHost, int, (void **p, size_t bytes), "MallocHost")       \
  ZBS_HIP(SYM, hostFree, int, (void *p), "hipHostFree")                        \
  ZBS_BOTH(SYM, freeHost, int, (void *p), "FreeHost")                          \
  ZBS_BOTH(SYM, hostRegister, int, (void *p, size_t bytes, unsigned flags), "HostRegister") \
  ZBS_BOTH(SYM, hostUnregister, int, (void *p), "HostUnregister")              \
  ZBS_BOTH(SYM, hostPointer, int, (void **device, void *host, unsigned flags), "HostGetDevicePointer") \
  ZBS_BOTH(SYM, mallocAsync, int, (void **p, size_t bytes, void *stream), "MallocAsync") \
  ZBS_BOTH(SYM, freeAsync, int, (void *p, void *stream), "FreeAsync")          \
  ZBS_BOTH(SYM, set, int, (void *p, int value, size_t bytes), "Memset")        \
  ZBS_BOTH(SYM, setAsync, int, (void *p, int value, size_t bytes, void *stream), "MemsetAsync") \
  ZBS_BOTH(SYM, copyPeer, int,                                                 \
               (void *to, int toDevice, const void *from, int fromDevice, size_t bytes), \
               "MemcpyPeer")                                                   \
  ZBS_BOTH(SYM, copyPeerAsync, int,                                            \
               (void *to, int toDevice, const void *from, int fromDevice, size_t bytes, void *stream), \
               "MemcpyPeerAsync")                                              \
  ZBS_HIP(SYM, pointerAttributes, int, (void *attributes, const void *p), "hipPointerGetAttributes")

#define ZBS_MORE_STREAMS(SYM)                                                  \
  ZBS_BOTH(SYM, streamCreatePlain, int, (void **stream), "StreamCreate")       \
  ZBS_BOTH(SYM, streamGetPriority, int, (void *stream, int *priority), "StreamGetPriority") \
  ZBS_BOTH(SYM, priorityRange, int, (int *least, int *greatest), "DeviceGetStreamPriorityRange") \
  ZBS_BOTH(SYM, streamSynchronize, int, (void *stream), "StreamSynchronize")   \
  ZBS_BOTH(SYM, streamIsCapturing, int, (void *stream, int *status), "StreamIsCapturing") \
  ZBS_BOTH(SYM, streamGetFlags, int, (void *stream, unsigned *flags), "StreamGetFlags") \
  ZBS_BOTH(SYM, eventCreateFlags, int, (void **event, unsigned flags), "EventCreateWithFlags") \
  ZBS_BOTH(SYM, eventSynchronize, int, (void *event), "EventSynchronize")      \
  ZBS_BOTH(SYM, deviceSynchronize, int, (void), "DeviceSynchronize")           \
  ZBS_BOTH(SYM, deviceReset, int, (void), "DeviceReset")                       \
  ZBS_HIP(SYM, graphInstantiateLog, int,                                       \
              (void **exec, void *graph, void **node, char *log, size_t bytes), \
              "hipGraphInstantiate")

#define ZBS_MORE_DEVICES(SYM)                                                  \
  ZBS_HIP(SYM, init, int, (unsigned flags), "hipInit")                         \
  ZBS_BOTH(SYM, getDevice, int, (int *device), "GetDevice")                    \
  ZBS_HIP(SYM, deviceGet, int, (int *device, int ordinal), "hipDeviceGet")     \
  ZBS_BOTH(SYM, setDeviceFlags, int, (unsigned flags), "SetDeviceFlags")       \
  ZBS_BOTH(SYM, peekLastError, int, (void), "PeekAtLastError")                 \
  ZBS_BOTH(SYM, runtimeErrorName, const char *, (int error), "GetErrorName")   \
  ZBS_BOTH(SYM, canAccessPeer, int, (int *can, int device, int peer), "DeviceCanAccessPeer") \
  ZBS_BOTH(SYM, enablePeerAccess, int, (int peer, unsigned flags), "DeviceEnablePeerAccess") \
  ZBS_BOTH(SYM, disablePeerAccess, int, (int peer), "DeviceDisablePeerAccess") \
  ZBS_BOTH(SYM, deviceByPCI, int, (int *device, const char *address), "DeviceGetByPCIBusId") \
  ZBS_HIP(SYM, properties0, int, (void *properties, int device), "hipGetDeviceProperties") \
  ZBS_HIP(SYM, properties0000, int, (void *properties, int device), "hipGetDevicePropertiesR0000") \
  ZBS_HIP(SYM, properties0600, int, (void *properties, int device), "hipGetDevicePropertiesR0600")

/* Functions that code from the compiler calls before main() and around kernels. They need no
 * world. */
#define ZBS_MORE_REGISTERED(SYM)                                                  \
  ZBS_HIP(SYM, pushCall, int, (zbs_dim3 grid, zbs_dim3 block, size_t shared, void *stream), \
              "__hipPushCallConfiguration")                                    \
  ZBS_HIP(SYM, popCall, int, (zbs_dim3 * grid, zbs_dim3 *block, size_t *shared, void **stream), \
              "__hipPopCallConfiguration")                                     \
  ZBS_HIP(SYM, registerFatBinary, void **, (const void *data), "__hipRegisterFatBinary") \
  ZBS_HIP(SYM, unregisterFatBinary, void, (void **modules), "__hipUnregisterFatBinary") \
  ZBS_HIP(SYM, registerFunction, void,                                         \
              (void **modules, const void *host, char *device, const char *name, \
               unsigned limit, void *tid, void *bid, void *block, void *grid, int *size), \
              "__hipRegisterFunction")                                         \
  ZBS_HIP(SYM, registerVar, void,                                              \
              (void **modules, void *var, char *host, char *device, int ext,   \
               size_t size, int constant, int global),                         \
              "__hipRegisterVar")                                              \
  ZBS_HIP(SYM, registerManagedVar, void,                                       \
              (void *module, void **pointer, void *init, const char *name,     \
               size_t size, unsigned align),                                   \
              "__hipRegisterManagedVar")

#define ZBS_MORE_KERNELS(SYM)                                                  \
  ZBS_HIP(SYM, launchFunction, int,                                            \
              (const void *function, zbs_dim3 grid, zbs_dim3 block, void **params, \
               size_t shared, void *stream),                                   \
              "hipLaunchKernel")                                               \
  ZBS_HIP(SYM, launchCooperative, int,                                         \
              (const void *function, zbs_dim3 grid, zbs_dim3 block, void **params, \
               unsigned shared, void *stream),                                 \
              "hipLaunchCooperativeKernel")

#define ZBS_MORE_COLLECTIVES(SYM)                                              \
  ZBS_NCCL(SYM, commInitAll, int, (void **comms, int n, const int *devices), "ncclCommInitAll") \
  ZBS_RCCL(SYM, commInitMulti, int,                                            \
               (void **comm, int nranks, zb_unique_id id, int rank, int virtualId), \
               "ncclCommInitRankMulti")                                        \
  ZBS_NCCL(SYM, commFinalize, int, (void *comm), "ncclCommFinalize")           \
  ZBS_NCCL(SYM, commCount, int, (void *comm, int *count), "ncclCommCount")     \
  ZBS_NCCL(SYM, commDevice, int, (void *comm, int *device), "ncclCommCuDevice") \
  ZBS_NCCL(SYM, commRank, int, (void *comm, int *rank), "ncclCommUserRank")    \
  ZBS_NCCL(SYM, collLastError, const char *, (void *comm), "ncclGetLastError") \
  ZBS_NCCL(SYM, bcast, int,                                                    \
               (void *buffer, size_t count, int dtype, int root, void *comm,   \
                void *stream),                                                 \
               "ncclBcast")                                                    \
  ZBS_NCCL(SYM, groupSimulateEnd, int, (void *info), "ncclGroupSimulateEnd")   \
  ZBS_RCCL(SYM, allToAllv, int,                                                \
               (const void *send, const size_t *sends, const size_t *sendAt,   \
                void *recv, const size_t *recvs, const size_t *recvAt, int dtype, \
                void *comm, void *stream),                                     \
               "ncclAllToAllv")

/* Functions of newer versions. They exist but refuse every call, so their arguments do not
 * matter. */
#define ZBS_MORE_REFUSED(SYM)                                                  \
  ZBS_NCCL(SYM, commSuspend, int, (void), "ncclCommSuspend")                   \
  ZBS_NCCL(SYM, commResume, int, (void), "ncclCommResume")                     \
  ZBS_NCCL(SYM, putSignal, int, (void), "ncclPutSignal")                       \
  ZBS_NCCL(SYM, signalPeer, int, (void), "ncclSignal")                         \
  ZBS_NCCL(SYM, waitSignal, int, (void), "ncclWaitSignal")                     \
  ZBS_NCCL(SYM, commProperties, int, (void), "ncclCommQueryProperties")        \
  ZBS_NCCL(SYM, devCommCreate, int, (void), "ncclDevCommCreate")               \
  ZBS_NCCL(SYM, devCommDestroy, int, (void), "ncclDevCommDestroy")             \
  ZBS_NCCL(SYM, lsaMultimem, int, (void), "ncclGetLsaMultimemDevicePointer")   \
  ZBS_NCCL(SYM, lsaPointer, int, (void), "ncclGetLsaDevicePointer")            \
  ZBS_NCCL(SYM, peerPointer, int, (void), "ncclGetPeerDevicePointer")          \
  ZBS_NCCL(SYM, multimemPointer, int, (void), "ncclGetMultimemDevicePointer")  \
  ZBS_RCCL(SYM, algoInfo, int, (void), "rcclGetAlgoInfo")                      \
  ZBS_RCCL(SYM, msccLoad, int, (void), "mscclLoadAlgo")                        \
  ZBS_RCCL(SYM, msccRun, int, (void), "mscclRunAlgo")                          \
  ZBS_RCCL(SYM, msccUnload, int, (void), "mscclUnloadAlgo")                    \
  ZBS_NCCL(SYM, paramBind, int, (void), "ncclParamBind")                       \
  ZBS_NCCL(SYM, paramI8, int, (void), "ncclParamGetI8")                        \
  ZBS_NCCL(SYM, paramI16, int, (void), "ncclParamGetI16")                      \
  ZBS_NCCL(SYM, paramI32, int, (void), "ncclParamGetI32")                      \
  ZBS_NCCL(SYM, paramI64, int, (void), "ncclParamGetI64")                      \
  ZBS_NCCL(SYM, paramU8, int, (void), "ncclParamGetU8")                        \
  ZBS_NCCL(SYM, paramU16, int, (void), "ncclParamGetU16")                      \
  ZBS_NCCL(SYM, paramU32, int, (void), "ncclParamGetU32")                      \
  ZBS_NCCL(SYM, paramU64, int, (void), "ncclParamGetU64")                      \
  ZBS_NCCL(SYM, paramStr, int, (void), "ncclParamGetStr")                      \
  ZBS_NCCL(SYM, paramGet, int, (void), "ncclParamGet")                         \
  ZBS_NCCL(SYM, paramOf, int, (void), "ncclParamGetParameter")                 \
  ZBS_NCCL(SYM, paramKeys, int, (void), "ncclParamGetAllParameterKeys")

/* RCCL's ncclCommDump(ncclComm*, std::unordered_map<std::string, std::string>&), in g++'s
 * mangling. */
#define ZBS_COMM_DUMP                                                          \
  "_Z12ncclCommDumpP8ncclCommRSt13unordered_mapINSt7__cxx1112basic_string" \
  "IcSt11char_traitsIcESaIcEEES7_St4hashIS7_ESt8equal_toIS7_ESaISt4pairIKS7_S7_EEE"

#define ZBS_MORE_NEWER(SYM)                                                    \
  ZBS_NCCL(SYM, commInitScalable, int,                                         \
           (void **comm, int nranks, int rank, int count, zb_unique_id *ids, void *config), \
           "ncclCommInitRankScalable")                                         \
  ZBS_NCCL(SYM, commShrink, int,                                               \
           (void *comm, int *left_out, int count, void **out, void *config, int flags), \
           "ncclCommShrink")                                                   \
  ZBS_NCCL(SYM, commRevoke, int, (void *comm, int flags), "ncclCommRevoke")    \
  ZBS_NCCL(SYM, commUniqueId, int, (void *comm, zb_unique_id *id), "ncclCommGetUniqueId") \
  ZBS_NCCL(SYM, commGrow, int,                                                 \
           (void *comm, int nranks, const zb_unique_id *given, int rank, void **out, void *config), \
           "ncclCommGrow")                                                     \
  ZBS_NCCL(SYM, commMemory, int, (void *comm, int what, uint64_t *value), "ncclCommMemStats") \
  ZBS_NCCL(SYM, windowPointer, int, (void *comm, void *window, void **out), "ncclWinGetUserPtr") \
  ZBS_NCCL(SYM, allToAllvNew, int,                                             \
           (const void *send, const size_t *sends, const size_t *sendAt, void *recv, \
            const size_t *recvs, const size_t *recvAt, int dtype, void *comm, void *stream), \
           "ncclAlltoAllv")                                                    \
  ZBS_RCCL(SYM, allReduceBias, int,                                            \
           (const void *send, void *recv, size_t count, int dtype, int op, void *comm, \
            void *stream, const void *bias),                                   \
           "ncclAllReduceWithBias")                                            \
  ZBS_RCCL(SYM, commDump, int, (void), ZBS_COMM_DUMP)                          \
  ZBS_NCCL(SYM, paramDump, void, (void), "ncclParamDumpAll")                   \
  ZBS_NCCL(SYM, resetDebug, void, (void), "ncclResetDebugInit")

#define ZBS_MORE_DRIVER(SYM)                                                   \
  ZBS_HIP(SYM, copyToDevice, int, (void *to, void *from, size_t bytes), "hipMemcpyHtoD") \
  ZBS_HIP(SYM, copyToHost, int, (void *to, void *from, size_t bytes), "hipMemcpyDtoH") \
  ZBS_HIP(SYM, copyOnDevice, int, (void *to, void *from, size_t bytes), "hipMemcpyDtoD") \
  ZBS_HIP(SYM, copyToDeviceAsync, int,                                         \
          (void *to, void *from, size_t bytes, void *stream), "hipMemcpyHtoDAsync") \
  ZBS_HIP(SYM, copyToHostAsync, int,                                           \
          (void *to, void *from, size_t bytes, void *stream), "hipMemcpyDtoHAsync") \
  ZBS_HIP(SYM, copyOnDeviceAsync, int,                                         \
          (void *to, void *from, size_t bytes, void *stream), "hipMemcpyDtoDAsync") \
  ZBS_HIP(SYM, copyWithStream, int,                                            \
          (void *to, const void *from, size_t bytes, int kind, void *stream),  \
          "hipMemcpyWithStream")                                               \
  ZBS_HIP(SYM, addressRange, int, (void **base, size_t *bytes, void *p), "hipMemGetAddressRange") \
  ZBS_HIP(SYM, deviceMemory, int, (size_t *bytes, int device), "hipDeviceTotalMem") \
  ZBS_HIP(SYM, deviceCapability, int, (int *major, int *minor, int device),    \
          "hipDeviceComputeCapability")

#include "more_hip.h"

/* Functions that a program calls by itself. */
#define ZBS_MORE_CALLED(SYM)                                                   \
  ZBS_MORE_HIP(SYM)                                                            \
  ZBS_MORE_MEMORY(SYM)                                                         \
  ZBS_MORE_STREAMS(SYM)                                                        \
  ZBS_MORE_DEVICES(SYM)                                                        \
  ZBS_MORE_DRIVER(SYM)                                                         \
  ZBS_MORE_KERNELS(SYM)                                                        \
  ZBS_MORE_COLLECTIVES(SYM)                                                    \
  ZBS_MORE_NEWER(SYM)                                                          \
  ZBS_MORE_REFUSED(SYM)

#define ZBS_MORE(SYM)                                                          \
  ZBS_MORE_REGISTERED(SYM)                                                     \
  ZBS_MORE_CALLED(SYM)

#endif
