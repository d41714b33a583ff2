/* Collectives: arguments are checked, calls are matched by sequence number, and
 * a round that is complete takes the model's time on the virtual clock. */
#include "comm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Element widths by ncclDataType_t. */
static const uint8_t zbl_width[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};

enum { ZBL_OPS = 5 };

static const zbl_curve *zbl_curve_for(int collective, int ranks) {
  for (int i = 0; i < zbl.curve_count; i++) {
    if (zbl.curves[i].collective == collective &&
        zbl.curves[i].ranks == ranks) {
      return &zbl.curves[i];
    }
  }
  return NULL;
}

/* The total size S of a call: the larger of a rank's two buffers. */
static double zbl_total_bytes(const zbl_call *c, int ranks) {
  double bytes = (double)c->count * zbl_width[c->dtype];
  return c->collective == ZBL_ALL_REDUCE ? bytes : bytes * ranks;
}

/* Runs a complete round: it starts when the last rank has arrived, its stream's
 * earlier work included, and ends for all at once but for the exit jitter. */
static void zbl_run(const zbl_round *r, const zbl_clique *q) {
  const zbl_curve *curve = zbl_curve_for(r->call.collective, q->nranks);
  uint64_t launch = zbl.case_launch++;
  double start = 0, end;
  for (int i = 0; i < q->nranks; i++) {
    start = fmax(start, fmax(r->place[i].posted, r->place[i].stream->s));
  }
  end = start + zbl_noisy(zbl_model(curve, zbl_total_bytes(&r->call, q->nranks)),
                          launch);
  for (int i = 0; i < q->nranks; i++) {
    r->place[i].stream->s = end + zbl_jitter(launch, i);
    r->place[i].stream->pending--;
  }
}

/* Runs the rounds at the head that are complete. A round whose ranks disagree
 * stays there for ever, and everything behind it. */
static void zbl_advance(zbl_clique *q) {
  while (q->head != NULL && q->head->arrived == q->nranks &&
         !q->head->mismatch) {
    zbl_round *r = q->head;
    zbl_run(r, q);
    q->head = r->next;
    q->head_seq++;
    free(q->spare);
    q->spare = r;
  }
}

/* The round with the given sequence number, made when it is not there yet. */
static zbl_round *zbl_round_at(zbl_clique *q, uint64_t seq) {
  zbl_round **at = &q->head;
  size_t size = sizeof(zbl_round) + (size_t)q->nranks * sizeof(zbl_place);
  for (uint64_t n = q->head_seq; n < seq && *at != NULL; n++) {
    at = &(*at)->next;
  }
  if (*at == NULL) {
    zbl_round *fresh = q->spare != NULL ? q->spare : malloc(size);
    if (fresh != NULL) {
      memset(fresh, 0, size);
    }
    q->spare = NULL;
    *at = fresh;
  }
  return *at;
}

/* One rank's call reaches its stream: the host has spent its launch cost. */
int zbl_post(zbl_comm *comm, const zbl_call *call, zbl_stream *stream) {
  zbl_clique *q = comm->clique;
  zbl_round *r = zbl_round_at(q, comm->seq);
  double *h = zbl_host_clock(comm->device);
  if (r == NULL) {
    return ZB_COLL_UNHANDLED;
  }
  *h += zbl.launch;
  comm->seq++;
  if (r->arrived == 0) {
    r->call = *call;
  } else if (memcmp(&r->call, call, sizeof *call) != 0) {
    r->mismatch = 1;
  }
  r->place[comm->rank] = (zbl_place){stream, *h};
  r->arrived++;
  stream->pending++;
  zbl_advance(q);
  return 0;
}

/* In place is one exact offset; any other overlap gives wrong data. */
static int zbl_overlap_ok(const char *send, uint64_t sent, const char *recv,
                          uint64_t got, uint64_t share, int rank) {
  if (send + sent <= recv || recv + got <= send) {
    return 1;
  }
  if (sent == got) {
    return send == recv;
  }
  return sent > got ? recv == send + share * (uint64_t)rank
                    : send == recv + share * (uint64_t)rank;
}

/* Checks what the real library checks and what it would silently corrupt, then
 * enqueues. send_n and recv_n are the multiples of count in each buffer. */
static int zbl_collective_call(const void *send, void *recv, zbl_call call,
                               void *comm, void *stream, uint64_t send_n,
                               uint64_t recv_n) {
  zbl_comm *c = zbl_comm_of(comm);
  zbl_stream *s = zbl_stream_of(stream);
  uint64_t share;
  if (c == NULL || s == NULL || call.dtype < 0 ||
      call.dtype >= (int)sizeof zbl_width || call.op < 0 ||
      call.op >= ZBL_OPS || call.count == 0 || call.count > (1ull << 44)) {
    return ZB_COLL_ARGUMENT;
  }
  if (c->device != zbl_current_device() || s->device != c->device ||
      zbl_curve_for(call.collective, c->clique->nranks) == NULL) {
    return ZB_COLL_USAGE;
  }
  share = call.count * zbl_width[call.dtype];
  if (!zbl_valid_range(c->device, send, share * send_n) ||
      !zbl_valid_range(c->device, recv, share * recv_n) ||
      !zbl_overlap_ok(send, share * send_n, recv, share * recv_n, share,
                      c->rank)) {
    return ZB_COLL_ARGUMENT;
  }
  return zbl_enqueue(c, &call, s);
}

static uint64_t zbl_ranks_of(void *comm) {
  zbl_comm *c = zbl_comm_of(comm);
  return c != NULL ? (uint64_t)c->clique->nranks : 1;
}

static int zbl_allReduce(const void *send, void *recv, size_t count, int dtype,
                         int op, void *comm, void *stream) {
  zbl_call call = {ZBL_ALL_REDUCE, dtype, op, 0, count};
  return zbl_collective_call(send, recv, call, comm, stream, 1, 1);
}

static int zbl_reduceScatter(const void *send, void *recv, size_t count,
                             int dtype, int op, void *comm, void *stream) {
  zbl_call call = {ZBL_REDUCE_SCATTER, dtype, op, 0, count};
  return zbl_collective_call(send, recv, call, comm, stream,
                             zbl_ranks_of(comm), 1);
}

static int zbl_allGather(const void *send, void *recv, size_t count, int dtype,
                         void *comm, void *stream) {
  zbl_call call = {ZBL_ALL_GATHER, dtype, 0, 0, count};
  return zbl_collective_call(send, recv, call, comm, stream, 1,
                             zbl_ranks_of(comm));
}
