/* The second half of fake_test.c: batches, events, data and messages on the
 * loopback's engine. */
/* Brings a batch to the world of open_world. */
static zb_batch batch(zb_rank *ranks, int64_t *start, double *seconds,
                      uint8_t *state) {
  zb_batch b = {.table = &t, .nlocal = 4, .ranks = ranks, .iterations = 5,
                .deadline_s = 600, .start_ns = start, .seconds = seconds,
                .state = state};
  b.work = (zb_work){.dtype = 7, .count = 64, .slots = 1};
  for (int i = 0; i < 4; i++) {
    ranks[i] = (zb_rank){.device = i, .rank = i, .nranks = 4, .comm = comm[i],
                         .stream = stream[i], .send = sendbuf[i],
                         .recv = recvbuf[i]};
  }
  return b;
}

/* A hang ends at the deadline, and says how far each rank got. */
static void batch_ends_at_the_deadline(void) {
  zb_rank ranks[4];
  int64_t start[4];
  double seconds[4];
  uint8_t state[4];
  zb_batch b;
  open_world();
  b = batch(ranks, start, seconds, state);
  zb_burst(&b);
  CHECK(b.outcome == ZB_BATCH_OK && b.launched == 5 && seconds[3] > 0);
  CHECK(reduce(1, 32) == 0); /* one call too many on rank 1 */
  zb_burst(&b);
  CHECK(b.outcome == ZB_BATCH_DEADLINE && b.launched == 5);
  CHECK(state[0] == ZB_RANK_ENQUEUED);
  zb_cancel(&b);
  zb_burst(&b);
  CHECK(b.outcome == ZB_BATCH_CANCELLED && b.launched == 0);
  close_world();
}

/* A call that fails inside a group leaves no group open behind it. */
static void failure_closes_the_group(void) {
  zb_rank ranks[4];
  int64_t start[4];
  double seconds[4];
  uint8_t state[4];
  zb_batch b;
  open_world();
  b = batch(ranks, start, seconds, state);
  ranks[2].send = NULL;
  zb_burst(&b);
  CHECK(b.outcome == ZB_BATCH_COLLECTIVES && b.rank == 2);
  CHECK(zbl_group_depth() == 0);
  close_world();
}

/* Events: a mark takes the stream's time; what has not happened has none. */
static void events(void) {
  void *a, *b, *other, *gone;
  float ms;
  open_world();
  t.setDevice(1);
  CHECK(t.eventCreate(&other) == 0);
  t.setDevice(0);
  CHECK(t.eventCreate(&a) == 0 && t.eventCreate(&b) == 0);
  CHECK(t.eventElapsed(&ms, a, b) == ZB_ERR_HANDLE); /* never recorded */
  CHECK(t.eventQuery(a) == 0 && t.eventQuery(NULL) == ZB_ERR_HANDLE);
  CHECK(t.eventRecord(other, stream[0]) == ZB_ERR_HANDLE);
  CHECK(t.eventRecord(a, stream[1]) == ZB_ERR_HANDLE);
  CHECK(t.eventRecord(a, stream[0]) == 0);
  CHECK(reduce(0, 1024) == 0);
  CHECK(t.eventRecord(b, stream[0]) == 0);
  CHECK(t.eventElapsed(&ms, a, b) == ZB_ERR_NOT_READY); /* the others wait */
  CHECK(t.eventQuery(a) == 0 && t.eventQuery(b) == ZB_ERR_NOT_READY);
  CHECK(t.eventCreate(&gone) == 0 && t.eventRecord(gone, stream[0]) == 0);
  CHECK(t.eventDestroy(gone) == 0); /* pending: it goes when it has happened */
  CHECK(t.eventRecord(gone, stream[0]) == ZB_ERR_HANDLE);
  CHECK(reduce(1, 1024) == 0 && reduce(2, 1024) == 0 && reduce(3, 1024) == 0);
  t.setDevice(0);
  CHECK(t.eventElapsed(&ms, a, b) == 0);
  CHECK(fabs((double)ms * 1e-3 - zbl_model(&zbl.curves[0], 4096)) < 2e-6);
  CHECK(t.eventRecord(other, stream[1]) == 0 && t.eventQuery(other) == 0);
  CHECK(t.eventElapsed(&ms, a, other) == ZB_ERR_HANDLE); /* of another device */
  CHECK(t.eventDestroy(a) == 0 && t.eventDestroy(b) == 0);
  t.setDevice(1);
  CHECK(t.eventDestroy(other) == 0);
  close_world();
}

/* Data: a result is poison until a wait has proved it done. */
static void data_appear_when_proved(void) {
  float *in, *out;
  open_world();
  for (int i = 0; i < 4; i++) {
    in = (float *)sendbuf[i];
    for (int k = 0; k < 64; k++) {
      in[k] = (float)(i + k);
    }
  }
  t.moveData(1);
  for (int i = 0; i < 4; i++) {
    CHECK(reduce(i, 64) == 0);
  }
  out = (float *)recvbuf[2];
  for (size_t k = 0; k < 64 * sizeof *out; k++) {
    CHECK(((unsigned char *)out)[k] == 0xa5);
  }
  t.setDevice(2);
  CHECK(t.streamQuery(stream[2]) == ZB_OK && out[0] == 6 && out[5] == 26);
  t.moveData(0);
  close_world();
}

/* Sends and receives: matched in order, by two ends that have both begun. */
static void messages(void) {
  zb_rank ranks[4];
  int64_t start[4];
  double seconds[4];
  uint8_t state[4];
  zb_batch b;
  int pick = 0;
  open_world();
  b = batch(ranks, start, seconds, state);
  while (strcmp(zb_collective_name(pick), "all_to_all") != 0) {
    pick++;
  }
  for (int i = 0; i < 4; i++) {
    for (int k = 0; k < 256; k++) {
      ((int32_t *)sendbuf[i])[k] = 1000 * i + k;
    }
  }
  t.allToAll = NULL; /* then it is made of messages, to oneself included */
  b.work.collective = pick;
  b.work.dtype = 2;
  t.moveData(1);
  zb_burst(&b);
  CHECK(b.outcome == ZB_BATCH_OK);
  CHECK(((int32_t *)recvbuf[3])[64 * 2 + 5] == 2000 + 64 * 3 + 5);
  CHECK(((int32_t *)recvbuf[1])[64 * 1 + 7] == 1000 + 64 * 1 + 7);
  t.gather = NULL;
  while (strcmp(zb_collective_name(pick), "gather") != 0) {
    pick++;
  }
  b.work.collective = pick;
  b.work.root = 2;
  zb_burst(&b);
  CHECK(b.outcome == ZB_BATCH_OK);
  CHECK(((int32_t *)recvbuf[2])[64 * 3 + 5] == 3000 + 5);
  t.moveData(0);
  t.setDevice(0);
  CHECK(t.sendTo(sendbuf[0], 8, 2, 1, comm[0], stream[0]) == 0);
  t.setDevice(1);
  CHECK(t.recvFrom(recvbuf[1], 4, 2, 0, comm[1], stream[1]) == 0);
  CHECK(t.streamQuery(stream[1]) == ZB_ERR_NOT_READY); /* other lengths */
  CHECK(t.sendTo(NULL, 8, 2, 1, comm[1], stream[1]) == ZB_COLL_ARGUMENT);
  CHECK(t.sendTo(sendbuf[1], 8, 2, 4, comm[1], stream[1]) == ZB_COLL_ARGUMENT);
  close_world();
}

/* Launches that hipModuleLaunchKernel refuses. */
static void launches(void) {
  static const unsigned bad[][7] = {
      {0, 1, 1, 1, 1, 1, 0},       {1, 1, 1, 0, 1, 1, 0},
      {1, 1, 1, 1025, 1, 1, 0},    {1, 1, 1, 32, 33, 1, 0},
      {1, 70000, 1, 1, 1, 1, 0},   {1, 1, 70000, 1, 1, 1, 0},
      {1u << 31, 1, 1, 1, 1, 1, 0}, {1u << 30, 1, 1, 4, 1, 1, 0},
      {1, 1, 1, 1, 1, 1, 65537}};
  void *module, *poison;
  uint64_t bytes = 4000;
  uint32_t pattern = 0x11223344;
  void *params[] = {&sendbuf[0], &bytes, &pattern};
  open_world();
  t.setDevice(0);
  CHECK(t.moduleLoad(&module, "zbench loopback kernels") == 0);
  CHECK(t.moduleLoad(&poison, "other code") == ZB_ERR_VALUE); /* which zbench does not make */
  CHECK(t.moduleFunction(&poison, module, "zb_none") == ZB_ERR_NOT_FOUND);
  CHECK(t.moduleFunction(&poison, module, "zb_poison") == 0);
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    const unsigned *b = bad[i];
    CHECK(t.launchKernel(poison, b[0], b[1], b[2], b[3], b[4], b[5], b[6],
                         stream[0], params, NULL) == ZB_ERR_VALUE);
  }
  CHECK(t.launchKernel(poison, 1, 1, 1, 1, 1, 1, 0, stream[0], NULL, params) == ZB_ERR_VALUE);
  CHECK(t.launchKernel(poison, 3, 2, 1, 8, 4, 2, 65536, stream[0], params,
                       NULL) == 0);
  CHECK(t.streamQuery(stream[0]) == 0);
  CHECK(sendbuf[0] != NULL && ((unsigned char *)sendbuf[0])[3999] == 0x11);
  CHECK(t.moduleUnload(module) == 0);
  close_world();
}
