/* The third part of fake_test.c: graphs. */

/* Captures one all_reduce of count on every rank; returns what the group said. */
static int capture_all(size_t count) {
  int code = 0;
  for (int i = 0; i < 4; i++) {
    t.setDevice(i);
    CHECK(t.streamBeginCapture(stream[i], ZB_CAPTURE_THREAD) == ZB_OK);
  }
  CHECK(t.groupStart() == 0);
  for (int i = 0; i < 4; i++) {
    code |= reduce(i, count);
  }
  CHECK(t.groupEnd() == 0);
  return code;
}

/* A capture launches nothing; each replay does, and the data of the moment move. */
static void graphs_replay(void) {
  void *graph[4], *exec[4];
  float mine, all = 0, one;
  open_world();
  CHECK(capture_all(1) == 0);
  for (int i = 0; i < 4; i++) {
    t.setDevice(i);
    CHECK(t.streamEndCapture(stream[i], &graph[i]) == ZB_OK);
    CHECK(t.streamQuery(stream[i]) == ZB_OK); /* nothing is there to wait for */
    CHECK(t.graphInstantiate(&exec[i], graph[i], 0) == ZB_OK);
    CHECK(t.graphDestroy(graph[i]) == ZB_OK); /* what was made of it lives on */
  }
  t.moveData(1);
  for (int k = 1; k < 3; k++) {
    all = 0;
    for (int i = 0; i < 4; i++) {
      t.setDevice(i);
      mine = (float)(k * (i + 1));
      all += mine;
      CHECK(t.copy(sendbuf[i], &mine, 4, ZB_TO_DEVICE) == ZB_OK);
      CHECK(t.graphLaunch(exec[i], stream[i]) == ZB_OK);
      CHECK(i == 3 || t.streamQuery(stream[i]) == ZB_ERR_NOT_READY);
    }
    for (int i = 0; i < 4; i++) {
      t.setDevice(i);
      CHECK(t.streamQuery(stream[i]) == ZB_OK);
      CHECK(t.copy(&one, recvbuf[i], 4, ZB_TO_HOST) == ZB_OK && one == all);
    }
  }
  t.moveData(0);
  for (int i = 0; i < 4; i++) {
    t.setDevice(i);
    CHECK(t.graphExecDestroy(exec[i]) == ZB_OK);
  }
  close_world();
}

/* A replay is one launch to the host, whatever is in it. */
static void graphs_cost_one_launch(void) {
  void *graph, *exec;
  int64_t before;
  open_world();
  t.setDevice(0);
  CHECK(t.streamBeginCapture(stream[0], ZB_CAPTURE_RELAXED) == ZB_OK);
  before = t.nowNs();
  for (int k = 0; k < 7; k++) {
    CHECK(reduce(0, 64) == 0);
  }
  CHECK(t.nowNs() == before);
  CHECK(t.streamEndCapture(stream[0], &graph) == ZB_OK);
  CHECK(t.graphInstantiate(&exec, graph, 0) == ZB_OK);
  CHECK(t.graphLaunch(exec, stream[0]) == ZB_OK);
  CHECK(t.nowNs() - before == 1000);
  for (int i = 1; i < 4; i++) {
    for (int k = 0; k < 7; k++) {
      CHECK(reduce(i, 64) == 0); /* a graph meets launches that are in none */
    }
  }
  t.setDevice(0);
  CHECK(t.streamQuery(stream[0]) == ZB_OK);
  CHECK(t.graphDestroy(graph) == ZB_OK && t.graphExecDestroy(exec) == ZB_OK);
  close_world();
}

/* What must not be done to a stream, or by a thread, that captures; each spoils
 * the capture but the last two, which are only refused. */
static void refuses_in_a_capture(void) {
  void *graph, *more, *event;
  char host[4];
  open_world();
  for (int what = 0; what < 7; what++) {
    t.setDevice(0);
    CHECK(t.eventCreate(&event) == ZB_OK);
    CHECK(t.streamBeginCapture(stream[0], ZB_CAPTURE_THREAD) == ZB_OK);
    switch (what) {
    case 0:
      CHECK(t.streamQuery(stream[0]) == ZB_ERR_CAPTURE);
      break;
    case 1:
      CHECK(t.streamDestroy(stream[0]) == ZB_ERR_CAPTURE);
      break;
    case 2:
      CHECK(t.mallocDevice(&more, 16) == ZB_ERR_CAPTURE);
      break;
    case 3:
      CHECK(t.copy(host, sendbuf[0], 4, ZB_TO_HOST) == ZB_ERR_CAPTURE);
      break;
    case 4:
      CHECK(t.freeDevice(sendbuf[0]) == ZB_ERR_CAPTURE);
      break;
    case 5:
      CHECK(t.streamBeginCapture(stream[0], ZB_CAPTURE_THREAD) == ZB_ERR_STATE);
      break;
    case 6:
      CHECK(t.eventRecord(event, stream[0]) == ZB_OK);
    }
    CHECK(t.streamEndCapture(stream[0], &graph) ==
          (what < 5 ? ZB_ERR_CAPTURE_INVALID : ZB_OK));
    CHECK((graph != NULL) == (what >= 5));
    CHECK(graph == NULL || t.graphDestroy(graph) == ZB_OK);
    CHECK(t.eventDestroy(event) == ZB_OK);
  }
  t.setDevice(0);
  CHECK(t.streamBeginCapture(stream[0], ZB_CAPTURE_RELAXED) == ZB_OK);
  CHECK(t.mallocDevice(&more, 16) == ZB_OK && t.freeDevice(more) == ZB_OK);
  CHECK(t.streamEndCapture(stream[0], &graph) == ZB_OK);
  CHECK(t.graphDestroy(graph) == ZB_OK);
  close_world();
}

static void *end_elsewhere(void *code) {
  void *graph;
  t.setDevice(0);
  *(int *)code = t.streamEndCapture(stream[0], &graph);
  return NULL;
}

static void refuses_bad_graphs(void) {
  void *graph, *exec, *empty;
  pthread_t thread;
  int code = 0;
  open_world();
  t.setDevice(0);
  CHECK(t.streamEndCapture(stream[0], &graph) == ZB_ERR_STATE && !graph);
  CHECK(t.streamBeginCapture(stream[0], 3) == ZB_ERR_VALUE);
  CHECK(t.streamBeginCapture(stream[0], ZB_CAPTURE_THREAD) == ZB_OK);
  CHECK(pthread_create(&thread, NULL, end_elsewhere, &code) == 0);
  CHECK(pthread_join(thread, NULL) == 0 && code == ZB_ERR_CAPTURE_THREAD);
  CHECK(reduce(0, 64) == 0);
  CHECK(t.streamEndCapture(stream[0], &graph) == ZB_OK);
  CHECK(t.graphLaunch(graph, stream[0]) == ZB_ERR_VALUE); /* not instantiated */
  CHECK(t.graphInstantiate(&exec, NULL, 0) == ZB_ERR_VALUE);
  CHECK(t.graphInstantiate(&exec, graph, 2) == ZB_ERR_VALUE);
  CHECK(t.graphInstantiate(&exec, graph, 0) == ZB_OK);
  CHECK(t.graphDestroy(exec) == ZB_ERR_STATE);
  CHECK(t.graphExecDestroy(graph) == ZB_ERR_VALUE);
  t.setDevice(1);
  CHECK(t.graphLaunch(exec, stream[1]) == ZB_ERR_HANDLE); /* of device 0 */
  t.setDevice(0);
  CHECK(t.streamBeginCapture(stream[0], ZB_CAPTURE_THREAD) == ZB_OK);
  CHECK(t.graphLaunch(exec, stream[0]) == ZB_ERR_NOT_SUPPORTED);
  CHECK(t.streamEndCapture(stream[0], &empty) == ZB_OK);
  CHECK(t.graphDestroy(empty) == ZB_OK);
  CHECK(t.commDestroy(comm[0]) == 0);
  CHECK(t.graphLaunch(exec, stream[0]) == ZB_ERR_VALUE); /* its comm is gone */
  CHECK(t.graphDestroy(graph) == ZB_OK && t.graphExecDestroy(exec) == ZB_OK);
  for (int i = 0; i < 4; i++) {
    CHECK(t.setDevice(i) == 0 && t.streamDestroy(stream[i]) == 0);
    CHECK(i == 0 || t.commDestroy(comm[i]) == 0);
  }
  zbl_shutdown();
}
