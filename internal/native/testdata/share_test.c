/* A world that several threads or processes drive: share_test threads, or
 * share_test processes FILE. Exits 0 when all is as it should be. */
#include "../unity.c"
#include "check.h"

#include <sys/wait.h>

static const char machine[] =
    "zbench-machine 1\nranks 4\ngpus_per_process 1\nhbm_bytes 1073741824\n"
    "launch 1.03e-5\nexit_jitter 1e-7\nnoise 0.01\nevent 2e-7\nseed 7\n"
    "curve all_reduce 0 4 1 3e+11 1e-05 0.0001 1e-05 1.5\n"
    "curve send_recv 0 4 1 3e+11 1e-05 0.0001 1e-05 1\n"
    "fault late 1 4e-7\n";

enum { RANKS = 4, ROUNDS = 20, ELEMENTS = 256 };

/* One rank, with its own driver. */
typedef struct rank {
  zb_table t;
  int device, number;
  void *comm, *stream, *send, *recv;
  int64_t ended; /* virtual nanoseconds */
} rank;

static zb_unique_id id_of(int n) {
  zb_unique_id id = {{0}};
  snprintf(id.internal, sizeof id.internal, "zbl %d", n);
  return id;
}

static void begin(rank *r, const zbl_share *how, int number) {
  char why[256] = "";
  *r = (rank){.number = number, .device = number - how->first};
  CHECK(zbl_join_world(machine, how, why, sizeof why));
  if (why[0] != '\0') {
    fprintf(stderr, "%s\n", why);
  }
  zbl_fill(&r->t);
  CHECK(r->t.setDevice(r->device) == 0 && r->t.streamCreate(&r->stream, 1) == 0);
  CHECK(r->t.mallocDevice(&r->send, ELEMENTS * 4) == 0);
  CHECK(r->t.mallocDevice(&r->recv, ELEMENTS * 4) == 0);
  r->t.caseBegin(5);
  CHECK(r->t.commInitRank(&r->comm, RANKS, id_of(1), number) == 0);
}

static void enqueue(rank *r) {
  float *send = r->send;
  for (int i = 0; i < ELEMENTS; i++) {
    send[i] = (float)(r->number + i);
  }
  for (int k = 0; k < ROUNDS; k++) {
    CHECK(r->t.allReduce(r->send, r->recv, ELEMENTS, 7, 0, r->comm, r->stream) == 0);
    CHECK(r->t.groupStart() == 0);
    CHECK(r->t.sendTo(r->send, 4, 7, (r->number + 1) % RANKS, r->comm, r->stream) == 0);
    CHECK(r->t.recvFrom((char *)r->recv + 512, 4, 7, (r->number + 3) % RANKS, r->comm, r->stream) == 0);
    CHECK(r->t.groupEnd() == 0);
  }
}

/* Polls, and tells how often work that is coming was called unfinished. */
static void synchronise(rank *r) {
  const float *recv = r->recv;
  int code, from = (r->number + 3) % RANKS;
  for (int i = 0; (code = r->t.streamQuery(r->stream)) == ZB_ERR_NOT_READY && i < 1000; i++) {
  }
  CHECK(code == ZB_OK);
  r->ended = r->t.nowNs();
  for (int i = 0; i < ELEMENTS; i++) {
    CHECK(recv[i] == (i >= 128 && i < 132 ? (float)(from + i - 128) : (float)(6 + 4 * i)));
  }
}

static void end(rank *r) {
  CHECK(r->t.commDestroy(r->comm) == 0 && r->t.streamDestroy(r->stream) == 0);
  CHECK(r->t.freeDevice(r->send) == 0 && r->t.freeDevice(r->recv) == 0);
  zbl_shutdown();
}

static void barrier(rank *r) {
  const int32_t device = r->device;
  while (!r->t.hostBarrier(&device, 4, 1)) {
  }
}

/* All of it by one rank's driver. */
static int64_t drive_one(const zbl_share *how, int number) {
  rank r;
  begin(&r, how, number);
  barrier(&r);
  r.t.moveData(1);
  enqueue(&r);
  synchronise(&r);
  barrier(&r);
  end(&r);
  return r.ended;
}

static void *thread(void *number) {
  const zbl_share how = {.several = 1};
  return (void *)(intptr_t)drive_one(&how, (int)(intptr_t)number);
}

/* What a rank's clock shows at the end must be the same in threads and processes. */
static void in_threads(int64_t *ended) {
  pthread_t threads[RANKS];
  const zbl_share how = {.several = 1};
  char why[256];
  CHECK(zbl_join_world(machine, &how, why, sizeof why)); /* till all have gone */
  for (intptr_t i = 0; i < RANKS; i++) {
    CHECK(pthread_create(&threads[i], NULL, thread, (void *)i) == 0);
  }
  for (int i = 0; i < RANKS; i++) {
    void *out;
    CHECK(pthread_join(threads[i], &out) == 0);
    ended[i] = (int64_t)(intptr_t)out;
  }
  zbl_shutdown();
}

static zbl_share of_process(const char *path, int i) {
  return (zbl_share){.path = path, .first = i, .count = 1};
}

/* Ends a child with what it found. */
static void leave(void) { _exit(failures > 0); }

/* Waits for all children but those that were killed. */
static void join(const pid_t *child, int killed) {
  for (int i = 0; i < RANKS; i++) {
    int status = 0;
    CHECK(waitpid(child[i], &status, 0) == child[i]);
    CHECK(i == killed || (WIFEXITED(status) && WEXITSTATUS(status) == 0));
  }
}

static void in_processes(const char *path, const int64_t *want) {
  pid_t child[RANKS];
  for (int i = 0; i < RANKS; i++) {
    if ((child[i] = fork()) == 0) {
      zbl_share how = of_process(path, i);
      CHECK(drive_one(&how, i) == want[i]);
      leave();
    }
  }
  join(child, -1);
}

/* A host that waits elsewhere, as in MPI_Barrier, does not hold up the GPUs: rank 0
 * ends its wait before it lets the others begin theirs. */
static void in_order(const char *path) {
  pid_t child[RANKS];
  int gate[2];
  char byte;
  CHECK(pipe(gate) == 0);
  for (int i = 0; i < RANKS; i++) {
    if ((child[i] = fork()) == 0) {
      zbl_share how = of_process(path, i);
      rank r;
      alarm(60);
      begin(&r, &how, i);
      barrier(&r);
      r.t.moveData(1);
      enqueue(&r);
      if (i > 0) {
        CHECK(read(gate[0], &byte, 1) == 1);
      }
      synchronise(&r);
      if (i == 0) {
        CHECK(write(gate[1], "123", RANKS - 1) == RANKS - 1);
      }
      barrier(&r);
      end(&r);
      leave();
    }
  }
  join(child, -1);
  close(gate[0]);
  close(gate[1]);
}

/* A process that dies is an asynchronous error to its peers, and a barrier does not
 * wait for it. */
static void lost(const char *path) {
  pid_t child[RANKS];
  for (int i = 0; i < RANKS; i++) {
    if ((child[i] = fork()) == 0) {
      zbl_share how = of_process(path, i);
      rank r;
      int error = 0;
      alarm(60);
      begin(&r, &how, i);
      barrier(&r);
      if (i == 2) {
        kill(getpid(), SIGKILL);
      }
      r.t.moveData(1);
      enqueue(&r);
      while (error == 0 && r.t.streamQuery(r.stream) == ZB_ERR_NOT_READY) {
        CHECK(r.t.commGetAsyncError(r.comm, &error) == 0);
      }
      CHECK(error == ZB_COLL_REMOTE);
      barrier(&r);
      CHECK(r.t.commAbort(r.comm) == 0);
      zbl_shutdown();
      leave();
    }
  }
  join(child, 2);
}

/* A file that is of another machine, or is left over from a world that was killed. */
static void files(const char *path) {
  char other[sizeof machine], why[256] = "";
  zbl_share how = of_process(path, 0);
  pid_t child;
  int hold[2], status;
  char byte;
  memcpy(other, machine, sizeof machine);
  memcpy(strstr(other, "seed 7"), "seed 8", 6);
  CHECK(pipe(hold) == 0);
  if ((child = fork()) == 0) {
    rank r;
    how.count = 4;
    r = (rank){0};
    CHECK(zbl_join_world(machine, &how, why, sizeof why));
    zbl_fill(&r.t);
    CHECK(write(hold[1], "1", 1) == 1);
    pause();
  }
  CHECK(read(hold[0], &byte, 1) == 1);
  CHECK(!zbl_join_world(other, &how, why, sizeof why));
  CHECK(strstr(why, "another machine file") != NULL);
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
  CHECK(zbl_join_world(other, &how, why, sizeof why));
  zbl_shutdown();
  how = (zbl_share){.first = 3, .count = 2};
  CHECK(!zbl_join_world(machine, &how, why, sizeof why));
}

/* Rounds, or messages, that follow one another straight, with events between them: whoever
 * ends one ends the next too. Part of share_test.c. */

enum { STRAIGHT = 50 };

/* Up to so many events less one come between two rounds. With three the rank's process
 * must look before the stream gets to the next one. */
static int kinds = 3, messages;

/* One rank's part of a round, or its messages to the next and from the one before. */
static void enqueue_one(rank *r, size_t count) {
  if (!messages) {
    CHECK(r->t.allReduce(r->send, r->recv, count, 7, 0, r->comm, r->stream) == 0);
    return;
  }
  CHECK(r->t.groupStart() == 0);
  CHECK(r->t.sendTo(r->send, count, 7, (r->number + 1) % RANKS, r->comm, r->stream) == 0);
  CHECK(r->t.recvFrom(r->recv, count, 7, (r->number + RANKS - 1) % RANKS, r->comm, r->stream) == 0);
  CHECK(r->t.groupEnd() == 0);
}

/* Launches of one rank: a round, and events before the next. */
static void enqueue_straight(rank *r, void **event, int from, int to) {
  for (int k = from; k < to; k++) {
    enqueue_one(r, k % 7 == 0 ? 1 : ELEMENTS);
    for (int e = 0; e < k % kinds; e++) {
      CHECK(r->t.eventRecord(event[e % 2], r->stream) == 0);
    }
  }
}

static void make_events(rank *r, void **event) {
  CHECK(r->t.setDevice(r->device) == 0);
  CHECK(r->t.eventCreate(&event[0]) == 0 && r->t.eventCreate(&event[1]) == 0);
}

static void drop_events(rank *r, void **event) {
  CHECK(r->t.eventDestroy(event[0]) == 0 && r->t.eventDestroy(event[1]) == 0);
}

/* Waits for the stream; the rank's time then, which events and rounds make. */
static int64_t ended(rank *r, void **event) {
  int code;
  float ms = 0;
  for (int i = 0; (code = r->t.streamQuery(r->stream)) == ZB_ERR_NOT_READY && i < 10000; i++) {
  }
  CHECK(code == ZB_OK);
  CHECK(r->t.eventElapsed(&ms, event[0], event[1]) == 0);
  return r->t.nowNs() + (int64_t)(ms * 1e9);
}

/* One driver opens all ranks. */
static void open_ranks(rank *r) {
  zbl_fill(&r[0].t);
  CHECK(r[0].t.groupStart() == 0);
  for (int i = 0; i < RANKS; i++) {
    r[i] = (rank){.t = r[0].t, .device = i, .number = i};
    CHECK(r[i].t.setDevice(i) == 0 && r[i].t.streamCreate(&r[i].stream, 1) == 0);
    CHECK(r[i].t.mallocDevice(&r[i].send, ELEMENTS * 4) == 0);
    CHECK(r[i].t.mallocDevice(&r[i].recv, ELEMENTS * 4) == 0);
    CHECK(r[i].t.commInitRank(&r[i].comm, RANKS, id_of(1), i) == 0);
  }
  CHECK(r[0].t.groupEnd() == 0);
}

/* One driver has all ranks. */
static void straight_alone(int64_t *end_of) {
  rank r[RANKS];
  void *event[RANKS][2];
  const zbl_share how = {0};
  char why[256];
  CHECK(zbl_join_world(machine, &how, why, sizeof why));
  open_ranks(r);
  for (int i = 0; i < RANKS; i++) {
    CHECK(r[i].t.setDevice(i) == 0);
    r[i].t.caseBegin(5);
    make_events(&r[i], event[i]);
  }
  for (int k = 0; k < STRAIGHT; k++) {
    for (int i = 0; i < RANKS; i++) {
      CHECK(r[i].t.setDevice(i) == 0);
      enqueue_straight(&r[i], event[i], k, k + 1);
    }
  }
  for (int i = 0; i < RANKS; i++) {
    CHECK(r[i].t.setDevice(i) == 0);
    end_of[i] = ended(&r[i], event[i]);
    drop_events(&r[i], event[i]);
  }
  zbl_shutdown();
}

static int64_t straight_one(const zbl_share *how, int number) {
  rank r;
  void *event[2];
  int64_t at;
  begin(&r, how, number);
  make_events(&r, event);
  barrier(&r);
  enqueue_straight(&r, event, 0, STRAIGHT / 2);
  enqueue_straight(&r, event, STRAIGHT / 2, STRAIGHT);
  at = ended(&r, event);
  drop_events(&r, event);
  barrier(&r);
  end(&r);
  return at;
}

static void straight_in_processes(const char *path, const int64_t *want) {
  pid_t child[RANKS];
  for (int i = 0; i < RANKS; i++) {
    if ((child[i] = fork()) == 0) {
      zbl_share how = of_process(path, i);
      alarm(60);
      CHECK(straight_one(&how, i) == want[i]);
      leave();
    }
  }
  join(child, -1);
}

static uint64_t sleeps(void) {
  ZBL_ENTER;
  return zbl.hub->sleeps;
}

static void *straight_thread(void *out) {
  const zbl_share how = {.several = 1};
  int64_t *at = out;
  *at = straight_one(&how, (int)*at);
  return out;
}

/* The threads of all ranks but the last sleep while it launches bit by bit. They are
 * woken once, at the end: each sleeps once, and again only when nothing has happened
 * for 5 ms or more. */
static void straight_in_threads(const int64_t *want) {
  pthread_t threads[RANKS];
  int64_t at[RANKS];
  const zbl_share how = {.several = 1};
  char why[256];
  rank r;
  void *event[2];
  uint64_t before, woken;
  double began;
  CHECK(zbl_join_world(machine, &how, why, sizeof why));
  for (int i = 0; i < RANKS - 1; i++) {
    at[i] = i;
    CHECK(pthread_create(&threads[i], NULL, straight_thread, &at[i]) == 0);
  }
  begin(&r, &how, RANKS - 1);
  make_events(&r, event);
  before = sleeps();
  barrier(&r);
  while (sleeps() < before + RANKS - 1) { /* they have slept for the first round */
    usleep(100);
  }
  began = zbl_wall_now();
  before = sleeps();
  for (int k = 0; k < STRAIGHT; k++) {
    enqueue_straight(&r, event, k, k + 1);
    usleep(200);
  }
  woken = sleeps() - before;
  CHECK(woken <= (RANKS - 1) * (uint64_t)(1 + (zbl_wall_now() - began) / 5e-3));
  at[RANKS - 1] = ended(&r, event);
  drop_events(&r, event);
  barrier(&r);
  for (int i = 0; i < RANKS - 1; i++) {
    CHECK(pthread_join(threads[i], NULL) == 0);
  }
  end(&r);
  zbl_shutdown();
  for (int i = 0; i < RANKS; i++) {
    CHECK(at[i] == want[i]);
  }
}

/* A process that dies in the middle of its launches wakes those who sleep for the last. */
static void straight_lost(const char *path) {
  pid_t child[RANKS];
  for (int i = 0; i < RANKS; i++) {
    if ((child[i] = fork()) == 0) {
      zbl_share how = of_process(path, i);
      rank r;
      void *event[2];
      int error = 0;
      alarm(60);
      begin(&r, &how, i);
      make_events(&r, event);
      barrier(&r);
      enqueue_straight(&r, event, 0, i == 2 ? STRAIGHT / 2 : STRAIGHT);
      if (i == 2) {
        kill(getpid(), SIGKILL);
      }
      while (error == 0 && r.t.streamQuery(r.stream) == ZB_ERR_NOT_READY) {
        CHECK(r.t.commGetAsyncError(r.comm, &error) == 0);
      }
      CHECK(error == ZB_COLL_REMOTE);
      CHECK(r.t.commAbort(r.comm) == 0);
      zbl_shutdown();
      leave();
    }
  }
  join(child, 2);
}

/* Communicators that come and go among threads and processes leave nothing in the arena, but
 * what the slower ones have not destroyed yet. */

enum { CYCLES = 300, SETTLED = 10 };
static const uint64_t slower = 128 << 10; /* bytes: a few communicators, and what is left over of sizes */

static void cycles_of_one(const zbl_share *how, int number) {
  rank r;
  uint64_t used = 0;
  begin(&r, how, number);
  for (int k = 0; k < CYCLES; k++) {
    void *comm = NULL;
    CHECK(r.t.commInitRank(&comm, RANKS, id_of(100 + k), number) == 0);
    CHECK(r.t.allReduce(r.send, r.recv, ELEMENTS, 7, 0, comm, r.stream) == 0);
    for (int i = 0; r.t.streamQuery(r.stream) == ZB_ERR_NOT_READY && i < 1000; i++) {
    }
    CHECK(r.t.commDestroy(comm) == 0);
    if (k == SETTLED) {
      ZBL_ENTER;
      used = zbl.hub->used;
    }
  }
  {
    ZBL_ENTER;
    CHECK(zbl.hub->used <= used + slower);
  }
  barrier(&r);
  end(&r);
}

static void *cycles_thread(void *number) {
  const zbl_share how = {.several = 1};
  cycles_of_one(&how, (int)(intptr_t)number);
  return NULL;
}

static void cycles_in_threads(void) {
  pthread_t threads[RANKS];
  const zbl_share how = {.several = 1};
  char why[256];
  CHECK(zbl_join_world(machine, &how, why, sizeof why));
  for (intptr_t i = 0; i < RANKS; i++) {
    CHECK(pthread_create(&threads[i], NULL, cycles_thread, (void *)i) == 0);
  }
  for (int i = 0; i < RANKS; i++) {
    CHECK(pthread_join(threads[i], NULL) == 0);
  }
  zbl_shutdown();
}

static void cycles_in_processes(const char *path) {
  pid_t child[RANKS];
  for (int i = 0; i < RANKS; i++) {
    if ((child[i] = fork()) == 0) {
      zbl_share how = of_process(path, i);
      alarm(60);
      cycles_of_one(&how, i);
      leave();
    }
  }
  join(child, -1);
}

/* What the devices of one process of several take when no data moves. */

enum { TOUCHED = 64 << 12 };

/* How many pages of a range the process has. */
static int pages_of(void *at) {
  unsigned char there[TOUCHED >> 12];
  int n = 0;
  CHECK(mincore(at, TOUCHED, there) == 0);
  for (size_t i = 0; i < sizeof there; i++) {
    n += there[i] & 1;
  }
  return n;
}

/* Pages that are left after a driver wanted data moved, and before it stopped. */
static void moves_once(const zbl_share *how, int *during, int *after) {
  zb_table t = {0};
  char why[256];
  void *device = NULL, *host = NULL;
  CHECK(zbl_join_world(machine, how, why, sizeof why));
  zbl_fill(&t);
  CHECK(t.setDevice(0) == 0 && t.mallocDevice(&device, TOUCHED) == 0);
  CHECK(zbl_allocate(&host, TOUCHED, ZBL_OF_HOST) == 0);
  memset(device, 1, TOUCHED);
  memset(host, 1, TOUCHED);
  t.moveData(1);
  t.moveData(1);
  t.moveData(0);
  *during = pages_of(device);
  t.moveData(0);
  *after = pages_of(device);
  CHECK(pages_of(host) == TOUCHED >> 12);
  zbl_shutdown();
}

/* A process of many gives the memory back; one that drives the world alone would only
 * take it again. */
static void gives_memory_back(const char *path) {
  const zbl_share alone = {.several = 1}, one = of_process(path, 0);
  int during, after;
  moves_once(&one, &during, &after);
  CHECK(during == TOUCHED >> 12 && after == 0);
  moves_once(&alone, &during, &after);
  CHECK(during == TOUCHED >> 12 && after == TOUCHED >> 12);
}

/* Threads that sleep on one bell wake each other, however few of them a ring wakes. */

enum { SLEEPERS = 6, WAKE_MS = 30000 };

static int woken;

static void *sleeper(void *arg) {
  (void)arg;
  zbl_lock();
  zbl_await(&zbl.hub->met, WAKE_MS);
  woken++;
  zbl_unlock(NULL);
  return NULL;
}

static void wake_each_other(void) {
  const zbl_share how = {.several = 1, .count = RANKS};
  char why[256] = "";
  pthread_t threads[SLEEPERS];
  double began = zbl_wall_now();
  int asleep = 0;
  CHECK(zbl_join_world(machine, &how, why, sizeof why));
  zbl.wakes = 1;
  woken = 0;
  for (int i = 0; i < SLEEPERS; i++) {
    CHECK(pthread_create(&threads[i], NULL, sleeper, NULL) == 0);
  }
  while (asleep < SLEEPERS) {
    zbl_lock();
    asleep = (int)zbl.hub->met.waiting;
    if (asleep == SLEEPERS) {
      zbl_act();
      zbl_ring(&zbl.hub->met);
    }
    zbl_unlock(NULL);
    usleep(1000);
  }
  for (int i = 0; i < SLEEPERS; i++) {
    pthread_join(threads[i], NULL);
  }
  CHECK(woken == SLEEPERS && zbl_wall_now() - began < WAKE_MS * 5e-4);
  zbl_shutdown();
}

/* A round, and messages behind it, to which the rank's process must bring the stream. */
static void enqueue_both(rank *r) {
  CHECK(r->t.setDevice(r->device) == 0);
  for (messages = 0; messages < 2; messages++) {
    enqueue_one(r, ELEMENTS);
  }
  messages = 0;
}

/* Where a stream waits for others before its process has something to do for it, a host
 * that waits for it sleeps until then, and not until whatever is decided; the thread that
 * drives the streams sleeps, too. */
static void a_host_attends_its_stream(void) {
  const zbl_share how = {.several = 1};
  char why[256] = "";
  rank r[RANKS];
  zbl_stream *s;
  CHECK(zbl_join_world(machine, &how, why, sizeof why));
  open_ranks(r);
  s = r[0].stream;
  enqueue_both(&r[0]);
  CHECK(zbl_bell_of(s) == NULL && zbl_next_bell(s) == zbl_round_bell(s->head));
  CHECK(zbl_unattended(NULL) && !zbl_unattended(s));
  s->hosts++;
  CHECK(!zbl_unattended(NULL));
  s->hosts--;
  for (int i = 1; i < RANKS; i++) {
    enqueue_both(&r[i]);
  }
  CHECK(!zbl_unattended(NULL) && zbl_next_bell(s) == NULL);
  for (int i = 0; i < RANKS; i++) {
    CHECK(r[i].t.setDevice(i) == 0 && r[i].t.streamQuery(r[i].stream) == ZB_OK);
  }
  zbl_shutdown();
}

int main(int argc, char **argv) {
  int64_t end_of[RANKS], straight[RANKS];
  wake_each_other();
  a_host_attends_its_stream();
  in_threads(end_of);
  cycles_in_threads();
  for (int i = 0; i < RANKS; i++) {
    CHECK(end_of[i] > 0);
  }
  for (messages = 1; messages >= 0; messages--) {
    straight_alone(straight);
    straight_in_threads(straight);
  }
  messages = 0;
  if (argc > 1) {
    in_processes(argv[1], end_of);
    cycles_in_processes(argv[1]);
    straight_in_processes(argv[1], straight);
    kinds = 4;
    for (messages = 0; messages < 2; messages++) {
      straight_alone(straight);
      straight_in_processes(argv[1], straight);
      straight_lost(argv[1]);
    }
    in_order(argv[1]);
    lost(argv[1]);
    files(argv[1]);
    gives_memory_back(argv[1]);
  }
  return failures > 0;
}
