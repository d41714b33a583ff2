/* Sends and receives. All messages that one rank posts in a group form one kernel on its stream.
 * A transfer starts when the kernels at both of its ends have begun. A kernel ends with the last
 * of its transfers. The process that ends a kernel also begins the next kernel of the same
 * stream, if the stream goes straight from one to the other (ahead.c). */
#include "comm.h"

/* One message. It exists from the time when one of its two ends is posted. */
typedef struct zbl_transfer {
  int from, to, users;
  uint64_t sent, expected; /* in bytes, as the sender and the receiver state them */
  uint64_t along;          /* total bytes that the sender's kernel sends to that receiver */
  unsigned width;          /* bytes per element */
  const char *send;        /* send and recv are valid in the sender's and the receiver's process */
  char *recv;
  int ran;
  zbl_ref data;             /* the sent data, a zbl_shared; 0 for none */
  zbl_ref sender, receiver; /* the kernels at both ends */
  zbl_ref next;             /* the next unmatched message of the same receiver */
} zbl_transfer;

typedef struct zbl_kernel_p2p {
  zbl_ref clique;
  zbl_stream *stream; /* valid in the process of the slot */
  int slot, rank;
  zbl_turn at;
  uint64_t number; /* number among all launches of the communicator, from 0 */
  zbl_ahead how; /* when the stream reaches this kernel from its previous kernel */
  zbl_ref next;  /* the stream's next kernel, if the stream goes straight from this kernel to it */
  zbl_ref begun; /* the next kernel in the list of kernels that begin now */
  double arrival, end;
  uint64_t out, in; /* bytes sent and received */
  int ready, moves; /* moves: 1 if the kernel moves data */
  size_t n, left;
  zbl_ref transfers[];
} zbl_kernel_p2p;

/* Returns the transfer that the other end has already posted, or a new transfer. Messages between
 * two ranks match in the order of the calls. */
static zbl_transfer *zbl_match(zbl_clique *q, int from, int to, int sending) {
  zbl_ref *at = &q->member[to].unmatched;
  zbl_transfer *t;
  for (; *at != 0; at = &t->next) {
    t = zbl_at(*at);
    if (t->from == from && (sending ? t->sender : t->receiver) == 0) {
      *at = t->next;
      return t;
    }
  }
  t = zbl_new(sizeof *t);
  *t = (zbl_transfer){.from = from, .to = to};
  *at = zbl_ref_of(t);
  return t;
}

/* Frees a rank's messages whose other end was never posted. */
void zbl_free_unmatched(zbl_ref *at) {
  while (*at != 0) {
    zbl_transfer *t = zbl_at(*at);
    *at = t->next;
    if (t->data != 0) {
      zbl_unshare(zbl_at(t->data));
    }
    zbl_drop(t);
  }
}

/* Returns the duration of a message in seconds. It comes from the ways between the two devices if
 * the machine file has any, otherwise from the communicator's curves. All data to one peer share
 * one link, at the rate of send_recv; all data of a rank share all of its links. The slower of the
 * two determines the time. */
static double zbl_message_time(const zbl_clique *q, const zbl_transfer *t,
                               double bytes, uint64_t draws) {
  const zbl_curve *one = zbl_curve_of(q, ZBL_SEND_RECV), *of_all = zbl_curve_of(q, ZBL_ALL_LINKS);
  double along = (double)t->along, took;
  if (zbl.ways.node > 0 || one->points == 0) {
    zbl_took_model(ZBL_SEND_RECV, 2);
  }
  if (zbl.ways.node > 0) {
    return zbl_way_time(q->member[t->from].device, q->member[t->to].device,
                        along, bytes, draws);
  }
  took = zbl_model(one, along);
  if (of_all != NULL) {
    zbl_curve all = *of_all;
    all.k = one->k;
    all.points = 0; /* the points are for sizes of a collective, not of a message */
    took = zbl_later(took, zbl_model(&all, bytes));
  }
  return zbl_noisy(zbl_faulty(one, bytes, took, draws), draws, q->first);
}

/* Runs a message whose two ends are present. The busier end determines the duration. */
static void zbl_transfer_run(zbl_transfer *t) {
  zbl_kernel_p2p *s = zbl_at(t->sender), *r = zbl_at(t->receiver);
  const zbl_clique *q = zbl_at(s->clique);
  double bytes = zbl_later((double)s->out, (double)r->in);
  double end = zbl_later(s->arrival, r->arrival) +
               zbl_contended(q->member[t->from].device, q->member[t->to].device, s->at) *
                   zbl_message_time(q, t, bytes, zbl_draws(s->at));
  s->end = zbl_later(s->end, end);
  r->end = zbl_later(r->end, end);
  s->left--;
  r->left--;
  t->ran = 1;
}

/* If all messages of a kernel are complete, delivers the received data. */
static int zbl_p2p_done(zbl_op *op, zbl_stream *s) {
  zbl_kernel_p2p *k = op->data;
  if (k->left > 0) {
    return 0;
  }
  for (size_t i = 0; i < k->n; i++) {
    zbl_transfer *t = zbl_at(k->transfers[i]);
    if (zbl_at(t->receiver) == k && t->data != 0) {
      zbl_shared *data = zbl_at(t->data);
      t->data = 0;
      zbl_deliver(zbl_data_fault(s->device, k->at, k->number), s, t->recv, data, 0, t->sent,
                  t->width, 0, t->sent / t->width);
      zbl_unshare(data);
    }
  }
  s->s = zbl_later(s->s, k->end);
  return 1;
}

static zbl_bell *zbl_kernel_bell(const zbl_kernel_p2p *k) {
  return &((zbl_clique *)zbl_at(k->clique))->bell[k->rank % ZBL_BELLS];
}

/* Ends a kernel whose messages are complete: begins the next kernel, or notifies the process of the
 * rank. */
static void zbl_kernel_ends(zbl_kernel_p2p *k, zbl_ref *begin) {
  zbl_kernel_p2p *next = zbl_at(k->next);
  if (k->slot == zbl.slot) {
    zbl_drain_later(k->stream);
  }
  if (next == NULL) {
    zbl_ring(zbl_kernel_bell(k));
    return;
  }
  next->arrival = zbl_comes_at(k->end, &next->how);
  next->begun = *begin;
  *begin = k->next;
}

/* Begins a kernel: runs every message whose other end has also begun. */
static void zbl_kernel_begins(zbl_kernel_p2p *k, zbl_ref *begin) {
  k->ready = 1;
  for (size_t i = 0; i < k->n; i++) {
    zbl_transfer *t = zbl_at(k->transfers[i]);
    zbl_kernel_p2p *peer =
        zbl_at(zbl_at(t->sender) == k ? t->receiver : t->sender);
    if (peer == NULL || !peer->ready || t->ran || t->sent != t->expected) {
      continue;
    }
    zbl_transfer_run(t);
    if (peer != k && peer->left == 0) {
      zbl_kernel_ends(peer, begin);
    }
  }
  if (k->left == 0) {
    zbl_kernel_ends(k, begin);
  }
}

/* Begins the kernel that a rank's stream has reached, unless another process has already begun
 * it. */
static int zbl_p2p_run(zbl_op *op, zbl_stream *s) {
  zbl_kernel_p2p *k = op->data;
  zbl_ref begin = zbl_ref_of(k);
  if (k->ready) {
    return zbl_p2p_done(op, s);
  }
  k->arrival = zbl_arrival(op, s);
  for (size_t i = 0; i < k->n && k->moves; i++) {
    zbl_transfer *t = zbl_at(k->transfers[i]);
    if (zbl_at(t->sender) == k && t->data == 0 && t->sent > 0) {
      t->data = zbl_message(zbl_data_fault(s->device, k->at, k->number), s, t->send, t->sent,
                            zbl_has_all(zbl_at(k->clique)));
    }
  }
  while (begin != 0) {
    zbl_kernel_p2p *first = zbl_at(begin);
    begin = first->begun;
    zbl_kernel_begins(first, &begin);
  }
  zbl_progress();
  return zbl_p2p_done(op, s);
}

/* Releases a kernel's transfers. A transfer without other users is freed. */
static void zbl_p2p_release(zbl_op *op) {
  zbl_kernel_p2p *k = op->data;
  for (size_t i = 0; i < k->n; i++) {
    zbl_transfer *t = zbl_at(k->transfers[i]);
    int self = t->sender == t->receiver;
    if (zbl_at(t->sender) == k) {
      t->sender = 0;
    }
    if (zbl_at(t->receiver) == k) {
      t->receiver = 0;
    }
    for (size_t j = i + 1; self && j < k->n; j++) { /* a message to the rank itself is listed
                                                     * twice */
      if (zbl_at(k->transfers[j]) == t) {
        k->transfers[j] = k->transfers[--k->n];
        break;
      }
    }
    if (t->users == 1) {
      t->from = -1; /* the other end was never posted; from now on the message matches nothing */
    } else if (t->sender == 0 && t->receiver == 0) {
      if (t->data != 0) {
        zbl_unshare(zbl_at(t->data));
      }
      zbl_drop(t);
    }
  }
  zbl_drop(k);
}

/* Posts one end of a message. */
static zbl_transfer *zbl_post_end(zbl_kernel_p2p *k, const zbl_queued *q) {
  const zbl_comm *c = q->comm;
  uint64_t bytes = q->call.count * zbl_width(q->call.dtype);
  uint64_t moved = q->peer == c->rank ? 0 : bytes; /* a message to the rank itself uses no link */
  zbl_transfer *t = q->sends ? zbl_match(c->clique, c->rank, q->peer, 1)
                             : zbl_match(c->clique, q->peer, c->rank, 0);
  if (q->sends) {
    t->sender = zbl_ref_of(k);
    t->send = q->send;
    t->sent = bytes;
    k->out += moved;
  } else {
    t->receiver = zbl_ref_of(k);
    t->recv = q->recv;
    t->expected = bytes;
    k->in += moved;
  }
  t->users++;
  t->width = zbl_width(q->call.dtype);
  return t;
}

static zbl_bell *zbl_p2p_bell(const zbl_op *op) { return zbl_kernel_bell(op->data); }

static const zbl_kind zbl_p2ps = {.run = zbl_p2p_run,
                                  .done = zbl_p2p_done,
                                  .release = zbl_p2p_release,
                                  .bell = zbl_p2p_bell};

/* Notes how the stream reaches the kernel that its process has just called. */
static void zbl_p2p_ahead(zbl_kernel_p2p *k, zbl_op *op, zbl_stream *s) {
  zbl_kernel_p2p *before;
  zbl_catch_up(s);
  before = s->on == NULL ? (zbl_kernel_p2p *)(uintptr_t)s->before : NULL;
  op->ahead = (uint8_t)(!k->moves && zbl_straight(s, before));
  if (op->ahead) {
    k->how = zbl_way_of(s, op->posted);
    before->next = zbl_ref_of(k);
  }
}

/* Sums the bytes that the kernel sends to each rank, for its transfers' `along`. */
static void zbl_add_along(zbl_kernel_p2p *k, zbl_member *member) {
  for (int pass = 0; pass < 3; pass++) {
    for (size_t i = 0; i < k->n; i++) {
      zbl_transfer *t = zbl_at(k->transfers[i]);
      if (zbl_at(t->sender) != k || t->from == t->to) {
        continue;
      }
      if (pass == 0) {
        member[t->to].along = 0;
      } else if (pass == 1) {
        member[t->to].along += t->sent;
      } else {
        t->along = member[t->to].along;
      }
    }
  }
}

/* Launches the n sends and receives of one rank as one kernel. */
int zbl_p2p_post(const zbl_queued *q, size_t n, double host) {
  zbl_comm *c = q->comm;
  double *h = &c->lane->h;
  zbl_op *op;
  zbl_kernel_p2p *k = zbl_new(sizeof *k + n * sizeof k->transfers[0]);
  uint64_t launch = zbl_comm_launch(c, 1);
  *k = (zbl_kernel_p2p){.clique = zbl_ref_of(c->clique), .stream = q->stream,
                        .slot = zbl.slot, .rank = c->rank, .n = n, .left = n,
                        .moves = zbl.moves_data > 0,
                        .at = zbl_message_number(c), .number = c->made - 1};
  for (size_t i = 0; i < n; i++) {
    k->transfers[i] = zbl_ref_of(zbl_post_end(k, &q[i]));
  }
  zbl_add_along(k, c->clique->member);
  *h += host;
  op = zbl_new_op(q->stream, &zbl_p2ps, k, *h);
  op->comm = c;
  c->ops++;
  op->stuck = zbl_hangs(c->device, zbl_later((double)k->out, (double)k->in), launch);
  if (zbl.several) {
    zbl_p2p_ahead(k, op, q->stream);
  }
  zbl_push(q->stream, op);
  q->stream->before = k;
  q->stream->on = NULL;
  q->stream->marked = 0;
  return 0;
}
