/* What the devices of one process of several take when no data moves: included by
 * share_test.c. */

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
