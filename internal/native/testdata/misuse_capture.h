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
