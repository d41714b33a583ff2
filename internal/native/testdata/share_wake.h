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
