/* Calls that the real libraries refuse, and what they look like when they are taken, each
 * with the source. It knows the loopback by the public names of its functions. One thread
 * drives eight devices. */

/* The functions of the loopback's shared libraries under their fields' names, and a world. */
#include "../c/shared/more.h"

#include <elf.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <sys/wait.h>
#include <unistd.h>

#define NAMED(ret, field, args, name) ret field args __asm__(name);
#define UNNAMED(ret, field, args, name)
#define NAMED_ZB_RUNTIME NAMED
#define NAMED_ZB_COLLECTIVES NAMED
#define NAMED_ZB_COMPILER UNNAMED
#define NAMED_ZB_DRIVER UNNAMED
#define NAMED_ZB_LOOPBACK UNNAMED
#define NAMED_ZB_NONE UNNAMED
#define PASTE(library, ret, field, args, name) NAMED_##library(ret, field, args, name)
#define DECLARED(field, need, ret, args, rlib, rname, ...) PASTE(rlib, ret, field, args, rname)
#define DECLARE(...) DECLARED(__VA_ARGS__)
ZB_SYMBOLS(DECLARE)
ZBS_MORE(DECLARE)

/* The first failure ends the program: what comes after it might wait for ever. */
#define IS(want, call)                                                             \
  do {                                                                             \
    int got = (call);                                                              \
    if (got != (want)) {                                                           \
      printf("%s:%d: %s is %d, not %s\n", __func__, __LINE__, #call, got, #want);  \
      exit(1);                                                                     \
    }                                                                              \
  } while (0)
#define CHECK(what) IS(1, !!(what))

enum { DEVICES = 8, COUNT = 256, SIZE = COUNT * 4, INT32 = 2, FLOAT = 7, SUM = 0 };

enum { DESTROYED = 709 }; /* hipErrorContextIsDestroyed: HIP has no such stream */

static void *comm[DEVICES], *stream[DEVICES];
static char *in[DEVICES], *out[DEVICES];
static char plain[SIZE];

static void open_all(void) {
  IS(0, commInitAll(comm, DEVICES, NULL));
  for (int i = 0; i < DEVICES; i++) {
    IS(0, setDevice(i));
    IS(0, streamCreate(&stream[i], ZB_STREAM_NON_BLOCKING));
    IS(0, mallocDevice((void **)&in[i], SIZE));
    IS(0, mallocDevice((void **)&out[i], SIZE));
  }
  IS(0, setDevice(0));
}

static void close_all(void) {
  for (int i = 0; i < DEVICES; i++) {
    IS(0, commDestroy(comm[i]));
    IS(ZB_COLL_ARGUMENT, commDestroy(comm[i]));
    IS(0, streamDestroy(stream[i]));
  }
}

/* HIP's refusals. Files of ROCm/clr are those of hipamd/src at rocm-6.2.2. */

/* A handle that was never given out. */
static char none[512];

/* hip_device.cpp, hip_device_runtime.cpp and hip_peer.cpp. */
static void devices(void) {
  int n = -1, m = -1, value = -1;
  char name[64], properties[2048];
  IS(ZB_ERR_VALUE, init(1));
  IS(0, init(0));
  IS(ZB_ERR_VALUE, getDevice(NULL));
  IS(ZB_ERR_VALUE, deviceGet(NULL, 0));
  IS(ZB_ERR_DEVICE, deviceGet(&n, -1));
  IS(ZB_ERR_DEVICE, deviceGet(&n, DEVICES));
  for (int bad = -1; bad <= DEVICES; bad += DEVICES + 1) {
    IS(ZB_ERR_DEVICE, setDevice(bad));
    IS(ZB_ERR_DEVICE, deviceAttribute(&value, 87, bad));
    IS(ZB_ERR_DEVICE, deviceName(name, sizeof name, bad));
    IS(ZB_ERR_DEVICE, devicePCI(name, sizeof name, bad));
    IS(ZB_ERR_DEVICE, canAccessPeer(&n, bad, 0));
    IS(ZB_ERR_DEVICE, canAccessPeer(&n, 0, bad));
    IS(ZB_ERR_DEVICE, enablePeerAccess(bad, 0));
    IS(ZB_ERR_DEVICE, properties0(properties, bad));
    IS(ZB_ERR_DEVICE, properties0600(properties, bad));
    IS(ZB_ERR_DEVICE, deviceCapability(&n, &m, bad));
    IS(ZB_ERR_DEVICE, copyPeer(out[1], bad, in[0], 0, 4));
    IS(ZB_ERR_DEVICE, copyPeer(out[1], 1, in[0], bad, 4));
    IS(ZB_ERR_DEVICE, copyPeerAsync(out[1], bad, in[0], 0, 4, NULL));
    IS(ZB_ERR_DEVICE, copyPeerAsync(out[1], 1, in[0], bad, 4, NULL));
  }
  size_t bytes;
  IS(ZB_ERR_DEVICE, deviceMemory(&bytes, DEVICES));
  IS(ZB_ERR_VALUE, deviceAttribute(&value, 99999, 0));
  IS(ZB_ERR_VALUE, deviceName(NULL, sizeof name, 0));
  IS(ZB_ERR_VALUE, deviceName(name, 0, 0));
  IS(ZB_ERR_VALUE, devicePCI(NULL, sizeof name, 0));
  IS(ZB_ERR_VALUE, devicePCI(name, 12, 0));
  IS(0, devicePCI(name, 13, 3));
  IS(0, deviceByPCI(&n, name));
  CHECK(n == 3);
  IS(ZB_ERR_VALUE, deviceByPCI(NULL, name));
  IS(ZB_ERR_VALUE, deviceByPCI(&n, NULL));
  IS(ZB_ERR_VALUE, deviceByPCI(&n, "no address"));
  IS(ZB_ERR_VALUE, deviceByPCI(&n, "0000:f0:00.0"));
  IS(ZB_ERR_VALUE, deviceByPCI(&n, "ffffffff:00:00.0"));
  IS(ZB_ERR_VALUE, properties0(NULL, 0));
  IS(ZB_ERR_VALUE, deviceCapability(NULL, &m, 0));
  IS(ZB_ERR_VALUE, canAccessPeer(NULL, 0, 1));
  IS(0, canAccessPeer(&n, 0, 0));
  CHECK(n == 0);
  IS(ZB_ERR_DEVICE, enablePeerAccess(0, 0)); /* the current one itself */
  IS(ZB_ERR_VALUE, enablePeerAccess(1, 1));
  IS(0, enablePeerAccess(1, 0));
  IS(704, enablePeerAccess(1, 0));
  IS(0, disablePeerAccess(1));
  IS(705, disablePeerAccess(1));
}

/* hip_memory.cpp, hip_hmm.cpp and hip_mempool.cpp. Unknown functions' flags are HIP's
 * macros in hip_runtime_api.h. */
static void memory(void) {
  enum { SIGNAL = 2, AFTER_LAST = 5, REGISTER_LAST = 15 };
  const unsigned coherent = 0x40000000, not_coherent = 0x80000000;
  static char own[64];
  char attributes[64];
  void *p, *host;
  size_t bytes;
  IS(ZB_ERR_VALUE, mallocDevice(NULL, 4));
  IS(ZB_ERR_VALUE, mallocHost(NULL, 4));
  IS(ZB_ERR_VALUE, extMalloc(&p, 4, AFTER_LAST));
  IS(ZB_ERR_VALUE, extMalloc(&p, 16, SIGNAL));
  IS(0, extMalloc(&p, 8, SIGNAL));
  IS(ZB_ERR_VALUE, freeDevice((char *)p + 1));
  IS(0, freeDevice(p));
  IS(ZB_ERR_VALUE, freeDevice(p));
  IS(ZB_ERR_VALUE, mallocManaged(&p, 4, 3));
  IS(0, mallocManaged(&p, 4, 2));
  IS(0, freeDevice(p));
  IS(ZB_ERR_VALUE, hostMalloc(&p, 4, coherent | not_coherent));
  IS(0, hostMalloc(&host, 4096, coherent));
  IS(ZB_ERR_VALUE, hostRegister(NULL, 64, 0));
  IS(ZB_ERR_VALUE, hostRegister(own, 0, 0));
  IS(ZB_ERR_VALUE, hostRegister(own, 64, REGISTER_LAST + 1));
  IS(0, hostRegister(own, 64, REGISTER_LAST));
  IS(712, hostRegister(own, 64, 0)); /* CUDA Runtime API, cudaHostRegister */
  IS(ZB_ERR_VALUE, hostPointer(NULL, own, 0));
  IS(ZB_ERR_VALUE, hostPointer(&p, own, 1));
  IS(ZB_ERR_VALUE, hostPointer(&p, plain, 0));
  IS(0, hostPointer(&p, own + 5, 0));
  CHECK(p == own + 5);
  IS(0, hostPointer(&p, in[0], 0)); /* any memory that HIP knows */
  IS(ZB_ERR_VALUE, hostUnregister(NULL));
  IS(713, hostUnregister(plain));
  IS(713, hostUnregister(own + 1));
  IS(713, hostUnregister(host));
  IS(0, hostUnregister(own));
  IS(0, hostFree(host));
  IS(ZB_ERR_HANDLE, mallocAsync(&p, 4, none));
  IS(ZB_ERR_VALUE, freeAsync(NULL, NULL));
  IS(ZB_ERR_HANDLE, freeAsync(in[0], none));
  IS(ZB_ERR_VALUE, pointerAttributes(NULL, in[0]));
  IS(ZB_ERR_VALUE, pointerAttributes(attributes, NULL));
  IS(ZB_ERR_VALUE, addressRange(NULL, &bytes, in[0]));
  IS(ZB_ERR_VALUE, addressRange(&p, NULL, in[0]));
}

/* hip_memory.cpp, ihipMemcpy_validate and ihipMemset_validate: a pointer by where it
 * points, for each way to copy. */
static void copies(void) {
  static const int kinds[] = {ZB_HOST_TO_HOST, ZB_TO_DEVICE, ZB_TO_HOST, ZB_DEVICE_TO_DEVICE, ZB_INFERRED};
  void *freed, *managed, *host;
  const struct {
    char *p;
    size_t room; /* 0: no copy goes there */
  } places[] = {{in[0], SIZE}, {in[7], SIZE}, {in[0] + 8, SIZE - 8}, {in[0] + SIZE - 1, 1}, {NULL, 0}, {plain, SIZE}};
  IS(0, mallocManaged(&managed, SIZE, 1));
  IS(0, mallocHost(&host, SIZE));
  IS(0, mallocDevice(&freed, SIZE));
  IS(0, freeDevice(freed));
  for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
    size_t room = places[i].room;
    char *p = places[i].p;
    int past = p == plain ? 0 : ZB_ERR_VALUE; /* nobody knows where plain memory ends */
    char *from = out[0];
    for (int k = 0; k < 5; k++) {
      IS(room > 0 ? 0 : ZB_ERR_VALUE, copy(p, from, room > 0 ? room : 1, kinds[k]));
      IS(room > 0 ? 0 : ZB_ERR_VALUE, copy(from, p, room > 0 ? room : 1, kinds[k]));
      IS(room > 0 ? 0 : ZB_ERR_VALUE, copyAsync(p, from, room > 0 ? room : 1, kinds[k], stream[0]));
      if (past != 0) {
        IS(past, copy(p, managed, room + 1, kinds[k]));
        IS(past, copyAsync(host, p, room + 1, kinds[k], stream[0]));
      }
    }
    IS(p == plain || room == 0 ? ZB_ERR_VALUE : 0, set(p, 1, room > 0 ? room : 1));
    IS(0, copy(p, NULL, 0, ZB_INFERRED)); /* nothing to copy */
    IS(0, set(p, 1, 0));
  }
  IS(ZB_ERR_VALUE, set(freed, 1, 1));
  IS(ZB_ERR_VALUE, setAsync(in[0], 1, SIZE + 1, stream[0]));
  IS(DESTROYED, setAsync(in[0], 1, 1, none));
  IS(DESTROYED, copyAsync(in[0], out[0], 1, ZB_INFERRED, none));
  IS(ZB_ERR_DIRECTION, copy(in[0], out[0], 1, -1));
  IS(ZB_ERR_DIRECTION, copyAsync(in[0], out[0], 1, 5, stream[0]));
  IS(ZB_ERR_VALUE, copyWithStream(in[0], NULL, 1, ZB_INFERRED, stream[0]));
  IS(0, copyPeer(out[1], 1, in[0], 0, 4));
  IS(0, copyPeerAsync(out[1], 1, in[0], 0, 4, NULL));
  IS(0, hostFree(host));
  IS(0, freeDevice(managed));
}

/* hip_stream.cpp. */
static void streams(void) {
  void *s;
  unsigned flags = 9;
  int n = 9;
  IS(ZB_ERR_VALUE, streamCreate(NULL, 0));
  IS(ZB_ERR_VALUE, streamCreatePlain(NULL));
  IS(ZB_ERR_VALUE, streamCreate(&s, 2));
  IS(0, streamDestroy(NULL)); /* HIP: an invalid handle. rccl-tests -y 1 does it. */
  IS(DESTROYED, streamDestroy(none));
  IS(DESTROYED, streamQuery(none));
  IS(DESTROYED, streamSynchronize(none));
  IS(DESTROYED, streamGetPriority(none, &n));
  IS(DESTROYED, streamGetFlags(none, &flags));
  IS(ZB_ERR_VALUE, streamGetFlags(stream[0], NULL));
  IS(ZB_ERR_VALUE, streamGetFlags(NULL, &flags));
  IS(0, streamGetFlags(stream[0], &flags));
  CHECK(flags == ZB_STREAM_NON_BLOCKING);
  IS(DESTROYED, streamIsCapturing(none, &n));
  IS(ZB_ERR_VALUE, streamIsCapturing(stream[0], NULL));
  IS(0, streamIsCapturing(stream[0], &n));
  CHECK(n == 0);
}

/* Memory in rows and words, and what is asked of addresses. Files of ROCm/clr are those of
 * hipamd/src at rocm-6.2.2. */

enum { PITCH = 64, ROWS = 3, ERR_PITCH = 12 };

/* hip_memory.cpp, ihipMallocPitch and hipMemAllocPitch. */
static void rows_are_made(void) {
  void *p = out;
  size_t pitch = 0;
  IS(ZB_ERR_VALUE, mallocRows(NULL, &pitch, 5, 2));
  IS(ZB_ERR_VALUE, mallocRows(&p, NULL, 5, 2));
  IS(ZB_ERR_VALUE, mallocRows(&p, &pitch, SIZE_MAX - 3, 2));
  IS(ZB_ERR_MEMORY, mallocRows(&p, &pitch, SIZE_MAX / 2, 4));
  IS(0, mallocRows(&p, &pitch, 0, 2));
  CHECK(p == NULL);
  IS(0, mallocRows(&p, &pitch, 257, 2));
  CHECK(pitch == 512);
  IS(0, set(p, 1, 1024));
  IS(ZB_ERR_VALUE, set(p, 1, 1025));
  IS(0, freeDevice(p));
  for (unsigned element = 0; element < 20; element++) {
    int known = element == 4 || element == 8 || element == 16;
    IS(known ? 0 : ZB_ERR_VALUE, mallocRowsOf(&p, &pitch, 12, 2, element));
    IS(0, known ? freeDevice(p) : 0);
  }
  IS(ZB_ERR_VALUE, mallocRowsOf(&p, &pitch, 0, 2, 4));
  IS(ZB_ERR_VALUE, mallocRowsOf(&p, &pitch, 12, 0, 4));
}

/* hip_memory.cpp, hipMemcpy2D_common, ihipMemcpy2D and ihipMemcpyHtoDValidate. */
static void rows_are_copied(void) {
  char host[ROWS][PITCH], back[ROWS][PITCH] = {{0}};
  char *device = in[0], *other = out[1];
  for (int i = 0; i < ROWS * PITCH; i++) {
    host[i / PITCH][i % PITCH] = (char)i;
  }
  IS(ZB_ERR_DIRECTION, copyRows(device, PITCH, host, PITCH, 8, ROWS, 5));
  IS(ZB_ERR_DIRECTION, copyRowsAsync(device, PITCH, host, PITCH, 8, ROWS, -1, NULL));
  IS(ZB_ERR_DIRECTION, copyRows(device, 7, host, 7, 8, ROWS, 5)); /* before the pitch */
  IS(ZB_ERR_DIRECTION, copyRows(device, 7, host, 7, 0, ROWS, -1));
  IS(ERR_PITCH, copyRows(device, 7, host, PITCH, 8, ROWS, ZB_TO_DEVICE));
  IS(ERR_PITCH, copyRows(device, PITCH, host, 7, 8, ROWS, ZB_TO_DEVICE));
  IS(0, copyRows(device, 7, host, 7, 8, 0, ZB_TO_DEVICE)); /* nothing to copy */
  IS(0, copyRows(device, 7, host, 7, 0, ROWS, ZB_TO_DEVICE));
  IS(DESTROYED, copyRowsAsync(device, PITCH, host, PITCH, 8, ROWS, ZB_TO_DEVICE, none));
  IS(ZB_ERR_VALUE, copyRows(NULL, PITCH, host, PITCH, 8, ROWS, ZB_TO_DEVICE));
  IS(ZB_ERR_VALUE, copyRows(device, PITCH, NULL, PITCH, 8, ROWS, ZB_TO_DEVICE));
  /* the last row ends where the memory ends, and a byte later */
  IS(0, copyRows(device + SIZE - 2 * PITCH - 8, PITCH, host, PITCH, 8, ROWS, ZB_TO_DEVICE));
  IS(ZB_ERR_VALUE, copyRows(device + SIZE - 2 * PITCH - 7, PITCH, host, PITCH, 8, ROWS, ZB_TO_DEVICE));
  IS(ZB_ERR_VALUE, copyRowsAsync(host, PITCH, device, SIZE, 8, 2, ZB_TO_HOST, stream[0]));
  IS(ZB_ERR_VALUE, copyRows(device, SIZE_MAX / 2, host, PITCH, 8, 4, ZB_TO_DEVICE));
  IS(0, set(device, 9, SIZE));
  IS(0, copyRows(device + 3, 16, host, PITCH, 8, ROWS, ZB_TO_DEVICE));
  IS(0, copyRowsAsync(other, 24, device + 3, 16, 8, ROWS, ZB_DEVICE_TO_DEVICE, stream[1]));
  IS(0, streamSynchronize(stream[1]));
  IS(0, copyRows(back, PITCH, other, 24, 8, ROWS, ZB_INFERRED));
  for (int row = 0; row < ROWS; row++) {
    CHECK(memcmp(back[row], host[row], 8) == 0 && back[row][8] == 0);
  }
  IS(0, copy(back, device, 20, ZB_TO_HOST));
  CHECK(back[0][2] == 9 && back[0][3] == 0 && back[0][10] == 7 && back[0][11] == 9);
}

/* hip_memory.cpp, ihipMemset, ihipMemset3D_validate and ihipMemset3DCommand. */
static void words_are_set(void) {
  unsigned char seen[SIZE];
  char *p = in[0];
  void *host;
  IS(0, setBytes(p, 0xfe, SIZE));
  IS(0, setHalvesAsync(p + 2, 0x1234, 3, stream[0]));
  IS(0, setWordsAsync(p + 8, 0x01020304, 2, stream[0]));
  IS(0, setBytesAsync(p + 16, 5, 1, stream[0]));
  IS(0, streamSynchronize(stream[0]));
  IS(0, copy(seen, p, SIZE, ZB_TO_HOST));
  CHECK(memcmp(seen, "\xfe\xfe\x34\x12\x34\x12\x34\x12\4\3\2\1\4\3\2\1\5\xfe", 18) == 0 && seen[SIZE - 1] == 0xfe);
  IS(0, setHalves(p, 0x0605, SIZE / 2));
  IS(0, setWords(p + 4, -2, 1));
  IS(0, setRows(p + 16, 8, 3, 4, 2));
  IS(0, setRowsAsync(p + 32, 4, 4, 4, 2, stream[0]));
  IS(0, streamSynchronize(stream[0]));
  IS(0, copy(seen, p, SIZE, ZB_TO_HOST));
  CHECK(memcmp(seen, "\5\6\5\6\xfe\xff\xff\xff\5\6\5\6\5\6\5\6\3\3\3\3\5\6\5\6\3\3\3\3\5\6\5\6\4\4\4\4\4\4\4\4\5", 41) == 0);
  IS(ZB_ERR_VALUE, setBytes(p, 1, SIZE + 1));
  IS(ZB_ERR_VALUE, setHalves(p, 1, SIZE / 2 + 1));
  IS(ZB_ERR_VALUE, setWordsAsync(p, 1, SIZE / 4 + 1, stream[0]));
  IS(ZB_ERR_VALUE, setRows(p, 8, 1, 9, 2)); /* rows overlap */
  IS(0, setRows(p, 0, 1, 9, 1));
  IS(ZB_ERR_VALUE, setRows(p, SIZE, 1, 1, 2));
  IS(0, setRows(p, SIZE - 1, 1, 1, 2));
  IS(0, setRows(NULL, 8, 1, 0, 2));
  IS(0, setRows(NULL, 8, 1, 8, 0));
  IS(ZB_ERR_VALUE, setRowsAsync(plain, 8, 1, 8, 2, stream[0]));
  IS(0, hostMalloc(&host, 8, 0));
  IS(0, setWords(host, 7, 2)); /* and has waited for it */
  CHECK(((int *)host)[1] == 7);
  IS(0, hostFree(host));
}

/* hip_memory.cpp, ihipPointerGetAttributes; 17 attributes of hip_runtime_api.h. */
static void addresses_are_asked(void) {
  static const int unsupported[] = {1, 5, 10, 14, 15, 17};
  int fact[] = {2, 9, 12}, device = 7;
  unsigned type = 9, bytes = 9;
  void *answers[] = {&type, &device, &bytes}, *p = NULL, *managed;
  char data[8], yes = 0;
  IS(ZB_ERR_VALUE, pointerAttribute(NULL, 2, in[0]));
  IS(ZB_ERR_VALUE, pointerAttribute(&type, 2, NULL));
  IS(ZB_ERR_VALUE, pointerAttribute(data, 0, in[0]));
  IS(ZB_ERR_VALUE, pointerAttribute(data, 18, in[0]));
  for (int i = 0; i < 6; i++) {
    IS(ZB_ERR_NOT_SUPPORTED, pointerAttribute(data, unsupported[i], in[0]));
  }
  IS(0, pointerFacts(3, fact, answers, in[3] + 5));
  CHECK(type == 2 && device == 3 && bytes == SIZE);
  IS(0, pointerFacts(3, fact, answers, plain)); /* none is known, which is no error */
  CHECK(type == 0 && device == -2 && bytes == 0);
  IS(ZB_ERR_VALUE, pointerFacts(0, fact, answers, in[0]));
  IS(ZB_ERR_VALUE, pointerFacts(3, NULL, answers, in[0]));
  IS(ZB_ERR_VALUE, pointerFacts(3, fact, NULL, in[0]));
  IS(ZB_ERR_VALUE, pointerFacts(3, fact, answers, NULL));
  for (int known = 2; known <= 13; known++) {
    if (known != 5 && known != 10) {
      IS(ZB_ERR_VALUE, pointerAttribute(data, known, plain));
    }
  }
  IS(0, pointerAttribute(data, 16, plain)); /* of the flags alone it is none */
  IS(0, pointerAttribute(&p, 3, in[0] + 5));
  CHECK(p == in[0] + 5);
  IS(ZB_ERR_VALUE, pointerAttribute(&p, 4, in[0] + 5)); /* the host does not reach it */
  CHECK(p == NULL);
  IS(0, pointerAttribute(&p, 11, in[0] + 5));
  CHECK(p == in[0]);
  IS(0, pointerAttribute(&bytes, 7, in[0]));
  IS(0, pointerAttribute(&type, 7, in[1]));
  CHECK(bytes != type);
  IS(0, pointerAttribute(&yes, 13, in[0]));
  CHECK(yes == 1);
  IS(0, pointerAttribute(&yes, 6, in[0]));
  CHECK(yes == 0);
  IS(0, mallocManaged(&managed, 64, 2));
  IS(0, pointerAttribute(&yes, 8, managed));
  IS(0, pointerAttribute(&p, 4, managed));
  IS(0, pointerAttribute(&type, 16, managed));
  CHECK(yes == 1 && p == managed && type == 2);
  IS(0, freeDevice(managed));
}

/* hip_memory.cpp, hipHostGetFlags and hipMemPtrGetInfo. */
static void flags_of_memory(void) {
  static char own[64];
  unsigned flags = 9;
  size_t bytes;
  void *p;
  IS(0, hostMalloc(&p, 64, 3));
  IS(ZB_ERR_VALUE, hostFlags(NULL, p));
  IS(ZB_ERR_VALUE, hostFlags(&flags, NULL));
  IS(ZB_ERR_VALUE, hostFlags(&flags, plain));
  IS(ZB_ERR_VALUE, hostFlags(&flags, in[0]));
  IS(0, hostFlags(&flags, (char *)p + 1));
  CHECK(flags == 3);
  IS(0, hostRegister(own, sizeof own, 1));
  IS(ZB_ERR_VALUE, hostFlags(&flags, own));
  IS(0, hostUnregister(own));
  IS(ZB_ERR_VALUE, pointerBytes(p, NULL));
  IS(ZB_ERR_VALUE, pointerBytes(plain, &bytes));
  IS(0, pointerBytes((char *)p + 1, &bytes));
  CHECK(bytes == 64);
  IS(0, hostFree(p));
}

static void memory_of_programs(void) {
  rows_are_made();
  rows_are_copied();
  words_are_set();
  addresses_are_asked();
  flags_of_memory();
}

/* Handles that are none: pointers to nothing, into other things, to what is gone, and handles
 * of another kind. Each function says what it says of a handle that never was; none reads
 * through it. Files of ROCm/clr are those of hipamd/src at rocm-6.2.2. */

enum { OF_STREAM, OF_EVENT, OF_GRAPH, OF_EXEC, OF_MODULE, OF_FUNCTION, OF_POOL, HANDLES };

/* hip_stream.cpp, hip_graph.cpp, hip_memory.cpp and hip_mempool.cpp. */
static void no_stream(void *h) {
  const zbs_dim3 one = {1, 1, 1};
  void *p;
  unsigned flags;
  int n;
  IS(DESTROYED, streamDestroy(h));
  IS(DESTROYED, streamQuery(h));
  IS(DESTROYED, streamSynchronize(h));
  IS(DESTROYED, streamGetFlags(h, &flags));
  IS(DESTROYED, streamGetPriority(h, &n));
  IS(DESTROYED, streamIsCapturing(h, &n));
  IS(DESTROYED, streamDevice(h, &n));
  IS(DESTROYED, streamBeginCapture(h, ZB_CAPTURE_RELAXED));
  IS(DESTROYED, streamEndCapture(h, &p));
  IS(DESTROYED, copyAsync(in[0], out[0], 4, ZB_INFERRED, h));
  IS(DESTROYED, setAsync(in[0], 1, 4, h));
  IS(ZB_ERR_HANDLE, mallocAsync(&p, 4, h));
  IS(ZB_ERR_HANDLE, freeAsync(in[0], h));
  IS(ZB_ERR_VALUE, launchFunction(&one, one, one, NULL, 0, h));
  IS(ZB_COLL_ARGUMENT, allReduce(in[0], out[0], 4, FLOAT, SUM, comm[0], h));
}

/* hip_event.cpp: of one that is gone HIP tells only where it is destroyed. */
static void no_event(void *h) {
  float ms;
  IS(DESTROYED, eventDestroy(h));
  IS(ZB_ERR_HANDLE, eventQuery(h));
  IS(ZB_ERR_HANDLE, eventSynchronize(h));
  IS(ZB_ERR_HANDLE, eventRecord(h, stream[0]));
  IS(ZB_ERR_HANDLE, eventElapsed(&ms, h, h));
  IS(ZB_ERR_HANDLE, streamWaitEvent(stream[0], h, 0));
}

/* hip_graph.cpp. */
static void no_graph(void *h) {
  void *exec;
  IS(ZB_ERR_STATE, graphDestroy(h));
  IS(ZB_ERR_VALUE, graphInstantiate(&exec, h, 0));
  IS(ZB_ERR_VALUE, graphInstantiateLog(&exec, h, NULL, NULL, 0));
}

static void no_exec(void *h) {
  IS(ZB_ERR_VALUE, graphExecDestroy(h));
  IS(ZB_ERR_VALUE, graphLaunch(h, stream[0]));
}

/* hip_module.cpp and hip_platform.cpp. */
static void no_module(void *h) {
  void *function;
  IS(ZB_ERR_NOT_FOUND, moduleUnload(h));
  IS(ZB_ERR_NOT_FOUND, moduleFunction(&function, h, "fill"));
}

static void no_function(void *h) {
  IS(ZB_ERR_HANDLE, launchKernel(h, 1, 1, 1, 1, 1, 1, 0, stream[0], NULL, NULL));
}

/* hip_mempool.cpp. */
static void no_pool(void *h) {
  void *p;
  IS(ZB_ERR_VALUE, destroyPool(h));
  IS(ZB_ERR_VALUE, trimPool(h, 0));
  IS(ZB_ERR_VALUE, mallocFrom(&p, 4, h, stream[0]));
}

static void (*const no_handle[])(void *) = {no_stream, no_event, no_graph, no_exec,
                                            no_module, no_function, no_pool};

/* One handle of each kind that a program without kernels of zbench's can have. */
static void make_handles(void *h[HANDLES]) {
  IS(0, streamCreate(&h[OF_STREAM], ZB_STREAM_NON_BLOCKING));
  IS(0, eventCreate(&h[OF_EVENT]));
  IS(0, streamBeginCapture(h[OF_STREAM], ZB_CAPTURE_RELAXED));
  IS(0, setAsync(in[0], 1, 4, h[OF_STREAM]));
  IS(0, streamEndCapture(h[OF_STREAM], &h[OF_GRAPH]));
  IS(0, graphInstantiate(&h[OF_EXEC], h[OF_GRAPH], 0));
  IS(0, firstPool(&h[OF_POOL], 0));
  h[OF_MODULE] = h[OF_FUNCTION] = NULL;
}

static void handles_of_other_kinds(void *h[HANDLES]) {
  for (int of = 0; of < HANDLES; of++) {
    for (int is = 0; is < HANDLES; is++) {
      if (of != is && h[is] != NULL) {
        no_handle[of](h[is]);
      }
    }
  }
}

/* Addresses that are mapped or not, aligned or not, and places in and beside real handles. */
static void random_handles(void *h[HANDLES]) {
  uint64_t draw = 88172645463325252ull;
  for (int i = 0; i < 2000; i++) {
    uintptr_t p;
    draw ^= draw << 13, draw ^= draw >> 7, draw ^= draw << 17; /* Marsaglia's xorshift */
    p = (uintptr_t)(draw >> (draw & 31));
    if (i % 4 == 0 && h[draw % HANDLES] != NULL) {
      p = (uintptr_t)h[draw % HANDLES] + 1 + (draw >> 32) % 200;
    } else if (i % 4 == 1) {
      p = (uintptr_t)in[0] + (draw >> 32) % SIZE;
    }
    for (int k = 0; k < HANDLES; k++) {
      if ((void *)p == h[k] || p == 0) {
        p = 1;
      }
    }
    no_handle[i % HANDLES]((void *)p);
  }
}

/* What is destroyed leaves no handle; memory that is taken again may make it one of another
 * kind. Many are made, so that the set grows, and every second goes first. */
static void stale_handles(void) {
  enum { MANY = 600 };
  static void *event[MANY], *h[HANDLES];
  for (int i = 0; i < MANY; i++) {
    IS(0, eventCreate(&event[i]));
  }
  for (int i = 0; i < MANY; i += 2) {
    IS(0, eventDestroy(event[i]));
  }
  for (int i = 1; i < MANY; i += 2) {
    IS(0, eventRecord(event[i], stream[0]));
    no_event(event[i - 1]);
  }
  for (int i = 1; i < MANY; i += 2) {
    IS(0, eventDestroy(event[i]));
    no_event(event[i]);
  }
  make_handles(h);
  IS(0, graphExecDestroy(h[OF_EXEC]));
  no_exec(h[OF_EXEC]);
  IS(0, graphDestroy(h[OF_GRAPH]));
  no_graph(h[OF_GRAPH]);
  IS(0, eventRecord(h[OF_EVENT], h[OF_STREAM]));
  IS(0, streamDestroy(h[OF_STREAM]));
  no_stream(h[OF_STREAM]);
  IS(0, streamWaitEvent(stream[0], h[OF_EVENT], 0)); /* its stream is gone: it has happened */
  IS(0, eventQuery(h[OF_EVENT]));
  IS(0, eventDestroy(h[OF_EVENT]));
}

static void handles(void) {
  void *h[HANDLES];
  make_handles(h);
  handles_of_other_kinds(h);
  random_handles(h);
  IS(0, graphLaunch(h[OF_EXEC], h[OF_STREAM])); /* nothing has hurt them */
  IS(0, streamSynchronize(h[OF_STREAM]));
  IS(0, graphExecDestroy(h[OF_EXEC]));
  IS(0, graphDestroy(h[OF_GRAPH]));
  IS(0, eventDestroy(h[OF_EVENT]));
  IS(0, streamDestroy(h[OF_STREAM]));
  stale_handles();
}

/* Functions in streams: ROCm/clr, hip_stream.cpp, hipLaunchHostFunc_common and
 * hipStreamAddCallback_common. */
static struct {
  pthread_mutex_t lock;
  int called, seen, error;
  void *stream;
} host = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void note(void *data) {
  pthread_mutex_lock(&host.lock);
  host.called++;
  host.seen = *(int *)data;
  pthread_mutex_unlock(&host.lock);
}

static void noted(void *s, int error, void *data) {
  host.stream = s;
  host.error = error;
  note(data);
}

static void naps(void *data) {
  usleep(20000);
  note(data);
}

/* A function sees what was before it in its stream, and what is behind it waits for it. */
static void functions_are_called(void) {
  enum { WORDS = 1 << 16 };
  int *words, value = 5;
  void *graph, *exec;
  IS(ZB_ERR_VALUE, launchHost(stream[0], NULL, &value));
  IS(DESTROYED, launchHost(none, note, &value));
  IS(ZB_ERR_VALUE, addCallback(stream[0], NULL, &value, 0));
  IS(ZB_ERR_VALUE, addCallback(stream[0], noted, &value, 1));
  IS(DESTROYED, addCallback(none, noted, &value, 0));
  IS(0, hostMalloc((void **)&words, WORDS * 4, 0));
  IS(0, setWordsAsync(words, 6, WORDS, stream[0]));
  IS(0, launchHost(stream[0], naps, &words[WORDS - 1]));
  IS(0, setWordsAsync(words, 7, WORDS, stream[0]));
  pthread_mutex_lock(&host.lock); /* it does not wait for this thread in the loopback */
  IS(ZB_ERR_NOT_READY, streamQuery(stream[0]));
  CHECK(host.called == 0 && words[0] == 6);
  pthread_mutex_unlock(&host.lock);
  IS(0, streamSynchronize(stream[0]));
  CHECK(host.called == 1 && host.seen == 6 && words[0] == 7);
  IS(0, addCallback(stream[1], noted, &value, 0));
  IS(0, launchHost(NULL, note, &value));
  IS(0, deviceSynchronize());
  IS(0, streamSynchronize(stream[1]));
  CHECK(host.called == 3 && host.seen == 5 && host.stream == stream[1] && host.error == 0);
  IS(0, streamBeginCapture(stream[0], ZB_CAPTURE_THREAD));
  IS(ZB_ERR_VALUE, launchHost(stream[0], NULL, &value));
  IS(0, launchHost(stream[0], note, &value));
  IS(0, streamEndCapture(stream[0], &graph));
  IS(0, graphInstantiate(&exec, graph, 0));
  CHECK(host.called == 3);
  for (int i = 0; i < 2; i++) {
    IS(0, graphLaunch(exec, stream[0]));
  }
  IS(0, streamSynchronize(stream[0]));
  CHECK(host.called == 5);
  IS(0, streamBeginCapture(stream[0], ZB_CAPTURE_THREAD));
  IS(ZB_ERR_CAPTURE, launchHost(NULL, note, &value));
  IS(ZB_ERR_CAPTURE_INVALID, streamEndCapture(stream[0], &graph));
  IS(0, graphExecDestroy(exec));
  IS(0, freeDevice(words));
}

/* On the model's clock a stream waits for as long as a function in it sleeps, and for no
 * longer. */
static void functions_take_time(void) {
  void *begin, *end;
  float ms = 0;
  int value = 1;
  IS(0, eventCreate(&begin));
  IS(0, eventCreate(&end));
  IS(0, eventRecord(begin, stream[0]));
  IS(0, launchHost(stream[0], naps, &value));
  IS(0, eventRecord(end, stream[0]));
  IS(0, streamSynchronize(stream[0]));
  IS(0, eventElapsed(&ms, begin, end));
  CHECK(getenv("LD_PRELOAD") == NULL ? ms < 20 : ms >= 20 && ms < 21);
  IS(0, eventDestroy(begin));
  IS(0, eventDestroy(end));
}

/* What is asked of kernels, devices and streams. Files of ROCm/clr are those of hipamd/src at
 * rocm-6.2.2. */

enum { ERR_FUNCTION = 98, ERR_LIMIT = 215 };

/* hip_platform.cpp: 2,048 threads of a compute unit in waves of 64, 64 KiB of shared memory,
 * 304 units. */
static void occupancies(const void *known) {
  int blocks = 9, grid = 9, block = 9;
  IS(ZB_ERR_VALUE, occupancy(NULL, known, 64, 0));
  IS(ERR_FUNCTION, occupancy(&blocks, none, 64, 0));
  IS(ZB_ERR_VALUE, occupancy(&blocks, known, 0, 0));
  IS(ZB_ERR_VALUE, occupancyWith(&blocks, known, 64, 0, 2));
  IS(0, occupancyWith(&blocks, known, 65, 0, 1));
  CHECK(blocks == 16);
  IS(0, occupancy(&blocks, known, 64, 10000));
  CHECK(blocks == 6);
  IS(0, occupancy(&blocks, known, 1024, 0));
  CHECK(blocks == 2);
  IS(0, occupancy(&blocks, known, 1025, 0)); /* of such blocks there is none */
  CHECK(blocks == 0);
  IS(ZB_ERR_VALUE, blockSize(NULL, &block, known, 0, 0));
  IS(ZB_ERR_VALUE, blockSize(&grid, NULL, known, 0, 0));
  IS(ERR_FUNCTION, blockSize(&grid, &block, none, 0, 0));
  IS(0, blockSize(&grid, &block, known, 0, 0));
  CHECK(block == 1024 && grid == 304 * 2);
  IS(0, blockSize(&grid, &block, known, 0, 100));
  CHECK(block == 128 && grid == 304 * 16);
  IS(0, blockSize(&grid, &block, known, 40000, 100));
  CHECK(grid == 304);
}

/* hip_module.cpp and hip_global.cpp. */
static void facts_of_functions(const void *known) {
  struct {
    int binary, cache;
    size_t constant, local;
    int most_shared, most_threads, registers, carveout, ptx;
    size_t shared;
  } facts;
  IS(ZB_ERR_VALUE, functionFacts(NULL, known));
  IS(ERR_FUNCTION, functionFacts(&facts, none));
  IS(0, functionFacts(&facts, known));
  CHECK(facts.most_shared == 65536 && facts.most_threads == 1024 && facts.shared == 0);
  IS(0, functionSet(known, 8, 1024));
  IS(0, functionCache(known, 1));
  IS(0, functionBanks(known, 1));
}

/* hip_module.cpp, hipExtLaunchKernel. */
static void launches_with_events(const void *known) {
  const zbs_dim3 one = {1, 1, 1};
  float *to = (float *)(void *)in[0], value = 4, seen = 0, ms = -1;
  int n = 1;
  void *args[] = {&to, &value, &n}, *start, *stop;
  IS(0, eventCreate(&start));
  IS(0, eventCreate(&stop));
  IS(ZB_ERR_VALUE, launchTimed(known, one, one, args, 0, none, start, stop, 0));
  IS(ZB_ERR_VALUE, launchTimed(known, one, one, args, 0, stream[0], none, stop, 0));
  IS(ZB_ERR_VALUE, launchTimed(known, one, one, args, 0, stream[0], start, none, 0));
  IS(0, launchTimed(known, one, one, args, 0, stream[0], start, stop, 0));
  IS(0, launchTimed(known, one, one, args, 0, stream[0], NULL, NULL, 0));
  IS(0, streamSynchronize(stream[0]));
  IS(0, eventElapsed(&ms, start, stop));
  IS(0, copy(&seen, to, sizeof seen, ZB_TO_HOST));
  CHECK(ms > 0.004F && ms < 1 && seen == 4);
  IS(0, eventDestroy(start));
  IS(0, eventDestroy(stop));
}

static void functions_are_asked(void) {
  static const char known = 0;
  void **module = registerFatBinary("no code");
  registerFunction(module, &known, NULL, "_Z4fillPffi", 0, NULL, NULL, NULL, NULL, NULL);
  occupancies(&known);
  facts_of_functions(&known);
  launches_with_events(&known);
  unregisterFatBinary(module);
}

/* hip_peer.cpp. */
static void links(void) {
  uint32_t type = 9, hops = 9;
  int value = 9;
  IS(ZB_ERR_VALUE, linkType(0, 1, NULL, &hops));
  IS(ZB_ERR_VALUE, linkType(0, 1, &type, NULL));
  IS(ZB_ERR_VALUE, linkType(1, 1, &type, &hops));
  IS(ZB_ERR_VALUE, linkType(-1, 1, &type, &hops));
  IS(ZB_ERR_VALUE, linkType(1, -1, &type, &hops));
  IS(ZB_ERR_DEVICE, linkType(0, DEVICES, &type, &hops));
  IS(ZB_ERR_DEVICE, linkType(DEVICES, 0, &type, &hops));
  IS(0, linkType(0, 7, &type, &hops));
  CHECK(type == 4 && hops == 1);
  IS(ZB_ERR_VALUE, peerAttribute(NULL, 1, 0, 1));
  IS(ZB_ERR_DEVICE, peerAttribute(&value, 1, 1, 1));
  for (int bad = -1; bad <= DEVICES; bad += DEVICES + 1) {
    IS(ZB_ERR_DEVICE, peerAttribute(&value, 1, bad, 1));
    IS(ZB_ERR_DEVICE, peerAttribute(&value, 1, 0, bad));
  }
  IS(ZB_ERR_VALUE, peerAttribute(&value, -1, 0, 1));
  IS(ZB_ERR_VALUE, peerAttribute(&value, 4, 0, 1));
  IS(0, peerAttribute(&value, 1, 0, 1));
  CHECK(value == 1);
}

/* hip_device_runtime.cpp and rocclr/device/device.cpp. */
static void limits(void) {
  size_t value = 9, memory;
  IS(0, deviceMemory(&memory, 0));
  for (int bad = -1; bad <= 3; bad += 4) {
    IS(ZB_ERR_VALUE, setLimit(bad, 1));
    IS(ZB_ERR_VALUE, getLimit(&value, bad));
  }
  IS(ZB_ERR_VALUE, getLimit(NULL, 0));
  IS(ERR_LIMIT, setLimit(1, 1));
  IS(ERR_LIMIT, getLimit(&value, 1));
  IS(0, getLimit(&value, 0));
  CHECK(value == 1024);
  IS(ZB_ERR_VALUE, setLimit(0, (128 << 10) - 15));
  IS(0, setLimit(0, (128 << 10) - 16));
  IS(0, getLimit(&value, 0));
  CHECK(value == (128 << 10) - 16);
  IS(0, setDevice(1));
  IS(0, getLimit(&value, 0)); /* each device has its own */
  CHECK(value == 1024);
  IS(0, setDevice(0));
  IS(ZB_ERR_VALUE, setLimit(2, memory));
  IS(0, setLimit(2, memory - 1));
  IS(0, getLimit(&value, 2));
  CHECK(value == memory);
}

/* hip_device_runtime.cpp, hip_device.cpp and hip_stream.cpp. */
static void flags_and_streams(void) {
  unsigned flags = 9;
  char uuid[16], other[16];
  int device = 9;
  IS(ZB_ERR_VALUE, deviceFlags(NULL));
  for (unsigned way = 0; way < 8; way++) {
    IS(way == 0 || way == 1 || way == 2 || way == 4 ? 0 : ZB_ERR_VALUE, setDeviceFlags(way | 8));
  }
  IS(ZB_ERR_VALUE, setDeviceFlags(0x20));
  IS(0, deviceFlags(&flags));
  CHECK(flags == 4);
  IS(ZB_ERR_DEVICE, deviceUUID(uuid, DEVICES));
  IS(ZB_ERR_DEVICE, deviceUUID(uuid, -1));
  IS(ZB_ERR_VALUE, deviceUUID(NULL, 0));
  IS(0, deviceUUID(uuid, 0));
  IS(0, deviceUUID(other, 1));
  CHECK(memcmp(uuid, other, 16) != 0);
  IS(ZB_ERR_VALUE, streamDevice(stream[3], NULL));
  IS(DESTROYED, streamDevice(none, &device));
  IS(0, streamDevice(stream[3], &device));
  CHECK(device == 3);
  IS(0, streamDevice(NULL, &device));
  CHECK(device == 0);
}

static void queries(void) {
  functions_are_asked();
  links();
  limits();
  flags_and_streams();
}

/* Memory pools: ROCm/clr, hipamd/src/hip_mempool.cpp and hip_mempool_impl.cpp at rocm-6.2.2. */

enum { POOL_USED = 7, POOL_USED_HIGH = 8, POOL_RESERVED_HIGH = 6, POOL_THRESHOLD = 4 };

static unsigned long long pool_fact(void *pool, int about) {
  unsigned long long value = 0;
  IS(0, getPoolFact(pool, about, &value));
  return value;
}

static void pools_are_made(void) {
  struct {
    int allocation, handles, type, id;
    void *security;
    char reserved[64];
  } props = {1, 0, 1, 1, NULL, {0}};
  void *pool, *first, *p;
  IS(ZB_ERR_VALUE, createPool(NULL, &props));
  IS(ZB_ERR_VALUE, createPool(&pool, NULL));
  props.allocation = 0;
  IS(ZB_ERR_VALUE, createPool(&pool, &props));
  props.allocation = 1;
  props.type = 0;
  IS(ZB_ERR_VALUE, createPool(&pool, &props));
  props.type = 1;
  props.id = DEVICES;
  IS(ZB_ERR_VALUE, createPool(&pool, &props));
  props.id = 1;
  IS(0, createPool(&pool, &props));
  IS(ZB_ERR_VALUE, firstPool(NULL, 0));
  IS(ZB_ERR_DEVICE, firstPool(&first, -1));
  IS(ZB_ERR_DEVICE, firstPool(&first, DEVICES));
  IS(0, firstPool(&first, 1));
  IS(ZB_ERR_VALUE, getPool(NULL, 1));
  IS(ZB_ERR_VALUE, getPool(&p, DEVICES));
  IS(0, getPool(&p, 1));
  CHECK(p == first && p != pool);
  IS(ZB_ERR_VALUE, setPool(1, NULL));
  IS(ZB_ERR_VALUE, setPool(DEVICES, pool));
  IS(ZB_ERR_DEVICE, setPool(0, pool));
  IS(0, setPool(1, pool));
  IS(0, getPool(&p, 1));
  CHECK(p == pool);
  IS(0, mallocAsync(&p, 100, stream[1])); /* of the stream's device, not of the current one */
  CHECK(pool_fact(pool, POOL_USED) == 100 && pool_fact(first, POOL_USED) == 0);
  IS(ZB_ERR_VALUE, destroyPool(first));
  IS(ZB_ERR_VALUE, destroyPool(NULL));
  IS(0, destroyPool(pool)); /* its memory stays, and the device takes its first again */
  IS(ZB_ERR_VALUE, destroyPool(pool));
  IS(0, set(p, 1, 100));
  IS(0, freeAsync(p, stream[1]));
  IS(0, getPool(&p, 1));
  CHECK(p == first);
}

static void pools_count(void) {
  unsigned long long zero = 0, value = 1;
  void *pool, *p, *q;
  int flag = 0;
  IS(0, firstPool(&pool, 0));
  IS(ZB_ERR_VALUE, mallocFrom(NULL, 8, pool, stream[0]));
  IS(ZB_ERR_VALUE, mallocFrom(&p, 8, NULL, stream[0]));
  IS(ZB_ERR_HANDLE, mallocFrom(&p, 8, pool, none));
  IS(ZB_ERR_VALUE, mallocAsync(NULL, 8, stream[0]));
  IS(0, mallocFrom(&p, 0, pool, stream[0]));
  CHECK(p == NULL);
  IS(ZB_ERR_MEMORY, mallocFrom(&p, SIZE_MAX / 2, pool, stream[0]));
  IS(0, mallocFrom(&p, 64, pool, stream[0]));
  IS(0, mallocAsync(&q, 32, stream[0]));
  IS(0, freeAsync(p, stream[0]));
  CHECK(pool_fact(pool, POOL_USED) == 32 && pool_fact(pool, POOL_USED_HIGH) == 96);
  CHECK(pool_fact(pool, 5) == 32 && pool_fact(pool, POOL_RESERVED_HIGH) == 96);
  IS(0, setPoolFact(pool, POOL_USED_HIGH, &zero));
  CHECK(pool_fact(pool, POOL_USED_HIGH) == 0 && pool_fact(pool, POOL_RESERVED_HIGH) == 96);
  IS(0, setPoolFact(pool, POOL_RESERVED_HIGH, &zero));
  CHECK(pool_fact(pool, POOL_RESERVED_HIGH) == 0);
  IS(0, freeDevice(q)); /* either way */
  CHECK(pool_fact(pool, POOL_USED) == 0);
  for (int about = 5; about <= 8; about++) {
    IS(ZB_ERR_VALUE, setPoolFact(pool, about, &value));
  }
  IS(ZB_ERR_VALUE, setPoolFact(pool, 5, &zero));
  IS(ZB_ERR_VALUE, setPoolFact(pool, POOL_USED, &zero));
  for (int about = 0; about <= 9; about += 9) {
    IS(ZB_ERR_VALUE, setPoolFact(pool, about, &zero));
    IS(ZB_ERR_VALUE, getPoolFact(pool, about, &value));
  }
  IS(ZB_ERR_VALUE, setPoolFact(NULL, 1, &zero));
  IS(ZB_ERR_VALUE, setPoolFact(pool, 1, NULL));
  IS(ZB_ERR_VALUE, getPoolFact(NULL, 1, &value));
  IS(ZB_ERR_VALUE, getPoolFact(pool, 1, NULL));
  CHECK(pool_fact(pool, 2) == 1);
  IS(0, setPoolFact(pool, 2, &flag));
  CHECK(pool_fact(pool, 2) == 0 && pool_fact(pool, 3) == 1);
  IS(0, setPoolFact(pool, POOL_THRESHOLD, &value));
  CHECK(pool_fact(pool, POOL_THRESHOLD) == 1);
  IS(ZB_ERR_VALUE, trimPool(NULL, 0));
  IS(0, trimPool(pool, 0));
}

static void pools_are_reached(void) {
  struct {
    int type, id, flags;
  } list[DEVICES + 1] = {{1, 2, 3}, {1, 0, 1}};
  int at[2] = {1, 2}, access = 9;
  void *pool;
  IS(0, firstPool(&pool, 0));
  IS(ZB_ERR_VALUE, getPoolAccess(NULL, pool, at));
  IS(ZB_ERR_VALUE, getPoolAccess(&access, NULL, at));
  IS(ZB_ERR_VALUE, getPoolAccess(&access, pool, NULL));
  IS(0, getPoolAccess(&access, pool, at));
  CHECK(access == 0);
  IS(ZB_ERR_VALUE, setPoolAccess(NULL, list, 1));
  IS(ZB_ERR_VALUE, setPoolAccess(pool, NULL, 1));
  IS(ZB_ERR_DEVICE, setPoolAccess(pool, list, DEVICES + 1));
  IS(0, setPoolAccess(pool, list, 2));
  IS(0, getPoolAccess(&access, pool, at));
  CHECK(access == 3);
  at[1] = 0;
  IS(0, getPoolAccess(&access, pool, at)); /* of its own device it stays */
  CHECK(access == 3);
  at[1] = DEVICES;
  IS(ZB_ERR_VALUE, getPoolAccess(&access, pool, at));
  at[1] = 0;
  at[0] = 0;
  IS(ZB_ERR_VALUE, getPoolAccess(&access, pool, at));
  list[0].type = 0;
  IS(ZB_ERR_VALUE, setPoolAccess(pool, list, 1));
  list[0].type = 1;
  for (int flags = -1; flags <= 4; flags += 5) {
    list[0].flags = flags;
    IS(ZB_ERR_VALUE, setPoolAccess(pool, list, 1));
  }
  list[0].flags = 0;
  IS(ZB_ERR_DEVICE, setPoolAccess(pool, list, 1));
  list[0].flags = 1;
  list[0].id = DEVICES;
  IS(ZB_ERR_DEVICE, setPoolAccess(pool, list, 1));
}

static void pools(void) {
  pools_are_made();
  pools_count();
  pools_are_reached();
}

/* HIP's refusals of events, captures and kernels. Files of ROCm/clr are those of hipamd/src at
 * rocm-6.2.2. */

/* hip_event.cpp; flags are hip_runtime_api.h's. */
static void events(void) {
  static const struct {
    unsigned flags;
    int want;
  } made[] = {{0, 0}, {1, 0}, {2, 0}, {6, 0}, {0x20000000, 0}, {0x40000000, 0}, {0x80000002, 0},
              {4, ZB_ERR_VALUE}, {8, ZB_ERR_VALUE}, {0x60000000, ZB_ERR_VALUE}};
  void *e = NULL, *other, *never, *untimed;
  float ms;
  for (size_t i = 0; i < sizeof made / sizeof made[0]; i++) {
    IS(made[i].want, eventCreateFlags(&e, made[i].flags));
    IS(0, made[i].want == 0 ? eventDestroy(e) : 0);
  }
  IS(ZB_ERR_VALUE, eventCreate(NULL));
  IS(ZB_ERR_VALUE, eventCreateFlags(NULL, 0));
  IS(ZB_ERR_HANDLE, eventDestroy(NULL));
  IS(ZB_ERR_HANDLE, eventSynchronize(NULL));
  IS(ZB_ERR_HANDLE, eventQuery(NULL));
  IS(0, eventCreate(&e));
  IS(0, eventCreate(&other));
  IS(0, eventCreate(&never));
  IS(0, eventCreateFlags(&untimed, 2));
  IS(DESTROYED, eventRecord(e, none));
  IS(ZB_ERR_HANDLE, eventRecord(NULL, stream[0]));
  IS(0, eventRecord(e, stream[0]));
  IS(0, eventRecord(other, stream[0]));
  IS(0, eventRecord(untimed, stream[0]));
  IS(0, streamSynchronize(stream[0]));
  IS(ZB_ERR_VALUE, eventElapsed(NULL, e, other));
  IS(ZB_ERR_HANDLE, eventElapsed(&ms, NULL, other));
  IS(ZB_ERR_HANDLE, eventElapsed(&ms, e, NULL));
  IS(ZB_ERR_HANDLE, eventElapsed(&ms, never, other));
  IS(ZB_ERR_HANDLE, eventElapsed(&ms, e, never));
  IS(ZB_ERR_HANDLE, eventElapsed(&ms, untimed, other));
  IS(ZB_ERR_HANDLE, eventElapsed(&ms, e, untimed));
  IS(0, eventElapsed(&ms, e, other));
  for (int i = 0; i < DEVICES; i++) {
    IS(0, allReduce(in[i], out[i], 4, FLOAT, SUM, comm[i], stream[i]));
    if (i == 0) { /* the others are missing */
      IS(0, eventRecord(e, stream[0]));
      IS(ZB_ERR_NOT_READY, eventQuery(e));
      IS(ZB_ERR_NOT_READY, eventElapsed(&ms, e, other));
      IS(ZB_ERR_NOT_READY, eventElapsed(&ms, other, e));
    }
  }
  IS(0, eventSynchronize(e));
  IS(ZB_ERR_HANDLE, streamWaitEvent(stream[0], NULL, 0));
  IS(ZB_ERR_HANDLE, streamWaitEvent(none, e, 0));
  IS(ZB_ERR_VALUE, streamWaitEvent(stream[0], e, 1));
  IS(0, streamWaitEvent(stream[0], never, 0));
  IS(0, eventDestroy(e));
  IS(0, eventDestroy(other));
  IS(0, eventDestroy(never));
  IS(0, eventDestroy(untimed));
}

/* What a capture forbids: in every mode, or but in a relaxed one (hip_internal.hpp,
 * CHECK_STREAM_CAPTURE_SUPPORTED; hip_stream.cpp, StreamCaptureOngoing). Each spoils it. */
static int forbidden(int what) {
  void *p;
  switch (what) {
  case 0:
    return streamSynchronize(stream[0]);
  case 1:
    return streamQuery(stream[0]);
  case 2:
    return deviceSynchronize();
  case 3:
    return set(in[0], 0, 4);
  case 4:
    return copy(in[0], plain, 4, ZB_INFERRED);
  case 5:
    return copyWithStream(in[0], plain, 4, ZB_INFERRED, stream[1]);
  case 6:
    return freeDevice(in[0]);
  case 7:
    return mallocHost(&p, 4);
  case 8:
    return mallocManaged(&p, 4, 1);
  default:
    return mallocDevice(&p, 4);
  }
}

/* hip_graph.cpp. */
static void captures(void) {
  enum { OF_THE_STREAM = 2, FORBIDDEN = 10 };
  void *g, *x, *e;
  int n;
  IS(DESTROYED, streamBeginCapture(none, ZB_CAPTURE_GLOBAL));
  IS(ZB_ERR_VALUE, streamBeginCapture(stream[0], -1));
  IS(ZB_ERR_VALUE, streamBeginCapture(stream[0], ZB_CAPTURE_RELAXED + 1));
  IS(DESTROYED, streamEndCapture(none, &g));
  IS(ZB_ERR_STATE, streamEndCapture(stream[0], &g));
  IS(ZB_ERR_VALUE, streamEndCapture(stream[0], NULL));
  for (int mode = ZB_CAPTURE_GLOBAL; mode <= ZB_CAPTURE_RELAXED; mode++) {
    for (int what = 0; what < FORBIDDEN; what++) {
      int refused = what < OF_THE_STREAM || mode != ZB_CAPTURE_RELAXED;
      if (!refused && what == 6) {
        continue; /* the world's memory */
      }
      IS(0, streamBeginCapture(stream[0], mode));
      IS(refused ? ZB_ERR_CAPTURE : 0, forbidden(what));
      IS(refused ? ZB_ERR_CAPTURE_INVALID : 0, streamEndCapture(stream[0], &g));
      IS(0, refused ? 0 : graphDestroy(g));
    }
  }
  IS(0, streamBeginCapture(stream[0], ZB_CAPTURE_THREAD));
  IS(0, streamIsCapturing(stream[0], &n));
  CHECK(n == 1);
  IS(0, eventCreate(&e));
  IS(0, eventRecord(e, stream[0]));
  IS(ZB_ERR_HANDLE, streamWaitEvent(NULL, e, 0)); /* the null stream takes no part */
  IS(0, setAsync(in[0], 3, 4, stream[0]));
  IS(0, streamEndCapture(stream[0], &g));
  IS(ZB_ERR_VALUE, graphInstantiate(NULL, g, 0));
  IS(0, graphInstantiate(&x, g, 8));
  IS(DESTROYED, graphLaunch(x, none));
  IS(ZB_ERR_VALUE, graphLaunch(NULL, stream[0]));
  IS(ZB_ERR_VALUE, graphDestroy(NULL));
  IS(0, graphLaunch(x, stream[0]));
  IS(0, streamSynchronize(stream[0]));
  CHECK(in[0][3] == 3);
  IS(0, graphExecDestroy(x));
  IS(0, graphDestroy(g));
  IS(0, eventDestroy(e));
}

/* hip_module.cpp and hip_platform.cpp. */
static void kernels(void) {
  static const char known = 0;
  const zbs_dim3 one = {1, 1, 1}, nothing = {0, 1, 1};
  float *to = (float *)(void *)in[0], value = 1;
  int n = 1;
  void *args[] = {&to, &value, &n}, **module = registerFatBinary("no code"), *function;
  registerFunction(module, &known, NULL, "_Z4fillPffi", 0, NULL, NULL, NULL, NULL, NULL);
  IS(ZB_ERR_VALUE, launchFunction(&known, one, one, args, 0, none));
  IS(ZB_ERR_VALUE, launchFunction(&known, nothing, one, args, 0, stream[0]));
  IS(ZB_ERR_VALUE, launchFunction(&known, one, one, args, 1 << 20, stream[0]));
  IS(ZB_ERR_VALUE, launchFunction(&known, one, one, args, (size_t)1 << 32, stream[0]));
  IS(0, launchFunction(&known, one, one, args, 0, stream[0]));
  IS(0, streamSynchronize(stream[0]));
  unregisterFatBinary(module);
  IS(98, launchFunction(&known, one, one, args, 0, stream[0])); /* it is not registered any more */
  IS(218, moduleLoad(&function, "no code")); /* hipErrorInvalidKernelFile */
  IS(ZB_ERR_HANDLE, moduleUnload(NULL));
  IS(ZB_ERR_NOT_FOUND, moduleUnload(none));
  IS(ZB_ERR_HANDLE, moduleFunction(&function, NULL, "fill"));
  IS(ZB_ERR_NOT_FOUND, moduleFunction(&function, none, "fill"));
  IS(ZB_ERR_VALUE, launchKernel(none, 1, 1, 1, 1, 1, 1, 0, none, NULL, NULL));
  IS(ZB_ERR_HANDLE, launchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, stream[0], NULL, NULL));
  IS(ZB_ERR_HANDLE, launchKernel(none, 1, 1, 1, 1, 1, 1, 0, stream[0], NULL, NULL));
}

/* RCCL's refusals. Files are ROCm/rccl's in src at rocm-6.2.2. */

/* ncclConfig_t as of NCCL 2.28. */
typedef struct config {
  size_t size;
  unsigned magic, version;
  int blocking, cluster, least, most;
  const char *net;
  int share, traffic;
  const char *name;
  int collnet, policy;
} config;

static const config valid = {sizeof(config), 0xcafebeef, 22800, INT_MIN, INT_MIN, INT_MIN, INT_MIN, NULL, INT_MIN, INT_MIN,
                             NULL, INT_MIN, INT_MIN};

/* init.cc, parseCommConfig: one attribute is wrong at a time. */
static void configurations(void) {
  config bad[9];
  zb_unique_id id;
  void *c = NULL;
  for (int i = 0; i < 9; i++) {
    bad[i] = valid;
  }
  bad[0].magic = 1;
  bad[1].blocking = 2;
  bad[2].cluster = -1;
  bad[3].least = 0;
  bad[4].most = 0;
  bad[5].least = 4, bad[5].most = 3;
  bad[6].share = 2;
  bad[7].most = -1;
  bad[8].policy = 4;
  for (int i = 0; i < 9; i++) {
    config *now = &bad[i];
    IS(0, getUniqueId(&id));
    IS(ZB_COLL_ARGUMENT, commInitConfig(&c, 1, id, 0, now));
    IS(ZB_COLL_ARGUMENT, commSplit(comm[0], 0, 0, &c, now));
    now->size = 0; /* of a version that had none of them */
    IS(i == 0 ? ZB_COLL_ARGUMENT : 0, commInitConfig(&c, 1, id, 0, now));
    IS(0, i == 0 ? 0 : commDestroy(c));
  }
  IS(ZB_COLL_ARGUMENT, commInitConfig(NULL, 1, id, 0, NULL));
}

/* init.cc: ncclCommInitRankDev, ncclCommInitAll_impl, ncclCommSplit_impl, commGetSplitInfo,
 * ncclCommFinalize_impl, ncclCommDestroy_impl, ncclCommAbort_impl, and CommCheck of
 * misc/argcheck.cc. */
static void communicators(void) {
  static const int below[] = {-1}, twice[] = {2, 2};
  config waits_not = valid;
  zb_unique_id id;
  void *c, *two[2];
  int n;
  configurations();
  CHECK(setenv("NCCL_COMM_ID", "nowhere", 1) == 0);
  IS(ZB_COLL_ARGUMENT, getUniqueId(&id));
  CHECK(setenv("NCCL_COMM_ID", ":1", 1) == 0);
  IS(ZB_COLL_ARGUMENT, getUniqueId(&id));
  CHECK(setenv("NCCL_COMM_ID", "[::1]:x", 1) == 0);
  IS(ZB_COLL_ARGUMENT, getUniqueId(&id));
  CHECK(setenv("NCCL_COMM_ID", "[::1]:1", 1) == 0);
  IS(0, getUniqueId(&id));
  CHECK(unsetenv("NCCL_COMM_ID") == 0);
  IS(0, getUniqueId(&id));
  IS(ZB_COLL_ARGUMENT, commInitRank(&c, 0, id, 0));
  IS(ZB_COLL_ARGUMENT, commInitRank(&c, 1, id, -1));
  IS(ZB_COLL_ARGUMENT, commInitRank(&c, 1, id, 1));
  IS(ZB_COLL_UNHANDLED, commInitAll(two, 1, below));
  IS(ZB_COLL_UNHANDLED, commInitAll(two, DEVICES + 1, NULL));
  IS(ZB_COLL_USAGE, commInitAll(two, 2, twice));
  CHECK(strstr(collLastError(NULL), "ncclCommInitAll") != NULL);
  IS(ZB_COLL_ARGUMENT, commInitAll(NULL, 2, NULL));
  IS(ZB_COLL_ARGUMENT, commSplit(none, 0, 0, &c, NULL));
  IS(ZB_COLL_ARGUMENT, commSplit(comm[0], 0, 0, NULL, NULL));
  IS(ZB_COLL_ARGUMENT, commSplit(comm[0], -2, 0, &c, NULL));
  IS(ZB_COLL_ARGUMENT, commGetAsyncError(none, &n));
  IS(0, commDestroy(NULL));
  IS(0, commAbort(NULL));
  IS(0, commFinalize(NULL));
  IS(ZB_COLL_ARGUMENT, commDestroy(none));
  IS(ZB_COLL_ARGUMENT, commAbort(none));
  IS(ZB_COLL_ARGUMENT, commFinalize(none));
  waits_not.blocking = 0;
  IS(0, getUniqueId(&id));
  IS(7, commInitConfig(&two[0], 2, id, 0, &waits_not)); /* ncclInProgress */
  IS(0, commGetAsyncError(two[0], &n));
  CHECK(n == 7);
  IS(ZB_COLL_ARGUMENT, commShrink(two[0], (int[]){1}, 1, &c, NULL, 0));
  IS(0, setDevice(1));
  IS(0, commInitRank(&two[1], 2, id, 1));
  IS(0, commGetAsyncError(two[0], &n));
  CHECK(n == 0);
  IS(0, setDevice(0));
  IS(0, commFinalize(two[0]));
  IS(ZB_COLL_ARGUMENT, commFinalize(two[0]));
  IS(ZB_COLL_USAGE, allReduce(in[0], out[0], 4, FLOAT, SUM, two[0], stream[0]));
  IS(ZB_COLL_USAGE, sendTo(in[0], 4, FLOAT, 1, two[0], stream[0]));
  IS(0, commDestroy(two[0]));
  IS(0, commDestroy(two[1]));
}

/* misc/argcheck.cc, ArgsCheck; api of the messages in collectives.cc. Counts are of memory
 * that there is: RCCL would read beyond it. */
static void calls(void) {
  size_t sizes[DEVICES] = {0};
  for (int i = 0; i < 2; i++) { /* what is not a communicator */
    void *c = i == 0 ? NULL : none;
    IS(ZB_COLL_ARGUMENT, allReduce(in[0], out[0], 4, FLOAT, SUM, c, stream[0]));
    IS(ZB_COLL_ARGUMENT, sendTo(in[0], 4, FLOAT, 1, c, stream[0]));
    IS(ZB_COLL_ARGUMENT, allToAllv(in[0], sizes, sizes, out[0], sizes, sizes, FLOAT, c, stream[0]));
  }
  IS(ZB_COLL_ARGUMENT, allReduce(in[0], out[0], 4, -1, SUM, comm[0], stream[0]));
  IS(ZB_COLL_ARGUMENT, allReduce(in[0], out[0], 4, 12, SUM, comm[0], stream[0]));
  IS(ZB_COLL_ARGUMENT, allReduce(in[0], out[0], 4, FLOAT, -1, comm[0], stream[0]));
  IS(ZB_COLL_ARGUMENT, allReduce(in[0], out[0], 4, FLOAT, 5, comm[0], stream[0]));
  IS(ZB_COLL_ARGUMENT, allReduce(in[0], out[0], 4, FLOAT, SUM, comm[0], none));
  IS(ZB_COLL_ARGUMENT, allReduce(in[0], out[0], (size_t)1 << 62, FLOAT, SUM, comm[0], stream[0]));
  IS(ZB_COLL_ARGUMENT, allGather(in[0], out[0], SIZE_MAX, FLOAT, comm[0], stream[0]));
  IS(ZB_COLL_ARGUMENT, allGather(in[0], out[0], COUNT, FLOAT, comm[0], stream[0]));
  IS(ZB_COLL_ARGUMENT, allReduce(plain, out[0], 4, FLOAT, SUM, comm[0], stream[0]));
  IS(ZB_COLL_ARGUMENT, allReduce(in[0], NULL, 4, FLOAT, SUM, comm[0], stream[0]));
  IS(ZB_COLL_ARGUMENT, broadcast(in[0], out[0], 4, FLOAT, -1, comm[0], stream[0]));
  IS(ZB_COLL_ARGUMENT, broadcast(in[0], out[0], 4, FLOAT, DEVICES, comm[0], stream[0]));
  IS(ZB_COLL_ARGUMENT, reduce(in[0], out[0], 4, FLOAT, SUM, DEVICES, comm[0], stream[0]));
  IS(ZB_COLL_ARGUMENT, sendTo(in[0], 4, FLOAT, -1, comm[0], stream[0]));
  IS(ZB_COLL_ARGUMENT, recvFrom(in[0], 4, FLOAT, DEVICES, comm[0], stream[0]));
  IS(ZB_COLL_ARGUMENT, sendTo(in[0], 4, FLOAT, 1, comm[0], none));
  IS(ZB_COLL_ARGUMENT, allToAllv(in[0], sizes, sizes, out[0], sizes, sizes, -1, comm[0], stream[0]));
  IS(ZB_COLL_ARGUMENT, allToAllv(in[0], sizes, sizes, out[0], sizes, sizes, 12, comm[0], stream[0]));
  for (int i = 0; i < 4; i++) {
    IS(ZB_COLL_ARGUMENT, allToAllv(in[0], i == 0 ? NULL : sizes, i == 1 ? NULL : sizes, out[0],
                                   i == 2 ? NULL : sizes, i == 3 ? NULL : sizes, FLOAT, comm[0], stream[0]));
  }
}

/* nccl.h.in, ncclRedOpCreatePreMulSum; enqueue.cc, ncclRedOpDestroy_impl. NULL and types
 * that there are not crash the real one: they are refused. */
static void operators(void) {
  float scalar = 2;
  int op;
  IS(ZB_COLL_ARGUMENT, opCreate(&op, &scalar, FLOAT, 1, none));
  IS(ZB_COLL_ARGUMENT, opCreate(NULL, &scalar, FLOAT, 1, comm[0]));
  IS(ZB_COLL_ARGUMENT, opCreate(&op, NULL, FLOAT, 1, comm[0]));
  IS(ZB_COLL_ARGUMENT, opCreate(&op, &scalar, -1, 1, comm[0]));
  IS(ZB_COLL_ARGUMENT, opCreate(&op, &scalar, 12, 1, comm[0]));
  IS(ZB_COLL_ARGUMENT, opCreate(&op, &scalar, FLOAT, 2, comm[0]));
  IS(ZB_COLL_ARGUMENT, opDestroy(5, NULL));
  for (int dtype = 0; dtype < 12; dtype++) {
    IS(0, opCreate(&op, in[0], dtype, 0, comm[0]));
    IS(dtype == FLOAT ? 0 : ZB_COLL_ARGUMENT, allReduce(in[0], out[0], 0, FLOAT, op, comm[0], stream[0]));
    IS(ZB_COLL_ARGUMENT, allReduce(in[1], out[1], 0, dtype, op, comm[1], stream[1]));
    IS(0, opDestroy(op, comm[0]));
    IS(ZB_COLL_ARGUMENT, allReduce(in[0], out[0], 0, dtype, op, comm[0], stream[0]));
    IS(ZB_COLL_ARGUMENT, opDestroy(op, comm[0]));
  }
}

/* register.cc, ncclCommRegister_impl and ncclCommDeregister_impl; nccl.h.in, ncclMemAlloc. */
static void registrations(void) {
  void *handle, *p, *never[] = {NULL, comm[0]}; /* what a registration was */
  IS(ZB_COLL_ARGUMENT, commRegister(none, in[0], SIZE, &handle));
  IS(ZB_COLL_ARGUMENT, commRegister(comm[0], in[0], SIZE, NULL));
  IS(ZB_COLL_ARGUMENT, commRegister(comm[0], plain, SIZE, &handle));
  IS(0, commRegister(comm[0], in[0], SIZE, &handle));
  IS(ZB_COLL_USAGE, commDeregister(comm[1], handle));
  IS(ZB_COLL_ARGUMENT, commDeregister(none, handle));
  IS(ZB_COLL_USAGE, commDeregister(comm[0], NULL));
  IS(ZB_COLL_USAGE, commDeregister(comm[0], none));
  IS(ZB_COLL_USAGE, commDeregister(comm[0], never));
  IS(0, commDeregister(comm[0], handle));
  IS(ZB_COLL_ARGUMENT, collMalloc(NULL, 4));
  IS(ZB_COLL_UNHANDLED, collMalloc(&p, (size_t)1 << 60));
  IS(ZB_COLL_UNHANDLED, collFree(plain));
}

/* A communicator of four without one rank, and with two more; nccl.h.in at v2.30. */
static void shrunk_and_grown(void) {
  int left_out[] = {2}, self[] = {0}, beyond[] = {4}, all[] = {1, 2, 3, 1}, n, rank;
  config bad = valid;
  void *four[4], *three[4] = {NULL}, *six[6], *c;
  zb_unique_id id;
  IS(0, commInitAll(four, 4, NULL));
  bad.magic = 1;
  IS(ZB_COLL_ARGUMENT, commShrink(four[0], left_out, 1, &c, &bad, 0));
  IS(ZB_COLL_ARGUMENT, commShrink(none, left_out, 1, &c, NULL, 0));
  IS(ZB_COLL_ARGUMENT, commShrink(four[0], left_out, 1, NULL, NULL, 0));
  IS(ZB_COLL_ARGUMENT, commShrink(four[0], NULL, 1, &c, NULL, 0));
  IS(ZB_COLL_ARGUMENT, commShrink(four[0], left_out, 0, &c, NULL, 0));
  IS(ZB_COLL_ARGUMENT, commShrink(four[0], all, 4, &c, NULL, 0));
  IS(ZB_COLL_ARGUMENT, commShrink(four[0], left_out, 1, &c, NULL, 2));
  IS(ZB_COLL_ARGUMENT, commShrink(four[0], left_out, 1, &c, NULL, -1));
  IS(ZB_COLL_ARGUMENT, commShrink(four[0], self, 1, &c, NULL, 0));
  IS(ZB_COLL_ARGUMENT, commShrink(four[0], beyond, 1, &c, NULL, 0));
  beyond[0] = -1;
  IS(ZB_COLL_ARGUMENT, commShrink(four[0], beyond, 1, &c, NULL, 0));
  IS(0, groupStart());
  for (int i = 0; i < 4; i++) {
    IS(0, i == 2 ? 0 : commShrink(four[i], left_out, 1, &three[i], NULL, 0));
  }
  IS(0, groupEnd());
  IS(0, commCount(three[0], &n));
  IS(0, commRank(three[3], &rank));
  CHECK(n == 3 && rank == 2);
  IS(ZB_COLL_ARGUMENT, commUniqueId(none, &id));
  IS(ZB_COLL_ARGUMENT, commUniqueId(four[0], NULL));
  IS(0, commUniqueId(four[1], &id));
  IS(ZB_COLL_ARGUMENT, commGrow(none, 6, NULL, -1, &c, NULL));
  IS(ZB_COLL_ARGUMENT, commGrow(NULL, 6, NULL, 4, &c, NULL));
  IS(ZB_COLL_ARGUMENT, commGrow(four[0], 6, NULL, 0, &c, NULL));
  IS(ZB_COLL_ARGUMENT, commGrow(four[0], 4, NULL, -1, &c, NULL));
  IS(0, groupStart());
  for (int i = 0; i < 6; i++) {
    IS(0, setDevice(i));
    IS(0, i < 4 ? commGrow(four[i], 6, i == 1 ? &id : NULL, -1, &six[i], NULL) : commGrow(NULL, 6, &id, i, &six[i], NULL));
  }
  IS(0, groupEnd());
  IS(0, commCount(six[5], &n));
  IS(0, commRank(six[3], &rank));
  CHECK(n == 6 && rank == 3);
  for (int i = 0; i < 6; i++) {
    IS(0, allReduce(in[i], out[i], 4, FLOAT, SUM, six[i], stream[i]));
  }
  for (int i = 0; i < 6; i++) {
    IS(0, setDevice(i));
    IS(0, streamSynchronize(stream[i]));
    IS(0, commDestroy(six[i]));
    IS(0, i < 4 ? commDestroy(four[i]) : 0);
    IS(0, i < 4 && i != 2 ? commDestroy(three[i]) : 0);
  }
  IS(0, setDevice(0));
}

/* A call that never ends is drained; nothing is launched afterwards; the others shrink. */
static void revoked(void) {
  int left_out[] = {1};
  void *two[2], *c;
  IS(0, commInitAll(two, 2, NULL));
  IS(0, allReduce(in[0], out[0], 4, FLOAT, SUM, two[0], stream[0])); /* rank 1 never calls it */
  IS(ZB_COLL_ARGUMENT, commRevoke(none, 0));
  IS(ZB_COLL_ARGUMENT, commRevoke(two[0], 1));
  IS(0, commRevoke(two[0], 0));
  IS(ZB_COLL_ARGUMENT, commRevoke(two[0], 0));
  IS(0, streamSynchronize(stream[0]));
  IS(ZB_COLL_USAGE, allReduce(in[0], out[0], 4, FLOAT, SUM, two[0], stream[0]));
  IS(0, commFinalize(two[1]));
  IS(ZB_COLL_ARGUMENT, commRevoke(two[1], 0));
  IS(0, commShrink(two[0], left_out, 1, &c, NULL, 1));
  IS(0, allReduce(in[0], out[0], 4, FLOAT, SUM, c, stream[0]));
  IS(0, streamSynchronize(stream[0]));
  IS(0, commDestroy(c));
  IS(0, commDestroy(two[0]));
  IS(0, commDestroy(two[1]));
}

/* What came with a later version than the loopback has by itself; the machine file gives 2.31.2.
 * RCCL's own: which implementation it takes for a collective, and its name. */
static void newest(void) {
  int algo = -1, protocol = -1, channels = -1;
  const char *name = NULL;
  IS(ZB_COLL_ARGUMENT, collImpl(none, 4, SIZE, FLOAT, SUM, in[0], out[0], 0, &algo, &protocol, &channels));
  IS(ZB_COLL_ARGUMENT, collImpl(comm[0], -1, SIZE, FLOAT, SUM, in[0], out[0], 0, &algo, &protocol, &channels));
  IS(ZB_COLL_ARGUMENT, collImpl(comm[0], 5, SIZE, FLOAT, SUM, in[0], out[0], 0, &algo, &protocol, &channels));
  IS(ZB_COLL_ARGUMENT, collImpl(comm[0], 4, SIZE, FLOAT, SUM, in[0], out[0], 0, NULL, &protocol, &channels));
  IS(ZB_COLL_ARGUMENT, collImpl(comm[0], 4, SIZE, FLOAT, SUM, in[0], out[0], 0, &algo, NULL, &channels));
  IS(ZB_COLL_ARGUMENT, collImpl(comm[0], 4, SIZE, FLOAT, SUM, in[0], out[0], 0, &algo, &protocol, NULL));
  CHECK(algo == -1 && protocol == -1 && channels == -1);
  IS(0, collImpl(comm[0], 4, SIZE, FLOAT, SUM, in[0], out[0], 0, &algo, &protocol, &channels));
  IS(0, algoName(algo, &name));
  CHECK(name != NULL && strcmp(name, "RING") == 0);
  IS(ZB_COLL_ARGUMENT, algoName(-1, &name));
  IS(ZB_COLL_ARGUMENT, algoName(algo, NULL));
}

/* Windows, the library's memory, several ids, a bias, and what is refused by its name. */
static void newer(void) {
  void *w, *p, *c, *never[] = {NULL, comm[0], NULL};
  float bias[4] = {1, 2, 3, 4}, zeros[4] = {0}, sums[4];
  uint64_t bytes = 1;
  zb_unique_id ids[2];
  IS(ZB_COLL_ARGUMENT, windowRegister(none, in[0], SIZE, &w, 1));
  IS(ZB_COLL_ARGUMENT, windowRegister(comm[0], in[0], SIZE, NULL, 1));
  IS(ZB_COLL_ARGUMENT, windowRegister(comm[0], in[0], SIZE, &w, 8));
  IS(ZB_COLL_ARGUMENT, windowRegister(comm[0], plain, SIZE, &w, 1));
  IS(0, windowRegister(comm[0], in[0], SIZE, &w, 1));
  IS(ZB_COLL_ARGUMENT, windowPointer(none, w, &p));
  IS(ZB_COLL_ARGUMENT, windowPointer(comm[0], NULL, &p));
  IS(ZB_COLL_ARGUMENT, windowPointer(comm[0], never, &p));
  IS(ZB_COLL_ARGUMENT, windowPointer(comm[0], w, NULL));
  IS(0, windowPointer(comm[0], w, &p));
  CHECK(p == in[0]);
  IS(ZB_COLL_ARGUMENT, windowDeregister(none, w));
  IS(ZB_COLL_ARGUMENT, windowDeregister(comm[1], w));
  IS(ZB_COLL_ARGUMENT, windowDeregister(comm[0], NULL));
  IS(ZB_COLL_ARGUMENT, windowDeregister(comm[0], never));
  IS(0, windowDeregister(comm[0], w));
  IS(ZB_COLL_ARGUMENT, commMemory(none, 0, &bytes));
  IS(ZB_COLL_ARGUMENT, commMemory(comm[0], 4, &bytes));
  IS(ZB_COLL_ARGUMENT, commMemory(comm[0], -1, &bytes));
  IS(ZB_COLL_ARGUMENT, commMemory(comm[0], 0, NULL));
  IS(0, commMemory(comm[0], 3, &bytes));
  CHECK(bytes == 0);
  IS(0, getUniqueId(&ids[0]));
  IS(0, getUniqueId(&ids[1]));
  IS(ZB_COLL_ARGUMENT, commInitScalable(&c, 1, 0, 1, NULL, NULL));
  IS(ZB_COLL_ARGUMENT, commInitScalable(&c, 1, 0, 0, ids, NULL));
  IS(ZB_COLL_ARGUMENT, commInitScalable(&c, 1, 0, 2, ids, NULL));
  IS(0, commInitScalable(&c, 1, 0, 1, ids, NULL));
  IS(0, copy(in[0], zeros, sizeof zeros, ZB_TO_DEVICE));
  IS(0, copy(out[1], bias, sizeof bias, ZB_TO_DEVICE));
  IS(ZB_COLL_USAGE, allReduceBias(in[0], out[0], 4, FLOAT, 2, c, stream[0], out[1]));
  IS(ZB_COLL_ARGUMENT, allReduceBias(in[0], out[0], 4, FLOAT, SUM, c, stream[0], plain));
  IS(0, groupStart());
  IS(ZB_COLL_USAGE, allReduceBias(in[0], out[0], 4, FLOAT, SUM, c, stream[0], out[1]));
  IS(ZB_COLL_USAGE, groupEnd());
  IS(0, allReduceBias(in[0], out[0], 4, FLOAT, SUM, c, stream[0], out[1]));
  IS(0, streamSynchronize(stream[0]));
  IS(0, copy(sums, out[0], sizeof sums, ZB_TO_HOST));
  CHECK(sums[0] == 1 && sums[3] == 4);
  IS(0, commDestroy(c));
  IS(ZB_COLL_USAGE, commSuspend());
  CHECK(strstr(collLastError(NULL), "ncclCommSuspend: the loopback does not have it") != NULL);
  IS(ZB_COLL_USAGE, paramOf());
  resetDebug();
  paramDump();
  shrunk_and_grown();
  revoked();
}

/* Each function that came with a later version than 2.22.3, which the machine file gives. */
static void older(void) {
  void *w = NULL, *c = NULL;
  uint64_t bytes;
  zb_unique_id id;
  int version;
  IS(0, collGetVersion(&version));
  CHECK(version == 22203);
  IS(0, getUniqueId(&id));
  IS(ZB_COLL_USAGE, commInitScalable(&c, 1, 0, 1, &id, NULL));
  IS(ZB_COLL_USAGE, commShrink(comm[0], (int[]){1}, 1, &c, NULL, 0));
  CHECK(strstr(collLastError(NULL), "ncclCommShrink came with 2.27, and the loopback has version 2.22.3") != NULL);
  IS(ZB_COLL_USAGE, commRevoke(comm[0], 0));
  IS(ZB_COLL_USAGE, commUniqueId(comm[0], &id));
  IS(ZB_COLL_USAGE, commGrow(comm[0], DEVICES + 1, &id, -1, &c, NULL));
  IS(ZB_COLL_USAGE, commMemory(comm[0], 0, &bytes));
  IS(ZB_COLL_USAGE, windowRegister(comm[0], in[0], SIZE, &w, 1));
  IS(ZB_COLL_USAGE, windowDeregister(comm[0], w));
  IS(ZB_COLL_USAGE, windowPointer(comm[0], w, &c));
  IS(ZB_COLL_USAGE, collImpl(comm[0], 4, SIZE, FLOAT, SUM, in[0], out[0], 0, &version, &version, &version));
}

/* What a process gets that was forked from one with GPUs: errors, with what it had of its parent, too. */
static void forked(void) {
  int status = -1, n;
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    void *p, *s, *c;
    zb_unique_id id;
    alarm(20);
    CHECK(allReduce(in[0], out[0], 4, FLOAT, SUM, comm[0], stream[0]) != 0);
    CHECK(getDeviceCount(&n) != 0 || n == 0);
    CHECK(setDevice(1) != 0);
    CHECK(mallocDevice(&p, 64) != 0);
    CHECK(copyAsync(plain, in[0], SIZE, ZB_INFERRED, stream[0]) != 0);
    CHECK(streamSynchronize(stream[0]) != 0);
    CHECK(streamCreate(&s, ZB_STREAM_NON_BLOCKING) != 0);
    CHECK(freeDevice(in[0]) != 0);
    CHECK(sendTo(in[0], 4, FLOAT, 1, comm[0], stream[0]) != 0);
    CHECK(commInitRank(&c, 1, id, 0) != 0);
    CHECK(commDestroy(comm[0]) != 0);
    _exit(0);
  }
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  IS(0, allReduce(in[0], in[0], 4, FLOAT, SUM, comm[0], stream[0])); /* the parent's are as they were */
  for (int i = 1; i < DEVICES; i++) {
    IS(0, allReduce(in[i], in[i], 4, FLOAT, SUM, comm[i], stream[i]));
  }
  IS(0, streamSynchronize(stream[0]));
}

/* group.cc, ncclGroupEndInternal. */
static void groups(void) {
  struct {
    size_t size;
    unsigned magic, version;
    float microseconds;
  } info = {sizeof info, 0, 0, 0};
  zb_unique_id id;
  void *c;
  IS(ZB_COLL_USAGE, groupEnd());
  IS(ZB_COLL_USAGE, groupSimulateEnd(NULL));
  IS(0, groupStart());
  IS(ZB_COLL_ARGUMENT, groupSimulateEnd(&info));
  IS(0, groupStart());
  IS(0, allReduce(in[0], out[0], 4, FLOAT, SUM, comm[0], stream[0]));
  IS(0, groupSimulateEnd(NULL)); /* the inner group */
  info.magic = 0x74685283;
  IS(0, groupSimulateEnd(&info));
  CHECK(info.microseconds > 0);
  IS(ZB_COLL_USAGE, groupEnd());
  /* Both ends of a message to oneself are in one group (src/enqueue.cc, scheduleP2pTasksToPlan). */
  IS(ZB_COLL_USAGE, sendTo(in[0], 4, FLOAT, 0, comm[0], stream[0]));
  IS(ZB_COLL_USAGE, recvFrom(out[0], 4, FLOAT, 0, comm[0], stream[0]));
  for (int sends = 0; sends < 3; sends++) {
    for (int receives = 0; receives < 3; receives++) {
      IS(0, groupStart());
      for (int i = 0; i < sends; i++) {
        IS(0, sendTo(in[0], 4, FLOAT, 0, comm[0], stream[0]));
      }
      for (int i = 0; i < receives; i++) {
        IS(0, recvFrom(out[0], 4, FLOAT, 0, comm[0], stream[0]));
      }
      IS(sends == receives ? 0 : ZB_COLL_USAGE, groupEnd());
    }
  }
  /* A communicator that goes while a group is open takes its calls along. */
  for (int message = 0; message < 2; message++) {
    IS(0, getUniqueId(&id));
    IS(0, commInitRank(&c, 1, id, 0));
    IS(0, groupStart());
    IS(0, message ? sendTo(in[0], 4, FLOAT, 0, c, stream[0])
                  : allReduce(in[0], out[0], 4, FLOAT, SUM, c, stream[0]));
    IS(0, commDestroy(c));
    IS(ZB_COLL_ARGUMENT, groupEnd());
  }
  IS(0, streamSynchronize(stream[0]));
}

/* A refused call, by its number; every one is of the kind that a group launches. */
static int refused_call(int which) {
  zb_unique_id id;
  void *c;
  switch (which) {
  case 0:
    return allReduce(in[3], out[3], 4, 99, SUM, comm[3], stream[3]);
  case 1:
    return broadcast(in[3], out[3], 4, FLOAT, DEVICES, comm[3], stream[3]);
  case 2:
    return sendTo(in[3], 4, FLOAT, DEVICES, comm[3], stream[3]);
  case 3:
    return recvFrom(plain, 4, FLOAT, 1, comm[3], stream[3]);
  case 4:
    return allToAllv(in[3], NULL, NULL, out[3], NULL, NULL, FLOAT, comm[3], stream[3]);
  case 5:
    return getUniqueId(&id) == 0 ? commInitRank(&c, 2, id, 2) : 0;
  case 6:
    return commSplit(comm[3], -2, 0, &c, NULL);
  }
  return allReduce(in[3], out[3], 4, FLOAT, SUM, none, stream[3]);
}

/* group.cc, ncclGroupErrCheck and ncclGroupEndInternal: the end of a group returns the error
 * of a call in it, and launches nothing; then the next group is whole. */
static void refused_in_groups(void) {
  for (int which = 0; which < 8; which++) {
    float want = 36, sum = 0;
    IS(0, groupStart());
    IS(0, groupStart());
    for (int i = 0; i < DEVICES; i++) {
      IS(i == 3 ? ZB_COLL_ARGUMENT : 0,
         i == 3 ? refused_call(which) : allReduce(in[i], out[i], 4, FLOAT, SUM, comm[i], stream[i]));
    }
    IS(0, groupEnd()); /* the inner one */
    IS(ZB_COLL_ARGUMENT, groupEnd());
    for (int i = 0; i < DEVICES; i++) {
      IS(0, streamQuery(stream[i]));
    }
    for (int i = 0; i < DEVICES; i++) {
      float mine = (float)(i + 1);
      IS(0, copy(in[i], &mine, sizeof mine, ZB_INFERRED));
    }
    IS(0, groupStart());
    for (int i = 0; i < DEVICES; i++) {
      IS(0, allReduce(in[i], out[i], 1, FLOAT, SUM, comm[i], stream[i]));
    }
    IS(0, groupEnd());
    for (int i = 0; i < DEVICES; i++) {
      IS(0, streamSynchronize(stream[i]));
      IS(0, copy(&sum, out[i], sizeof sum, ZB_INFERRED));
      CHECK(sum == want);
    }
  }
}

/* Whether the last error says all of that. */
static int says(const char *one, const char *two, const char *three) {
  const char *why = collLastError(comm[3]);
  return strstr(why, one) != NULL && strstr(why, two) != NULL && strstr(why, three) != NULL;
}

/* What is wrong with a call is told: which argument, of which rank. */
static void refusals_are_told(void) {
  allReduce(in[3], out[3], 4, 99, SUM, comm[3], stream[3]);
  CHECK(says("ncclAllReduce", "rank 3 of 8", "datatype 99"));
  allReduce(in[3], out[3], (size_t)1 << 62, FLOAT, SUM, comm[3], stream[3]);
  CHECK(says("ncclAllReduce", "rank 3 of 8", "count 4611686018427387904"));
  allReduce(in[3], out[3], 4, FLOAT, 77, comm[3], stream[3]);
  CHECK(says("ncclAllReduce", "rank 3 of 8", "op 77"));
  broadcast(in[3], out[3], 4, FLOAT, 9, comm[3], stream[3]);
  CHECK(says("ncclBroadcast", "rank 3 of 8", "root 9"));
  sendTo(in[3], 4, FLOAT, 8, comm[3], stream[3]);
  CHECK(says("ncclSend", "rank 3 of 8", "peer 8"));
  recvFrom(in[3], 4, FLOAT, -1, comm[3], stream[3]);
  CHECK(says("ncclRecv", "rank 3 of 8", "peer -1"));
  allReduce(in[3], out[3], 4, FLOAT, SUM, comm[3], none);
  CHECK(says("ncclAllReduce", "rank 3 of 8", "stream is none"));
  IS(ZB_COLL_USAGE, allReduce(in[3], out[3], 4, FLOAT, SUM, comm[3], stream[5]));
  CHECK(says("ncclAllReduce", "rank 3 of 8", "stream is of GPU 5, and the rank of GPU 3"));
  allReduce(in[3], out[3], 4, FLOAT, SUM, none, stream[3]);
  CHECK(says("ncclAllReduce", "comm", "no communicator"));
  allReduce(plain, out[3], 4, FLOAT, SUM, comm[3], stream[3]);
  CHECK(says("ncclAllReduce", "rank 3 of 8", "sendbuff is not in memory that devices reach"));
  allReduce(in[3], NULL, 4, FLOAT, SUM, comm[3], stream[3]);
  CHECK(says("ncclAllReduce", "rank 3 of 8", "recvbuff is not in memory that devices reach"));
  allGather(in[3], out[3] + 16, COUNT, FLOAT, comm[3], stream[3]);
  CHECK(says("ncclAllGather", "rank 3 of 8", "recvbuff needs 8192 bytes, and its allocation ends after 1008"));
  allReduce(in[3], in[3] + 4, 4, FLOAT, SUM, comm[3], stream[3]);
  CHECK(says("ncclAllReduce", "rank 3 of 8", "sendbuff and recvbuff overlap"));
  recvFrom(plain, 4, FLOAT, 1, comm[3], stream[3]);
  CHECK(says("ncclRecv", "rank 3 of 8", "recvbuff is not in memory"));
}

/* A code object as a compiler would make it, as far as its names go: one kernel, a variable
 * with a value and one of zeros; and a bundle of it. */

enum { NO_SECTION, NAMES, SYMBOLS, DATA, ZEROS, SECTIONS };
enum { CODE_SYMBOLS = 4, CODE_ZEROS = 4096 };

typedef struct code_object {
  Elf64_Ehdr head;
  char names[64];
  Elf64_Sym symbols[CODE_SYMBOLS];
  float data[4];
  Elf64_Shdr sections[SECTIONS];
} code_object;

/* The names stand at 1, 16 and 22. */
static const char code_names[] = "\0_Z4fillPffi.kd\0table\0counts";

static code_object make_code_object(void) {
  code_object o = {.head = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB},
                            .e_shoff = offsetof(code_object, sections), .e_shnum = SECTIONS}};
  const unsigned char object = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT);
  memcpy(o.names, code_names, sizeof code_names);
  o.symbols[1] = (Elf64_Sym){1, object, 0, DATA, 0x1000, 0};
  o.symbols[2] = (Elf64_Sym){16, object, 0, DATA, 0x1004, 12};
  o.symbols[3] = (Elf64_Sym){22, object, 0, ZEROS, 0x2000, CODE_ZEROS};
  o.data[1] = 1.5F, o.data[2] = 2.5F, o.data[3] = 3.5F;
  o.sections[NAMES] = (Elf64_Shdr){.sh_type = SHT_STRTAB, .sh_offset = offsetof(code_object, names),
                                   .sh_size = sizeof o.names};
  o.sections[SYMBOLS] = (Elf64_Shdr){.sh_type = SHT_DYNSYM, .sh_link = NAMES,
                                     .sh_offset = offsetof(code_object, symbols),
                                     .sh_size = sizeof o.symbols};
  o.sections[DATA] = (Elf64_Shdr){.sh_type = SHT_PROGBITS, .sh_addr = 0x1000,
                                  .sh_offset = offsetof(code_object, data),
                                  .sh_size = sizeof o.data};
  o.sections[ZEROS] = (Elf64_Shdr){.sh_type = SHT_NOBITS, .sh_addr = 0x2000,
                                   .sh_offset = 1 << 30, .sh_size = CODE_ZEROS};
  return o;
}

/* Clang's bundle: the host's part, which is empty, and code objects of two GPUs. */
typedef struct code_bundle {
  char magic[24];
  uint64_t entries;
  struct {
    uint64_t offset, bytes, length;
    char triple[32];
  } entry[3];
  code_object object[2];
} code_bundle;

static code_bundle make_code_bundle(void) {
  static const char *const triple[] = {"host-x86_64-unknown-linux-gnu---",
                                       "hipv4-amdgcn-amd-amdhsa--gfx942:",
                                       "hipv4-amdgcn-amd-amdhsa--gfx1100"};
  code_bundle b = {.entries = 3};
  memcpy(b.magic, "__CLANG_OFFLOAD_BUNDLE__", sizeof b.magic);
  for (int i = 0; i < 3; i++) {
    b.entry[i].length = sizeof b.entry[i].triple;
    memcpy(b.entry[i].triple, triple[i], sizeof b.entry[i].triple);
    if (i > 0) {
      b.object[i - 1] = make_code_object();
      b.entry[i].offset = offsetof(code_bundle, object) + (size_t)(i - 1) * sizeof b.object[0];
      b.entry[i].bytes = sizeof b.object[0];
    }
  }
  b.object[1].data[1] = 9; /* of the GPU that is not the loopback's */
  return b;
}

/* Modules of a program's own, and variables of its device code. Files of ROCm/clr are those of
 * hipamd/src at rocm-6.2.2. */

enum { ERR_SYMBOL = 13, ERR_NO_BINARY = 209, ERR_KERNEL_FILE = 218, ERR_NO_FILE = 301 };

/* hip_module.cpp, hip_fatbin.cpp and hip_code_object.cpp. */
static void modules_that_are_none(const code_object *o) {
  code_bundle b = make_code_bundle();
  code_object cut = *o;
  void *m;
  IS(ZB_ERR_VALUE, moduleLoad(NULL, o));
  IS(ZB_ERR_VALUE, moduleLoad(&m, NULL));
  IS(ERR_KERNEL_FILE, moduleLoad(&m, "no code"));
  cut.head.e_ident[EI_CLASS] = ELFCLASS32;
  IS(ERR_KERNEL_FILE, moduleLoadWith(&m, &cut, 0, NULL, NULL));
  cut = *o;
  cut.head.e_shoff = UINT64_MAX - sizeof cut;
  IS(ERR_KERNEL_FILE, moduleLoad(&m, &cut));
  b.entry[1].bytes = b.entry[2].bytes = sizeof cut - 1; /* its last part is missing */
  IS(ERR_KERNEL_FILE, moduleLoad(&m, &b));
  b.entries = 1u << 30;
  IS(ERR_KERNEL_FILE, moduleLoad(&m, &b));
  IS(ZB_ERR_VALUE, moduleLoadFile(NULL, "/no/such/file"));
  IS(ZB_ERR_VALUE, moduleLoadFile(&m, NULL));
  IS(ERR_NO_FILE, moduleLoadFile(&m, "/no/such/file"));
  IS(ZB_ERR_VALUE, moduleLoadFile(&m, "/dev/null"));
}

static void write_file(const char *path, const void *what, size_t bytes) {
  FILE *f = fopen(path, "wb");
  CHECK(f != NULL && fwrite(what, 1, bytes, f) == bytes && fclose(f) == 0);
}

/* A code object by file: whole, and without its end. */
static void modules_of_files(const code_object *o) {
  char path[] = "/tmp/zbench-code-XXXXXX";
  void *m, *f;
  int fd = mkstemp(path);
  CHECK(fd >= 0 && close(fd) == 0);
  write_file(path, o, sizeof *o);
  IS(0, moduleLoadFile(&m, path));
  IS(0, moduleFunction(&f, m, "_Z4fillPffi"));
  IS(0, moduleUnload(m));
  no_function(f); /* it went with its module */
  no_module(m);
  write_file(path, o, sizeof *o - 1);
  IS(ERR_KERNEL_FILE, moduleLoadFile(&m, path));
  unlink(path);
}

/* Symbols that lie outside of the file are not read. */
static void broken_objects(void) {
  void *m, *p;
  for (int what = 0; what < 7; what++) {
    code_object o = make_code_object();
    Elf64_Shdr *s = o.sections;
    switch (what) {
    case 0: s[SYMBOLS].sh_offset = 1u << 30; break;
    case 1: s[SYMBOLS].sh_link = SECTIONS + 1000; break;
    case 2: s[NAMES].sh_size = 1u << 30; break;
    case 3: o.symbols[2].st_name = 1u << 30; break;
    case 4: s[DATA].sh_offset = 1u << 30; break;
    case 5: o.symbols[2].st_size = 1u << 30; break;
    default: o.symbols[2].st_shndx = SECTIONS + 1000;
    }
    IS(0, moduleLoad(&m, &o));
    IS(ZB_ERR_NOT_FOUND, moduleGlobal(&p, NULL, m, "table"));
    IS(0, moduleUnload(m));
  }
}

/* hip_module.cpp, hipModuleGetGlobal: each device has its own, and a module's name is not
 * another's. */
static void module_variables(void *m) {
  void *p = NULL, *again, *elsewhere, *q;
  float seen[3];
  size_t bytes = 0;
  IS(ZB_ERR_VALUE, moduleGlobal(NULL, NULL, m, "table"));
  IS(ZB_ERR_VALUE, moduleGlobal(&p, &bytes, m, NULL));
  IS(ZB_ERR_VALUE, moduleGlobal(&p, &bytes, m, ""));
  IS(ZB_ERR_HANDLE, moduleGlobal(&p, &bytes, NULL, "table"));
  IS(ZB_ERR_NOT_FOUND, moduleGlobal(&p, &bytes, none, "table"));
  IS(ZB_ERR_NOT_FOUND, moduleGlobal(&p, &bytes, m, "tab"));
  IS(ZB_ERR_NOT_FOUND, moduleGlobal(&p, &bytes, m, "tables"));
  IS(0, moduleGlobal(&p, &bytes, m, "table"));
  CHECK(bytes == 12);
  IS(0, copy(seen, p, sizeof seen, ZB_TO_HOST));
  CHECK(seen[0] == 1.5F && seen[2] == 3.5F);
  IS(0, moduleGlobal(&again, NULL, m, "table"));
  CHECK(again == p);
  IS(0, setDevice(1));
  IS(0, moduleGlobal(&elsewhere, NULL, m, "table"));
  CHECK(elsewhere != p);
  IS(0, setDevice(0));
  IS(0, moduleGlobal(&q, &bytes, m, "counts"));
  CHECK(bytes == CODE_ZEROS && *(int *)q == 0);
}

/* A module's kernel runs as its version for the host; its arguments come as pointers or in
 * one buffer (hip_module.cpp, hipModuleLaunchKernel). */
static void module_kernels(void *m) {
  struct {
    float *to;
    float value;
    int n;
  } packed = {(float *)(void *)in[0], 6, 2};
  size_t bytes = sizeof packed;
  void *extra[] = {(void *)1, &packed, (void *)2, &bytes, (void *)3}, *bad[] = {(void *)7};
  void *args[] = {&packed.to, &packed.value, &packed.n}, *f, *again;
  IS(ZB_ERR_VALUE, moduleFunction(NULL, m, "fill"));
  IS(ZB_ERR_VALUE, moduleFunction(&f, m, NULL));
  IS(ZB_ERR_VALUE, moduleFunction(&f, m, ""));
  IS(ZB_ERR_NOT_FOUND, moduleFunction(&f, m, "fill"));
  IS(ZB_ERR_NOT_FOUND, moduleFunction(&f, m, "table")); /* a variable */
  IS(0, moduleFunction(&f, m, "_Z4fillPffi"));
  IS(0, moduleFunction(&again, m, "_Z4fillPffi"));
  CHECK(f == again);
  IS(ZB_ERR_VALUE, launchKernel(f, 0, 1, 1, 1, 1, 1, 0, stream[0], args, NULL));
  IS(ZB_ERR_VALUE, launchKernel(f, 1, 1, 1, 1, 1, 1, 0, none, args, NULL));
  IS(ZB_ERR_VALUE, launchKernel(f, 1, 1, 1, 1, 1, 1, 0, stream[0], NULL, NULL));
  IS(ZB_ERR_VALUE, launchKernel(f, 1, 1, 1, 1, 1, 1, 0, stream[0], NULL, bad));
  IS(0, launchKernel(f, 1, 1, 1, 1, 1, 1, 0, stream[0], args, NULL));
  IS(0, streamSynchronize(stream[0]));
  CHECK(((float *)(void *)in[0])[1] == 6);
  packed.value = 7;
  IS(0, launchKernel(f, 1, 1, 1, 1, 1, 1, 0, stream[0], NULL, extra));
  IS(0, streamSynchronize(stream[0]));
  CHECK(((float *)(void *)in[0])[1] == 7);
  bytes--;
  IS(ZB_ERR_VALUE, launchKernel(f, 1, 1, 1, 1, 1, 1, 0, stream[0], NULL, extra));
}

/* One that has none is an error of its launch and its stream. */
static void unknown_kernels(void) {
  code_object o = make_code_object();
  void *m, *f, *s;
  memcpy(o.names + 1, "_Z4none", 7);
  IS(0, streamCreate(&s, 1));
  IS(0, moduleLoad(&m, &o));
  IS(ZB_ERR_NOT_FOUND, moduleFunction(&f, m, "_Z4fillPffi"));
  IS(0, moduleFunction(&f, m, "_Z4nonePffi"));
  IS(ERR_NO_BINARY, launchKernel(f, 1, 1, 1, 1, 1, 1, 0, s, NULL, NULL));
  IS(ERR_NO_BINARY, streamSynchronize(s));
  IS(0, moduleUnload(m));
  IS(0, streamDestroy(s));
}

static void modules(void) {
  code_object o = make_code_object();
  code_bundle b = make_code_bundle();
  void *m, *of_bundle, *p;
  modules_that_are_none(&o);
  modules_of_files(&o);
  broken_objects();
  unknown_kernels();
  IS(0, moduleLoad(&m, "zbench loopback kernels")); /* zbench's own code has no variables */
  IS(ZB_ERR_NOT_FOUND, moduleGlobal(&p, NULL, m, "table"));
  IS(0, moduleUnload(m));
  IS(0, moduleLoad(&m, &o));
  memset(&o, 0, sizeof o); /* the program's again */
  module_variables(m);
  module_kernels(m);
  IS(0, moduleLoadWith(&of_bundle, &b, 0, NULL, NULL));
  module_variables(of_bundle);
  IS(0, moduleGlobal(&p, NULL, m, "table"));
  IS(0, moduleUnload(of_bundle));
  IS(0, moduleUnload(m));
}

/* Variables of the device code that the program is registered with. Files of ROCm/clr are those
 * of hipamd/src at rocm-6.2.2. */

/* What stands for the device's variable on the host; its value is not the device's. */
static float table_of_host[3], counts_of_host[CODE_ZEROS / 4];
static int *shared_of_host;

/* hip_memory.cpp, hipMemcpyToSymbol_common and its like; hip_platform.cpp. */
static void wrong_symbols(void) {
  float value = 1;
  void *p;
  size_t bytes;
  IS(ERR_SYMBOL, toSymbol(plain, &value, 4, 0, ZB_TO_DEVICE));
  IS(ERR_SYMBOL, toSymbol(NULL, &value, 4, 0, ZB_TO_DEVICE));
  IS(ERR_SYMBOL, fromSymbolAsync(&value, plain, 4, 0, ZB_TO_HOST, stream[0]));
  IS(ERR_SYMBOL, symbolAddress(&p, plain));
  IS(ERR_SYMBOL, symbolSize(&bytes, plain));
  IS(ZB_ERR_VALUE, symbolAddress(NULL, table_of_host));
  IS(ZB_ERR_VALUE, symbolSize(NULL, table_of_host));
  IS(ZB_ERR_VALUE, toSymbol(table_of_host, &value, 4, 9, ZB_TO_DEVICE));
  IS(ZB_ERR_VALUE, toSymbol(table_of_host, &value, 4, SIZE_MAX, ZB_TO_DEVICE));
  IS(ZB_ERR_VALUE, toSymbolAsync(table_of_host, &value, 13, 0, ZB_TO_DEVICE, stream[0]));
  IS(ZB_ERR_VALUE, fromSymbol(&value, table_of_host, 4, 9, ZB_TO_HOST));
  IS(ZB_ERR_DIRECTION, toSymbol(table_of_host, &value, 4, 0, ZB_TO_HOST));
  IS(ZB_ERR_DIRECTION, toSymbolAsync(table_of_host, &value, 4, 0, ZB_INFERRED, stream[0]));
  IS(ZB_ERR_DIRECTION, fromSymbol(&value, table_of_host, 4, 0, ZB_TO_DEVICE));
  IS(ZB_ERR_DIRECTION, fromSymbolAsync(&value, table_of_host, 4, 0, ZB_INFERRED, stream[0]));
  IS(DESTROYED, toSymbolAsync(table_of_host, &value, 4, 0, ZB_TO_DEVICE, none));
  IS(DESTROYED, fromSymbolAsync(&value, table_of_host, 4, 0, ZB_TO_HOST, none));
}

/* Values go there and come back, in a stream's order; each device has its own. */
static void symbols_hold(void) {
  float seen[3] = {0}, value = 8;
  void *p, *graph, *exec;
  size_t bytes;
  IS(0, fromSymbol(seen, table_of_host, 12, 0, ZB_TO_HOST));
  CHECK(seen[0] == 1.5F && seen[1] == 2.5F && seen[2] == 3.5F);
  IS(0, toSymbol(table_of_host, &value, 4, 4, ZB_TO_DEVICE));
  IS(0, symbolAddress(&p, table_of_host));
  CHECK(((float *)p)[0] == 1.5F && ((float *)p)[1] == 8);
  IS(0, symbolSize(&bytes, table_of_host));
  CHECK(bytes == 12);
  IS(0, toSymbol(table_of_host, out[0], 4, 8, ZB_DEVICE_TO_DEVICE));
  IS(0, fromSymbol(out[0], table_of_host, 4, 8, 1024)); /* hipMemcpyDeviceToDeviceNoCU */
  IS(0, setDevice(1));
  IS(0, fromSymbol(seen, table_of_host, 12, 0, ZB_TO_HOST));
  CHECK(seen[1] == 2.5F);
  IS(0, setDevice(0));
  IS(0, streamBeginCapture(stream[0], ZB_CAPTURE_THREAD)); /* its memory is made in a capture */
  IS(0, toSymbolAsync(counts_of_host, &value, 4, 8, ZB_TO_DEVICE, stream[0]));
  IS(ZB_ERR_CAPTURE, toSymbol(counts_of_host, &value, 4, 8, ZB_TO_DEVICE));
  IS(ZB_ERR_CAPTURE_INVALID, streamEndCapture(stream[0], &graph));
  IS(0, streamBeginCapture(stream[0], ZB_CAPTURE_THREAD));
  IS(0, toSymbolAsync(counts_of_host, &value, 4, 8, ZB_TO_DEVICE, stream[0]));
  IS(0, streamEndCapture(stream[0], &graph));
  IS(0, graphInstantiate(&exec, graph, 0));
  IS(0, graphLaunch(exec, stream[0]));
  IS(0, fromSymbolAsync(seen, counts_of_host, 12, 0, ZB_TO_HOST, stream[0]));
  IS(0, streamSynchronize(stream[0]));
  CHECK(seen[0] == 0 && seen[2] == 8);
  IS(0, graphExecDestroy(exec));
  IS(0, graphDestroy(graph));
  IS(0, symbolAddress(&p, table_of_host));
  IS(0, freeDevice(p)); /* as hipDeviceReset does; the next one is as at first */
  IS(0, fromSymbol(seen, table_of_host, 12, 0, ZB_TO_HOST));
  CHECK(seen[1] == 2.5F);
}

/* A kernel's version for the host sees the variables of its launch's device. */
static void kernels_see_symbols(void **module) {
  static const char known = 0;
  const zbs_dim3 one = {1, 1, 1};
  float value = 3, seen;
  int more = 4;
  void *args[] = {&more};
  registerFunction(module, &known, NULL, "_Z3addi", 0, NULL, NULL, NULL, NULL, NULL);
  IS(0, setDevice(1));
  IS(0, toSymbol(table_of_host, &value, 4, 0, ZB_TO_DEVICE));
  IS(0, launchFunction(&known, one, one, args, 0, stream[1]));
  IS(0, streamSynchronize(stream[1]));
  IS(0, fromSymbol(&seen, table_of_host, 4, 0, ZB_TO_HOST));
  CHECK(seen == 7 && *shared_of_host == 5 + 4);
  IS(0, setDevice(0));
}

static void symbols(void) {
  static code_bundle b;
  static int first = 5;
  static struct {
    uint32_t magic, version;
    void *binary, *unused;
  } wrapper = {0x48495046, 1, &b, NULL};
  char table[] = "table", counts[] = "counts";
  void **module;
  float seen = 0;
  b = make_code_bundle();
  module = registerFatBinary(&wrapper);
  registerVar(module, table_of_host, table, table, 0, 12, 0, 0);
  registerVar(module, counts_of_host, counts, counts, 0, CODE_ZEROS, 1, 0);
  registerManagedVar(module, (void **)&shared_of_host, &first, "shared", sizeof first, 4);
  CHECK(*shared_of_host == 5);
  wrong_symbols();
  symbols_hold();
  kernels_see_symbols(module);
  unregisterFatBinary(module);
  IS(ERR_SYMBOL, fromSymbol(&seen, table_of_host, 4, 0, ZB_TO_HOST));
  module = registerFatBinary("no code"); /* without a code object zeros are what it has */
  registerVar(module, table_of_host, table, table, 0, 12, 0, 0);
  IS(0, fromSymbol(&seen, table_of_host, 4, 0, ZB_TO_HOST));
  CHECK(seen == 0);
  unregisterFatBinary(module);
}

/* Memory between processes, as far as one process can try it; client_test.c has several. Rules
 * are of ROCm/clr at rocm-6.2.2, hipamd/src/hip_memory.cpp, hipIpcGetMemHandle,
 * hipIpcOpenMemHandle and hipIpcCloseMemHandle. */

enum { ERR_POINTER = 17, ERR_CONTEXT = 201 };

/* Where a handle has what: to forge one. */
typedef struct forged_handle {
  uint64_t bytes, offset, at;
  int64_t owner;
} forged_handle;

static zbs_ipc forged(const zbs_ipc *handle, const forged_handle *with) {
  zbs_ipc h = *handle;
  memcpy(&h, with, sizeof *with);
  return h;
}

static void wrong_handles(const zbs_ipc *handle) {
  void *p;
  forged_handle f;
  memcpy(&f, handle, sizeof f);
  IS(ERR_CONTEXT, ipcOpen(&p, *handle, 1)); /* its own */
  f.owner++;
  IS(ZB_ERR_VALUE, ipcOpen(NULL, forged(handle, &f), 1));
  IS(ZB_ERR_VALUE, ipcOpen(&p, forged(handle, &f), 2));
  IS(ERR_POINTER, ipcOpen(&p, forged(handle, &f), 0)); /* no file where others are */
  f.bytes = 0;
  IS(ZB_ERR_VALUE, ipcOpen(&p, forged(handle, &f), 1));
  f.bytes = SIZE + 1;
  IS(ERR_POINTER, ipcOpen(&p, forged(handle, &f), 1));
  f.bytes = f.offset = SIZE;
  IS(ERR_POINTER, ipcOpen(&p, forged(handle, &f), 1));
  f.offset = 0;
  for (uint64_t at = 1; at != 0; at <<= 1) { /* anywhere, in the arena and out of it */
    f.at = at + (at & 1);
    IS(ERR_POINTER, ipcOpen(&p, forged(handle, &f), 1));
    f.at = at - 1;
    IS(ERR_POINTER, ipcOpen(&p, forged(handle, &f), 1));
  }
}

static void ipc(void) {
  zbs_ipc handle, again;
  void *p, *host;
  float seen = 0, value = 12;
  IS(0, mallocDevice(&p, SIZE));
  IS(0, mallocHost(&host, SIZE));
  IS(0, copy(p, &value, sizeof value, ZB_TO_DEVICE));
  IS(ZB_ERR_VALUE, ipcGet(NULL, p));
  IS(ZB_ERR_VALUE, ipcGet(&handle, NULL));
  IS(ZB_ERR_VALUE, ipcGet(&handle, plain));
  IS(ZB_ERR_VALUE, ipcGet(&handle, host));
  IS(0, ipcGet(&handle, p));
  IS(0, ipcGet(&again, p));
  CHECK(memcmp(&handle, &again, sizeof handle) == 0);
  IS(0, copy(&seen, p, sizeof seen, ZB_TO_HOST));
  CHECK(seen == value);
  wrong_handles(&handle);
  IS(ZB_ERR_VALUE, ipcClose(NULL));
  IS(ZB_ERR_VALUE, ipcClose(plain));
  IS(ZB_ERR_VALUE, ipcClose(p)); /* it was not opened */
  IS(0, freeDevice(p));
  IS(0, hostFree(host));
}

/* Streams that wait for values and write them. Files of ROCm/clr are those of hipamd/src at
 * rocm-6.2.2; conditions are those of hip_runtime_api.h. */

enum { AT_LEAST, EQUAL, AND, NOR, ALL = 0xffffffff };

/* hip_stream_ops.cpp, ihipStreamOperation. */
static void wrong_values(char *at) {
  IS(ZB_ERR_VALUE, waitValue32(stream[0], NULL, 1, AT_LEAST, ALL));
  IS(DESTROYED, waitValue32(none, at, 1, AT_LEAST, ALL));
  IS(DESTROYED, writeValue64(none, at, 1, 0));
  IS(ZB_ERR_VALUE, waitValue32(stream[0], plain, 1, AT_LEAST, ALL));
  IS(ZB_ERR_VALUE, writeValue32(stream[0], plain, 1, 0));
  IS(ZB_ERR_VALUE, writeValue32(stream[0], at + 2, 1, 0));
  IS(ZB_ERR_VALUE, writeValue64(stream[0], at + SIZE, 1, 0));
  IS(ZB_ERR_VALUE, waitValue32(stream[0], at, 1, NOR + 1, ALL));
  IS(ZB_ERR_VALUE, waitValue64(stream[0], at, 1, 0x80000001, ALL));
}

/* Whether a stream waits: by an event, for a query of the stream takes a while where nobody
 * acts. */
static int is_waiting(void *s) {
  void *e;
  int code;
  IS(0, eventCreate(&e));
  IS(0, eventRecord(e, s));
  code = eventQuery(e);
  IS(0, eventDestroy(e));
  return code == ZB_ERR_NOT_READY;
}

/* Each condition waits while it does not hold, and no longer. */
static void conditions(char *at) {
  static const struct {
    uint64_t before, after, value, mask;
    unsigned until;
    int wide;
  } turns[] = {{4, 5, 5, ALL, AT_LEAST, 0},
               {4, 6, 5, ALL, AT_LEAST, 0},
               {6, 5, 5, ALL, EQUAL, 0},
               {4, 0x85, 5, 0xf, EQUAL, 0},
               {0xf0, 0xf1, 1, ALL, AND, 0},
               {0xf0, 0xe0, 0x0f, 0xff, NOR, 0},
               {5, 5ull << 32 | 5, 5ull << 32, UINT64_MAX, AT_LEAST, 1},
               {5ull << 32, 5ull << 32 | 7, 7, ALL, EQUAL, 1}};
  for (size_t i = 0; i < sizeof turns / sizeof turns[0]; i++) {
    uint64_t value = turns[i].value, mask = turns[i].mask;
    for (int late = 0; late < 2; late++) { /* the value comes later, or is there */
      IS(0, writeValue64(stream[1], at, late ? turns[i].before : turns[i].after, 0));
      IS(0, turns[i].wide ? waitValue64(stream[0], at, value, turns[i].until, mask)
                          : waitValue32(stream[0], at, (uint32_t)value, turns[i].until, (uint32_t)mask));
      CHECK(is_waiting(stream[0]) == late);
      IS(0, late ? writeValue64(stream[1], at, turns[i].after, 0) : 0);
      IS(0, streamSynchronize(stream[0]));
    }
  }
  IS(0, writeValue64(stream[1], at, UINT64_MAX, 0));
  IS(0, writeValue32(stream[1], at, 1, 0)); /* half of it */
  IS(0, streamSynchronize(stream[1]));
  CHECK(*(uint64_t *)(void *)at == (UINT64_MAX << 32 | 1));
}

/* The wait takes until the other stream's write, on the model's clock, whichever was called
 * first. */
static void waits_take_time(char *at) {
  enum { LAUNCHES = 20 };
  static const char known = 0;
  const zbs_dim3 one = {1, 1, 1};
  float *to = (float *)(void *)in[0], value = 1, ms = 0;
  int n = 1;
  void *args[] = {&to, &value, &n}, **module = registerFatBinary("no code"), *s, *begin, *end;
  registerFunction(module, &known, NULL, "_Z4fillPffi", 0, NULL, NULL, NULL, NULL, NULL);
  IS(0, streamCreate(&s, ZB_STREAM_NON_BLOCKING));
  IS(0, eventCreate(&begin));
  IS(0, eventCreate(&end));
  for (int first = 0; first < 2; first++) {
    IS(0, writeValue32(s, at, 0, 0));
    IS(0, streamSynchronize(s));
    IS(0, eventRecord(begin, stream[0]));
    IS(0, first ? waitValue32(stream[0], at, 1, EQUAL, ALL) : 0);
    IS(0, first ? eventRecord(end, stream[0]) : 0); /* before the host has come to the launches */
    for (int i = 0; i < LAUNCHES; i++) {
      IS(0, launchFunction(&known, one, one, args, 0, s));
    }
    IS(0, writeValue32(s, at, 1, 0));
    IS(0, first ? 0 : waitValue32(stream[0], at, 1, EQUAL, ALL));
    IS(0, first ? 0 : eventRecord(end, stream[0]));
    IS(0, streamSynchronize(stream[0]));
    IS(0, eventElapsed(&ms, begin, end));
    CHECK(ms >= LAUNCHES * 0.005F); /* a small kernel's time */
  }
  IS(0, waitValue32(s, at, 7, EQUAL, ALL));
  CHECK(is_waiting(s));
  IS(0, streamDestroy(s)); /* with what it waits for */
  IS(0, eventDestroy(begin));
  IS(0, eventDestroy(end));
  unregisterFatBinary(module);
}

/* The host may write the value, without a call. */
static void host_writes(char *at) {
  IS(0, writeValue32(stream[0], at, 0, 0));
  IS(0, waitValue32(stream[0], at, 9, EQUAL, ALL));
  CHECK(is_waiting(stream[0]));
  __atomic_store_n((uint32_t *)(void *)at, 9, __ATOMIC_RELEASE);
  IS(0, streamSynchronize(stream[0]));
}

static void values(void) {
  char *at = out[0];
  wrong_values(at);
  conditions(at);
  waits_take_time(at);
  host_writes(at);
}

/* Contexts, modes of captures, and what is told of managed memory. Files of ROCm/clr are those
 * of hipamd/src at rocm-6.2.2. */

/* hip_context.cpp. */
static void wrong_contexts(void) {
  void *c;
  for (int bad = -1; bad <= DEVICES; bad += DEVICES + 1) {
    IS(ZB_ERR_VALUE, contextCreate(&c, 0, bad));
    IS(ZB_ERR_DEVICE, primaryRetain(&c, bad));
    IS(ZB_ERR_DEVICE, primaryRelease(bad));
    IS(ZB_ERR_DEVICE, primaryFlags(bad, 0));
    IS(ZB_ERR_DEVICE, primaryState(bad, NULL, NULL));
  }
  IS(ZB_ERR_VALUE, contextCreate(NULL, 0, 0));
  IS(ZB_ERR_VALUE, primaryRetain(NULL, 0));
  IS(ZB_ERR_VALUE, contextGet(NULL));
  IS(ZB_ERR_VALUE, contextDevice(NULL));
  IS(ZB_ERR_VALUE, contextDestroy(NULL));
  IS(ZB_ERR_VALUE, contextDestroy(none));
  IS(ERR_CONTEXT, contextSet(none));
  IS(ERR_CONTEXT, contextPush(NULL));
  IS(ERR_CONTEXT, contextPush(none));
  IS(ERR_CONTEXT, contextPop(&c));
  IS(ZB_ERR_NOT_SUPPORTED, contextSynchronize());
  IS(216, primaryFlags(0, 0)); /* hipErrorContextAlreadyInUse */
}

/* hip_error.cpp: errors have names and texts. */
static void errors_are_called(void) {
  static const int codes[] = {1, 2, 12, 13, 17, 21, 98, 100, 101, 201, 209, 215, 216, 218, 301,
                              400, 401, 500, 600, 704, 705, 709, 712, 713, 719, 801, 900, 901};
  for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
    CHECK(strcmp(runtimeErrorName(codes[i]), "hipErrorUnknown") != 0);
    CHECK(strcmp(runtimeErrorString(codes[i]), "unknown error") != 0);
  }
  CHECK(strcmp(runtimeErrorName(218), "hipErrorInvalidKernelFile") == 0);
  CHECK(strcmp(runtimeErrorString(301), "file not found") == 0);
}

static void contexts(void) {
  void *c[2], *now;
  int device = 9, active = 9;
  unsigned flags = 9;
  errors_are_called();
  wrong_contexts();
  IS(0, primaryRetain(&c[0], 0));
  IS(0, primaryRetain(&c[1], 1));
  IS(0, contextGet(&now));
  CHECK(now == c[0] && c[0] != c[1]);
  IS(0, contextPush(c[1]));
  IS(0, getDevice(&device));
  CHECK(device == 1);
  IS(0, contextPop(&now)); /* which leaves the device as it is */
  IS(0, contextDevice(&device));
  CHECK(now == c[1] && device == 1);
  IS(0, contextSet(c[0]));
  IS(0, getDevice(&device));
  CHECK(device == 0);
  IS(0, contextSet(NULL));
  IS(ERR_CONTEXT, contextPop(NULL));
  IS(0, contextCreate(&now, 0, 1));
  IS(0, getDevice(&device));
  CHECK(now == c[1] && device == 0);
  IS(0, contextDestroy(c[0])); /* it is not the uppermost */
  IS(0, contextDestroy(c[1]));
  IS(ERR_CONTEXT, contextPop(NULL));
  for (int i = 0; i < 100; i++) { /* more than are kept */
    IS(0, contextPush(c[i % 2]));
  }
  for (int i = 99; i > 50; i--) {
    IS(0, contextPop(&now));
    CHECK(now == c[i % 2]);
  }
  IS(0, primaryState(0, &flags, &active));
  CHECK(flags == 0 && active == 1);
  IS(0, primaryRelease(0));
  IS(0, primaryReset(0));
  IS(0, setDevice(0));
}

/* hip_graph.cpp, hipThreadExchangeStreamCaptureMode and hipStreamGetCaptureInfo_common. */
static void modes_of_captures(void) {
  int mode = -1, status = 9;
  unsigned long long id = 0, other = 0;
  void *graph, *p;
  IS(ZB_ERR_VALUE, captureMode(NULL));
  IS(ZB_ERR_VALUE, captureMode(&mode));
  mode = ZB_CAPTURE_RELAXED + 1;
  IS(ZB_ERR_VALUE, captureMode(&mode));
  IS(ZB_ERR_VALUE, captureInfo(stream[0], NULL, &id));
  IS(DESTROYED, captureInfo(none, &status, &id));
  IS(0, captureInfo(stream[0], &status, &id));
  CHECK(status == 0 && id == 0);
  IS(0, streamBeginCapture(stream[0], ZB_CAPTURE_THREAD));
  IS(0, captureInfo(stream[0], &status, &id));
  CHECK(status == 1 && id != 0);
  mode = ZB_CAPTURE_RELAXED;
  IS(0, captureMode(&mode));
  CHECK(mode == ZB_CAPTURE_GLOBAL);
  IS(0, mallocDevice(&p, 64)); /* as PyTorch's allocator does */
  IS(0, captureMode(&mode));
  CHECK(mode == ZB_CAPTURE_RELAXED);
  IS(0, streamEndCapture(stream[0], &graph));
  IS(0, graphDestroy(graph));
  IS(0, freeDevice(p));
  IS(0, streamBeginCapture(stream[0], ZB_CAPTURE_THREAD));
  IS(0, captureInfo(stream[0], &status, NULL));
  IS(0, captureInfo(stream[0], &status, &other));
  CHECK(other != id);
  IS(ZB_ERR_CAPTURE, mallocDevice(&p, 64)); /* the mode is as it was */
  IS(ZB_ERR_CAPTURE_INVALID, streamEndCapture(stream[0], &graph));
}

/* hip_hmm.cpp and hip_device_runtime.cpp. */
static void managed_memory(void) {
  int device = 9;
  void *p;
  IS(0, mallocManaged(&p, SIZE, 1));
  IS(ZB_ERR_VALUE, prefetch(NULL, SIZE, 0, stream[0]));
  IS(ZB_ERR_VALUE, prefetch(p, 0, 0, stream[0]));
  IS(ZB_ERR_VALUE, prefetch(p, SIZE + 1, 0, stream[0]));
  IS(DESTROYED, prefetch(p, SIZE, 0, none));
  IS(ZB_ERR_DEVICE, prefetch(p, SIZE, -2, NULL));
  IS(ZB_ERR_DEVICE, prefetch(p, SIZE, DEVICES, NULL));
  IS(0, prefetch(p, SIZE, -1, NULL));
  IS(0, prefetch(p, SIZE, DEVICES - 1, stream[0]));
  IS(ZB_ERR_DEVICE, advise(p, SIZE, 3, -2));
  IS(ZB_ERR_DEVICE, advise(p, SIZE, 3, DEVICES));
  IS(ZB_ERR_VALUE, advise(NULL, SIZE, 3, 0));
  IS(ZB_ERR_VALUE, advise(p, 0, 3, 0));
  IS(ZB_ERR_VALUE, advise(p, SIZE + 1, 3, 0));
  IS(0, advise(p, SIZE, 1, DEVICES)); /* mostly read, by all */
  IS(0, advise(p, SIZE, 2, DEVICES));
  IS(0, advise(p, SIZE, 3, -1));
  IS(0, freeDevice(p));
  IS(ZB_ERR_VALUE, chooseDevice(NULL, plain));
  IS(ZB_ERR_VALUE, chooseDevice6(&device, NULL));
  IS(0, chooseDevice(&device, plain));
  CHECK(device == 0);
}

int main(int argc, char **argv) {
  open_all();
  if (argc > 1) {
    strcmp(argv[1], "older") == 0 ? older() : newest();
    close_all();
    return 0;
  }
  devices();
  memory();
  copies();
  memory_of_programs();
  handles();
  functions_are_called();
  functions_take_time();
  queries();
  pools();
  streams();
  events();
  captures();
  kernels();
  modules();
  symbols();
  ipc();
  values();
  contexts();
  modes_of_captures();
  managed_memory();
  communicators();
  calls();
  operators();
  registrations();
  newer();
  forked();
  groups();
  refused_in_groups();
  refusals_are_told();
  close_all();
  return 0;
}
