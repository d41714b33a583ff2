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
