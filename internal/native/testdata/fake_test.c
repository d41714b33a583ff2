/* The loopback held to what the real libraries do: what it must refuse, what
 * must hang, and how its clocks move. Built and run by TestToolchainFakeInC, with the
 * address and undefined-behaviour sanitizers. */
#include "../unity.c"
#include "check.h"

#include <math.h>
#include <pthread.h>

static const char *const machine =
    "zbench-machine 1\ngpu TEST\nseed 7\nranks 4\ngpus_per_process 1\n"
    "hbm_bytes 1048576\nlaunch 1e-06\nexit_jitter 0\nnoise 0\n"
    "curve all_reduce 0 4 1 1e+11 1e-05 0.001 2e-05 1.5\n"
    "curve reduce_scatter 0 4 1 1e+11 1e-05 0.001 2e-05 0.75\n"
    "curve all_gather 0 4 1 1e+11 1e-05 0.001 2e-05 0.75\n"
    "curve all_to_all 0 4 1 1e+11 1e-05 0.001 2e-05 0.75\n"
    "curve gather 0 4 1 1e+11 1e-05 0.001 2e-05 0.75\n"
    "curve send_recv 0 4 1 1e+11 1e-05 0.001 2e-05 1\n";

static zb_table t;

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

/* Communicators that come and go leave nothing behind: neither in the arena, by its own count,
 * nor handles. Some are destroyed when all is done, some with a call that not all ranks have
 * made, or with a message of one end. */

static int handles_kept(void) {
  int n = 0;
  for (zbl_comm *c = zbl_dead; c != NULL; c = c->next) {
    n++;
  }
  for (zbl_comm *c = zbl_retired; c != NULL; c = c->next) {
    n++;
  }
  return n;
}

static void one_cycle(int kind) {
  void *c[4];
  zb_unique_id id;
  CHECK(t.getUniqueId(&id) == 0 && t.groupStart() == 0);
  for (int i = 0; i < 4; i++) {
    CHECK(t.setDevice(i) == 0 && t.commInitRank(&c[i], 4, id, i) == 0);
  }
  CHECK(t.groupEnd() == 0);
  for (int i = 0; i < (kind == 1 ? 3 : 4); i++) {
    CHECK(t.setDevice(i) == 0);
    CHECK(t.allReduce(sendbuf[i], recvbuf[i], 1024, 7, 0, c[i], stream[i]) == 0);
  }
  if (kind == 2) {
    CHECK(t.setDevice(0) == 0 && t.sendTo(sendbuf[0], 1024, 7, 1, c[0], stream[0]) == 0);
  }
  for (int i = 0; i < 4; i++) {
    CHECK(t.setDevice(i) == 0);
    CHECK((kind == 0 ? t.commDestroy(c[i]) : t.commAbort(c[i])) == 0);
    CHECK(t.streamQuery(stream[i]) == 0);
  }
}

static void communicators_leave_nothing(void) {
  for (int moves = 0; moves < 2; moves++) {
    uint64_t used = 0;
    open_world();
    t.moveData(moves);
    for (int k = 0; k < 300; k++) {
      one_cycle(k % 3);
      if (k == 9) {
        used = zbl.hub->used;
      }
    }
    CHECK(zbl.hub->used == used);
    CHECK(handles_kept() <= 8);
    if (moves) {
      t.moveData(0);
    }
    close_world();
  }
}

/* Batches, events, data and messages on the loopback's engine. */

/* Brings a batch to the world of open_world. */
static zb_batch batch(zb_rank *ranks, int64_t *start, double *seconds,
                      uint8_t *state) {
  static zb_rank *lane[1];
  zb_batch b = {.table = &t, .nlocal = 4, .ranks = ranks, .lane = lane, .nlanes = 1, .iterations = 5,
                .deadline_s = 600, .start_ns = start, .seconds = seconds,
                .state = state};
  lane[0] = ranks;
  b.work = (zb_work){.dtype = 7, .count = 64, .slots = 1};
  for (int i = 0; i < 4; i++) {
    ranks[i] = (zb_rank){.device = i, .rank = i, .nranks = 4, .comm = comm[i],
                         .stream = stream[i], .send = sendbuf[i],
                         .recv = recvbuf[i]};
  }
  return b;
}

/* A hang ends at the deadline, and says how far each rank got. */
static void batch_ends_at_the_deadline(void) {
  zb_rank ranks[4];
  int64_t start[4];
  double seconds[4];
  uint8_t state[4];
  zb_batch b;
  open_world();
  b = batch(ranks, start, seconds, state);
  zb_burst(&b);
  CHECK(b.outcome == ZB_BATCH_OK && b.launched == 5 && seconds[3] > 0);
  CHECK(reduce(1, 32) == 0); /* one call too many on rank 1 */
  zb_burst(&b);
  CHECK(b.outcome == ZB_BATCH_DEADLINE && b.launched == 5);
  CHECK(state[0] == ZB_RANK_ENQUEUED);
  zb_cancel(&b);
  zb_burst(&b);
  CHECK(b.outcome == ZB_BATCH_CANCELLED && b.launched == 0);
  close_world();
}

/* A call that fails inside a group leaves no group open behind it. */
static void failure_closes_the_group(void) {
  zb_rank ranks[4];
  int64_t start[4];
  double seconds[4];
  uint8_t state[4];
  zb_batch b;
  open_world();
  b = batch(ranks, start, seconds, state);
  ranks[2].send = NULL;
  zb_burst(&b);
  CHECK(b.outcome == ZB_BATCH_COLLECTIVES && b.rank == 2);
  CHECK(zbl_group_depth() == 0);
  close_world();
}

/* Events: a mark takes the stream's time; what has not happened has none. */
static void events(void) {
  void *a, *b, *other, *gone;
  float ms;
  open_world();
  t.setDevice(1);
  CHECK(t.eventCreate(&other) == 0);
  t.setDevice(0);
  CHECK(t.eventCreate(&a) == 0 && t.eventCreate(&b) == 0);
  CHECK(t.eventElapsed(&ms, a, b) == ZB_ERR_HANDLE); /* never recorded */
  CHECK(t.eventQuery(a) == 0 && t.eventQuery(NULL) == ZB_ERR_HANDLE);
  CHECK(t.eventRecord(other, stream[0]) == ZB_ERR_HANDLE);
  CHECK(t.eventRecord(a, stream[1]) == ZB_ERR_HANDLE);
  CHECK(t.eventRecord(a, stream[0]) == 0);
  CHECK(reduce(0, 1024) == 0);
  CHECK(t.eventRecord(b, stream[0]) == 0);
  CHECK(t.eventElapsed(&ms, a, b) == ZB_ERR_NOT_READY); /* the others wait */
  CHECK(t.eventQuery(a) == 0 && t.eventQuery(b) == ZB_ERR_NOT_READY);
  CHECK(t.eventCreate(&gone) == 0 && t.eventRecord(gone, stream[0]) == 0);
  CHECK(t.eventDestroy(gone) == 0); /* pending: it goes when it has happened */
  CHECK(t.eventRecord(gone, stream[0]) == ZB_ERR_HANDLE);
  CHECK(reduce(1, 1024) == 0 && reduce(2, 1024) == 0 && reduce(3, 1024) == 0);
  t.setDevice(0);
  CHECK(t.eventElapsed(&ms, a, b) == 0);
  CHECK(fabs((double)ms * 1e-3 - zbl_model(&zbl.curves[0], 4096)) < 2e-6);
  CHECK(t.eventRecord(other, stream[1]) == 0 && t.eventQuery(other) == 0);
  CHECK(t.eventElapsed(&ms, a, other) == ZB_ERR_HANDLE); /* of another device */
  CHECK(t.eventDestroy(a) == 0 && t.eventDestroy(b) == 0);
  t.setDevice(1);
  CHECK(t.eventDestroy(other) == 0);
  close_world();
}

/* A planted hang that does not come keeps nobody: an event at the end of a stream is recorded once
 * another stream waits for it, also where that one is waited for by a third, and where the event was
 * recorded on two streams before. */
static void a_hang_that_does_not_come(void) {
  void *second, *third, *e, *then;
  open_world();
  zbl.faults.hang.rank = 0;
  zbl.faults.hang.bytes = 1e9;
  zbl.faults.hang.launch = 1000000;
  t.setDevice(0);
  CHECK(t.streamCreate(&second, 1) == 0 && t.streamCreate(&third, 1) == 0);
  CHECK(t.eventCreate(&e) == 0 && t.eventCreate(&then) == 0);
  for (int i = 0; i < 4; i++) {
    CHECK(reduce(i, 64) == 0);
  }
  t.setDevice(0);
  CHECK(t.eventRecord(e, stream[0]) == 0 && t.streamWaitEvent(second, e, 0) == 0);
  CHECK(t.streamQuery(second) == ZB_OK);
  CHECK(reduce(0, 64) == 0 && t.eventRecord(e, stream[0]) == 0); /* the others are still to come */
  CHECK(t.streamWaitEvent(second, e, 0) == 0 && t.eventRecord(then, second) == 0);
  CHECK(t.streamWaitEvent(third, then, 0) == 0 && t.streamQuery(third) == ZB_ERR_NOT_READY);
  CHECK(reduce(1, 64) == 0 && reduce(2, 64) == 0 && reduce(3, 64) == 0);
  t.setDevice(0);
  CHECK(t.streamQuery(third) == ZB_OK);
  CHECK(t.eventRecord(e, stream[0]) == 0 && t.eventRecord(e, second) == 0);
  CHECK(t.streamWaitEvent(third, e, 0) == 0 && t.streamQuery(third) == ZB_OK);
  CHECK(t.eventDestroy(e) == 0 && t.eventDestroy(then) == 0);
  CHECK(t.streamDestroy(second) == 0 && t.streamDestroy(third) == 0);
  close_world();
}

/* Data: a result is poison until a wait has proved it done. */
static void data_appear_when_proved(void) {
  float *in, *out;
  open_world();
  for (int i = 0; i < 4; i++) {
    in = (float *)sendbuf[i];
    for (int k = 0; k < 64; k++) {
      in[k] = (float)(i + k);
    }
  }
  t.moveData(1);
  for (int i = 0; i < 4; i++) {
    CHECK(reduce(i, 64) == 0);
  }
  out = (float *)recvbuf[2];
  for (size_t k = 0; k < 64 * sizeof *out; k++) {
    CHECK(((unsigned char *)out)[k] == 0xa5);
  }
  t.setDevice(2);
  CHECK(t.streamQuery(stream[2]) == ZB_OK && out[0] == 6 && out[5] == 26);
  t.moveData(0);
  close_world();
}

/* Sends and receives: matched in order, by two ends that have both begun. */
static void messages(void) {
  zb_rank ranks[4];
  int64_t start[4];
  double seconds[4];
  uint8_t state[4];
  zb_batch b;
  int pick = 0;
  open_world();
  b = batch(ranks, start, seconds, state);
  while (strcmp(zb_collective_name(pick), "all_to_all") != 0) {
    pick++;
  }
  for (int i = 0; i < 4; i++) {
    for (int k = 0; k < 256; k++) {
      ((int32_t *)sendbuf[i])[k] = 1000 * i + k;
    }
  }
  t.allToAll = NULL; /* then it is made of messages, to oneself included */
  b.work.collective = pick;
  b.work.dtype = 2;
  t.moveData(1);
  zb_burst(&b);
  CHECK(b.outcome == ZB_BATCH_OK);
  CHECK(((int32_t *)recvbuf[3])[64 * 2 + 5] == 2000 + 64 * 3 + 5);
  CHECK(((int32_t *)recvbuf[1])[64 * 1 + 7] == 1000 + 64 * 1 + 7);
  t.gather = NULL;
  while (strcmp(zb_collective_name(pick), "gather") != 0) {
    pick++;
  }
  b.work.collective = pick;
  b.work.root = 2;
  zb_burst(&b);
  CHECK(b.outcome == ZB_BATCH_OK);
  CHECK(((int32_t *)recvbuf[2])[64 * 3 + 5] == 3000 + 5);
  t.moveData(0);
  t.setDevice(0);
  CHECK(t.sendTo(sendbuf[0], 8, 2, 1, comm[0], stream[0]) == 0);
  t.setDevice(1);
  CHECK(t.recvFrom(recvbuf[1], 4, 2, 0, comm[1], stream[1]) == 0);
  CHECK(t.streamQuery(stream[1]) == ZB_ERR_NOT_READY); /* other lengths */
  CHECK(t.sendTo(NULL, 8, 2, 1, comm[1], stream[1]) == ZB_COLL_ARGUMENT);
  CHECK(t.sendTo(sendbuf[1], 8, 2, 4, comm[1], stream[1]) == ZB_COLL_ARGUMENT);
  close_world();
}

/* Launches that hipModuleLaunchKernel refuses. */
static void launches(void) {
  static const unsigned bad[][7] = {
      {0, 1, 1, 1, 1, 1, 0},       {1, 1, 1, 0, 1, 1, 0},
      {1, 1, 1, 1025, 1, 1, 0},    {1, 1, 1, 32, 33, 1, 0},
      {1, 70000, 1, 1, 1, 1, 0},   {1, 1, 70000, 1, 1, 1, 0},
      {1u << 31, 1, 1, 1, 1, 1, 0}, {1u << 30, 1, 1, 4, 1, 1, 0},
      {1, 1, 1, 1, 1, 1, 65537}};
  void *module, *poison;
  uint64_t bytes = 4000;
  uint32_t pattern = 0x11223344;
  void *params[] = {&sendbuf[0], &bytes, &pattern};
  open_world();
  t.setDevice(0);
  CHECK(t.moduleLoad(&module, "zbench loopback kernels") == 0);
  CHECK(t.moduleLoad(&poison, "other code") == ZB_ERR_VALUE); /* which zbench does not make */
  CHECK(t.moduleFunction(&poison, module, "zb_none") == ZB_ERR_NOT_FOUND);
  CHECK(t.moduleFunction(&poison, module, "zb_poison") == 0);
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    const unsigned *b = bad[i];
    CHECK(t.launchKernel(poison, b[0], b[1], b[2], b[3], b[4], b[5], b[6],
                         stream[0], params, NULL) == ZB_ERR_VALUE);
  }
  CHECK(t.launchKernel(poison, 1, 1, 1, 1, 1, 1, 0, stream[0], NULL, params) == ZB_ERR_VALUE);
  CHECK(t.launchKernel(poison, 3, 2, 1, 8, 4, 2, 65536, stream[0], params,
                       NULL) == 0);
  CHECK(t.streamQuery(stream[0]) == 0);
  CHECK(sendbuf[0] != NULL && ((unsigned char *)sendbuf[0])[3999] == 0x11);
  CHECK(t.moduleUnload(module) == 0);
  close_world();
}

/* Graphs. */

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

/* The handles: however many are there and in whatever order they go and come back, each
 * that is there is found by its kind, and no other address is. */

enum {
  HANDLES = 100003, /* of more chunks than there is room for at first */
  HANDLE_STEP = 77, /* shares no divisor with the number */
  HANDLE_BYTES = 150 /* three lines */
};

static const uint32_t handle_magic = 0x68616e64;

/* How many handles are found that are none, or the other way round, where the first
 * so many by steps have gone. */
static int handles_wrong(uint32_t *const *thing, int gone) {
  int wrong = 0;
  for (int k = 0; k < HANDLES; k++) {
    uint32_t *p = thing[k * HANDLE_STEP % HANDLES];
    wrong += zbl_behind(p, handle_magic) != (k >= gone ? p : NULL);
    wrong += zbl_behind(p, handle_magic + 1) != NULL;
    wrong += zbl_behind(p + 2, handle_magic) != NULL;
  }
  return wrong;
}

/* Addresses that no handle has, before any was found and after the world has ended. */
static void no_handle_is_found(void) {
  CHECK(zbl_behind(NULL, handle_magic) == NULL);
  CHECK(zbl_behind((void *)64, handle_magic) == NULL);
  CHECK(zbl_behind((void *)4096, handle_magic) == NULL);
}

/* A world ends with its handles, and the next one has its own. */
static void handles_end(void) {
  for (int world = 0; world < 3; world++) {
    uint32_t *p;
    no_handle_is_found();
    p = zbl_new_handle(HANDLE_BYTES);
    CHECK(p != NULL);
    *p = handle_magic;
    CHECK(zbl_behind(p, handle_magic) == p);
    no_handle_is_found();
    zbl_forget_handles();
    CHECK(zbl_behind(p, handle_magic) == NULL);
  }
}

static void handles_are_found(void) {
  static uint32_t *thing[HANDLES], *again[HANDLES];
  uint32_t beside[64] = {handle_magic, handle_magic};
  int wrong = 0;
  for (int i = 0; i < HANDLES; i++) {
    thing[i] = zbl_new_handle(HANDLE_BYTES);
    CHECK(thing[i] != NULL && zbl_behind(thing[i], handle_magic) == NULL); /* not yet */
    thing[i][0] = thing[i][2] = handle_magic;
  }
  CHECK(handles_wrong(thing, 0) == 0);
  CHECK(zbl_behind(NULL, handle_magic) == NULL);
  for (size_t i = 0; i < 64; i++) {
    wrong += zbl_behind(beside + i, handle_magic) != NULL;
  }
  CHECK(wrong == 0);
  for (int gone = 0; gone < HANDLES; gone++) {
    zbl_free_handle(thing[gone * HANDLE_STEP % HANDLES]);
    wrong += gone % 10000 == 0 ? handles_wrong(thing, gone + 1) : 0;
  }
  CHECK(wrong == 0);
  for (int i = 0; i < HANDLES; i++) { /* the last that went comes first, of zeros */
    again[i] = zbl_new_handle(HANDLE_BYTES);
    wrong += again[i] != thing[(HANDLES - 1 - i) * HANDLE_STEP % HANDLES];
    wrong += again[i][0] != 0 || again[i][2] != 0 || zbl_behind(again[i], 0) != again[i];
  }
  CHECK(wrong == 0);
  for (int i = 0; i < HANDLES; i++) {
    zbl_free_handle(again[i]);
  }
}

/* Messages over links: a rank has one link to each other, and the messages to all of them use
 * all of its links. */

enum { LINK_BYTES = 1000, LINK_TO = 4 };

/* Rank 0 sends the same to each rank below `peers`, in `parts` messages. Returns the seconds
 * until its stream is done. */
static double sends_to(int peers, int parts) {
  zbl_stream *s = stream[0];
  double began = zbl_later(s->s, *zbl_host_clock(0));
  CHECK(t.groupStart() == 0);
  for (int to = 1; to < peers; to++) {
    for (int k = 0; k < parts; k++) {
      CHECK(t.setDevice(0) == 0 && t.sendTo(sendbuf[0], LINK_BYTES, 0, to, comm[0], stream[0]) == 0);
      CHECK(t.setDevice(to) == 0 && t.recvFrom(recvbuf[to], LINK_BYTES, 0, 0, comm[to], stream[to]) == 0);
    }
  }
  CHECK(t.groupEnd() == 0);
  for (int i = 0; i < 4; i++) {
    CHECK(t.setDevice(i) == 0 && t.streamQuery(stream[i]) == ZB_OK);
  }
  return s->s - began;
}

static void links_are_shared_by_what_goes_along_them(void) {
  const double launches = 5e-6; /* the hosts' */
  zbl_curve one = {.b = 1e6, .floor = 1e-9, .k = 1, .ranks = 4}, all = one;
  open_world();
  for (double lanes = 1; lanes < 4; lanes++) { /* all of a rank's links as fast as so many */
    all.b = lanes * one.b;
    ((zbl_comm *)comm[0])->clique->curve[ZBL_SEND_RECV] = one;
    ((zbl_comm *)comm[0])->clique->curve[ZBL_ALL_TO_ALL] = all;
    for (int peers = 2; peers <= LINK_TO; peers++) {
      for (int parts = 1; parts < 4; parts++) {
        double along = parts * LINK_BYTES / one.b, out = (peers - 1) * parts * LINK_BYTES / all.b;
        CHECK(fabs(sends_to(peers, parts) - zbl_later(along, out)) < launches);
      }
    }
  }
  close_world();
}

/* What RCCL and HIP take, and the loopback must too. Each test names where the real code says
 * so. */

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

/* The null stream, and what it waits for. */

/* No stream is the device's null stream: what is on it comes after what blocking
 * streams had, before what they get, and apart from the others (HIP's and CUDA's
 * documents on the default stream). */
static void the_null_stream(void) {
  void *blocking, *begun, *ended;
  float ms, one = 1, other = 0;
  open_world();
  t.setDevice(0);
  CHECK(t.streamCreate(&blocking, 0) == 0);
  CHECK(t.eventCreate(&begun) == 0 && t.eventCreate(&ended) == 0);
  CHECK(t.streamQuery(NULL) == ZB_OK);
  CHECK(t.streamDestroy(NULL) == 0);
  fill_all(64);
  t.moveData(1);
  CHECK(t.allReduce(sendbuf[0], recvbuf[0], 64, 7, 0, comm[0], blocking) == 0);
  CHECK(t.eventRecord(begun, NULL) == ZB_OK);
  CHECK(t.copyAsync(recvbuf[0], &one, 4, ZB_TO_DEVICE, NULL) == ZB_OK);
  CHECK(t.eventRecord(ended, blocking) == ZB_OK);
  CHECK(t.streamQuery(NULL) == ZB_ERR_NOT_READY); /* the others have not come */
  CHECK(t.streamQuery(stream[0]) == ZB_OK); /* does not take part */
  CHECK(t.eventQuery(begun) == ZB_ERR_NOT_READY);
  for (int i = 1; i < 4; i++) {
    t.setDevice(i);
    CHECK(t.allReduce(sendbuf[i], recvbuf[i], 64, 7, 0, comm[i], NULL) == 0);
  }
  t.setDevice(0);
  CHECK(t.streamQuery(NULL) == ZB_OK);
  CHECK(t.eventElapsed(&ms, begun, ended) == ZB_OK && ms >= 0);
  t.moveData(0);
  CHECK(t.streamQuery(blocking) == ZB_OK);
  CHECK(((float *)recvbuf[0])[0] == 1 && ((float *)recvbuf[0])[1] == 10);
  t.setDevice(1);
  CHECK(t.streamQuery(NULL) == ZB_OK && ((float *)recvbuf[1])[0] == 10);
  CHECK(t.copy(&other, recvbuf[1], 4, ZB_TO_HOST) == ZB_OK && other == 10);
  t.setDevice(0);
  CHECK(t.eventDestroy(begun) == ZB_OK && t.eventDestroy(ended) == ZB_OK);
  CHECK(t.streamDestroy(blocking) == ZB_OK);
  close_world();
}

/* A stream that goes with work in it leaves the null stream waiting for nothing. */
static void the_null_stream_outlives(void) {
  void *blocking;
  open_world();
  t.setDevice(0);
  CHECK(t.streamCreate(&blocking, 0) == 0);
  CHECK(t.allReduce(sendbuf[0], recvbuf[0], 64, 7, 0, comm[0], blocking) == 0);
  CHECK(t.copyAsync(sendbuf[0], &blocking, 4, ZB_TO_DEVICE, NULL) == ZB_OK);
  CHECK(t.streamQuery(NULL) == ZB_ERR_NOT_READY);
  CHECK(t.copy(sendbuf[0], &blocking, 4, ZB_TO_DEVICE) == ZB_ERR_NOT_READY);
  CHECK(t.streamDestroy(blocking) == ZB_OK);
  CHECK(t.streamQuery(NULL) == ZB_OK);
  close_world();
}

/* Streams that are not blocking delay it by nothing, made before a blocking one or after. */
static void the_null_stream_goes_ahead(void) {
  int value = 3;
  void *blocking, *later;
  open_world();
  t.setDevice(0);
  CHECK(t.streamCreate(&blocking, 0) == 0 && t.streamCreate(&later, 1) == 0);
  CHECK(t.allReduce(sendbuf[0], recvbuf[0], 64, 7, 0, comm[0], later) == 0);
  CHECK(t.copyAsync((char *)recvbuf[0] + 2048, &value, 4, ZB_TO_DEVICE, NULL) == ZB_OK);
  CHECK(t.streamQuery(later) == ZB_ERR_NOT_READY && t.streamQuery(NULL) == ZB_OK);
  CHECK(t.streamDestroy(later) == 0 && t.streamDestroy(blocking) == 0);
  close_world();
  open_world();
  CHECK(reduce(0, 64) == 0 && t.streamQuery(stream[0]) == ZB_ERR_NOT_READY);
  CHECK(t.copyAsync((char *)recvbuf[0] + 2048, &value, 4, ZB_TO_DEVICE, NULL) == ZB_OK);
  CHECK(t.streamQuery(NULL) == ZB_OK && ((int *)recvbuf[0])[512] == 3);
  close_world();
}

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

/* The runtime keeps a thread's last error until it is asked for once; success does
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

/* What looks wrong, and what RCCL and HIP run. */

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

/* Measured points stand for the model: at them, between, below and above. A group that is
 * derived has none. Points that are out of order, or of no curve, are refused. */
static void measured_points(void) {
  static const char *const wrong[] = {"point 1e3 0\n", "point 1e3\n", "point 1e3 1\npoint 1e3 2\n"};
  const char *curve = "curve broadcast 0 4 1 1e+11 0 0 1e-6 1\n";
  zbl_curve c;
  char text[2048], err[256];
  snprintf(text, sizeof text, "%s%spoint 1e3 1e-3\npoint 4e3 2e-3\npoint 8e3 5e-3\n", machine, curve);
  CHECK(zbl_reset(text, err, sizeof err));
  c = *zbl_curve_for(ZBL_BROADCAST, 0, 4, 1);
  CHECK(zbl_model(&c, 1e3) == 1e-3 && zbl_model(&c, 4e3) == 2e-3 && zbl_model(&c, 8e3) == 5e-3);
  CHECK(zbl_model(&c, 4) == 1e-3 && fabs(zbl_model(&c, 2e3) - sqrt(2) * 1e-3) < 1e-15);
  CHECK(fabs(zbl_model(&c, 12e3) - 8e-3) < 1e-15);
  CHECK(zbl_derived(ZBL_BROADCAST, 2, 2, 1).points == 0);
  zbl_shutdown();
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    snprintf(text, sizeof text, "%s%s%s", machine, curve, wrong[i]);
    CHECK(!zbl_reset(text, err, sizeof err) && strstr(err, "not understood: point") != NULL);
  }
  CHECK(!zbl_reset("zbench-machine 1\npoint 1 1\n", err, sizeof err));
}

/* Other jobs lengthen what goes between nodes, so many launches in a row, and nothing within one. */
static void contention(void) {
  char text[2048], err[256];
  int hit = 0;
  zbl_turn busy = {0};
  snprintf(text, sizeof text, "%sfault contention 2 0.25 3 8\n", machine);
  CHECK(zbl_reset(text, err, sizeof err));
  for (uint64_t i = 0; i < 8000; i++) {
    const zbl_turn at = {5, i}, first = {5, i - i % 8};
    CHECK(zbl_contended(0, 1, at) == 1 && zbl_contended(1, 2, at) == zbl_contended(0, 3, first));
    if (zbl_contended(0, 3, at) == 3) {
      busy = at;
      hit++;
    }
  }
  CHECK(hit > 1600 && hit < 2400);
  CHECK(zbl_took(&(zbl_clique){.first = 0, .last = 3, .nranks = 4, .inited = 4, .curve = {{.ranks = 4, .b = 1, .k = 1, .floor = 1}}},
                 &(zbl_call){0}, 100, busy) == 300);
  zbl_shutdown();
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
  measured_points();
  contention();
  derived_for_other_programs();
}

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

/* A collective that one group launches on all ranks of a communicator ends where it is
 * launched (whole.c). It takes the time of one that is launched rank by rank, and ends no
 * call that the other would leave waiting. */

/* Ten launches and an event between any two of them; where all streams are then. */
static void whole_times(int grouped, double at[4]) {
  void *event;
  open_world();
  zbl.exit_jitter = 1e-6;
  CHECK(t.setDevice(1) == ZB_OK && t.eventCreate(&event) == ZB_OK);
  for (int k = 0; k < 10; k++) {
    CHECK(!grouped || t.groupStart() == 0);
    for (int i = 0; i < 4; i++) {
      CHECK(reduce(i, 64 + 64 * (k % 2)) == 0);
    }
    CHECK(!grouped || t.groupEnd() == 0);
    t.setDevice(1);
    CHECK(t.eventRecord(event, stream[1]) == ZB_OK && t.eventQuery(event) == ZB_OK);
  }
  for (int i = 0; i < 4; i++) {
    const zbl_stream *s = stream[i];
    at[i] = s->s;
  }
  CHECK(t.eventDestroy(event) == ZB_OK);
  close_world();
}

/* Rank 2 does not agree in a group of all: a hang. */
static void whole_needs_agreement(void) {
  open_world();
  CHECK(t.groupStart() == 0);
  for (int i = 0; i < 4; i++) {
    CHECK(reduce(i, i == 2 ? 32 : 64) == 0);
  }
  CHECK(t.groupEnd() == 0);
  for (int i = 0; i < 4; i++) {
    t.setDevice(i);
    CHECK(t.streamQuery(stream[i]) == ZB_ERR_NOT_READY);
  }
  close_world();
}

/* A rank that has called alone before, on another stream, is one call ahead: the group's
 * calls belong to two rounds. */
static void whole_needs_one_round(void) {
  void *mine;
  open_world();
  mine = stream[1];
  CHECK(t.setDevice(1) == ZB_OK && t.streamCreate(&stream[1], ZB_STREAM_NON_BLOCKING) == ZB_OK);
  CHECK(reduce(1, 64) == 0 && t.groupStart() == 0);
  for (int i = 0; i < 4; i++) {
    void *before = stream[i];
    stream[i] = i == 1 ? mine : before;
    CHECK(reduce(i, 64) == 0);
    stream[i] = before;
  }
  CHECK(t.groupEnd() == 0);
  t.setDevice(1);
  CHECK(t.streamQuery(mine) == ZB_ERR_NOT_READY && t.streamQuery(stream[1]) == ZB_OK);
  CHECK(t.streamDestroy(mine) == ZB_OK);
  close_world();
}

/* Two ranks of one device on one stream wait for each other. */
static void whole_needs_streams(void) {
  zb_unique_id id;
  void *c[2];
  open_world();
  zbl.multi_rank = zbl.derives = 1;
  CHECK(t.setDevice(0) == ZB_OK && t.getUniqueId(&id) == 0 && t.groupStart() == 0);
  for (int i = 0; i < 2; i++) {
    CHECK(t.commInitRank(&c[i], 2, id, i) == 0);
  }
  CHECK(t.groupEnd() == 0 && t.groupStart() == 0);
  for (int i = 0; i < 2; i++) {
    CHECK(t.allReduce(sendbuf[0], recvbuf[0], 64, 7, 0, c[i], stream[0]) == 0);
  }
  CHECK(t.groupEnd() == 0 && t.streamQuery(stream[0]) == ZB_ERR_NOT_READY);
  close_world();
}

static void whole_collectives(void) {
  double one_by_one[4], grouped[4];
  whole_times(0, one_by_one);
  whole_times(1, grouped);
  CHECK(grouped[0] > 0 && memcmp(one_by_one, grouped, sizeof grouped) == 0);
  whole_needs_agreement();
  whole_needs_one_round();
  whole_needs_streams();
}

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
  a_hang_that_does_not_come();
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
