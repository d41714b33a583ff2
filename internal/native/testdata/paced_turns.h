/* Ranks whose threads take turns on a few CPUs: for whom a paced launch waits, and what of
 * the host's time does not count. */

static void launch_once(rank *r) {
  CHECK(t.setDevice(r->number) == 0);
  CHECK(t.allReduce(r->send, r->recv, 4, 7, 0, r->comm, r->stream) == 0);
}

static int done(const rank *r) { return ((const zbl_stream *)r->stream)->head == NULL; }

static void finish_all(const rank *ranks) {
  while (t.streamQuery(ranks[0].stream) == ZB_ERR_NOT_READY) {
  }
}

enum { IN_VAIN = 20 };

/* A launch that waited in vain makes the next hundred not wait. A thread that launches on
 * several streams by turns does not wait at all, for it would wait for itself. */
static void waits_for_others(rank *ranks) {
  for (int k = 0; k < IN_VAIN; k++) {
    double called = zbl_wall_now();
    zbl_pacing.skip = 0;
    launch_once(&ranks[0]);
    CHECK(zbl_wall_now() - called >= 1e-3);
    CHECK(zbl_pacing.skip == ZBL_PACE_SKIPPED && !done(&ranks[0]));
  }
  launch_once(&ranks[0]);
  CHECK(zbl_pacing.skip == ZBL_PACE_SKIPPED - 1);
  zbl_pacing.skip = 0;
  for (int k = 0; k <= IN_VAIN; k++) {
    for (int i = 1; i < RANKS; i++) {
      launch_once(&ranks[i]);
      CHECK(zbl_pacing.skip == 0);
    }
  }
  CHECK(done(&ranks[0]) && done(&ranks[RANKS - 1]));
}

/* The end of a group waits as a launch does. */
static void waits_at_the_end_of_a_group(rank *ranks) {
  finish_all(ranks);
  zbl_pacing.last = NULL;
  CHECK(t.groupStart() == 0);
  launch_once(&ranks[0]);
  CHECK(zbl_pacing.skip == 0 && t.groupEnd() == 0);
  CHECK(zbl_pacing.skip == ZBL_PACE_SKIPPED);
  zbl_pacing.skip = 0;
  for (int i = 1; i < RANKS; i++) {
    launch_once(&ranks[i]);
  }
}

/* The stream has work for 0.3 s: a launch on it waits for no one. A host that was kept
 * from the CPU for longer tries again. */
static void does_not_wait_behind_work(rank *ranks) {
  const zbl_stream *s = ranks[0].stream;
  int tried = 0;
  for (int k = 0; k < 20 && !tried; k++) {
    for (int round = 0; round < 200; round++) {
      for (int i = RANKS - 1; i >= 0; i--) {
        launch_once(&ranks[i]);
      }
    }
    launch_once(&ranks[0]);
    tried = s->s > zbl_wall_now();
    CHECK(!tried || zbl_pacing.skip == 0);
    zbl_pacing.skip = 0;
    for (int i = 1; i < RANKS; i++) {
      launch_once(&ranks[i]);
    }
  }
  CHECK(tried);
}

static int holds;

/* Another thread has the lock for half a millisecond. */
static void *hold(void *unused) {
  const struct timespec half = {.tv_nsec = 500000};
  zbl_lock();
  __atomic_store_n(&holds, 1, __ATOMIC_RELEASE);
  nanosleep(&half, NULL);
  zbl_unlock(NULL);
  return unused;
}

/* What one launch takes in the loopback does not delay the next: some time in a hundred
 * the thread keeps its CPU between the two. */
static void loopback_takes_no_time(rank *ranks) {
  int found = 0;
  for (int k = 0; k < 100 && !found; k++) {
    pthread_t other;
    double left;
    finish_all(ranks);
    holds = 0;
    CHECK(pthread_create(&other, NULL, hold, NULL) == 0);
    while (!__atomic_load_n(&holds, __ATOMIC_ACQUIRE)) {
    }
    launch_once(&ranks[0]);
    left = zbl_wall_now();
    for (int i = 1; i < RANKS; i++) {
      launch_once(&ranks[i]);
    }
    found = zbl_lane_of(RANKS - 1)->h < left;
    CHECK(pthread_join(other, NULL) == 0);
  }
  CHECK(found);
}

/* Without data a copy between devices moves none either; one to or from the host does. */
static void copies_without_data(const rank *r) {
  char *to = r->recv, *from = r->send, host = 5;
  to[0] = 1;
  from[0] = 2;
  CHECK(t.setDevice(r->number) == 0);
  CHECK(t.copyAsync(to, from, 64, ZB_INFERRED, r->stream) == 0);
  finish_all(r);
  CHECK(to[0] == 1);
  CHECK(t.copyAsync(to, &host, 1, ZB_INFERRED, r->stream) == 0);
  CHECK(t.copyAsync(&host, from, 1, ZB_INFERRED, r->stream) == 0);
  finish_all(r);
  CHECK(to[0] == 5 && host == 2);
}

static void turns(void) {
  rank ranks[RANKS];
  open_all(ranks);
  waits_for_others(ranks);
  waits_at_the_end_of_a_group(ranks);
  does_not_wait_behind_work(ranks);
  loopback_takes_no_time(ranks);
  copies_without_data(ranks);
}
