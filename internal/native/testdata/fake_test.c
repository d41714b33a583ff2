/* The loopback held to what the real libraries do: what it must refuse, what
 * must hang, and how its clocks move. Built and run by TestToolchainFakeInC, with the
 * address and undefined-behaviour sanitizers. */
#include "../unity.c"

#include <math.h>
#include <pthread.h>

#include <stdio.h>

static const char *const machine =
    "zbench-machine 1\ngpu TEST\nseed 7\nranks 4\ngpus_per_process 1\n"
    "hbm_bytes 1048576\nlaunch 1e-06\nexit_jitter 0\nnoise 0\n"
    "curve all_reduce 0 4 1 1e+11 1e-05 0.001 2e-05 1.5\n"
    "curve reduce_scatter 0 4 1 1e+11 1e-05 0.001 2e-05 0.75\n"
    "curve all_gather 0 4 1 1e+11 1e-05 0.001 2e-05 0.75\n"
    "curve all_to_all 0 4 1 1e+11 1e-05 0.001 2e-05 0.75\n"
    "curve gather 0 4 1 1e+11 1e-05 0.001 2e-05 0.75\n"
    "curve send_recv 0 4 1 1e+11 1e-05 0.001 2e-05 1\n";

static int failures;
static zb_table t;

#define CHECK(what)                                                            \
  do {                                                                         \
    if (!(what)) {                                                             \
      printf("%s:%d: %s\n", __func__, __LINE__, #what);                        \
      failures++;                                                              \
    }                                                                          \
  } while (0)

static void *comm[4], *stream[4], *sendbuf[4], *recvbuf[4];

/* A world of four ranks with a stream, a communicator and two buffers each. */
static void open_world(void) {
  char err[256];
  zb_unique_id id;
  CHECK(zbl_reset(machine, err, sizeof err));
  zbl_fill(&t);
  CHECK(t.getUniqueId(&id) == 0 && t.groupStart() == 0);
  for (int i = 0; i < 4; i++) {
    CHECK(t.setDevice(i) == 0 && t.streamCreate(&stream[i], 1) == 0);
    CHECK(t.mallocDevice(&sendbuf[i], 4096) == 0);
    CHECK(t.mallocDevice(&recvbuf[i], 4096) == 0);
    CHECK(t.commInitRank(&comm[i], 4, id, i) == 0);
  }
  CHECK(t.groupEnd() == 0);
}

static void close_world(void) {
  for (int i = 0; i < 4; i++) {
    CHECK(t.setDevice(i) == 0 && t.commDestroy(comm[i]) == 0);
    CHECK(t.streamDestroy(stream[i]) == 0);
    CHECK(t.freeDevice(sendbuf[i]) == 0 && t.freeDevice(recvbuf[i]) == 0);
  }
  zbl_shutdown();
}

static int reduce(int i, size_t count) {
  t.setDevice(i);
  return t.allReduce(sendbuf[i], recvbuf[i], count, 7, 0, comm[i], stream[i]);
}

static void refuses_bad_arguments(void) {
  open_world();
  CHECK(reduce(0, 1025) == ZB_COLL_ARGUMENT); /* beyond the allocation */
  t.setDevice(0);
  CHECK(t.allReduce(&t, recvbuf[0], 16, 7, 0, comm[0], stream[0]) ==
        ZB_COLL_ARGUMENT); /* host memory */
  CHECK(t.allReduce(sendbuf[0], recvbuf[0], 16, 12, 0, comm[0], stream[0]) ==
        ZB_COLL_ARGUMENT); /* a type it does not know */
  CHECK(t.allReduce(sendbuf[0], recvbuf[0], 16, 7, 5, comm[0], stream[0]) ==
        ZB_COLL_ARGUMENT);
  CHECK(t.allReduce(sendbuf[0], recvbuf[0], 16, 7, 0, stream[0], stream[0]) ==
        ZB_COLL_ARGUMENT);
  CHECK(t.allReduce(sendbuf[0], recvbuf[0], 16, 7, 0, comm[0], stream[1]) ==
        ZB_COLL_USAGE); /* a stream of another device */
  CHECK(t.setDevice(4) == ZB_ERR_DEVICE && t.setDevice(-1) == ZB_ERR_DEVICE);
  close_world();
}

/* In place is the rank's own block; that of rank 0 is one besides for two collectives. */
static void refuses_wrong_overlap(void) {
  char *base;
  open_world();
  base = recvbuf[2];
  t.setDevice(2);
  CHECK(t.groupStart() == 0);
  CHECK(t.allGather(base + 2 * 256, base, 64, 7, comm[2], stream[2]) == 0);
  CHECK(t.allGather(base + 256, base, 64, 7, comm[2], stream[2]) ==
        ZB_COLL_ARGUMENT);
  CHECK(t.reduceScatter(base, base + 2 * 256, 64, 7, 0, comm[2], stream[2]) ==
        0);
  CHECK(t.reduceScatter(base, base + 256, 64, 7, 0, comm[2], stream[2]) ==
        ZB_COLL_ARGUMENT);
  CHECK(t.allGather(base, base, 64, 7, comm[2], stream[2]) == 0);
  CHECK(t.reduceScatter(base, base, 64, 7, 0, comm[2], stream[2]) == 0);
  CHECK(t.gather(base, base, 64, 7, 2, comm[2], stream[2]) == ZB_COLL_ARGUMENT);
  CHECK(t.allReduce(base, base, 64, 7, 0, comm[2], stream[2]) == 0);
  CHECK(t.allReduce(base, base + 16, 64, 7, 0, comm[2], stream[2]) ==
        ZB_COLL_ARGUMENT);
  CHECK(t.allGather(sendbuf[2], base, 257, 7, comm[2], stream[2]) ==
        ZB_COLL_ARGUMENT); /* four shares do not fit */
  CHECK(t.groupEnd() == ZB_COLL_ARGUMENT);
  close_world();
}

static void refuses_bad_communicators(void) {
  zb_unique_id id, used;
  void *c;
  open_world();
  t.setDevice(0);
  CHECK(t.getUniqueId(&id) == 0);
  CHECK(t.commInitRank(&c, 4, id, 0) == ZB_COLL_USAGE); /* not in a group */
  CHECK(t.groupStart() == 0 && t.commInitRank(&c, 4, id, 4) == ZB_COLL_ARGUMENT);
  CHECK(t.commInitRank(&c, 4, id, 0) == 0);
  CHECK(t.commInitRank(&c, 4, id, 1) == ZB_COLL_USAGE); /* a device twice */
  CHECK(t.groupEnd() == ZB_COLL_USAGE); /* three ranks never come */
  CHECK(t.getUniqueId(&used) == 0 && t.commInitRank(&c, 1, used, 0) == 0);
  CHECK(t.commInitRank(&c, 1, used, 0) == ZB_COLL_ARGUMENT); /* id used up */
  memset(&id, 0, sizeof id);
  CHECK(t.commInitRank(&c, 1, id, 0) == ZB_COLL_ARGUMENT); /* never made */
  CHECK(t.groupEnd() == ZB_COLL_USAGE);                    /* no group open */
  close_world();
}

static void refuses_memory_beyond_the_device(void) {
  void *p;
  size_t avail, total;
  open_world();
  t.setDevice(3);
  CHECK(t.mallocDevice(&p, 1048576) == ZB_ERR_MEMORY && p == NULL);
  CHECK(t.memGetInfo(&avail, &total) == 0 && total - avail == 8192);
  CHECK(t.mallocDevice(&p, avail) == 0 && t.mallocDevice(&p, 1) == ZB_ERR_MEMORY);
  CHECK(t.freeDevice(&avail) == ZB_ERR_VALUE);
  CHECK(t.freeDevice((char *)sendbuf[3] + 8) == ZB_ERR_VALUE); /* not where it begins */
  close_world();
}

/* A round ends for all at the last arrival plus T; one rank missing or one that
 * disagrees, and no rank ever finishes, but the host's time passes. */
static void rounds_and_clocks(void) {
  const int32_t all[] = {0, 1, 2, 3};
  double alone;
  int64_t before;
  open_world();
  for (int i = 0; i < 3; i++) {
    CHECK(reduce(i, 64) == 0 && t.streamQuery(stream[i]) == ZB_ERR_NOT_READY);
  }
  CHECK(reduce(3, 64) == 0);
  for (int i = 0; i < 4; i++) {
    t.setDevice(i);
    CHECK(t.streamQuery(stream[i]) == ZB_OK);
  }
  CHECK(t.hostBarrier(all, sizeof all[0], 4));
  t.setDevice(0);
  before = t.nowNs();
  for (int k = 0; k < 10; k++) {
    for (int i = 0; i < 4; i++) {
      CHECK(reduce(i, 1024) == 0);
    }
  }
  t.setDevice(0);
  CHECK(t.streamQuery(stream[0]) == ZB_OK);
  alone = zbl_model(&zbl.curves[0], 4096);
  CHECK(llabs((t.nowNs() - before) - llround((1e-6 + 10 * alone) * 1e9)) <= 1);
  CHECK(reduce(0, 64) == 0 && reduce(1, 64) == 0 && reduce(2, 32) == 0);
  CHECK(reduce(3, 64) == 0); /* rank 2 disagrees: a hang */
  t.setDevice(0);
  before = t.nowNs();
  CHECK(t.streamQuery(stream[0]) == ZB_ERR_NOT_READY);
  CHECK(t.nowNs() - before == 1000000000);
  close_world();
}

#include "fake_cycles.h"
#include "fake_engine.h"
#include "fake_graph.h"
#include "fake_handles.h"
#include "fake_links.h"
#include "fake_rules.h"
#include "fake_whole.h"

static void machine_files(void) {
  static const char *const bad[] = {
      "", "zbench-machine 2\n", "zbench-machine 1\n",
      "zbench-machine 1\nranks 0\ngpus_per_process 1\nhbm_bytes 1\n",
      "zbench-machine 1\nranks 3\ngpus_per_process 2\nhbm_bytes 1\n",
      "zbench-machine 1\nranks 1e300\ngpus_per_process 1\nhbm_bytes 1\n",
      "zbench-machine 1\nranks 1\ngpus_per_process 1\nhbm_bytes 1\nwhat 1\n",
      "zbench-machine 1\nranks 1\ngpus_per_process 1\nhbm_bytes 1\nnoise x\n",
      "zbench-machine 1\nranks 1\ngpus_per_process 1\nhbm_bytes 1\n"
      "curve all_reduce 0 1 1 0 0 0 0 0\n",
      "zbench-machine 1\nranks 1\ngpus_per_process 1\nhbm_bytes 1\n"
      "fault late 1 1\n",
      "zbench-machine 1\nranks 1\ngpus_per_process 1\nhbm_bytes 1\n"
      "fault gremlin 1\n",
      "zbench-machine 1\nranks 1\ngpus_per_process 1\nhbm_bytes 1\n"
      "curve nothing 0 1 1 1 1 1 1 1\n",
      "zbench-machine 1\nranks 1\ngpus_per_process 1\nhbm_bytes 1\n"
      "extrapolated all_reduce 0 1 1\n"};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    char err[256] = "";
    CHECK(!zbl_reset(bad[i], err, sizeof err) && err[0] != '\0');
  }
}

int main(void) {
  handles_end();
  refuses_bad_arguments();
  refuses_wrong_overlap();
  refuses_bad_communicators();
  communicators_leave_nothing();
  refuses_memory_beyond_the_device();
  rounds_and_clocks();
  failure_closes_the_group();
  events();
  data_appear_when_proved();
  messages();
  links_are_shared_by_what_goes_along_them();
  launches();
  batch_ends_at_the_deadline();
  graphs_replay();
  graphs_cost_one_launch();
  refuses_in_a_capture();
  refuses_bad_graphs();
  rules();
  handles_are_found();
  machine_files();
  whole_collectives();
  return failures != 0;
}
