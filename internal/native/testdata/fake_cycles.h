/* Communicators that come and go leave nothing behind: neither in the arena, by its own count,
 * nor handles. Some are destroyed when all is done, some with a call that not all ranks have
 * made, or with a message of one end. */

static int handles_kept(void) {
  int n = 0;
  for (zbl_comm *c = zbl_dead; c != NULL; c = c->next) {
    n++;
  }
  for (zbl_comm *c = zbl_retired; c != NULL; c = c->next) {
    n++;
  }
  return n;
}

static void one_cycle(int kind) {
  void *c[4];
  zb_unique_id id;
  CHECK(t.getUniqueId(&id) == 0 && t.groupStart() == 0);
  for (int i = 0; i < 4; i++) {
    CHECK(t.setDevice(i) == 0 && t.commInitRank(&c[i], 4, id, i) == 0);
  }
  CHECK(t.groupEnd() == 0);
  for (int i = 0; i < (kind == 1 ? 3 : 4); i++) {
    CHECK(t.setDevice(i) == 0);
    CHECK(t.allReduce(sendbuf[i], recvbuf[i], 1024, 7, 0, c[i], stream[i]) == 0);
  }
  if (kind == 2) {
    CHECK(t.setDevice(0) == 0 && t.sendTo(sendbuf[0], 1024, 7, 1, c[0], stream[0]) == 0);
  }
  for (int i = 0; i < 4; i++) {
    CHECK(t.setDevice(i) == 0);
    CHECK((kind == 0 ? t.commDestroy(c[i]) : t.commAbort(c[i])) == 0);
    CHECK(t.streamQuery(stream[i]) == 0);
  }
}

static void communicators_leave_nothing(void) {
  for (int moves = 0; moves < 2; moves++) {
    uint64_t used = 0;
    open_world();
    t.moveData(moves);
    for (int k = 0; k < 300; k++) {
      one_cycle(k % 3);
      if (k == 9) {
        used = zbl.hub->used;
      }
    }
    CHECK(zbl.hub->used == used);
    CHECK(handles_kept() <= 8);
    if (moves) {
      t.moveData(0);
    }
    close_world();
  }
}
