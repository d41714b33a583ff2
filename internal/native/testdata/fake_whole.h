/* A collective that one group launches on all ranks of a communicator ends where it is
 * launched (whole.c). It takes the time of one that is launched rank by rank, and ends no
 * call that the other would leave waiting. */

/* Ten launches and an event between any two of them; where all streams are then. */
static void whole_times(int grouped, double at[4]) {
  void *event;
  open_world();
  zbl.exit_jitter = 1e-6;
  CHECK(t.setDevice(1) == ZB_OK && t.eventCreate(&event) == ZB_OK);
  for (int k = 0; k < 10; k++) {
    CHECK(!grouped || t.groupStart() == 0);
    for (int i = 0; i < 4; i++) {
      CHECK(reduce(i, 64 + 64 * (k % 2)) == 0);
    }
    CHECK(!grouped || t.groupEnd() == 0);
    t.setDevice(1);
    CHECK(t.eventRecord(event, stream[1]) == ZB_OK && t.eventQuery(event) == ZB_OK);
  }
  for (int i = 0; i < 4; i++) {
    const zbl_stream *s = stream[i];
    at[i] = s->s;
  }
  CHECK(t.eventDestroy(event) == ZB_OK);
  close_world();
}

/* Rank 2 does not agree in a group of all: a hang. */
static void whole_needs_agreement(void) {
  open_world();
  CHECK(t.groupStart() == 0);
  for (int i = 0; i < 4; i++) {
    CHECK(reduce(i, i == 2 ? 32 : 64) == 0);
  }
  CHECK(t.groupEnd() == 0);
  for (int i = 0; i < 4; i++) {
    t.setDevice(i);
    CHECK(t.streamQuery(stream[i]) == ZB_ERR_NOT_READY);
  }
  close_world();
}

/* A rank that has called alone before, on another stream, is one call ahead: the group's
 * calls belong to two rounds. */
static void whole_needs_one_round(void) {
  void *mine;
  open_world();
  mine = stream[1];
  CHECK(t.setDevice(1) == ZB_OK && t.streamCreate(&stream[1], ZB_STREAM_NON_BLOCKING) == ZB_OK);
  CHECK(reduce(1, 64) == 0 && t.groupStart() == 0);
  for (int i = 0; i < 4; i++) {
    void *before = stream[i];
    stream[i] = i == 1 ? mine : before;
    CHECK(reduce(i, 64) == 0);
    stream[i] = before;
  }
  CHECK(t.groupEnd() == 0);
  t.setDevice(1);
  CHECK(t.streamQuery(mine) == ZB_ERR_NOT_READY && t.streamQuery(stream[1]) == ZB_OK);
  CHECK(t.streamDestroy(mine) == ZB_OK);
  close_world();
}

/* Two ranks of one device on one stream wait for each other. */
static void whole_needs_streams(void) {
  zb_unique_id id;
  void *c[2];
  open_world();
  zbl.multi_rank = zbl.derives = 1;
  CHECK(t.setDevice(0) == ZB_OK && t.getUniqueId(&id) == 0 && t.groupStart() == 0);
  for (int i = 0; i < 2; i++) {
    CHECK(t.commInitRank(&c[i], 2, id, i) == 0);
  }
  CHECK(t.groupEnd() == 0 && t.groupStart() == 0);
  for (int i = 0; i < 2; i++) {
    CHECK(t.allReduce(sendbuf[0], recvbuf[0], 64, 7, 0, c[i], stream[0]) == 0);
  }
  CHECK(t.groupEnd() == 0 && t.streamQuery(stream[0]) == ZB_ERR_NOT_READY);
  close_world();
}

static void whole_collectives(void) {
  double one_by_one[4], grouped[4];
  whole_times(0, one_by_one);
  whole_times(1, grouped);
  CHECK(grouped[0] > 0 && memcmp(one_by_one, grouped, sizeof grouped) == 0);
  whole_needs_agreement();
  whole_needs_one_round();
  whole_needs_streams();
}
