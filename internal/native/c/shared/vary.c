/* Collectives that are made of other calls: a broadcast in place, and an all-to-all whose
 * ranks exchange different amounts. The file also has the call that ends a group by only
 * estimating its time. */
#include "../fake/comm.h"
#include "more.h"

static int zbl_bcast(void *buffer, size_t count, int dtype, int root, void *comm,
                     void *stream) {
  return zbl_broadcast(buffer, buffer, count, dtype, root, comm, stream);
}

/* Runs an all-to-all with different amounts. Messages without elements are not
 * sent (ROCm/rccl, src/collectives.cc, ncclAllToAllv_impl). */
static int zbl_allToAllv(const void *send, const size_t *sends, const size_t *sendAt,
                         void *recv, const size_t *recvs, const size_t *recvAt,
                         int dtype, void *comm, void *stream) {
  const zbl_comm *c = zbl_comm_of(comm);
  const zbl_caller asked = {"allToAllv", c};
  int code = 0, ended;
  ZBL_REFUSE_CALL(c == NULL, &asked, ZB_COLL_ARGUMENT, "%s", zbl_no_comm);
  ZBL_REFUSE_CALL(sends == NULL || recvs == NULL || sendAt == NULL || recvAt == NULL,
                  &asked, ZB_COLL_ARGUMENT, "a list of counts or displacements is NULL");
  ZBL_REFUSE_CALL(dtype < 0 || dtype >= ZBL_DTYPES,
                  &asked, ZB_COLL_ARGUMENT, zbl_invalid, "datatype", (long long)dtype);
  zbl_groupStart();
  for (int i = 0; i < c->clique->nranks && code == 0; i++) {
    if (sends[i] > 0) {
      code = zbl_sendTo((const char *)send + sendAt[i] * zbl_width(dtype), sends[i],
                        dtype, i, comm, stream);
    }
    if (recvs[i] > 0 && code == 0) {
      code = zbl_recvFrom((char *)recv + recvAt[i] * zbl_width(dtype), recvs[i], dtype,
                          i, comm, stream);
    }
  }
  ended = zbl_groupEnd();
  return code != 0 ? code : ended;
}

/* The layout of ncclSimInfo_t. */
typedef struct zbl_simulated {
  size_t size;
  unsigned magic, version;
  float microseconds;
} zbl_simulated;

static const unsigned zbl_simulated_magic = 0x74685283;

/* Returns the model's time of the longest collective in the group, without launching any. */
static int zbl_groupSimulateEnd(void *info) {
  zbl_simulated *out = info;
  double longest = 0;
  ZBL_FAIL(zbl_depth == 0, ZB_COLL_USAGE, "ncclGroupSimulateEnd: no group is open");
  ZBL_FAIL(out != NULL && out->magic != zbl_simulated_magic,
           ZB_COLL_ARGUMENT, "ncclSimInfo_t is not of its initializer");
  if (zbl_depth > 1) {
    zbl_depth--;
    return 0;
  }
  for (size_t i = 0; i < zbl_queue_len; i++) {
    const zbl_queued *q = &zbl_queue[i];
    double bytes = zbl_total_bytes(&q->call, q->comm->clique->nranks);
    longest = zbl_later(longest, zbl_model(zbl_curve_of(q->comm->clique, q->call.collective), bytes));
  }
  if (out != NULL) {
    out->microseconds = (float)(longest * 1e6);
  }
  zbl_queue_len = 0;
  return zbl_groupEnd();
}
