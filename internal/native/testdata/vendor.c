/* A vendor's library as far as dlopen sees it: the required names, no device.
 * One file makes both, so that the test needs no vendor's package. */
#ifdef RUNTIME
int hipGetDeviceCount(int *count) { *count = 0; return 100; }
int hipRuntimeGetVersion(int *version) { *version = 60000000; return 0; }
const char *hipGetErrorString(int error) { return error ? "error" : "ok"; }
int hipSetDevice(int device) { return device ? 101 : 0; }
int hipMalloc(void) { return 100; }
int hipFree(void) { return 100; }
int hipMemGetInfo(void) { return 100; }
int hipStreamCreateWithFlags(void) { return 100; }
int hipStreamDestroy(void) { return 100; }
int hipDeviceGetAttribute(void) { return 100; }
int hipEventCreate(void) { return 100; }
int hipEventDestroy(void) { return 100; }
int hipEventRecord(void) { return 100; }
int hipEventElapsedTime(void) { return 100; }
int hipMemcpy(void) { return 100; }
int hipMemcpyAsync(void) { return 100; }
#ifndef LACKS_QUERY
int hipStreamQuery(void) { return 100; }
#endif
#endif

#ifdef COLLECTIVES
int ncclGetVersion(int *version) { *version = 22203; return 0; }
const char *ncclGetErrorString(int error) { return error ? "error" : "ok"; }
int ncclGetUniqueId(void) { return 1; }
int ncclCommInitRank(void) { return 1; }
int ncclCommDestroy(void) { return 1; }
int ncclGroupStart(void) { return 1; }
int ncclGroupEnd(void) { return 1; }
int ncclAllReduce(void) { return 1; }
int ncclReduceScatter(void) { return 1; }
int ncclAllGather(void) { return 1; }
int ncclBroadcast(void) { return 1; }
int ncclReduce(void) { return 1; }
int ncclSend(void) { return 1; }
int ncclRecv(void) { return 1; }
#endif
