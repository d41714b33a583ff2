/* Functions that NCCL has had since 2.23 and RCCL since 7.0 (NVIDIA/nccl at v2.30, src/nccl.h.in;
 * ROCm/rocm-systems at 8dd8e3d9, projects/rccl/src/nccl.h.in). Functions that the loopback does not
 * model fail with an error that names them. */
#include "../fake/comm.h"
#include "more.h"

/* Joins a communicator by one of several ids. Here one id is enough; several ids only make a real
 * init faster. */
static int zbl_commInitScalable(void **comm, int nranks, int rank, int count, zb_unique_id *ids, void *config) {
  static const zbl_caller asked = {"commInitRankScalable", NULL};
  ZBL_SINCE(22304, "ncclCommInitRankScalable");
  ZBL_REFUSE_CALL(ids == NULL || count < 1 || count > nranks, &asked, ZB_COLL_ARGUMENT,
                  "%d unique ids for %d ranks", count, nranks);
  return zbl_commInitConfig(comm, nranks, ids[0], rank, config);
}

enum { ZBL_SHRINK_ABORT = 1 };

/* Makes a communicator without the ranks in a list. Those ranks do not call this. */
static int zbl_commShrink(void *comm, int *left_out, int count, void **out, void *config, int flags) {
  zbl_comm *c = zbl_comm_of(comm);
  const zbl_caller asked = {"commShrink", c};
  int code;
  ZBL_SINCE(22703, "ncclCommShrink");
  ZBL_ENTER;
  code = zbl_check_parent(&asked, c, out, config);
  if (code != 0) {
    return code;
  }
  ZBL_REFUSE_CALL(left_out == NULL || count < 1 || count >= c->clique->nranks || flags < 0 || flags > ZBL_SHRINK_ABORT,
                  &asked, ZB_COLL_ARGUMENT, "no ranks to leave out, or flags %d", flags);
  for (int i = 0; i < count; i++) {
    ZBL_REFUSE_CALL(left_out[i] < 0 || left_out[i] >= c->clique->nranks || left_out[i] == c->rank, &asked, ZB_COLL_ARGUMENT,
                    "rank %d is left out, of %d", left_out[i], c->clique->nranks);
  }
  if (flags == ZBL_SHRINK_ABORT) {
    zbl_end_kernels(c);
  }
  zbl_split_without(c, left_out, count);
  return zbl_split_rank(c, 0, c->rank, zbl_waits_for(config, !c->nonblocking) ? 0 : 1, out);
}

/* Completes the communicator's work and refuses further launches on it. It can still be split,
 * shrunk, grown and destroyed. */
static int zbl_commRevoke(void *comm, int flags) {
  zbl_comm *c = zbl_comm_of(comm);
  const zbl_caller asked = {"commRevoke", c};
  ZBL_SINCE(22807, "ncclCommRevoke");
  ZBL_ENTER;
  ZBL_REFUSE_CALL(c == NULL || flags != 0 || c->finalized || c->aborted, &asked, ZB_COLL_ARGUMENT,
                  "no communicator, one that is finalized or revoked, or flags %d", flags);
  zbl_end_kernels(c);
  return 0;
}

/* Returns the id by which new ranks can join the communicator. */
static int zbl_commUniqueId(void *comm, zb_unique_id *id) {
  zbl_comm *c = zbl_comm_of(comm);
  int code;
  ZBL_SINCE(22902, "ncclCommGetUniqueId");
  ZBL_ENTER;
  ZBL_FAIL(c == NULL, ZB_COLL_ARGUMENT, "ncclCommGetUniqueId: no communicator");
  code = zbl_getUniqueId(id);
  if (code == 0) {
    c->clique->grown = *id;
    c->clique->growing = c->clique->nranks;
    zbl_progress();
  }
  return code;
}

/* Adds new ranks to a communicator. The present ranks keep their numbers and need not know the
 * id. */
static int zbl_commGrow(void *comm, int nranks, const zb_unique_id *given, int rank, void **out, void *config) {
  zbl_comm *c = zbl_comm_of(comm);
  const zbl_caller asked = {"commGrow", c};
  zb_unique_id id;
  int code = 0;
  ZBL_SINCE(22902, "ncclCommGrow");
  ZBL_ENTER;
  ZBL_REFUSE_CALL(c == NULL && (comm != NULL || given == NULL), &asked, ZB_COLL_ARGUMENT,
                  "a new rank has no communicator and an id");
  ZBL_REFUSE_CALL(c != NULL && (rank >= 0 || nranks <= c->clique->nranks), &asked, ZB_COLL_ARGUMENT,
                  "rank %d, which is there, gives -1 and grows to more than %d ranks", c->rank, c->clique->nranks);
  while (c != NULL && given == NULL && c->clique->growing == 0 && code == 0) {
    code = zbl_wait_for_peers(&zbl.hub->any, c->clique->async);
  }
  if (code != 0) {
    return code;
  }
  id = given != NULL ? *given : c->clique->grown;
  if (c != NULL && c->clique->growing > 0) {
    c->clique->growing--;
  }
  return zbl_commInitConfig(out, nranks, id, c != NULL ? c->rank : rank, config);
}

/* Returns 0 for every memory statistic, because the library's own memory is not modelled. */
static int zbl_commMemory(void *comm, int what, uint64_t *value) {
  ZBL_SINCE(22907, "ncclCommMemStats");
  ZBL_ENTER;
  ZBL_FAIL(zbl_comm_of(comm) == NULL || what < 0 || what > 3 || value == NULL, ZB_COLL_ARGUMENT, "ncclCommMemStats: invalid argument");
  *value = 0;
  return 0;
}

static int zbl_windowPointer(void *comm, void *window, void **out) {
  ZBL_SINCE(22902, "ncclWinGetUserPtr");
  ZBL_ENTER;
  ZBL_FAIL(!zbl_is_registered(window, ZBL_WINDOW, comm) || out == NULL, ZB_COLL_ARGUMENT, "ncclWinGetUserPtr: no such window");
  *out = ((const zbl_registration *)window)->at;
  return 0;
}

/* A bias that is added to a result after its collective has completed. */
typedef struct zbl_adding {
  char *to;
  const char *what;
  uint64_t count;
  int dtype;
} zbl_adding;

static int zbl_add_run(zbl_op *op, zbl_stream *s) {
  const zbl_adding *a = op->data;
  s->s = zbl_arrival(op, s);
  zbl_reveal(s);
  if (zbl.moves_data > 0) {
    zbl_accumulate(a->to, a->what, a->count, a->dtype, 0, 1, 0, NULL);
  }
  return 1;
}

static const zbl_kind zbl_adds = {.run = zbl_add_run, .release = zbl_free_copied};

static int zbl_add_put(const void *what, zbl_stream *s) {
  return zbl_put_copied(s, &zbl_adds, what, sizeof(zbl_adding));
}

/* Computes RCCL's sum over all ranks plus each rank's own bias. Adding the bias takes no time. */
static int zbl_allReduceBias(const void *send, void *recv, size_t count, int dtype, int op, void *comm, void *stream, const void *bias) {
  static const zbl_caller asked = {"allReduceWithBias", NULL};
  zbl_adding add = {recv, bias, count, dtype};
  zbl_comm *c = zbl_comm_of(comm);
  int code;
  ZBL_ENTER;
  ZBL_REFUSE_CALL(op != 0 || zbl_group_depth() > 0, &asked, ZB_COLL_USAGE, "operator %d, which is no sum, or within a group", op);
  code = zbl_allReduce(send, recv, count, dtype, op, comm, stream);
  ZBL_REFUSE_CALL(code == 0 && !zbl_valid_range(bias, count * zbl_width(dtype)), &asked, ZB_COLL_ARGUMENT, "the bias is not in memory that devices reach");
  return code != 0 || count == 0 ? code : zbl_do(zbl_stream_on(stream, c->device), zbl_add_put, &add, sizeof add);
}

/* The function under NCCL's name, which RCCL also uses since 7.0. */
static int zbl_allToAllvNew(const void *send, const size_t *sends, const size_t *sendAt, void *recv,
                            const size_t *recvs, const size_t *recvAt, int dtype, void *comm, void *stream) {
  return zbl_allToAllv(send, sends, sendAt, recv, recvs, recvAt, dtype, comm, stream);
}

/* Fails a function that is not modelled. Its arguments do not matter. */
static int zbl_without(const char *name) {
  return zbl_failing(ZB_COLL_USAGE, "%s: the loopback does not have it", name);
}

#define ZBL_WITHOUT(field, need, ret, args, library, name, ...)                \
  static int zbl_##field(void) { return zbl_without(name); }
ZBS_MORE_REFUSED(ZBL_WITHOUT)
#undef ZBL_WITHOUT

static int zbl_commDump(void) { return zbl_without("ncclCommDump"); }

static void zbl_resetDebug(void) {}
static void zbl_paramDump(void) {}
