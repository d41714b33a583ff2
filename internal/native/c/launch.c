/* The table of collectives. Each row is a function that calls the library, whatever arguments the
 * call needs. */
#include "loop.h"

#include <string.h>

/* One rank's call, on its buffers of one slot. */
typedef struct zb_call {
  const zb_table *t;
  const zb_rank *r;
  const zb_work *w;
  const char *send;
  char *recv;
  uint64_t width;
  int op; /* the operator in the communicator of the rank */
} zb_call;

static const uint8_t zb_widths[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};

/* A call of the library's function `field`. ZB_ON is the end of all argument lists. */
#define ZB_ON c->r->comm, c->r->stream
#define ZB_CALLS(field, ...)                                                   \
  c->t->field(c->send, c->recv, c->w->count, c->w->dtype, __VA_ARGS__)
#define ZB_DIRECT(name, ...)                                                   \
  static int zb_##name(const zb_call *c) { return ZB_CALLS(__VA_ARGS__); }
ZB_DIRECT(all_reduce, allReduce, c->op, ZB_ON)
ZB_DIRECT(reduce_scatter, reduceScatter, c->op, ZB_ON)
ZB_DIRECT(all_gather, allGather, ZB_ON)
ZB_DIRECT(broadcast, broadcast, c->w->root, ZB_ON)
ZB_DIRECT(reduce, reduce, c->op, c->w->root, ZB_ON)

static int zb_send(const zb_call *c, int peer, uint64_t block) {
  return c->t->sendTo(c->send + block * c->w->count * c->width, c->w->count,
                      c->w->dtype, peer, c->r->comm, c->r->stream);
}

static int zb_recv(const zb_call *c, int peer, uint64_t block) {
  return c->t->recvFrom(c->recv + block * c->w->count * c->width, c->w->count,
                        c->w->dtype, peer, c->r->comm, c->r->stream);
}

/* Sends and receives in one group. A rank may send a message to one rank, receive a message from
 * one rank, and exchange a block with every rank. A peer of −1 means no message. */
typedef struct zb_messages {
  int to, from;
  int sends, recvs; /* 1 to send a block to every rank, and to receive one from every rank */
} zb_messages;

static int zb_exchange_messages(const zb_call *c, zb_messages m) {
  int code = c->t->groupStart(), ended;
  if (code == 0 && m.to >= 0) {
    code = zb_send(c, m.to, 0);
  }
  for (int p = 0; p < c->r->nranks && code == 0; p++) {
    if (m.sends) {
      code = zb_send(c, p, (uint64_t)p);
    }
    if (m.recvs && code == 0) {
      code = zb_recv(c, p, (uint64_t)p);
    }
  }
  if (code == 0 && m.from >= 0) {
    code = zb_recv(c, m.from, 0);
  }
  ended = c->t->groupEnd();
  return code != 0 ? code : ended;
}

/* Sends to the next rank and receives from the previous one, in a ring. */
static int zb_send_recv(const zb_call *c) {
  int n = c->r->nranks, me = c->r->rank;
  return zb_exchange_messages(c, (zb_messages){.to = (me + 1) % n, .from = (me + n - 1) % n});
}

/* Runs this rank's part of a round of pairs or rings. It may send to one rank, receive from one
 * rank, or do neither. */
static int zb_exchange(const zb_call *c) {
  return c->r->to < 0 && c->r->from < 0
             ? 0
             : zb_exchange_messages(c, (zb_messages){.to = c->r->to, .from = c->r->from});
}

/* Collectives that are made of messages if the library has no call for them. */
static int zb_all_to_all(const zb_call *c) {
  return c->t->allToAll != NULL ? ZB_CALLS(allToAll, ZB_ON)
                                : zb_exchange_messages(c, (zb_messages){-1, -1, 1, 1});
}

static int zb_gather(const zb_call *c) {
  int root = c->w->root;
  return c->t->gather != NULL
             ? ZB_CALLS(gather, root, ZB_ON)
             : zb_exchange_messages(c, (zb_messages){root, -1, 0, c->r->rank == root});
}

static int zb_scatter(const zb_call *c) {
  int root = c->w->root;
  return c->t->scatter != NULL
             ? ZB_CALLS(scatter, root, ZB_ON)
             : zb_exchange_messages(c, (zb_messages){-1, root, c->r->rank == root, 0});
}

/* Returns the element at which a rank's data begins. Without places all shares are equal. */
static uint64_t zb_place(const zb_work *w, int rank) {
  return w->places != NULL ? w->places[rank] : (uint64_t)rank * w->count;
}

/* Runs an all-to-all with unequal shares. All ranks send the same amount to a given rank. */
static int zb_all_to_allv(const zb_call *c) {
  const zb_work *w = c->w;
  uint64_t mine = zb_place(w, c->r->rank + 1) - zb_place(w, c->r->rank);
  int code = c->t->groupStart(), ended;
  for (int p = 0; p < c->r->nranks && code == 0; p++) {
    uint64_t at = zb_place(w, p), theirs = zb_place(w, p + 1) - at;
    if (theirs > 0) {
      code = c->t->sendTo(c->send + at * c->width, theirs, w->dtype, p, ZB_ON);
    }
    if (mine > 0 && code == 0) {
      code = c->t->recvFrom(c->recv + (uint64_t)p * mine * c->width, mine, w->dtype, p, ZB_ON);
    }
  }
  ended = c->t->groupEnd();
  return code != 0 ? code : ended;
}

typedef struct zb_launched {
  const char *name;
  int (*launch)(const zb_call *c);
} zb_launched;

/* The collectives. A new collective is a row here: its name and its function. */
static const zb_launched zb_collectives[] = {
    {"all_reduce", zb_all_reduce},   {"reduce_scatter", zb_reduce_scatter},
    {"all_gather", zb_all_gather},   {"broadcast", zb_broadcast},
    {"reduce", zb_reduce},           {"all_to_all", zb_all_to_all},
    {"send_recv", zb_send_recv},     {"gather", zb_gather},
    {"scatter", zb_scatter},         {"all_to_allv", zb_all_to_allv},
};

int zb_collective_count(void) {
  return (int)(sizeof zb_collectives / sizeof zb_collectives[0]);
}

const char *zb_collective_name(int i) { return zb_collectives[i].name; }

/* The launch of ZB_EXCHANGE. It is not a collective, because ranks do different things. */
static const zb_launched zb_exchanged = {"exchange", zb_exchange};

static const zb_launched *zb_launched_by(const zb_work *w) {
  return w->collective == ZB_EXCHANGE ? &zb_exchanged
                                      : &zb_collectives[w->collective];
}

/* One launch of the work on the buffers of a slot. */
typedef struct zb_one {
  const zb_work *w;
  uint64_t slot;
} zb_one;

/* The bits of the significand and the bias of the exponent, by element type; 0 for integers. */
static const uint16_t zb_floats[][2] = {{0}, {0}, {0}, {0}, {0}, {0}, {10, 15}, {23, 127}, {52, 1023}, {7, 127}, {0}, {0}};

/* Makes the operator of MULSUM for a rank: its data are multiplied by 2 or 4, integers by 3 or 9.
 * verify_rule.h has the reasons. */
static int zb_make_operator(const zb_call *c, int *op) {
  int power = ZB_MULSUM_POWER(c->r->rank);
  const uint16_t *of = zb_floats[c->w->dtype];
  uint64_t scalar = of[0] > 0 ? (uint64_t)(of[1] + power) << of[0] : power == 1 ? 3 : 9;
  char bytes[sizeof scalar];
  memcpy(bytes, &scalar, sizeof scalar); /* the first bytes are the value in each width */
  return c->t->opCreate(op, bytes, c->w->dtype, ZB_SCALAR_HOST, c->r->comm);
}

/* Calls the collective for one rank. An operator is made for this call alone, as rccl-tests does:
 * the library reads it when the call is made. */
static int zb_launch_rank(zb_call *c, const zb_launched *row) {
  int code, destroyed;
  if (c->w->op != ZB_MULSUM) {
    return row->launch(c);
  }
  if ((code = zb_make_operator(c, &c->op)) != 0) {
    return code;
  }
  code = row->launch(c);
  destroyed = c->t->opDestroy(c->op, c->r->comm);
  return zb_refused(code) ? code : destroyed;
}

/* Launches one call on every local rank. */
static int zb_launch_each(zb_batch *b, const void *what) {
  const zb_table *t = b->table;
  const zb_one *one = what;
  const zb_work *w = one->w;
  const zb_launched *row = zb_launched_by(w);
  int code;
  for (int i = 0; i < b->nlocal; i++) {
    const zb_rank *r = &b->ranks[i];
    zb_call c = {t, r, w, r->send + one->slot * w->send_stride,
                 r->recv + one->slot * w->recv_stride, zb_widths[w->dtype], w->op};
    if ((code = t->setDevice(r->device)) != 0) {
      return zb_fail(b, ZB_BATCH_RUNTIME, code, i, "set device");
    }
    if (zb_refused(code = zb_launch_rank(&c, row))) {
      return zb_fail(b, ZB_BATCH_COLLECTIVES, code, i, row->name);
    }
  }
  return 0;
}

/* Waits until the calls on non-blocking communicators have returned. */
static int zb_settle(zb_batch *b) {
  int64_t began = zb_monotonic();
  for (int i = 0; i < b->nlocal && b->nonblocking; i++) {
    int state = ZB_COLL_IN_PROGRESS, code = 0;
    while ((code = b->table->commGetAsyncError(b->ranks[i].comm, &state)) == 0 && state == ZB_COLL_IN_PROGRESS) {
      if (zb_cancelled(b)) {
        return zb_fail(b, ZB_BATCH_CANCELLED, 0, i, "launch");
      }
      if ((double)(zb_monotonic() - began) * 1e-9 > b->deadline_s) {
        return zb_fail(b, ZB_BATCH_DEADLINE, 0, i, "launch");
      }
    }
    if (code != 0 || state != 0) {
      return zb_fail(b, ZB_BATCH_ASYNC, code != 0 ? code : state, i, "asynchronous error");
    }
  }
  return 0;
}

/* Runs calls in a group if `grouped` is set. Calls of several ranks need one, because otherwise the
 * first call could wait for the second. A group launches its calls at its end. A group is ended even
 * after a failure: it belongs to the thread, and the thread's next call would otherwise still be in
 * it. */
int zb_grouped(zb_batch *b, int grouped, int (*each)(zb_batch *b, const void *what),
               const void *what) {
  const zb_table *t = b->table;
  int failed, code;
  if (grouped && (code = t->groupStart()) != 0) {
    return zb_fail(b, ZB_BATCH_COLLECTIVES, code, 0, "group start");
  }
  failed = each(b, what);
  if (grouped && zb_refused(code = t->groupEnd()) && !failed) {
    return zb_fail(b, ZB_BATCH_COLLECTIVES, code, 0, "group end");
  }
  return failed || zb_settle(b);
}

/* Launches the work once on every local rank, on the buffers of a slot. */
int zb_launch_all(zb_batch *b, const zb_work *w, uint64_t slot) {
  zb_one one = {w, slot};
  return zb_grouped(b, b->nlocal > 1, zb_launch_each, &one);
}
