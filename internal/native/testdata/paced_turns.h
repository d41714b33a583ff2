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
