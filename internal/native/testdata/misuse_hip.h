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
