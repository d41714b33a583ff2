/* Communicators that do not block (ROCm/rccl at rocm-6.2.2: src/group.cc,
 * ncclGroupEndInternal and ncclAsyncLaunch; src/init.cc, ncclCommInitRankConfig_impl,
 * ncclCommSplit_impl, ncclCommFinalize_impl and ncclCommEnsureReady). One thread drives all
 * ranks. */

static ncclConfig_t not_blocking(void) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  return config;
}

/* Polls as NCCL's documentation has it, for a while. */
static ncclResult_t settled(ncclComm_t comm) {
  ncclResult_t state = ncclInProgress;
  for (int i = 0; i < 1000000 && state == ncclInProgress; i++) {
    CHECK(ncclCommGetAsyncError(comm, &state) == ncclSuccess);
  }
  return state;
}

/* In a group an init has not begun: its state is no error, and no progress either. The end
 * tells that it has. */
static void init_later(ncclComm_t *comms, int first, int ranks, ncclUniqueId unique, int all) {
  ncclConfig_t config = not_blocking();
  ncclResult_t state;
  CHECK(ncclGroupStart() == ncclSuccess);
  for (int i = first; i < first + ranks; i++) {
    CHECK(hipSetDevice(i) == hipSuccess);
    CHECK(ncclCommInitRankConfig(&comms[i], all, unique, i, &config) == ncclSuccess);
    CHECK(ncclCommGetAsyncError(comms[i], &state) == ncclSuccess && state == ncclSuccess);
  }
  CHECK(ncclGroupEnd() == ncclInProgress);
}

/* What is under way can be asked for its state alone. */
static void unready(ncclComm_t comm) {
  int n;
  ncclComm_t half;
  client *c = &all[0];
  CHECK(ncclCommCount(comm, &n) == ncclInvalidArgument);
  CHECK(ncclCommFinalize(comm) == ncclInvalidArgument);
  CHECK(ncclCommSplit(comm, 0, 0, &half, NULL) == ncclInvalidArgument);
  CHECK(ncclSend(c->send, 4, ncclFloat, 1, comm, c->stream) == ncclInvalidArgument);
  CHECK(ncclAllReduce(c->send, c->recv, N, ncclFloat, ncclSum, comm, c->stream) == ncclInvalidArgument);
}

/* A communicator that blocks is not of the same group. */
static void both_kinds(ncclUniqueId unique) {
  ncclComm_t c[2];
  ncclConfig_t config = not_blocking();
  CHECK(ncclGroupStart() == ncclSuccess);
  CHECK(hipSetDevice(0) == hipSuccess);
  CHECK(ncclCommInitRankConfig(&c[0], 2, unique, 0, &config) == ncclSuccess);
  CHECK(hipSetDevice(1) == hipSuccess);
  CHECK(ncclCommInitRank(&c[1], 2, unique, 1) == ncclInvalidArgument);
  CHECK(ncclGroupEnd() == ncclInvalidArgument);
  CHECK(ncclCommAbort(c[0]) == ncclSuccess);
}

static void sum_all(ncclComm_t *comms, float want) {
  start_all();
  CHECK(ncclGroupStart() == ncclSuccess);
  for (int i = 0; i < RANKS; i++) {
    CHECK(ncclAllReduce(all[i].send, all[i].recv, N, ncclFloat, ncclSum, comms[i], all[i].stream) == ncclSuccess);
  }
  CHECK(ncclGroupEnd() == ncclSuccess);
  sync_all();
  CHECK(all[1].recv[0] == want && all[RANKS - 1].recv[0] == want);
}

/* A split's state is that of what is split, and its handle is not there before it is done. */
static void split_later(ncclComm_t *comms) {
  ncclComm_t parts[RANKS], whole[RANKS];
  for (int i = 0; i < RANKS - 1; i++) { /* alone: the last rank has not called it */
    CHECK(ncclCommSplit(comms[i], 0, -i, &parts[i], NULL) == ncclInProgress);
    CHECK(parts[i] == NULL);
  }
  unready(comms[0]);
  CHECK(ncclCommSplit(comms[RANKS - 1], 0, -RANKS, &parts[RANKS - 1], NULL) == ncclSuccess);
  for (int i = 0; i < RANKS; i++) {
    int rank = -1;
    CHECK(settled(comms[i]) == ncclSuccess && parts[i] != NULL);
    CHECK(ncclCommUserRank(parts[i], &rank) == ncclSuccess && rank == RANKS - 1 - i);
  }
  sum_all(parts, summed(0));
  CHECK(ncclGroupStart() == ncclSuccess);
  for (int i = 0; i < RANKS; i++) {
    CHECK(ncclCommSplit(parts[i], 0, i, &whole[i], NULL) == ncclSuccess && whole[i] == NULL);
  }
  CHECK(ncclGroupEnd() == ncclInProgress);
  for (int i = 0; i < RANKS; i++) {
    CHECK(settled(parts[i]) == ncclSuccess && whole[i] != NULL);
    CHECK(ncclCommDestroy(parts[i]) == ncclSuccess);
  }
  sum_all(whole, summed(0));
  for (int i = 0; i < RANKS; i++) {
    CHECK(ncclCommDestroy(whole[i]) == ncclSuccess);
  }
}

/* The end of a communicator waits for its work, and who called it does not. */
static void finalize_later(ncclComm_t *comms) {
  client *c = &all[0];
  CHECK(ncclAllReduce(c->send, c->recv, N, ncclFloat, ncclSum, comms[0], c->stream) == ncclSuccess);
  CHECK(ncclCommFinalize(comms[0]) == ncclInProgress); /* the others have not called it */
  CHECK(ncclCommFinalize(comms[0]) == ncclInvalidArgument);
  CHECK(ncclGroupStart() == ncclSuccess);
  for (int i = 1; i < RANKS; i++) {
    CHECK(ncclAllReduce(all[i].send, all[i].recv, N, ncclFloat, ncclSum, comms[i], all[i].stream) == ncclSuccess);
  }
  CHECK(ncclGroupEnd() == ncclSuccess);
  for (int i = 1; i < RANKS; i++) {
    CHECK(settled(comms[0]) == ncclSuccess);
    ncclResult_t code = ncclCommFinalize(comms[i]);
    CHECK(code == ncclSuccess || code == ncclInProgress);
    CHECK(settled(comms[i]) == ncclSuccess);
  }
}

/* The world of one() is open. */
static void later(void) {
  ncclComm_t comms[RANKS];
  ncclUniqueId unique;
  ncclResult_t state;
  CHECK(ncclGetUniqueId(&unique) == ncclSuccess);
  both_kinds(unique);
  CHECK(ncclGetUniqueId(&unique) == ncclSuccess);
  init_later(comms, 0, RANKS - 1, unique, RANKS);
  CHECK(ncclCommGetAsyncError(comms[0], &state) == ncclSuccess && state == ncclInProgress);
  unready(comms[0]);
  init_later(comms, RANKS - 1, 1, unique, RANKS);
  for (int i = 0; i < RANKS; i++) {
    CHECK(settled(comms[i]) == ncclSuccess);
  }
  sum_all(comms, summed(0));
  split_later(comms);
  finalize_later(comms);
  for (int i = 0; i < RANKS; i++) {
    CHECK(ncclCommDestroy(comms[i]) == ncclSuccess);
  }
}
