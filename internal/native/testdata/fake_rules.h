/* The fourth part of fake_test.c: what RCCL and HIP take, and a fake must too.
 * Each test names where the real code says so. */

static void done_on_all(void) {
  for (int i = 0; i < 4; i++) {
    t.setDevice(i);
    CHECK(t.streamQuery(stream[i]) == ZB_OK);
  }
}

static void fill_all(size_t n) {
  for (int i = 0; i < 4; i++) {
    for (size_t k = 0; k < n; k++) {
      ((float *)sendbuf[i])[k] = (float)(i + 1);
    }
  }
}

/* RCCL sets the communicator's device itself where it launches (ROCm/rccl,
 * src/group.cc): the current one is the caller's own business, and stays. */
static void any_current_device(void) {
  open_world();
  fill_all(64);
  t.moveData(1);
  t.setDevice(3);
  CHECK(t.groupStart() == 0);
  for (int i = 0; i < 4; i++) {
    CHECK(t.allReduce(sendbuf[i], recvbuf[i], 64, 7, 0, comm[i], stream[i]) == 0);
  }
  CHECK(t.groupEnd() == 0);
  CHECK(zbl_current_device() == 3);
  CHECK(t.sendTo(sendbuf[0], 4, 7, 1, comm[0], stream[0]) == 0);
  CHECK(t.recvFrom(recvbuf[1], 4, 7, 0, comm[1], stream[1]) == 0);
  done_on_all();
  t.moveData(0);
  CHECK(((float *)recvbuf[2])[63] == 10);
  t.setDevice(0);
  CHECK(t.allReduce(sendbuf[0], recvbuf[0], 64, 7, 0, comm[0], stream[1]) ==
        ZB_COLL_USAGE); /* a stream of another device is still none of its own */
  CHECK(t.sendTo(sendbuf[0], 4, 7, 1, comm[0], stream[1]) == ZB_COLL_USAGE);
  close_world();
}

/* RCCL drops a collective of no elements where it would enqueue it, after the
 * other arguments were checked (src/enqueue.cc, taskAppend): whoever else calls
 * it with some waits for this rank's next. Messages of none are sent. */
static void nothing_to_do(void) {
  open_world();
  for (int i = 0; i < 4; i++) {
    CHECK(reduce(i, 0) == 0);
  }
  done_on_all();
  t.setDevice(0);
  CHECK(t.allReduce(NULL, NULL, 0, 7, 0, comm[0], stream[0]) == 0);
  CHECK(t.allReduce(NULL, NULL, 0, 12, 0, comm[0], stream[0]) ==
        ZB_COLL_ARGUMENT);
  CHECK(t.allReduce(NULL, NULL, 0, 7, 0, stream[0], stream[0]) ==
        ZB_COLL_ARGUMENT);
  CHECK(reduce(0, 64) == 0 && reduce(1, 64) == 0 && reduce(2, 64) == 0);
  CHECK(reduce(3, 0) == 0); /* not this one */
  t.setDevice(0);
  CHECK(t.streamQuery(stream[0]) == ZB_ERR_NOT_READY);
  CHECK(reduce(3, 64) == 0); /* this one */
  done_on_all();
  t.moveData(1);
  t.setDevice(0);
  CHECK(t.sendTo(NULL, 0, 7, 1, comm[0], stream[0]) == 0);
  CHECK(t.sendTo(NULL, 4, 7, 1, comm[0], stream[0]) == ZB_COLL_ARGUMENT);
  CHECK(t.streamQuery(stream[0]) == ZB_ERR_NOT_READY); /* one end of two */
  t.setDevice(1);
  CHECK(t.recvFrom(NULL, 0, 7, 0, comm[1], stream[1]) == 0);
  done_on_all();
  t.moveData(0);
  close_world();
}

/* A rank copies what it sends to itself; its links carry the rest (NVIDIA/nccl,
 * src/enqueue.cc, addP2pToPlan, selfSend). */
static void messages_to_itself(void) {
  const size_t each = 100; /* elements for each of the others */
  int64_t before;
  open_world();
  ((zbl_comm *)comm[0])->clique->curve[ZBL_SEND_RECV] =
      ((zbl_comm *)comm[0])->clique->curve[ZBL_ALL_TO_ALL] = (zbl_curve){.ranks = 4, .b = 1e9, .k = 1};
  before = t.nowNs();
  for (int i = 0; i < 4; i++) {
    CHECK(t.groupStart() == 0);
    for (int peer = 0; peer < 4; peer++) {
      size_t n = peer == i ? 1024 : each;
      CHECK(t.sendTo(sendbuf[i], n, 7, peer, comm[i], stream[i]) == 0);
      CHECK(t.recvFrom(recvbuf[i], n, 7, peer, comm[i], stream[i]) == 0);
    }
    CHECK(t.groupEnd() == 0);
  }
  done_on_all();
  CHECK(llabs(t.nowNs() - before - (1000 + 3 * (int64_t)each * 4)) <= 1);
  close_world();
}

/* RCCL leaves it to the caller that an all-to-all is not in place (nccl.h.in): it
 * runs, and what it leaves is nothing to rely on. */
static void all_to_all_in_place(void) {
  open_world();
  fill_all(64);
  t.moveData(1);
  CHECK(t.groupStart() == 0);
  for (int i = 0; i < 4; i++) {
    t.setDevice(i);
    CHECK(t.allToAll(sendbuf[i], sendbuf[i], 16, 7, comm[i], stream[i]) == 0);
  }
  CHECK(t.groupEnd() == 0);
  done_on_all();
  t.moveData(0);
  CHECK(((float *)sendbuf[2])[0] != 1 && ((float *)sendbuf[2])[63] != 4);
  t.setDevice(0);
  CHECK(t.allToAll(sendbuf[0], (char *)sendbuf[0] + 64, 16, 7, comm[0], stream[0]) ==
        ZB_COLL_ARGUMENT); /* any other overlap */
  close_world();
}

#include "fake_null.h"

enum { HOST_TO_HOST = 0, DEVICE_TO_DEVICE = 3, INFERRED = 4 };

/* All kinds of hipMemcpyKind; the host does not wait for a copy between devices'
 * memories (ROCm/clr, hip_memory.cpp, ihipMemcpy). */
static void copies(void) {
  float mine = 7, got = 0;
  open_world();
  t.setDevice(0);
  CHECK(t.copy(sendbuf[0], &mine, 4, INFERRED) == ZB_OK);
  CHECK(t.copy(recvbuf[0], sendbuf[0], 4, DEVICE_TO_DEVICE) == ZB_OK);
  CHECK(t.copy(recvbuf[1], recvbuf[0], 4, DEVICE_TO_DEVICE) == ZB_OK); /* a peer's */
  CHECK(t.copyAsync(recvbuf[2], recvbuf[0], 4, INFERRED, stream[0]) == ZB_OK);
  CHECK(t.streamQuery(stream[0]) == ZB_OK);
  t.setDevice(2);
  CHECK(t.copy(&got, recvbuf[2], 4, INFERRED) == ZB_OK && got == 7);
  got = 0;
  t.setDevice(1);
  CHECK(t.copy(&got, recvbuf[1], 4, ZB_TO_HOST) == ZB_OK && got == 7);
  CHECK(t.copy(&got, &mine, 4, HOST_TO_HOST) == ZB_OK);
  CHECK(t.copy(NULL, NULL, 0, INFERRED) == ZB_OK); /* nothing to copy */
  CHECK(t.copy(&got, recvbuf[1], 4, 5) == ZB_ERR_DIRECTION);
  CHECK(t.copy(recvbuf[1], (char *)sendbuf[1] + 4095, 4, DEVICE_TO_DEVICE) ==
        ZB_ERR_VALUE); /* beyond an allocation */
  CHECK(t.copy(recvbuf[1], (char *)sendbuf[1] + 4095, 4, INFERRED) == ZB_ERR_VALUE);
  close_world();
}

static void *last_error_elsewhere(void *code) {
  *(int *)code = t.lastError();
  return NULL;
}

/* The runtime keeps the last error for who asks, once, by thread; success does
 * not erase it, and work that is not done is none (ROCm/rocm-systems,
 * hip_internal.hpp, HIP_UPDATE_ERROR_STATE; before ROCm 7 success did). */
static void last_errors(void) {
  pthread_t thread;
  void *p, *event;
  int code = -1;
  open_world();
  CHECK(t.lastError() == ZB_OK);
  CHECK(t.setDevice(9) == ZB_ERR_DEVICE && t.setDevice(0) == ZB_OK);
  CHECK(pthread_create(&thread, NULL, last_error_elsewhere, &code) == 0);
  CHECK(pthread_join(thread, NULL) == 0 && code == ZB_OK);
  CHECK(t.copyAsync(recvbuf[0], sendbuf[0], 4, INFERRED, stream[0]) == ZB_OK);
  CHECK(t.lastError() == ZB_ERR_DEVICE && t.lastError() == ZB_OK);
  CHECK(t.mallocDevice(&p, 1ull << 50) == ZB_ERR_MEMORY);
  CHECK(t.copy(&p, NULL, 4, ZB_TO_HOST) == ZB_ERR_VALUE);
  CHECK(t.lastError() == ZB_ERR_VALUE);
  CHECK(t.eventCreate(&event) == ZB_OK);
  CHECK(reduce(0, 64) == 0 && t.eventRecord(event, stream[0]) == ZB_OK);
  CHECK(t.streamQuery(stream[0]) == ZB_ERR_NOT_READY && t.eventQuery(event) == ZB_ERR_NOT_READY);
  CHECK(t.lastError() == ZB_OK && t.eventDestroy(event) == ZB_OK);
  CHECK(t.eventRecord(NULL, stream[0]) == ZB_ERR_HANDLE);
  CHECK(t.lastError() == ZB_ERR_HANDLE);
  close_world();
}

/* ncclCommAbort makes the communicator's kernels leave: the streams are ready,
 * whoever waits for that rank waits on, and the handle is gone (nccl.h.in). */
static void an_abort_frees_the_stream(void) {
  int64_t before;
  open_world();
  for (int i = 0; i < 3; i++) {
    CHECK(reduce(i, 64) == 0 && reduce(i, 32) == 0);
    CHECK(t.streamQuery(stream[i]) == ZB_ERR_NOT_READY);
  }
  CHECK(t.setDevice(0) == 0 && t.commAbort(comm[0]) == 0);
  before = t.nowNs();
  CHECK(t.streamQuery(stream[0]) == ZB_OK && t.nowNs() == before);
  CHECK(reduce(0, 64) == ZB_COLL_ARGUMENT);
  t.setDevice(1);
  CHECK(t.streamQuery(stream[1]) == ZB_ERR_NOT_READY);
  CHECK(t.commAbort(comm[1]) == 0 && t.streamQuery(stream[1]) == ZB_OK);
  t.setDevice(3);
  CHECK(t.groupStart() == 0 && t.sendTo(sendbuf[3], 4, 7, 2, comm[3], stream[3]) != 0);
  CHECK(t.groupEnd() == ZB_COLL_USAGE);
  CHECK(t.commAbort(comm[3]) == 0 && t.streamQuery(stream[3]) == ZB_OK);
  t.setDevice(2);
  CHECK(t.commAbort(comm[2]) == 0 && t.streamQuery(stream[2]) == ZB_OK);
  for (int i = 0; i < 4; i++) {
    CHECK(t.setDevice(i) == 0 && t.streamDestroy(stream[i]) == 0);
  }
  zbl_shutdown();
}

/* Messages are aborted as collectives are, and so is what waits in a group. */
static void an_abort_frees_messages(void) {
  open_world();
  t.setDevice(0);
  CHECK(t.sendTo(sendbuf[0], 4, 7, 1, comm[0], stream[0]) == 0);
  CHECK(t.streamQuery(stream[0]) == ZB_ERR_NOT_READY);
  CHECK(t.groupStart() == 0);
  CHECK(t.sendTo(sendbuf[0], 4, 7, 2, comm[0], stream[0]) == 0);
  CHECK(t.commAbort(comm[0]) == 0);
  CHECK(t.groupEnd() == ZB_COLL_ARGUMENT);
  CHECK(t.streamQuery(stream[0]) == ZB_OK);
  for (int i = 0; i < 4; i++) {
    CHECK(t.setDevice(i) == 0 && t.streamDestroy(stream[i]) == 0);
  }
  zbl_shutdown();
}

/* A group's end waits for all ranks of what it joins (nccl.h.in, ncclGroupEnd). Where one
 * drives all ranks nobody else can come: it is refused. */
static void a_group_without_its_peers(void) {
  zb_unique_id id;
  void *more;
  open_world();
  CHECK(t.getUniqueId(&id) == 0 && t.groupStart() == 0);
  CHECK(t.setDevice(0) == 0 && t.commInitRank(&more, 2, id, 0) == 0);
  CHECK(t.groupEnd() == ZB_COLL_USAGE);
  zbl_shutdown();
}

/* A graph whose communicator has lost another rank would wait for it for ever. */
static void a_graph_without_a_peer(void) {
  void *graph, *exec;
  open_world();
  CHECK(t.setDevice(0) == 0 && t.streamBeginCapture(stream[0], ZB_CAPTURE_THREAD) == ZB_OK);
  CHECK(reduce(0, 64) == 0);
  CHECK(t.streamEndCapture(stream[0], &graph) == ZB_OK && t.graphInstantiate(&exec, graph, 0) == ZB_OK);
  CHECK(t.commDestroy(comm[1]) == 0);
  CHECK(t.graphLaunch(exec, stream[0]) == ZB_ERR_VALUE);
  CHECK(t.graphDestroy(graph) == ZB_OK && t.graphExecDestroy(exec) == ZB_OK);
  zbl_shutdown();
}

#include "fake_allowed.h"

static void rules(void) {
  allowed();
  any_current_device();
  nothing_to_do();
  messages_to_itself();
  all_to_all_in_place();
  the_null_stream();
  the_null_stream_outlives();
  the_null_stream_goes_ahead();
  copies();
  last_errors();
  an_abort_frees_the_stream();
  an_abort_frees_messages();
  a_group_without_its_peers();
  a_graph_without_a_peer();
}
