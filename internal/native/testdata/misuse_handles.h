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
