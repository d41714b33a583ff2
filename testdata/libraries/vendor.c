/* A vendor's library as far as dlopen sees it: the required names, no device.
 * One file makes both, so that the test needs no vendor's package. */
#ifdef CUDA
#define RT(name) cuda##name
#define VERSION 12040
#else
#define RT(name) hip##name
#define VERSION 60000000
#endif
#ifndef COUNT_FAULT
#define COUNT_FAULT 100
#endif

#ifdef RUNTIME
int RT(GetDeviceCount)(int *count) { *count = 0; return COUNT_FAULT; }
int RT(RuntimeGetVersion)(int *version) { *version = VERSION; return 0; }
#ifdef CUDA
int cudaDriverGetVersion(int *version) { *version = 11080; return 0; }
#endif
const char *RT(GetErrorString)(int error) { return error ? "error" : "ok"; }
int RT(SetDevice)(int device) { return device ? 101 : 0; }
int RT(Malloc)(void) { return 100; }
int RT(Free)(void) { return 100; }
int RT(MemGetInfo)(void) { return 100; }
int RT(StreamCreateWithFlags)(void) { return 100; }
int RT(StreamDestroy)(void) { return 100; }
int RT(DeviceGetAttribute)(void) { return 100; }
int RT(EventCreate)(void) { return 100; }
int RT(EventDestroy)(void) { return 100; }
int RT(EventRecord)(void) { return 100; }
int RT(EventElapsedTime)(void) { return 100; }
int RT(Memcpy)(void) { return 100; }
int RT(MemcpyAsync)(void) { return 100; }
#ifndef LACKS_QUERY
int RT(StreamQuery)(void) { return 100; }
#endif
#endif

#ifdef COLLECTIVES
#ifdef ASKS /* a library of the system's, in the version that it was built with */
int asked(void);
int ncclAsks(void) { return asked(); }
#endif
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
#ifdef ALL_TO_ALL /* under one of its names */
int ALL_TO_ALL(void) { return 1; }
#endif
#endif

#ifdef DRIVER
int cuLaunchKernel(void) { return 100; }
#endif
