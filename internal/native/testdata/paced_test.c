/* The paced clock, held to the times that it records: paced_test one | threads |
 * processes FILE | turns. A rank's work is done at the model's time after the last rank has
 * launched it, by the host's clock, and no rank sees that before. How late it sees it is the
 * host's scheduling, and not looked at. */
#include "../unity.c"

#include <stdio.h>
#include <sys/wait.h>

static const char machine[] =
    "zbench-machine 1\nranks 8\ngpus_per_process 1\nhbm_bytes 1073741824\n"
    "launch 2e-06\nexit_jitter 0\nnoise 0\nevent 0\nseed 7\n"
    "curve all_reduce 0 8 1 3e+11 1e-05 0.0001 0.0015 1.75\n";

enum { RANKS = 8, ROUNDS = 5, BURST = 3 };

static int failures;

#define CHECK(what)                                                            \
  do {                                                                         \
    if (!(what)) {                                                             \
      fprintf(stderr, "%s:%d: %s\n", __func__, __LINE__, #what);               \
      __atomic_add_fetch(&failures, 1, __ATOMIC_RELAXED);                      \
    }                                                                          \
  } while (0)

/* What each rank has recorded, in seconds of the host's clock. */
typedef struct record {
  double posted[ROUNDS][BURST], marked[ROUNDS], done[ROUNDS];
} record;

static record *records;

typedef struct rank {
  int number;
  void *comm, *stream, *event, *send, *recv;
} rank;

static zb_table t;

static void begin(const zbl_share *how) {
  char why[256] = "";
  CHECK(zbl_join_world(machine, how, why, sizeof why));
  zbl_fill(&t);
  zbl_show(ZBL_PACED);
  zbl.waits = 1;
}

static void open_rank(rank *r, int number) {
  zb_unique_id id = {"zbl 1"};
  r->number = number;
  CHECK(t.setDevice(number - zbl.first) == 0 && t.streamCreate(&r->stream, 1) == 0);
  CHECK(t.eventCreate(&r->event) == 0);
  CHECK(t.mallocDevice(&r->send, 64) == 0 && t.mallocDevice(&r->recv, 64) == 0);
  CHECK(t.commInitRank(&r->comm, RANKS, id, number) == 0);
}

/* A launch is enqueued after the one before it and what that had to wait for, and no later
 * than the call's end, or the thread's time, plus what a launch costs. */
static void launch(rank *r, int round, int k) {
  static _Thread_local double before;
  double at, least = round > 0 && k == 0 ? records[r->number].done[round - 1] : before;
  CHECK(t.setDevice(r->number - zbl.first) == 0);
  CHECK(t.allReduce(r->send, r->recv, 4, 7, 0, r->comm, r->stream) == 0);
  at = zbl_lane_of(r->number)->h;
  CHECK(at > least && at <= zbl_later(zbl_wall_now(), before) + 2e-6 + 1e-9);
  records[r->number].posted[round][k] = before = at;
}

/* Every other round asks the event, the others the stream. */
static void finish(rank *r, int round) {
  const zbl_stream *s = r->stream;
  CHECK(t.setDevice(r->number - zbl.first) == 0);
  while ((round % 2 ? t.eventQuery(r->event) : t.streamQuery(r->stream)) == ZB_ERR_NOT_READY) {
  }
  records[r->number].done[round] = s->s;
  CHECK(zbl_wall_now() >= s->s);
}

static void drive(rank *ranks, int n) {
  for (int round = 0; round < ROUNDS; round++) {
    for (int k = 0; k < BURST; k++) {
      for (int i = 0; i < n; i++) {
        launch(&ranks[i], round, k);
      }
    }
    for (int i = 0; i < n; i++) {
      CHECK(t.setDevice(ranks[i].number - zbl.first) == 0);
      CHECK(t.eventRecord(ranks[i].event, ranks[i].stream) == 0);
      records[ranks[i].number].marked[round] = zbl_lane_of(ranks[i].number)->h;
    }
    for (int i = 0; i < n; i++) {
      finish(&ranks[i], round);
    }
  }
}

/* What the records have to be: each launch takes the model's time from the last rank's on. */
static void check_records(void) {
  const zbl_curve curve = {.b = 3e11, .a = 1e-5, .r = 1e-4, .floor = 1.5e-3, .k = 1.75};
  double took = zbl_model(&curve, 16), end = 0;
  for (int round = 0; round < ROUNDS; round++) {
    for (int k = 0; k < BURST; k++) {
      double start = end;
      for (int i = 0; i < RANKS; i++) {
        start = zbl_later(start, records[i].posted[round][k]);
      }
      end = start + took;
    }
    for (int i = 0; i < RANKS; i++) {
      double done = zbl_later(end, records[i].marked[round]); /* a host that was kept from it */
      CHECK(fabs(records[i].done[round] - done) < 1e-9);
    }
  }
}

/* All ranks, driven by one thread, in a world that others could join. */
static void open_all(rank *ranks) {
  const zbl_share how = {.several = 1};
  begin(&how);
  CHECK(t.groupStart() == 0);
  for (int i = 0; i < RANKS; i++) {
    open_rank(&ranks[i], i);
  }
  CHECK(t.groupEnd() == 0);
}

static void one(void) {
  rank ranks[RANKS];
  open_all(ranks);
  drive(ranks, RANKS);
}

#include "paced_turns.h"

static void *thread(void *number) {
  rank r;
  open_rank(&r, (int)(intptr_t)number);
  drive(&r, 1);
  return NULL;
}

static void threads(void) {
  pthread_t all[RANKS];
  const zbl_share how = {.several = 1};
  begin(&how);
  for (intptr_t i = 0; i < RANKS; i++) {
    CHECK(pthread_create(&all[i], NULL, thread, (void *)i) == 0);
  }
  for (int i = 0; i < RANKS; i++) {
    CHECK(pthread_join(all[i], NULL) == 0);
  }
}

static int process(const char *file, int number) {
  const zbl_share how = {.several = 1, .path = file, .first = number, .count = 1};
  begin(&how);
  thread((void *)(intptr_t)number);
  return failures != 0;
}

static void processes(const char *file) {
  pid_t child[RANKS];
  for (int i = 0; i < RANKS; i++) {
    if ((child[i] = fork()) == 0) {
      _exit(process(file, i));
    }
  }
  for (int i = 0; i < RANKS; i++) {
    int status = -1;
    CHECK(waitpid(child[i], &status, 0) == child[i] && status == 0);
  }
}

int main(int argc, char **argv) {
  records = mmap(NULL, RANKS * sizeof *records, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (argc > 2) {
    processes(argv[2]);
  } else if (strcmp(argv[1], "threads") == 0) {
    threads();
  } else if (strcmp(argv[1], "turns") == 0) {
    turns();
    return failures != 0;
  } else {
    one();
  }
  check_records();
  return failures != 0;
}
