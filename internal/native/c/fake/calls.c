/* The entry points of the collectives. They check arguments as the real library does, and also
 * refuse calls with which the real library would silently corrupt data. Then they enqueue the
 * call. */
#include "comm.h"

#include <inttypes.h>

/* The widths of elements in bytes, indexed by ncclDataType_t. */
static const uint8_t zbl_widths[ZBL_DTYPES] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};

/* Reductions of fp8 types exist in RCCL since ROCm 6.2 (nccl.h.in, ncclFp8E4M3) and in NCCL since
 * 2.24. */
enum { ZBL_FIRST_FP8 = 10, ZBL_FP8_SINCE = 22400 };

static int zbl_reduces_fp8(void) { return ZBL_VENDOR != ZB_CUDA || zbl_coll_version() >= ZBL_FP8_SINCE; }

unsigned zbl_width(int dtype) { return zbl_widths[dtype]; }

/* Reports whether the overlap of the buffers is allowed. RCCL does not check for overlap; with an
 * overlap that is refused here, RCCL would give wrong data. In place means that the smaller buffer
 * is the rank's own block of the larger one. An all_gather and a reduce_scatter may also use the
 * first block, because their kernels read a chunk of a rank's buffer before they write to the same
 * place (ROCm/rccl at rocm-6.2.2, src/device/all_gather.h and reduce_scatter.h, runRing; RCCL's own
 * tests do so: test/common/CollectiveArgs.cpp, AllocateMem). RCCL also runs an all-to-all in place,
 * although nccl.h.in forbids it. */
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

static const char zbl_no_comm[] = "comm is no communicator, or was destroyed";
static const char zbl_no_stream[] = "stream is none, or was destroyed";
static const char zbl_unready[] = "the communicator's init or split is still in progress";
static const char zbl_invalid[] = "invalid %s %lld";

/* Refuses a call with an argument that is never valid. */
static inline int zbl_check_arguments(const zbl_caller *a, const zbl_call *call, int peer) {
  int n = a->comm->clique->nranks, dtype = call->dtype;
  ZBL_REFUSE_CALL(dtype < 0 || dtype >= ZBL_DTYPES || (dtype >= ZBL_FIRST_FP8 && zbl_shapes[call->collective].reduces && !zbl_reduces_fp8()),
                  a, ZB_COLL_ARGUMENT, zbl_invalid, "datatype", (long long)dtype);
  ZBL_REFUSE_CALL(call->count > (1ull << 44),
                  a, ZB_COLL_ARGUMENT, "invalid count %" PRIu64, call->count);
  ZBL_REFUSE_CALL(call->root < 0 || call->root >= n,
                  a, ZB_COLL_ARGUMENT, zbl_invalid, "root", (long long)call->root);
  ZBL_REFUSE_CALL(peer >= n, a, ZB_COLL_ARGUMENT, zbl_invalid, "peer", (long long)peer);
  return 0;
}

/* Reports whether devices can access the rank's buffer. Most buffers are in the newest block
 * of their device. */
static inline int zbl_reached(const zbl_queued *q, const void *ptr, uint64_t bytes) {
  return zbl_in_newest(q->comm->device, ptr, bytes) || zbl_valid_range(ptr, bytes);
}

/* Refuses a call and says why its buffer cannot be used. */
__attribute__((cold)) static int zbl_refuse_buffer(const zbl_caller *a, const char *which,
                                                   const char *ptr, uint64_t bytes) {
  const zbl_block *b = zbl_block_of(ptr);
  return b == NULL ? zbl_refuse_call(a, ZB_COLL_ARGUMENT, "%s is not in memory that devices reach", which)
                   : zbl_refuse_call(a, ZB_COLL_ARGUMENT,
                                "%s needs %" PRIu64 " bytes, and its allocation ends after %zu", which,
                                bytes, (size_t)(b->base + b->bytes - ptr));
}

/* Refuses a call whose buffers are smaller than the data that the call reads or writes. `share` is
 * the size of one block in bytes. */
static inline int zbl_check_buffers(const zbl_caller *a, const zbl_queued *q,
                                    const zbl_shape *shape, uint64_t share) {
  uint64_t n = (uint64_t)q->comm->clique->nranks;
  uint64_t sent = share * (shape->send_all ? n : 1);
  uint64_t got = share * (shape->recv_all ? n : 1);
  int root = q->call.root == q->comm->rank;
  if ((shape->root_only != ZBL_SENDS || root) && !zbl_reached(q, q->send, sent)) {
    return zbl_refuse_buffer(a, "sendbuff", q->send, sent);
  }
  if ((shape->root_only != ZBL_RECEIVES || root) && !zbl_reached(q, q->recv, got)) {
    return zbl_refuse_buffer(a, "recvbuff", q->recv, got);
  }
  ZBL_REFUSE_CALL((shape->root_only == ZBL_NEITHER || root) && !zbl_overlap_ok(q, sent, got, share),
                  a, ZB_COLL_ARGUMENT, "sendbuff and recvbuff overlap");
  return 0;
}

/* Reports whether an init or a split of the communicator is still in progress (ROCm/rccl
 * at rocm-6.2.2, src/init.cc, ncclCommEnsureReady). */
static inline int zbl_not_ready(zbl_comm *c) {
  return c->pending > 0 && zbl_in_progress(c);
}

/* Refuses a call with an unusable communicator or stream. */
static inline int zbl_check_comm(const zbl_caller *a, zbl_comm *c, const zbl_stream *s,
                                 int collective) {
  ZBL_REFUSE_CALL(zbl_not_ready(c), a, ZB_COLL_ARGUMENT, "%s", zbl_unready);
  ZBL_REFUSE_CALL(s->device != c->device,
                  a, ZB_COLL_USAGE, "stream is of GPU %d, and the rank of GPU %d",
                  s->device - zbl.first, c->device - zbl.first);
  ZBL_REFUSE_CALL(c->finalized || c->aborted, a, ZB_COLL_USAGE, "the communicator is finalized or revoked");
  ZBL_REFUSE_CALL(zbl_curve_of(c->clique, collective) == NULL,
                  a, ZB_COLL_USAGE, "the communicator is not complete, or the machine "
                  "file has no curve of its ranks");
  ZBL_REFUSE_CALL(__atomic_load_n(&c->clique->destroyed, __ATOMIC_RELAXED) != 0,
                  a, ZB_COLL_USAGE, "a rank has left the communicator");
  return 0;
}

/* Checks and enqueues a collective. The current device does not matter, because
 * RCCL sets the communicator's device when it launches (ROCm/rccl,
 * src/group.cc). */
static int zbl_collective_call(const void *send, void *recv, int collective,
                               int dtype, int op, int root, uint64_t count,
                               void *comm, void *stream) {
  ZBL_ENTER_SEVERAL;
  zbl_comm *c = zbl_comm_of(comm);
  zbl_stream *s = c != NULL ? zbl_stream_on(stream, c->device) : NULL;
  const zbl_caller asked = {zbl_shapes[collective].field, c};
  zbl_call call = {collective, dtype, op, root, count, ZBL_BY_KERNELS};
  zbl_queued *q = zbl_next_queued();
  int code;
  ZBL_REFUSE_CALL(q == NULL, &asked, ZB_COLL_UNHANDLED, "out of memory");
  ZBL_REFUSE_CALL(s == NULL,
                  &asked, ZB_COLL_ARGUMENT, "%s", c == NULL ? zbl_no_comm : zbl_no_stream);
  if ((code = zbl_check_arguments(&asked, &call, -1)) != 0) {
    return code;
  }
  ZBL_REFUSE_CALL(!zbl_operator_ok(c, op, dtype, &call.op, &q->scalar),
                  &asked, ZB_COLL_ARGUMENT, zbl_invalid, "op", (long long)op);
  if (count == 0) { /* RCCL drops an empty call (ROCm/rccl, src/enqueue.cc, taskAppend) */
    zbl_host_calls();
    return 0;
  }
  if ((code = zbl_check_comm(&asked, c, s, collective)) != 0) {
    return code;
  }
  call.by = c->windows != NULL ? zbl_run_by(c, collective, send, recv) : ZBL_BY_KERNELS;
  *q = (zbl_queued){c, s, call, send, recv, -1, 0, q->scalar};
  code = zbl_check_buffers(&asked, q, &zbl_shapes[collective], count * zbl_widths[dtype]);
  if (code == 0) {
    zbl_write_tuning(c, &call);
  }
  return code != 0 ? code : zbl_enqueue(q);
}

#define ZBL_ENTRY(number, name, field, arguments, ...)                         \
  ZBL_ENTRY_##arguments(ZBL_##number, field)
ZBL_ROWS(ZBL_ENTRY)
#undef ZBL_ENTRY

/* Checks and enqueues a send or a receive. The buffer of the other direction is NULL. A message
 * without elements may have no buffer at all. */
static int zbl_p2p_call(const char *send, char *recv, int sends, size_t count,
                        int dtype, int peer, void *comm, void *stream) {
  ZBL_ENTER_SEVERAL;
  zbl_comm *c = zbl_comm_of(comm);
  zbl_stream *s = c != NULL ? zbl_stream_on(stream, c->device) : NULL;
  const zbl_caller asked = {sends ? "send" : "recv", c};
  const zbl_call call = {ZBL_SEND_RECV, dtype, 0, 0, count, ZBL_BY_KERNELS};
  zbl_queued *q;
  int code;
  ZBL_REFUSE_CALL(s == NULL,
                  &asked, ZB_COLL_ARGUMENT, "%s", c == NULL ? zbl_no_comm : zbl_no_stream);
  ZBL_REFUSE_CALL(peer < 0, &asked, ZB_COLL_ARGUMENT, zbl_invalid, "peer", (long long)peer);
  if ((code = zbl_check_arguments(&asked, &call, peer)) != 0) {
    return code;
  }
  if ((code = zbl_check_comm(&asked, c, s, ZBL_SEND_RECV)) != 0) {
    return code;
  }
  if (count > 0 && !zbl_valid_range(sends ? send : recv, count * zbl_widths[dtype])) {
    return zbl_refuse_buffer(&asked, sends ? "sendbuff" : "recvbuff", sends ? send : recv,
                             count * zbl_widths[dtype]);
  }
  q = zbl_next_queued();
  ZBL_REFUSE_CALL(q == NULL, &asked, ZB_COLL_UNHANDLED, "out of memory");
  *q = (zbl_queued){c, s, call, send, recv, peer, sends, 0};
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
