/* HIP functions that programs call but collectives do not need: memory in rows and words, queries
 * about addresses, and functions in streams. */
#ifndef ZBS_MORE_HIP_H
#define ZBS_MORE_HIP_H

/* Functions of the program that a stream calls. */
typedef void zbs_function(void *data);
typedef void zbs_callback(void *stream, int error, void *data);

#define ZBS_MORE_ROWS(SYM)                                                     \
  ZBS_BOTH(SYM, copyRows, int,                                                 \
           (void *to, size_t toPitch, const void *from, size_t fromPitch,      \
            size_t bytes, size_t rows, int kind), "Memcpy2D")                  \
  ZBS_BOTH(SYM, copyRowsAsync, int,                                            \
           (void *to, size_t toPitch, const void *from, size_t fromPitch,      \
            size_t bytes, size_t rows, int kind, void *stream), "Memcpy2DAsync") \
  ZBS_BOTH(SYM, mallocRows, int, (void **p, size_t *pitch, size_t bytes, size_t rows), "MallocPitch") \
  ZBS_HIP(SYM, mallocRowsOf, int,                                              \
          (void **p, size_t *pitch, size_t bytes, size_t rows, unsigned element), \
          "hipMemAllocPitch")                                                  \
  ZBS_BOTH(SYM, setRows, int, (void *p, size_t pitch, int value, size_t bytes, size_t rows), "Memset2D") \
  ZBS_BOTH(SYM, setRowsAsync, int,                                             \
           (void *p, size_t pitch, int value, size_t bytes, size_t rows, void *stream), \
           "Memset2DAsync")                                                    \
  ZBS_HIP(SYM, setBytes, int, (void *p, unsigned char value, size_t count), "hipMemsetD8") \
  ZBS_HIP(SYM, setBytesAsync, int, (void *p, unsigned char value, size_t count, void *stream), \
          "hipMemsetD8Async")                                                  \
  ZBS_HIP(SYM, setHalves, int, (void *p, unsigned short value, size_t count), "hipMemsetD16") \
  ZBS_HIP(SYM, setHalvesAsync, int, (void *p, unsigned short value, size_t count, void *stream), \
          "hipMemsetD16Async")                                                 \
  ZBS_HIP(SYM, setWords, int, (void *p, int value, size_t count), "hipMemsetD32") \
  ZBS_HIP(SYM, setWordsAsync, int, (void *p, int value, size_t count, void *stream), \
          "hipMemsetD32Async")

#define ZBS_MORE_CODE(SYM)                                                     \
  ZBS_HIP(SYM, toSymbol, int,                                                  \
          (const void *symbol, const void *from, size_t bytes, size_t offset, int kind), \
          "hipMemcpyToSymbol")                                                 \
  ZBS_HIP(SYM, toSymbolAsync, int,                                             \
          (const void *symbol, const void *from, size_t bytes, size_t offset, int kind, \
           void *stream), "hipMemcpyToSymbolAsync")                            \
  ZBS_HIP(SYM, fromSymbol, int,                                                \
          (void *to, const void *symbol, size_t bytes, size_t offset, int kind), \
          "hipMemcpyFromSymbol")                                               \
  ZBS_HIP(SYM, fromSymbolAsync, int,                                           \
          (void *to, const void *symbol, size_t bytes, size_t offset, int kind, void *stream), \
          "hipMemcpyFromSymbolAsync")                                          \
  ZBS_HIP(SYM, symbolAddress, int, (void **p, const void *symbol), "hipGetSymbolAddress") \
  ZBS_HIP(SYM, symbolSize, int, (size_t *bytes, const void *symbol), "hipGetSymbolSize") \
  ZBS_HIP(SYM, moduleLoadFile, int, (void **module, const char *path), "hipModuleLoad") \
  ZBS_HIP(SYM, moduleLoadWith, int,                                            \
          (void **module, const void *image, unsigned n, int *option, void **values), \
          "hipModuleLoadDataEx")                                               \
  ZBS_HIP(SYM, moduleGlobal, int,                                              \
          (void **p, size_t *bytes, void *module, const char *name), "hipModuleGetGlobal")

#define ZBS_MORE_IPC(SYM)                                                      \
  ZBS_BOTH(SYM, ipcGet, int, (void *handle, void *p), "IpcGetMemHandle")       \
  ZBS_BOTH(SYM, ipcOpen, int, (void **p, zbs_ipc handle, unsigned flags), "IpcOpenMemHandle") \
  ZBS_BOTH(SYM, ipcClose, int, (void *p), "IpcCloseMemHandle")

#define ZBS_MORE_CONTEXTS(SYM)                                                 \
  ZBS_HIP(SYM, contextCreate, int, (void **context, unsigned flags, int device), "hipCtxCreate") \
  ZBS_HIP(SYM, contextDestroy, int, (void *context), "hipCtxDestroy")          \
  ZBS_HIP(SYM, contextSet, int, (void *context), "hipCtxSetCurrent")           \
  ZBS_HIP(SYM, contextGet, int, (void **context), "hipCtxGetCurrent")          \
  ZBS_HIP(SYM, contextPush, int, (void *context), "hipCtxPushCurrent")         \
  ZBS_HIP(SYM, contextPop, int, (void **context), "hipCtxPopCurrent")          \
  ZBS_HIP(SYM, contextDevice, int, (int *device), "hipCtxGetDevice")           \
  ZBS_HIP(SYM, contextSynchronize, int, (void), "hipCtxSynchronize")           \
  ZBS_HIP(SYM, primaryRetain, int, (void **context, int device), "hipDevicePrimaryCtxRetain") \
  ZBS_HIP(SYM, primaryRelease, int, (int device), "hipDevicePrimaryCtxRelease") \
  ZBS_HIP(SYM, primaryReset, int, (int device), "hipDevicePrimaryCtxReset")    \
  ZBS_HIP(SYM, primaryFlags, int, (int device, unsigned flags), "hipDevicePrimaryCtxSetFlags") \
  ZBS_HIP(SYM, primaryState, int, (int device, unsigned *flags, int *active),  \
          "hipDevicePrimaryCtxGetState")

#define ZBS_MORE_VALUES(SYM)                                                   \
  ZBS_HIP(SYM, waitValue32, int,                                               \
          (void *stream, void *p, uint32_t value, unsigned flags, uint32_t mask), \
          "hipStreamWaitValue32")                                              \
  ZBS_HIP(SYM, waitValue64, int,                                               \
          (void *stream, void *p, uint64_t value, unsigned flags, uint64_t mask), \
          "hipStreamWaitValue64")                                              \
  ZBS_HIP(SYM, writeValue32, int, (void *stream, void *p, uint32_t value, unsigned flags), \
          "hipStreamWriteValue32")                                             \
  ZBS_HIP(SYM, writeValue64, int, (void *stream, void *p, uint64_t value, unsigned flags), \
          "hipStreamWriteValue64")                                             \
  ZBS_HIP(SYM, captureInfo, int, (void *stream, int *status, unsigned long long *id), \
          "hipStreamGetCaptureInfo")                                           \
  ZBS_HIP(SYM, captureMode, int, (int *mode), "hipThreadExchangeStreamCaptureMode")

#define ZBS_MORE_MANAGED(SYM)                                                  \
  ZBS_HIP(SYM, prefetch, int, (const void *p, size_t bytes, int device, void *stream), \
          "hipMemPrefetchAsync")                                               \
  ZBS_HIP(SYM, advise, int, (const void *p, size_t bytes, int advice, int device), "hipMemAdvise") \
  ZBS_HIP(SYM, chooseDevice, int, (int *device, const void *properties), "hipChooseDevice") \
  ZBS_HIP(SYM, chooseDevice6, int, (int *device, const void *properties), "hipChooseDeviceR0600")

#define ZBS_MORE_POINTERS(SYM)                                                 \
  ZBS_HIP(SYM, pointerAttribute, int, (void *data, int fact, void *p), "hipPointerGetAttribute") \
  ZBS_HIP(SYM, pointerFacts, int, (unsigned n, int *fact, void **data, void *p), \
          "hipDrvPointerGetAttributes")                                        \
  ZBS_BOTH(SYM, hostFlags, int, (unsigned *flags, void *p), "HostGetFlags")    \
  ZBS_HIP(SYM, pointerBytes, int, (void *p, size_t *bytes), "hipMemPtrGetInfo")

#define ZBS_MORE_CALLBACKS(SYM)                                                \
  ZBS_BOTH(SYM, launchHost, int, (void *stream, zbs_function *function, void *data), \
           "LaunchHostFunc")                                                   \
  ZBS_BOTH(SYM, addCallback, int,                                              \
           (void *stream, zbs_callback *callback, void *data, unsigned flags), \
           "StreamAddCallback")

#define ZBS_MORE_OCCUPANCY(SYM)                                                \
  ZBS_HIP(SYM, occupancy, int, (int *blocks, const void *function, int threads, size_t shared), \
          "hipOccupancyMaxActiveBlocksPerMultiprocessor")                      \
  ZBS_HIP(SYM, occupancyWith, int,                                             \
          (int *blocks, const void *function, int threads, size_t shared, unsigned flags), \
          "hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags")             \
  ZBS_HIP(SYM, blockSize, int,                                                 \
          (int *grid, int *block, const void *function, size_t shared, int most), \
          "hipOccupancyMaxPotentialBlockSize")                                 \
  ZBS_HIP(SYM, functionFacts, int, (void *facts, const void *function), "hipFuncGetAttributes") \
  ZBS_HIP(SYM, functionSet, int, (const void *function, int attribute, int value), \
          "hipFuncSetAttribute")                                               \
  ZBS_HIP(SYM, functionCache, int, (const void *function, int config), "hipFuncSetCacheConfig") \
  ZBS_HIP(SYM, functionBanks, int, (const void *function, int config), "hipFuncSetSharedMemConfig") \
  ZBS_HIP(SYM, launchTimed, int,                                               \
          (const void *function, zbs_dim3 grid, zbs_dim3 block, void **params, \
           size_t shared, void *stream, void *start, void *stop, int flags),   \
          "hipExtLaunchKernel")

#define ZBS_MORE_QUERIES(SYM)                                                  \
  ZBS_HIP(SYM, linkType, int, (int device, int peer, uint32_t *type, uint32_t *hops), \
          "hipExtGetLinkTypeAndHopCount")                                      \
  ZBS_HIP(SYM, peerAttribute, int, (int *value, int link, int device, int peer), \
          "hipDeviceGetP2PAttribute")                                          \
  ZBS_HIP(SYM, setLimit, int, (int limit, size_t value), "hipDeviceSetLimit")  \
  ZBS_HIP(SYM, getLimit, int, (size_t *value, int limit), "hipDeviceGetLimit") \
  ZBS_HIP(SYM, deviceFlags, int, (unsigned *flags), "hipGetDeviceFlags")       \
  ZBS_HIP(SYM, deviceUUID, int, (void *uuid, int device), "hipDeviceGetUuid")  \
  ZBS_HIP(SYM, streamDevice, int, (void *stream, int *device), "hipStreamGetDevice")

#define ZBS_MORE_POOLS(SYM)                                                    \
  ZBS_BOTH(SYM, firstPool, int, (void **pool, int device), "DeviceGetDefaultMemPool") \
  ZBS_BOTH(SYM, setPool, int, (int device, void *pool), "DeviceSetMemPool")    \
  ZBS_BOTH(SYM, getPool, int, (void **pool, int device), "DeviceGetMemPool")   \
  ZBS_BOTH(SYM, createPool, int, (void **pool, const void *props), "MemPoolCreate") \
  ZBS_BOTH(SYM, destroyPool, int, (void *pool), "MemPoolDestroy")              \
  ZBS_BOTH(SYM, trimPool, int, (void *pool, size_t bytes), "MemPoolTrimTo")    \
  ZBS_BOTH(SYM, setPoolFact, int, (void *pool, int about, void *value), "MemPoolSetAttribute") \
  ZBS_BOTH(SYM, getPoolFact, int, (void *pool, int about, void *value), "MemPoolGetAttribute") \
  ZBS_BOTH(SYM, setPoolAccess, int, (void *pool, const void *list, size_t count), "MemPoolSetAccess") \
  ZBS_BOTH(SYM, getPoolAccess, int, (int *access, void *pool, void *location), "MemPoolGetAccess") \
  ZBS_BOTH(SYM, mallocFrom, int, (void **p, size_t bytes, void *pool, void *stream), \
           "MallocFromPoolAsync")

#define ZBS_MORE_HIP(SYM)                                                      \
  ZBS_MORE_POOLS(SYM)                                                          \
  ZBS_MORE_CODE(SYM)                                                           \
  ZBS_MORE_CONTEXTS(SYM)                                                       \
  ZBS_MORE_VALUES(SYM)                                                         \
  ZBS_MORE_MANAGED(SYM)                                                        \
  ZBS_MORE_IPC(SYM)                                                            \
  ZBS_MORE_OCCUPANCY(SYM)                                                      \
  ZBS_MORE_QUERIES(SYM)                                                        \
  ZBS_MORE_CALLBACKS(SYM)                                                      \
  ZBS_MORE_ROWS(SYM)                                                           \
  ZBS_MORE_POINTERS(SYM)

#endif
