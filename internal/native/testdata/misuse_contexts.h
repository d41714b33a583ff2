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
