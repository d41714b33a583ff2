/* The paced clock, held to the times that it records: paced_test one | threads |
 * processes FILE | turns. A rank's work is done at the model's time after the last rank has
 * launched it, by the host's clock, and no rank sees that before. How late it sees it is the
 * host's scheduling, and not looked at. */
#include "../unity.c"
#include "check.h"

#include <sys/wait.h>

static const char machine[] =
    "zbench-machine 1\nranks 8\ngpus_per_process 1\nhbm_bytes 1073741824\n"
    "launch 2e-06\nexit_jitter 0\nnoise 0\nevent 0\nseed 7\n"
    "curve all_reduce 0 8 1 3e+11 1e-05 0.0001 0.0015 1.75\n";

enum { RANKS = 8, ROUNDS = 5, BURST = 3 };

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

/* Ranks whose threads take turns on a few CPUs, under a clock of the test's own: one thread
 * plays them all. What the host's scheduler does to a rank is what the test says. */

typedef __typeof__(zbl_own) zbl_owned;

enum { TICK_NS = 20 };
static int64_t fake_ns, jump_ns; /* the clock, and what the next call into the loopback takes */
static int reads;                /* of the clock, since the jump was planned */
static double starved[RANKS];    /* how long each rank's thread has waited for a CPU */
static int player;
static zbl_owned owned[RANKS];

static int fake_clock(clockid_t clock, struct timespec *ts) {
  (void)clock;
  fake_ns += TICK_NS;
  if (jump_ns > 0 && ++reads == 2) {
    fake_ns += jump_ns;
    jump_ns = 0;
  }
  *ts = (struct timespec){.tv_sec = fake_ns / 1000000000, .tv_nsec = fake_ns % 1000000000};
  return 0;
}

static double fake_now(void) { return (double)fake_ns * 1e-9; }

static int asked; /* how often the kernel was */

static double fake_starved(void) {
  asked++;
  return starved[player];
}

static int cpus = 1, yields; /* of the machine; and how often a CPU was given away */

static int fake_cpus(void) { return cpus; }

static int fake_yield(void) {
  yields++;
  return 0;
}

/* Rank i's thread goes on, so many seconds of the clock after what was last done, `waited`
 * of which it waited for a CPU. */
static void turn(const rank *ranks, int i, double passed, double waited) {
  owned[player] = zbl_own;
  player = i;
  zbl_own = owned[i];
  fake_ns += (int64_t)(passed * 1e9);
  starved[i] += waited;
  CHECK(t.setDevice(ranks[i].number) == 0);
}

static void launch_once(const rank *r) {
  CHECK(t.allReduce(r->send, r->recv, 4, 7, 0, r->comm, r->stream) == 0);
}

static double ends(const rank *r) { return ((const zbl_stream *)r->stream)->s; }

static int near(double a, double b, double most) { return a > b - most && a < b + most; }

/* A burst took the model's time for each rank from when its own thread came on, and none
 * saw it before. */
static void sees_its_own_time(const rank *ranks, const double *came, double took) {
  for (int i = 0; i < RANKS; i++) {
    double due = came[i] + took;
    turn(ranks, i, due - 2.5e-3 - fake_now(), 0);
    CHECK(t.streamQuery(ranks[i].stream) == ZB_ERR_NOT_READY);
    turn(ranks, i, due - 2e-5 - fake_now(), 0);
    CHECK(t.streamQuery(ranks[i].stream) == ZB_OK);
    CHECK(fake_now() >= due - 1e-7 && fake_now() < due + 2e-6);
  }
}

/* When a rank's own burst of n launches is over that begins now, in seconds from then. */
static double model_of(int n) {
  const zbl_curve curve = {.b = 3e11, .a = 1e-5, .r = 1e-4, .floor = 1.5e-3, .k = 1.75};
  return 2e-6 + n * zbl_model(&curve, 16);
}

/* Ranks come to a burst one after the other, because each has to wait for a CPU, and are
 * kept from one between their launches, too. Twice: the second burst is another. */
static void waits_for_a_cpu_do_not_count(const rank *ranks) {
  double came[RANKS];
  for (int again = 0; again < 2; again++) {
    for (int i = 0; i < RANKS; i++) {
      turn(ranks, i, i > 0 ? 4e-4 : 1e-2, 0);
      came[i] = fake_now();
      starved[i] += came[i] - came[0];
      for (int k = 0; k < BURST; k++) {
        launch_once(&ranks[i]);
        turn(ranks, i, 5e-5, 5e-5);
      }
    }
    CHECK(near(ends(&ranks[0]), came[0] + model_of(BURST), 1e-6));
    sees_its_own_time(ranks, came, model_of(BURST));
  }
}

/* All launch, the last one `late`, `waited` of it for a CPU. Returns when the launch ended
 * after the first rank came. */
static double last_is_late(const rank *ranks, double late, double waited) {
  double came = 0, end;
  for (int i = 0; i < RANKS; i++) {
    turn(ranks, i, i == 0 ? 1e-2 : i == RANKS - 1 ? late : 0, i == RANKS - 1 ? waited : 0);
    came = i == 0 ? fake_now() : came;
    launch_once(&ranks[i]);
  }
  end = ends(&ranks[0]) - came;
  for (int i = 0; i < RANKS; i++) {
    turn(ranks, i, 1e-2, 0);
    CHECK(t.streamQuery(ranks[i].stream) == ZB_OK);
  }
  return end;
}

/* What a rank's thread does of its own accord counts, but for a millisecond: others may
 * have waited for a CPU before they woke it. */
static void other_lateness_counts(const rank *ranks) {
  CHECK(near(last_is_late(ranks, 9e-3, 0), model_of(1) + 8e-3, 1e-6));
  CHECK(near(last_is_late(ranks, 9e-3, 5e-3), model_of(1) + 3e-3, 1e-6));
  CHECK(near(last_is_late(ranks, 9e-3, 8.5e-3), model_of(1), 1e-6));
  CHECK(near(last_is_late(ranks, 1.5e-5, 0), model_of(1), 1e-6));
}

/* Within a burst the program's own time counts, not that of the loopback's calls. */
static void calls_take_no_time(const rank *ranks) {
  static const double jump = 3e-3, slept = 5e-3;
  double came = 0;
  for (int i = RANKS - 1; i >= 0; i--) {
    turn(ranks, i, i == RANKS - 1 ? 1e-2 : 0, 0);
    came = i == RANKS - 1 ? fake_now() : came;
    jump_ns = i == 0 ? (int64_t)(jump * 1e9) : 0;
    reads = 0;
    launch_once(&ranks[i]);
    CHECK(jump_ns == 0);
    launch_once(&ranks[i]);
    turn(ranks, i, i == 0 ? slept : 0, 0);
    launch_once(&ranks[i]);
  }
  CHECK(near(ends(&ranks[0]), came + slept + model_of(1), 1e-6));
  for (int i = 0; i < RANKS; i++) {
    turn(ranks, i, 2e-2, 0);
    CHECK(t.streamQuery(ranks[i].stream) == ZB_OK);
  }
}

/* A call between the program's look at the clock and its first launch asks nothing of the
 * kernel, and what it found of waits for a CPU is not lost. */
static void calls_before_a_launch_are_short(const rank *ranks) {
  double came = 0;
  int error;
  for (int i = RANKS - 1; i >= 0; i--) {
    asked = 0;
    turn(ranks, i, i == RANKS - 1 ? 1e-2 : i == 0 ? 4e-3 : 0, i == 0 ? 4e-3 : 0);
    CHECK(t.commGetAsyncError(ranks[i].comm, &error) == 0 && asked == 0);
    came = i == RANKS - 1 ? fake_now() : came;
    launch_once(&ranks[i]);
    CHECK(i != 0 || asked == 1);
  }
  CHECK(near(ends(&ranks[0]), came + model_of(1), 1e-6));
  for (int i = 0; i < RANKS; i++) {
    turn(ranks, i, 2e-2, 0);
    CHECK(t.streamQuery(ranks[i].stream) == ZB_OK);
  }
}

/* One thread launches a graph on each GPU: that takes a launch each, and begins when the
 * thread comes on, however long it has been kept from that. */
static void graphs_take_launches(const rank *ranks) {
  void *graph, *exec[RANKS];
  double came;
  turn(ranks, 0, 1e-2, 0);
  for (int i = 0; i < RANKS; i++) {
    CHECK(t.setDevice(i) == 0 && t.streamBeginCapture(ranks[i].stream, 0) == 0);
    launch_once(&ranks[i]);
    CHECK(t.streamEndCapture(ranks[i].stream, &graph) == 0);
    CHECK(t.graphInstantiate(&exec[i], graph, 0) == 0 && t.graphDestroy(graph) == 0);
  }
  turn(ranks, 0, 5e-3, 4e-3);
  came = fake_now();
  for (int i = 0; i < RANKS; i++) {
    CHECK(t.setDevice(i) == 0 && t.graphLaunch(exec[i], ranks[i].stream) == 0);
  }
  CHECK(near(ends(&ranks[0]), came + (RANKS - 1) * 2e-6 + model_of(1), 1e-6));
  fake_ns += 100000000;
  for (int i = 0; i < RANKS; i++) {
    CHECK(t.streamQuery(ranks[i].stream) == ZB_OK && t.graphExecDestroy(exec[i]) == 0);
  }
}

/* Without data a copy between devices moves none either; one to or from the host does. */
static void copies_without_data(const rank *r) {
  char *to = r->recv, *from = r->send, host = 5;
  to[0] = 1;
  from[0] = 2;
  CHECK(t.setDevice(r->number) == 0);
  CHECK(t.copyAsync(to, from, 64, ZB_INFERRED, r->stream) == 0);
  fake_ns += 100000000;
  CHECK(t.streamQuery(r->stream) == ZB_OK && to[0] == 1);
  CHECK(t.copyAsync(to, &host, 1, ZB_INFERRED, r->stream) == 0);
  CHECK(t.copyAsync(&host, from, 1, ZB_INFERRED, r->stream) == 0);
  fake_ns += 100000000;
  CHECK(t.streamQuery(r->stream) == ZB_OK && to[0] == 5 && host == 2);
}

/* All launch, and wait until it ends. */
static void all_wait(const rank *ranks) {
  for (int i = 0; i < RANKS; i++) {
    turn(ranks, i, i == 0 ? 1e-2 : 0, 0);
    launch_once(&ranks[i]);
  }
  for (int i = 0; i < RANKS; i++) {
    turn(ranks, i, 0, 0);
    CHECK(t.streamQuery(ranks[i].stream) == ZB_OK);
  }
}

/* Who waits for the last moments gives its CPU away where there are fewer than threads, and
 * keeps it where each has one. */
static void shared_cpus_are_given_away(const rank *ranks) {
  CHECK(zbl.hub->hosts == RANKS);
  for (cpus = RANKS - 1; cpus <= RANKS; cpus++) {
    yields = 0;
    all_wait(ranks);
    CHECK((yields > 0) == (cpus < RANKS));
  }
}

/* How many of a burst's second launches are late, which every rank makes so long after the
 * first, waiting so much of that for a CPU. */
static uint64_t late_ones(const rank *ranks, double passed, double waited) {
  uint64_t late = zbl.hub->late, launches = zbl.hub->launches;
  for (int k = 0; k < 2; k++) {
    for (int i = 0; i < RANKS; i++) {
      turn(ranks, i, i > 0 ? 0 : k == 0 ? 1e-2 : passed, k == 0 ? 0 : waited);
      launch_once(&ranks[i]);
    }
  }
  fake_ns += 100000000;
  for (int i = 0; i < RANKS; i++) {
    turn(ranks, i, 0, 0);
    CHECK(t.streamQuery(ranks[i].stream) == ZB_OK);
  }
  CHECK(zbl.hub->launches == launches + 2 * RANKS);
  return zbl.hub->late - late;
}

/* A launch is late that comes when the model had its stream idle already, for a reason that is
 * none of the program's: the first takes 1.5 ms. */
static void late_launches_are_counted(const rank *ranks) {
  CHECK(late_ones(ranks, 1e-3, 1e-3) == 0);
  CHECK(late_ones(ranks, 3e-3, 3e-3) == RANKS);
  CHECK(late_ones(ranks, 3e-3, 0) == 0);
}

/* The kernel's own figure: it can be asked, and never runs back. */
static void kernel_tells(void) {
  double before = zbl_kernel_starved();
  CHECK(before >= 0 && zbl_kernel_starved() >= before);
}

static void turns(void) {
  rank ranks[RANKS];
  kernel_tells();
  zbl_vdso_clock = fake_clock;
  zbl_starved = fake_starved;
  zbl_pace_cpus = fake_cpus;
  zbl_yield = fake_yield;
  fake_ns = 1000000000;
  zbl_own = (zbl_owned){0};
  open_all(ranks);
  for (int i = 0; i < RANKS; i++) {
    owned[i] = zbl_own;
  }
  waits_for_a_cpu_do_not_count(ranks);
  other_lateness_counts(ranks);
  calls_take_no_time(ranks);
  calls_before_a_launch_are_short(ranks);
  shared_cpus_are_given_away(ranks);
  late_launches_are_counted(ranks);
  graphs_take_launches(ranks);
  copies_without_data(&ranks[0]);
}

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
