/* Messages in groups, as programs write them: one thread drives all ranks. A group that
 * never ends would hang here: main's alarm ends it. */

/* All sends of a ring first, then all receives: the messages of a rank are one kernel,
 * wherever they stand in the group (ROCm/rccl, src/enqueue.cc, ncclLaunchPrepare). */
static void rings(void) {
  start_all();
  CHECK(ncclGroupStart() == ncclSuccess);
  for (int i = 0; i < RANKS; i++) {
    CHECK(ncclSend(all[i].send, N, ncclFloat, (i + 1) % RANKS, all[i].comm, all[i].stream) == ncclSuccess);
  }
  for (int i = 0; i < RANKS; i++) {
    CHECK(ncclRecv(all[i].recv, N, ncclFloat, (i + RANKS - 1) % RANKS, all[i].comm, all[i].stream) == ncclSuccess);
  }
  CHECK(ncclGroupEnd() == ncclSuccess);
  sync_all();
  for (int i = 0; i < RANKS; i++) {
    CHECK(all[i].recv[5] == (float)((i + RANKS - 1) % RANKS + 5));
  }
}

/* The peers outside, the ranks inside: several messages between each pair arrive in the
 * order of their calls. */
static void exchange(void) {
  const size_t part = N / RANKS / 2;
  start_all();
  CHECK(ncclGroupStart() == ncclSuccess);
  for (size_t k = 0; k < 2 * RANKS; k++) {
    for (int i = 0; i < RANKS; i++) {
      int peer = (int)(k / 2);
      CHECK(ncclSend(all[i].send + k * part, part, ncclFloat, peer, all[i].comm, all[i].stream) == ncclSuccess);
      CHECK(ncclRecv(all[i].recv + k * part, part, ncclFloat, peer, all[i].comm, all[i].stream) == ncclSuccess);
    }
  }
  CHECK(ncclGroupEnd() == ncclSuccess);
  sync_all();
  for (int i = 0; i < RANKS; i++) {
    for (size_t k = 0; k < 2 * RANKS; k++) {
      size_t peer = k / 2, from = (2 * (size_t)i + k % 2) * part;
      CHECK(all[i].recv[k * part + 1] == (float)(peer + from + 1));
    }
  }
}

/* A rank's collectives come before its messages, in whichever order it has called them
 * (ncclLaunchPrepare again). */
static void mixed(void) {
  start_all();
  CHECK(ncclGroupStart() == ncclSuccess);
  CHECK(ncclSend(all[0].send, 8, ncclFloat, 1, all[0].comm, all[0].stream) == ncclSuccess);
  for (int i = 0; i < RANKS; i++) {
    CHECK(ncclAllReduce(all[i].send + 8, all[i].recv + 8, N - 8, ncclFloat, ncclSum, all[i].comm, all[i].stream) == ncclSuccess);
  }
  CHECK(ncclRecv(all[1].recv, 8, ncclFloat, 0, all[1].comm, all[1].stream) == ncclSuccess);
  CHECK(ncclGroupEnd() == ncclSuccess);
  sync_all();
  CHECK(all[1].recv[3] == 3 && all[1].recv[8] == summed(8) && all[7].recv[N - 1] == summed(N - 1));
}

static void groups(void) {
  rings();
  exchange();
  mixed();
}
