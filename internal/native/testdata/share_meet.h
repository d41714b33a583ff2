/* Bursts that follow one another: waiting for a stream and coming to the barrier before
 * the next burst is one wait. Part of share_test.c. */

enum { BURSTS = 30, REPEATS = 9 };

/* Whether the ranks poll and then come to the barrier, two waits instead of one. */
static int apart;

/* What a rank's clock shows after each burst and after each barrier, as one number. */
static int64_t bursts(rank *r) {
  uint64_t all = 0;
  int64_t done = 0, begun;
  barrier(r);
  for (int k = 0; k < BURSTS; k++) {
    int over = -1;
    for (int i = 0; i <= k % 5; i++) {
      CHECK(r->t.allReduce(r->send, r->recv, ELEMENTS, 7, 0, r->comm, r->stream) == 0);
    }
    while (!apart && (over = r->t.hostMeets(r->stream, 1 + k % 5, 0, &begun, &done)) == 0) {
    }
    if (over < 0) {
      while (r->t.streamQuery(r->stream) == ZB_ERR_NOT_READY) {
      }
      done = r->t.nowNs();
      barrier(r);
    }
    all = all * 31 + (uint64_t)done;
    all = all * 31 + (uint64_t)r->t.nowNs();
  }
  return (int64_t)(all >> 1);
}

static int64_t batches(rank *r);

static int64_t bursts_of(const zbl_share *how, int number) {
  rank r;
  int64_t all;
  begin(&r, how, number);
  all = bursts(&r);
  all = (int64_t)(((uint64_t)all * 31 + (uint64_t)batches(&r)) >> 1);
  barrier(&r);
  end(&r);
  return all;
}

static void *bursts_thread(void *out) {
  const zbl_share how = {.several = 1};
  int64_t *all = out;
  *all = bursts_of(&how, (int)*all);
  return out;
}

/* How often bursts were over in the wait for another. */
static int repeated;

/* One burst of a batch, or several in one wait. Returns how many, and whether the barrier
 * after them is over. */
static int some_bursts(rank *r, int launches, int more, int64_t *begun, int64_t *done,
                       int *met) {
  int n = -1;
  begun[0] = r->t.nowNs();
  for (int i = 0; i < launches; i++) {
    CHECK(r->t.allReduce(r->send, r->recv, (size_t)launches, 7, 0, r->comm, r->stream) == 0);
  }
  while (!apart && more > 0 &&
         (n = r->t.hostMeets(r->stream, launches, more, begun, done)) == 0) {
  }
  *met = n == 1;
  if (n > 0) {
    __atomic_add_fetch(&repeated, n - 1, __ATOMIC_RELAXED);
    return n;
  }
  while (r->t.streamQuery(r->stream) == ZB_ERR_NOT_READY) {
  }
  done[0] = r->t.nowNs();
  return 1;
}

/* Batches of equal bursts. In every fifth one rank says that fewer follow: then each
 * burst is waited for. */
static int64_t batches(rank *r) {
  uint64_t all = 0;
  for (int k = 0; k < BURSTS; k++) {
    int64_t begun[REPEATS + 1] = {0}, done[REPEATS + 1] = {0};
    int met = 0;
    for (int over = 0; over <= REPEATS;) {
      int more = REPEATS - over;
      if (!met) {
        barrier(r);
      }
      more -= k % 5 == 4 && r->number == 2 && more > 1;
      over += some_bursts(r, 1 + k % 4, more, begun + over, done + over, &met);
    }
    for (int i = 0; i <= REPEATS; i++) {
      all = (all * 31 + (uint64_t)begun[i]) * 31 + (uint64_t)done[i];
    }
    all = all * 31 + (uint64_t)r->t.nowNs();
  }
  return (int64_t)(all >> 1);
}

/* Returns how often somebody slept. */
static uint64_t bursts_in_threads(int64_t *all) {
  pthread_t threads[RANKS];
  const zbl_share how = {.several = 1};
  char why[256];
  uint64_t slept;
  CHECK(zbl_join_world(machine, &how, why, sizeof why));
  for (int i = 0; i < RANKS; i++) {
    all[i] = i;
    CHECK(pthread_create(&threads[i], NULL, bursts_thread, &all[i]) == 0);
  }
  for (int i = 0; i < RANKS; i++) {
    CHECK(pthread_join(threads[i], NULL) == 0);
  }
  slept = sleeps();
  zbl_shutdown();
  return slept;
}

/* The clocks are the same either way. With one wait nobody sleeps twice for a burst: a
 * sleep more is for the first two barriers and the last, for joining, or has ended after
 * the 500 ms without anybody doing anything. A batch takes three: the barrier, the wait,
 * and that for a burst by itself; those of which one rank says less, one for a burst. */
static void meets_in_threads(int64_t *want) {
  int64_t all[RANKS];
  double began;
  uint64_t slept;
  apart = 1;
  bursts_in_threads(want);
  apart = 0;
  began = zbl_wall_now();
  slept = bursts_in_threads(all);
  CHECK(slept <= RANKS * (uint64_t)(BURSTS + 4 + BURSTS * 3 + BURSTS / 5 * (REPEATS + 3) +
                                    (zbl_wall_now() - began) / 0.1));
  CHECK(repeated > 0);
  for (int i = 0; i < RANKS; i++) {
    CHECK(all[i] == want[i]);
  }
}

static void meets_in_processes(const char *path, const int64_t *want) {
  pid_t child[RANKS];
  for (int i = 0; i < RANKS; i++) {
    if ((child[i] = fork()) == 0) {
      zbl_share how = of_process(path, i);
      alarm(60);
      CHECK(bursts_of(&how, i) == want[i]);
      leave();
    }
  }
  join(child, -1);
}

/* A process that dies in the middle of a burst: the others have to poll, and find the
 * asynchronous error. */
static void meets_lost(const char *path) {
  pid_t child[RANKS];
  for (int i = 0; i < RANKS; i++) {
    if ((child[i] = fork()) == 0) {
      zbl_share how = of_process(path, i);
      int64_t done[REPEATS + 1], begun[REPEATS + 1];
      int error = 0, over;
      rank r;
      alarm(60);
      begin(&r, &how, i);
      barrier(&r);
      for (int k = 0; k < (i == 2 ? 3 : 6); k++) {
        CHECK(r.t.allReduce(r.send, r.recv, ELEMENTS, 7, 0, r.comm, r.stream) == 0);
      }
      if (i == 2) {
        kill(getpid(), SIGKILL);
      }
      while ((over = r.t.hostMeets(r.stream, 6, REPEATS, begun, done)) == 0) {
      }
      CHECK(over == -1);
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
