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

/* One driver has all ranks. */
static void straight_alone(int64_t *end_of) {
  rank r[RANKS];
  void *event[RANKS][2];
  const zbl_share how = {0};
  char why[256];
  CHECK(zbl_join_world(machine, &how, why, sizeof why));
  zbl_fill(&r[0].t);
  CHECK(r[0].t.groupStart() == 0);
  for (int i = 0; i < RANKS; i++) {
    r[i] = (rank){.t = r[0].t, .device = i, .number = i};
    CHECK(r[i].t.setDevice(i) == 0 && r[i].t.streamCreate(&r[i].stream, 1) == 0);
    CHECK(r[i].t.mallocDevice(&r[i].send, ELEMENTS * 4) == 0);
    CHECK(r[i].t.mallocDevice(&r[i].recv, ELEMENTS * 4) == 0);
    r[i].t.caseBegin(5);
    CHECK(r[i].t.commInitRank(&r[i].comm, RANKS, id_of(1), i) == 0);
    make_events(&r[i], event[i]);
  }
  CHECK(r[0].t.groupEnd() == 0);
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
