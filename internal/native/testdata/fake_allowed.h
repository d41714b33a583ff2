/* The fifth part of fake_test.c: what looks wrong, and what RCCL and HIP run. */

/* Any device's memory: RCCL enables the access between peers itself (ROCm/rccl,
 * src/transport/p2p.cc), and looks at pointers only with NCCL_CHECK_POINTERS
 * (src/misc/argcheck.cc). */
static void memory_of_a_peer(void) {
  open_world();
  fill_all(64);
  t.moveData(1);
  for (int i = 0; i < 4; i++) {
    CHECK(t.allReduce(sendbuf[(i + 1) % 4], recvbuf[3 - i], 64, 7, 0, comm[i], stream[i]) == 0);
  }
  done_on_all();
  t.moveData(0);
  CHECK(((float *)recvbuf[1])[63] == 10);
  close_world();
}

/* A stream knows its device: any may be current (ROCm/clr, hipamd/src/hip_stream.cpp,
 * hipStreamQuery_common; hip_event.cpp, hipEventRecord_common, which compares the event's
 * device with the stream's). */
static void streams_of_any_device(void) {
  void *event, *graph;
  int value = 5;
  open_world();
  t.setDevice(1);
  CHECK(t.eventCreate(&event) == ZB_OK);
  CHECK(t.eventRecord(event, stream[0]) == ZB_ERR_HANDLE); /* event of device 1 */
  t.setDevice(0);
  CHECK(t.eventRecord(event, stream[1]) == ZB_OK);
  CHECK(t.copyAsync(sendbuf[1], &value, 4, ZB_TO_DEVICE, stream[1]) == ZB_OK);
  CHECK(t.streamQuery(stream[1]) == ZB_OK && *(int *)sendbuf[1] == 5);
  CHECK(t.streamBeginCapture(stream[1], 1) == ZB_OK);
  CHECK(t.streamEndCapture(stream[1], &graph) == ZB_OK && t.graphDestroy(graph) == ZB_OK);
  CHECK(t.eventDestroy(event) == ZB_OK);
  close_world();
}

/* A kernel sees what ran before it on its stream: so does a collective, without a wait
 * of the host's between (CUDA C++ Programming Guide, "Streams"). */
static void results_flow_along_a_stream(void) {
  float *got;
  open_world();
  fill_all(64);
  t.moveData(1);
  for (int round = 0; round < 3; round++) { /* 10, then 4 times that in place, twice */
    for (int i = 0; i < 4; i++) {
      CHECK(t.allReduce(round == 0 ? sendbuf[i] : recvbuf[i], recvbuf[i], 64, 7, 0, comm[i], stream[i]) == 0);
    }
  }
  for (int i = 0; i < 4; i++) {
    CHECK(t.reduceScatter(recvbuf[i], (char *)recvbuf[i] + 1024, 8, 7, 0, comm[i], stream[i]) == 0);
  }
  for (int i = 0; i < 4; i++) { /* part of it is of this, the rest was never written */
    CHECK(t.allReduce((char *)recvbuf[i] + 1000, (char *)recvbuf[i] + 2048, 14, 7, 2, comm[i], stream[i]) == 0);
  }
  CHECK(t.sendTo(recvbuf[0], 64, 7, 1, comm[0], stream[0]) == 0);
  CHECK(t.recvFrom(sendbuf[1], 64, 7, 0, comm[1], stream[1]) == 0);
  done_on_all();
  t.moveData(0);
  got = recvbuf[2];
  CHECK(got[0] == 160 && got[63] == 160 && got[256] == 640 && got[263] == 640);
  CHECK(got[512 + 6] == 640 && got[512 + 13] == 640);
  CHECK(((float *)sendbuf[1])[63] == 160);
  close_world();
}

/* Memory that goes takes what was promised to it along. */
static void memory_goes_with_results(void) {
  void *out[4];
  open_world();
  t.moveData(1);
  for (int i = 0; i < 4; i++) {
    t.setDevice(i);
    CHECK(t.mallocDevice(&out[i], 4096) == ZB_OK);
    CHECK(t.allReduce(sendbuf[i], out[i], 64, 7, 0, comm[i], stream[i]) == 0);
  }
  for (int i = 0; i < 4; i++) {
    CHECK(t.freeDevice(out[i]) == ZB_OK);
  }
  done_on_all();
  t.moveData(0);
  close_world();
}

/* Copies in a capture are nodes of its graph (HIP: "Graph management", stream
 * capture). */
static void copies_in_a_graph(void) {
  void *graph, *exec;
  int first = 1, got = 0;
  open_world();
  t.setDevice(0);
  CHECK(t.streamBeginCapture(stream[0], ZB_CAPTURE_THREAD) == ZB_OK);
  CHECK(t.copyAsync(sendbuf[0], &first, 4, ZB_TO_DEVICE, stream[0]) == ZB_OK);
  CHECK(t.copyAsync(&got, sendbuf[0], 4, ZB_TO_HOST, stream[0]) == ZB_OK);
  CHECK(t.streamEndCapture(stream[0], &graph) == ZB_OK);
  CHECK(t.graphInstantiate(&exec, graph, 0) == ZB_OK && got == 0);
  first = 7;
  CHECK(t.graphLaunch(exec, stream[0]) == ZB_OK);
  CHECK(t.streamQuery(stream[0]) == ZB_OK && got == 7);
  CHECK(t.graphExecDestroy(exec) == ZB_OK && t.graphDestroy(graph) == ZB_OK);
  close_world();
}

/* A group that the machine file has no curve of: the nearest one's constants, with the
 * bus factor of its own size, marked. */
static void derived_curves(void) {
  const zbl_curve *whole;
  zbl_curve half;
  open_world();
  whole = zbl_curve_for(ZBL_ALL_REDUCE, 0, 4, 1);
  half = zbl_derived(ZBL_ALL_REDUCE, 2, 2, 1);
  CHECK(whole != NULL && half.ranks == 2 && half.first == 2 && half.extrapolated);
  CHECK(half.b == whole->b && half.floor == whole->floor);
  CHECK(fabs(half.k / whole->k - (2.0 * 1 / 2) / (2.0 * 3 / 4)) < 1e-12);
  close_world();
}

/* All ranks below n join one more communicator. */
static void join_first(int n, void **more) {
  zb_unique_id id;
  CHECK(t.getUniqueId(&id) == 0 && t.groupStart() == 0);
  for (int i = 0; i < n; i++) {
    CHECK(t.setDevice(i) == 0 && t.commInitRank(&more[i], n, id, i) == 0);
  }
  CHECK(t.groupEnd() == 0);
}

static int reduce_on(void *c) {
  CHECK(t.setDevice(0) == 0);
  return t.allReduce(sendbuf[0], recvbuf[0], 8, 7, 0, c, stream[0]);
}

/* In zbench's own world such a group is refused: its machine file has all groups that it
 * plans. Other programs' are derived, and reported as not the machine's own. */
static void derived_for_other_programs(void) {
  void *two[2];
  open_world();
  join_first(2, two);
  CHECK(reduce_on(two[0]) == ZB_COLL_USAGE);
  CHECK(!zbl_extrapolated("all_reduce", 2, 1));
  zbl.derives = 1;
  join_first(2, two);
  CHECK(reduce_on(two[0]) == 0);
  CHECK(zbl_extrapolated("all_reduce", 2, 1));
  CHECK(!zbl_extrapolated("all_reduce", 4, 1) && !zbl_extrapolated("all_reduce", 1, 1));
  close_world();
}

static void allowed(void) {
  memory_of_a_peer();
  streams_of_any_device();
  results_flow_along_a_stream();
  memory_goes_with_results();
  copies_in_a_graph();
  derived_curves();
  derived_for_other_programs();
}
