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
