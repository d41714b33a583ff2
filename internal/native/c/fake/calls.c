/* The collectives' entry points: arguments are checked, as the real library
 * does and where it would silently corrupt, then enqueued. */
#include "comm.h"

/* Element widths by ncclDataType_t. */
static const uint8_t zbl_widths[ZBL_DTYPES] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};

/* RCCL reduces them since ROCm 6.2 (nccl.h.in, ncclFp8E4M3), NCCL since 2.24, which is
 * later than the version that the loopback reports. */
enum { ZBL_FIRST_FP8 = 10 };

unsigned zbl_width(int dtype) { return zbl_widths[dtype]; }

/* RCCL looks at no overlap: what is refused here would give wrong data. In place is the
 * rank's own block; an all_gather and a reduce_scatter may have the first block there
 * too, because their kernels have read a chunk of a rank's buffer before they write to the
 * same place (ROCm/rccl at rocm-6.2.2, src/device/all_gather.h and reduce_scatter.h,
 * runRing; its own tests do it: test/common/CollectiveArgs.cpp, AllocateMem). RCCL runs an
 * all-to-all in place too, and leaves it to the caller not to ask (nccl.h.in). */
static inline int zbl_overlap_ok(const zbl_queued *q, uint64_t sent, uint64_t got,
                                 uint64_t share) {
  const char *send = q->send, *recv = q->recv;
  uint64_t offset = share * (uint64_t)q->comm->rank;
  int kind = q->call.collective;
  if (send + sent <= recv || recv + got <= send) {
    return 1;
  }
  if (kind == ZBL_ALL_GATHER || kind == ZBL_REDUCE_SCATTER) {
    offset = send == recv ? 0 : offset;
  }
  if (sent == got) {
    return send == recv;
  }
  return sent > got ? recv == send + offset : send == recv + offset;
}

static inline int zbl_arguments_ok(const zbl_comm *c, int collective, int dtype,
                                   int root, uint64_t count, int peer) {
  int n = c->clique->nranks;
  return dtype >= 0 && dtype < ZBL_DTYPES && count <= (1ull << 44) && root >= 0 &&
         root < n && peer < n &&
         !(ZBL_VENDOR == ZB_CUDA && zbl_shapes[collective].reduces && dtype >= ZBL_FIRST_FP8);
}

/* Whether devices reach the rank's buffer: most are in the newest block of its device. */
static inline int zbl_reached(const zbl_queued *q, const void *ptr, uint64_t bytes) {
  return zbl_in_newest(q->comm->device, ptr, bytes) || zbl_valid_range(ptr, bytes);
}

/* Whether the rank's buffers hold what the call will read and write: share bytes
 * are one block. */
static inline int zbl_buffers_ok(const zbl_queued *q, const zbl_shape *shape,
                                 uint64_t share, int root) {
  uint64_t n = (uint64_t)q->comm->clique->nranks;
  uint64_t sent = share * (shape->send_all ? n : 1);
  uint64_t got = share * (shape->recv_all ? n : 1);
  if ((shape->root_only != ZBL_SENDS || root) &&
      !zbl_reached(q, q->send, sent)) {
    return 0;
  }
  if ((shape->root_only != ZBL_RECEIVES || root) &&
      !zbl_reached(q, q->recv, got)) {
    return 0;
  }
  return (shape->root_only != ZBL_NEITHER && !root) || zbl_overlap_ok(q, sent, got, share);
}

/* Whether there is a model for the call and no rank has left the communicator. */
static inline int zbl_usable(const zbl_comm *c, int collective) {
  return !c->finalized && zbl_curve_of(c->clique, collective) != NULL &&
         __atomic_load_n(&c->clique->destroyed, __ATOMIC_RELAXED) == 0;
}

/* Whether an init or a split of it is under way (ROCm/rccl at rocm-6.2.2, src/init.cc,
 * ncclCommEnsureReady). */
static inline int zbl_not_ready(zbl_comm *c) {
  return c->pending > 0 && zbl_in_progress(c);
}

static const char zbl_unready[] = "the communicator's init or split is still in progress";
static const char zbl_unusable[] =
    "the communicator is not complete, is finalized, has lost a rank or has no curve in "
    "the machine file, or the stream is of another device";
static const char zbl_foreign[] =
    "a buffer is not in memory that devices reach, ends beyond its allocation, or "
    "overlaps the other one";

/* The current device does not matter: RCCL sets the communicator's where it
 * launches (ROCm/rccl, src/group.cc). */
static int zbl_collective_call(const void *send, void *recv, int collective,
                               int dtype, int op, int root, uint64_t count,
                               void *comm, void *stream) {
  ZBL_ENTER_SEVERAL;
  zbl_comm *c = zbl_comm_of(comm);
  zbl_stream *s = c != NULL ? zbl_stream_on(stream, c->device) : NULL;
  zbl_queued *q = zbl_next_queued();
  if (q == NULL) {
    return zbl_failing(ZB_COLL_UNHANDLED, "out of memory");
  }
  if (s == NULL || !zbl_arguments_ok(c, collective, dtype, root, count, -1) ||
      !zbl_operator_ok(c, op, dtype, &q->call.op, &q->scalar)) {
    return zbl_failing(ZB_COLL_ARGUMENT, "invalid argument of a collective");
  }
  if (count == 0) { /* dropped (ROCm/rccl, src/enqueue.cc, taskAppend) */
    zbl_host_calls();
    return 0;
  }
  if (zbl_not_ready(c)) {
    return zbl_failing(ZB_COLL_ARGUMENT, zbl_unready);
  }
  if (s->device != c->device || !zbl_usable(c, collective)) {
    return zbl_failing(ZB_COLL_USAGE, zbl_unusable);
  }
  *q = (zbl_queued){c, s, {collective, dtype, q->call.op, root, count}, send, recv, -1, 0, q->scalar};
  return zbl_buffers_ok(q, &zbl_shapes[collective], count * zbl_widths[dtype],
                        root == c->rank)
             ? zbl_enqueue(q)
             : zbl_failing(ZB_COLL_ARGUMENT, zbl_foreign);
}

#define ZBL_ENTRY(number, name, field, arguments, ...)                         \
  ZBL_ENTRY_##arguments(ZBL_##number, field)
ZBL_ROWS(ZBL_ENTRY)
#undef ZBL_ENTRY

/* A send or a receive: the buffer of the other direction is not there, and that of
 * a message of no elements need not be. */
static int zbl_p2p_call(const char *send, char *recv, int sends, size_t count,
                        int dtype, int peer, void *comm, void *stream) {
  ZBL_ENTER_SEVERAL;
  zbl_comm *c = zbl_comm_of(comm);
  zbl_stream *s = c != NULL ? zbl_stream_on(stream, c->device) : NULL;
  zbl_queued *q;
  if (s == NULL || peer < 0 ||
      !zbl_arguments_ok(c, ZBL_SEND_RECV, dtype, 0, count, peer)) {
    return zbl_failing(ZB_COLL_ARGUMENT, "invalid argument of a send or receive");
  }
  if (zbl_not_ready(c)) {
    return zbl_failing(ZB_COLL_ARGUMENT, zbl_unready);
  }
  if (s->device != c->device || !zbl_usable(c, ZBL_SEND_RECV)) {
    return zbl_failing(ZB_COLL_USAGE, zbl_unusable);
  }
  if (count > 0 && !zbl_valid_range(sends ? send : recv, count * zbl_widths[dtype])) {
    return zbl_failing(ZB_COLL_ARGUMENT, zbl_foreign);
  }
  q = zbl_next_queued();
  if (q == NULL) {
    return zbl_failing(ZB_COLL_UNHANDLED, "out of memory");
  }
  *q = (zbl_queued){c, s, {ZBL_SEND_RECV, dtype, 0, 0, count}, send, recv, peer, sends, 0};
  return zbl_enqueue(q);
}

static int zbl_sendTo(const void *send, size_t count, int dtype, int peer,
                      void *comm, void *stream) {
  return zbl_p2p_call(send, NULL, 1, count, dtype, peer, comm, stream);
}

static int zbl_recvFrom(void *recv, size_t count, int dtype, int peer,
                        void *comm, void *stream) {
  return zbl_p2p_call(NULL, recv, 0, count, dtype, peer, comm, stream);
}
