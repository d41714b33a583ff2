/* RCCL's refusals. Files are ROCm/rccl's in src at rocm-6.2.2. */

/* ncclConfig_t as of NCCL 2.17. */
typedef struct config {
  size_t size;
  unsigned magic, version;
  int blocking, cluster, least, most;
  const char *net;
  int share;
} config;

static const config valid = {sizeof(config), 0xcafebeef, 22203, INT_MIN, INT_MIN, INT_MIN, INT_MIN, NULL, INT_MIN};

/* init.cc, parseCommConfig: one attribute is wrong at a time. */
static void configurations(void) {
  config bad[8];
  zb_unique_id id;
  void *c = NULL;
  for (int i = 0; i < 8; i++) {
    bad[i] = valid;
  }
  bad[0].magic = 1;
  bad[1].blocking = 2;
  bad[2].cluster = -1;
  bad[3].least = 0;
  bad[4].most = 0;
  bad[5].least = 4, bad[5].most = 3;
  bad[6].share = 2;
  bad[7].most = -1;
  for (int i = 0; i < 8; i++) {
    config *now = &bad[i];
    IS(0, getUniqueId(&id));
    IS(ZB_COLL_ARGUMENT, commInitConfig(&c, 1, id, 0, now));
    IS(ZB_COLL_ARGUMENT, commSplit(comm[0], 0, 0, &c, now));
    now->size = 0; /* of a version that had none of them */
    IS(i == 0 ? ZB_COLL_ARGUMENT : 0, commInitConfig(&c, 1, id, 0, now));
    IS(0, i == 0 ? 0 : commDestroy(c));
  }
  IS(ZB_COLL_ARGUMENT, commInitConfig(NULL, 1, id, 0, NULL));
}

/* init.cc: ncclCommInitRankDev, ncclCommInitAll_impl, ncclCommSplit_impl, commGetSplitInfo,
 * ncclCommFinalize_impl, ncclCommDestroy_impl, ncclCommAbort_impl, and CommCheck of
 * misc/argcheck.cc. */
static void communicators(void) {
  static const int below[] = {-1}, twice[] = {2, 2};
  config waits_not = valid;
  zb_unique_id id;
  void *c, *two[2];
  int n;
  configurations();
  CHECK(setenv("NCCL_COMM_ID", "nowhere", 1) == 0);
  IS(ZB_COLL_ARGUMENT, getUniqueId(&id));
  CHECK(setenv("NCCL_COMM_ID", ":1", 1) == 0);
  IS(ZB_COLL_ARGUMENT, getUniqueId(&id));
  CHECK(setenv("NCCL_COMM_ID", "[::1]:x", 1) == 0);
  IS(ZB_COLL_ARGUMENT, getUniqueId(&id));
  CHECK(setenv("NCCL_COMM_ID", "[::1]:1", 1) == 0);
  IS(0, getUniqueId(&id));
  CHECK(unsetenv("NCCL_COMM_ID") == 0);
  IS(0, getUniqueId(&id));
  IS(ZB_COLL_ARGUMENT, commInitRank(&c, 0, id, 0));
  IS(ZB_COLL_ARGUMENT, commInitRank(&c, 1, id, -1));
  IS(ZB_COLL_ARGUMENT, commInitRank(&c, 1, id, 1));
  IS(ZB_COLL_UNHANDLED, commInitAll(two, 1, below));
  IS(ZB_COLL_UNHANDLED, commInitAll(two, DEVICES + 1, NULL));
  IS(ZB_COLL_USAGE, commInitAll(two, 2, twice));
  CHECK(strstr(collLastError(NULL), "ncclCommInitAll") != NULL);
  IS(ZB_COLL_ARGUMENT, commInitAll(NULL, 2, NULL));
  IS(ZB_COLL_ARGUMENT, commSplit(none, 0, 0, &c, NULL));
  IS(ZB_COLL_ARGUMENT, commSplit(comm[0], 0, 0, NULL, NULL));
  IS(ZB_COLL_ARGUMENT, commSplit(comm[0], -2, 0, &c, NULL));
  IS(ZB_COLL_ARGUMENT, commGetAsyncError(none, &n));
  IS(0, commDestroy(NULL));
  IS(0, commAbort(NULL));
  IS(0, commFinalize(NULL));
  IS(ZB_COLL_ARGUMENT, commDestroy(none));
  IS(ZB_COLL_ARGUMENT, commAbort(none));
  IS(ZB_COLL_ARGUMENT, commFinalize(none));
  waits_not.blocking = 0;
  IS(0, getUniqueId(&id));
  IS(7, commInitConfig(&two[0], 2, id, 0, &waits_not)); /* ncclInProgress */
  IS(0, commGetAsyncError(two[0], &n));
  CHECK(n == 7);
  IS(0, setDevice(1));
  IS(0, commInitRank(&two[1], 2, id, 1));
  IS(0, commGetAsyncError(two[0], &n));
  CHECK(n == 0);
  IS(0, setDevice(0));
  IS(0, commFinalize(two[0]));
  IS(ZB_COLL_ARGUMENT, commFinalize(two[0]));
  IS(ZB_COLL_USAGE, allReduce(in[0], out[0], 4, FLOAT, SUM, two[0], stream[0]));
  IS(ZB_COLL_USAGE, sendTo(in[0], 4, FLOAT, 1, two[0], stream[0]));
  IS(0, commDestroy(two[0]));
  IS(0, commDestroy(two[1]));
}

/* misc/argcheck.cc, ArgsCheck; api of the messages in collectives.cc. Counts are of memory
 * that there is: RCCL would read beyond it. */
static void calls(void) {
  size_t sizes[DEVICES] = {0};
  for (int i = 0; i < 2; i++) { /* what is not a communicator */
    void *c = i == 0 ? NULL : none;
    IS(ZB_COLL_ARGUMENT, allReduce(in[0], out[0], 4, FLOAT, SUM, c, stream[0]));
    IS(ZB_COLL_ARGUMENT, sendTo(in[0], 4, FLOAT, 1, c, stream[0]));
    IS(ZB_COLL_ARGUMENT, allToAllv(in[0], sizes, sizes, out[0], sizes, sizes, FLOAT, c, stream[0]));
  }
  IS(ZB_COLL_ARGUMENT, allReduce(in[0], out[0], 4, -1, SUM, comm[0], stream[0]));
  IS(ZB_COLL_ARGUMENT, allReduce(in[0], out[0], 4, 12, SUM, comm[0], stream[0]));
  IS(ZB_COLL_ARGUMENT, allReduce(in[0], out[0], 4, FLOAT, -1, comm[0], stream[0]));
  IS(ZB_COLL_ARGUMENT, allReduce(in[0], out[0], 4, FLOAT, 5, comm[0], stream[0]));
  IS(ZB_COLL_ARGUMENT, allReduce(in[0], out[0], 4, FLOAT, SUM, comm[0], none));
  IS(ZB_COLL_ARGUMENT, allReduce(in[0], out[0], (size_t)1 << 62, FLOAT, SUM, comm[0], stream[0]));
  IS(ZB_COLL_ARGUMENT, allGather(in[0], out[0], SIZE_MAX, FLOAT, comm[0], stream[0]));
  IS(ZB_COLL_ARGUMENT, allGather(in[0], out[0], COUNT, FLOAT, comm[0], stream[0]));
  IS(ZB_COLL_ARGUMENT, allReduce(plain, out[0], 4, FLOAT, SUM, comm[0], stream[0]));
  IS(ZB_COLL_ARGUMENT, allReduce(in[0], NULL, 4, FLOAT, SUM, comm[0], stream[0]));
  IS(ZB_COLL_ARGUMENT, broadcast(in[0], out[0], 4, FLOAT, -1, comm[0], stream[0]));
  IS(ZB_COLL_ARGUMENT, broadcast(in[0], out[0], 4, FLOAT, DEVICES, comm[0], stream[0]));
  IS(ZB_COLL_ARGUMENT, reduce(in[0], out[0], 4, FLOAT, SUM, DEVICES, comm[0], stream[0]));
  IS(ZB_COLL_ARGUMENT, sendTo(in[0], 4, FLOAT, -1, comm[0], stream[0]));
  IS(ZB_COLL_ARGUMENT, recvFrom(in[0], 4, FLOAT, DEVICES, comm[0], stream[0]));
  IS(ZB_COLL_ARGUMENT, sendTo(in[0], 4, FLOAT, 1, comm[0], none));
  IS(ZB_COLL_ARGUMENT, allToAllv(in[0], sizes, sizes, out[0], sizes, sizes, -1, comm[0], stream[0]));
  IS(ZB_COLL_ARGUMENT, allToAllv(in[0], sizes, sizes, out[0], sizes, sizes, 12, comm[0], stream[0]));
  for (int i = 0; i < 4; i++) {
    IS(ZB_COLL_ARGUMENT, allToAllv(in[0], i == 0 ? NULL : sizes, i == 1 ? NULL : sizes, out[0],
                                   i == 2 ? NULL : sizes, i == 3 ? NULL : sizes, FLOAT, comm[0], stream[0]));
  }
}

/* nccl.h.in, ncclRedOpCreatePreMulSum; enqueue.cc, ncclRedOpDestroy_impl. NULL and types
 * that there are not crash the real one: they are refused. */
static void operators(void) {
  float scalar = 2;
  int op;
  IS(ZB_COLL_ARGUMENT, opCreate(&op, &scalar, FLOAT, 1, none));
  IS(ZB_COLL_ARGUMENT, opCreate(NULL, &scalar, FLOAT, 1, comm[0]));
  IS(ZB_COLL_ARGUMENT, opCreate(&op, NULL, FLOAT, 1, comm[0]));
  IS(ZB_COLL_ARGUMENT, opCreate(&op, &scalar, -1, 1, comm[0]));
  IS(ZB_COLL_ARGUMENT, opCreate(&op, &scalar, 12, 1, comm[0]));
  IS(ZB_COLL_ARGUMENT, opCreate(&op, &scalar, FLOAT, 2, comm[0]));
  IS(ZB_COLL_ARGUMENT, opDestroy(5, NULL));
  for (int dtype = 0; dtype < 12; dtype++) {
    IS(0, opCreate(&op, in[0], dtype, 0, comm[0]));
    IS(dtype == FLOAT ? 0 : ZB_COLL_ARGUMENT, allReduce(in[0], out[0], 0, FLOAT, op, comm[0], stream[0]));
    IS(ZB_COLL_ARGUMENT, allReduce(in[1], out[1], 0, dtype, op, comm[1], stream[1]));
    IS(0, opDestroy(op, comm[0]));
    IS(ZB_COLL_ARGUMENT, allReduce(in[0], out[0], 0, dtype, op, comm[0], stream[0]));
    IS(ZB_COLL_ARGUMENT, opDestroy(op, comm[0]));
  }
}

/* register.cc, ncclCommRegister_impl and ncclCommDeregister_impl; nccl.h.in, ncclMemAlloc. */
static void registrations(void) {
  void *handle, *p, *never[] = {NULL, comm[0]}; /* what a registration was */
  IS(ZB_COLL_ARGUMENT, commRegister(none, in[0], SIZE, &handle));
  IS(ZB_COLL_ARGUMENT, commRegister(comm[0], in[0], SIZE, NULL));
  IS(ZB_COLL_ARGUMENT, commRegister(comm[0], plain, SIZE, &handle));
  IS(0, commRegister(comm[0], in[0], SIZE, &handle));
  IS(ZB_COLL_USAGE, commDeregister(comm[1], handle));
  IS(ZB_COLL_ARGUMENT, commDeregister(none, handle));
  IS(ZB_COLL_USAGE, commDeregister(comm[0], NULL));
  IS(ZB_COLL_USAGE, commDeregister(comm[0], none));
  IS(ZB_COLL_USAGE, commDeregister(comm[0], never));
  IS(0, commDeregister(comm[0], handle));
  IS(ZB_COLL_ARGUMENT, collMalloc(NULL, 4));
  IS(ZB_COLL_UNHANDLED, collMalloc(&p, (size_t)1 << 60));
  IS(ZB_COLL_UNHANDLED, collFree(plain));
}

/* group.cc, ncclGroupEndInternal. */
static void groups(void) {
  struct {
    size_t size;
    unsigned magic, version;
    float microseconds;
  } info = {sizeof info, 0, 0, 0};
  zb_unique_id id;
  void *c;
  IS(ZB_COLL_USAGE, groupEnd());
  IS(ZB_COLL_USAGE, groupSimulateEnd(NULL));
  IS(0, groupStart());
  IS(ZB_COLL_ARGUMENT, groupSimulateEnd(&info));
  IS(0, groupStart());
  IS(0, allReduce(in[0], out[0], 4, FLOAT, SUM, comm[0], stream[0]));
  IS(0, groupSimulateEnd(NULL)); /* the inner group */
  info.magic = 0x74685283;
  IS(0, groupSimulateEnd(&info));
  CHECK(info.microseconds > 0);
  IS(ZB_COLL_USAGE, groupEnd());
  /* A communicator that goes while a group is open takes its calls along. */
  for (int message = 0; message < 2; message++) {
    IS(0, getUniqueId(&id));
    IS(0, commInitRank(&c, 1, id, 0));
    IS(0, groupStart());
    IS(0, message ? sendTo(in[0], 4, FLOAT, 0, c, stream[0])
                  : allReduce(in[0], out[0], 4, FLOAT, SUM, c, stream[0]));
    IS(0, commDestroy(c));
    IS(ZB_COLL_ARGUMENT, groupEnd());
  }
  IS(0, streamSynchronize(stream[0]));
}

/* A refused call, by its number; every one is of the kind that a group launches. */
static int refused_call(int which) {
  zb_unique_id id;
  void *c;
  switch (which) {
  case 0:
    return allReduce(in[3], out[3], 4, 99, SUM, comm[3], stream[3]);
  case 1:
    return broadcast(in[3], out[3], 4, FLOAT, DEVICES, comm[3], stream[3]);
  case 2:
    return sendTo(in[3], 4, FLOAT, DEVICES, comm[3], stream[3]);
  case 3:
    return recvFrom(plain, 4, FLOAT, 1, comm[3], stream[3]);
  case 4:
    return allToAllv(in[3], NULL, NULL, out[3], NULL, NULL, FLOAT, comm[3], stream[3]);
  case 5:
    return getUniqueId(&id) == 0 ? commInitRank(&c, 2, id, 2) : 0;
  case 6:
    return commSplit(comm[3], -2, 0, &c, NULL);
  }
  return allReduce(in[3], out[3], 4, FLOAT, SUM, none, stream[3]);
}

/* group.cc, ncclGroupErrCheck and ncclGroupEndInternal: the end of a group returns the error
 * of a call in it, and launches nothing; then the next group is whole. */
static void refused_in_groups(void) {
  for (int which = 0; which < 8; which++) {
    float want = 36, sum = 0;
    IS(0, groupStart());
    IS(0, groupStart());
    for (int i = 0; i < DEVICES; i++) {
      IS(i == 3 ? ZB_COLL_ARGUMENT : 0,
         i == 3 ? refused_call(which) : allReduce(in[i], out[i], 4, FLOAT, SUM, comm[i], stream[i]));
    }
    IS(0, groupEnd()); /* the inner one */
    IS(ZB_COLL_ARGUMENT, groupEnd());
    for (int i = 0; i < DEVICES; i++) {
      IS(0, streamQuery(stream[i]));
    }
    for (int i = 0; i < DEVICES; i++) {
      float mine = (float)(i + 1);
      IS(0, copy(in[i], &mine, sizeof mine, ZB_INFERRED));
    }
    IS(0, groupStart());
    for (int i = 0; i < DEVICES; i++) {
      IS(0, allReduce(in[i], out[i], 1, FLOAT, SUM, comm[i], stream[i]));
    }
    IS(0, groupEnd());
    for (int i = 0; i < DEVICES; i++) {
      IS(0, streamSynchronize(stream[i]));
      IS(0, copy(&sum, out[i], sizeof sum, ZB_INFERRED));
      CHECK(sum == want);
    }
  }
}

/* Whether the last error says all of that. */
static int says(const char *one, const char *two, const char *three) {
  const char *why = collLastError(comm[3]);
  return strstr(why, one) != NULL && strstr(why, two) != NULL && strstr(why, three) != NULL;
}

/* What is wrong with a call is told: which argument, of which rank. */
static void refusals_are_told(void) {
  allReduce(in[3], out[3], 4, 99, SUM, comm[3], stream[3]);
  CHECK(says("ncclAllReduce", "rank 3 of 8", "datatype 99"));
  allReduce(in[3], out[3], (size_t)1 << 62, FLOAT, SUM, comm[3], stream[3]);
  CHECK(says("ncclAllReduce", "rank 3 of 8", "count 4611686018427387904"));
  allReduce(in[3], out[3], 4, FLOAT, 77, comm[3], stream[3]);
  CHECK(says("ncclAllReduce", "rank 3 of 8", "op 77"));
  broadcast(in[3], out[3], 4, FLOAT, 9, comm[3], stream[3]);
  CHECK(says("ncclBroadcast", "rank 3 of 8", "root 9"));
  sendTo(in[3], 4, FLOAT, 8, comm[3], stream[3]);
  CHECK(says("ncclSend", "rank 3 of 8", "peer 8"));
  recvFrom(in[3], 4, FLOAT, -1, comm[3], stream[3]);
  CHECK(says("ncclRecv", "rank 3 of 8", "peer -1"));
  allReduce(in[3], out[3], 4, FLOAT, SUM, comm[3], none);
  CHECK(says("ncclAllReduce", "rank 3 of 8", "stream is none"));
  IS(ZB_COLL_USAGE, allReduce(in[3], out[3], 4, FLOAT, SUM, comm[3], stream[5]));
  CHECK(says("ncclAllReduce", "rank 3 of 8", "stream is of GPU 5, and the rank of GPU 3"));
  allReduce(in[3], out[3], 4, FLOAT, SUM, none, stream[3]);
  CHECK(says("ncclAllReduce", "comm", "no communicator"));
  allReduce(plain, out[3], 4, FLOAT, SUM, comm[3], stream[3]);
  CHECK(says("ncclAllReduce", "rank 3 of 8", "sendbuff is not in memory that devices reach"));
  allReduce(in[3], NULL, 4, FLOAT, SUM, comm[3], stream[3]);
  CHECK(says("ncclAllReduce", "rank 3 of 8", "recvbuff is not in memory that devices reach"));
  allGather(in[3], out[3] + 16, COUNT, FLOAT, comm[3], stream[3]);
  CHECK(says("ncclAllGather", "rank 3 of 8", "recvbuff needs 8192 bytes, and its allocation ends after 1008"));
  allReduce(in[3], in[3] + 4, 4, FLOAT, SUM, comm[3], stream[3]);
  CHECK(says("ncclAllReduce", "rank 3 of 8", "sendbuff and recvbuff overlap"));
  recvFrom(plain, 4, FLOAT, 1, comm[3], stream[3]);
  CHECK(says("ncclRecv", "rank 3 of 8", "recvbuff is not in memory"));
}
