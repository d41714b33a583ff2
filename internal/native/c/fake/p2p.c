/* Sends and receives. Those that one rank makes in a group are one kernel on
 * its stream; a transfer takes place when the kernels of both its ends have
 * begun, and a kernel ends with the last of its transfers. */
#include "comm.h"

#include <math.h>
#include <stdlib.h>

typedef struct zbl_kernel_p2p zbl_kernel_p2p;

/* One message, known from the first of its two ends on. */
typedef struct zbl_transfer {
  int from, to, users;
  uint64_t sent, expected; /* bytes, as each end has it */
  unsigned width;          /* of an element */
  const char *send;
  char *recv;
  zbl_kernel_p2p *sender, *receiver;
  struct zbl_transfer *next; /* among the unmatched of one receiver */
} zbl_transfer;

struct zbl_kernel_p2p {
  zbl_clique *clique;
  zbl_stream *stream;
  uint64_t launch;
  double arrival, end;
  uint64_t out, in; /* bytes */
  int ready;
  size_t n, left;
  zbl_transfer *transfers[];
};

/* The transfer that the other end has posted already, or a new one. Messages
 * between two ranks match in the order of their calls. */
static zbl_transfer *zbl_match(zbl_clique *q, int from, int to, int sending) {
  zbl_transfer **at = &q->unmatched[to];
  for (; *at != NULL; at = &(*at)->next) {
    zbl_transfer *t = *at;
    if (t->from == from && (sending ? t->sender : t->receiver) == NULL) {
      *at = t->next;
      return t;
    }
  }
  *at = calloc(1, sizeof **at);
  if (*at != NULL) {
    (*at)->from = from;
    (*at)->to = to;
  }
  return *at;
}

/* Both ends are there: the message takes the time of what its busier end moves. */
static void zbl_transfer_run(zbl_transfer *t) {
  zbl_kernel_p2p *s = t->sender, *r = t->receiver;
  const zbl_curve *curve = s->clique->curve[ZBL_SEND_RECV];
  double bytes = fmax((double)s->out, (double)r->in);
  double took = zbl_faulty(curve, bytes, zbl_model(curve, bytes), s->launch);
  double end = fmax(s->arrival, r->arrival) +
               zbl_noisy(took, s->launch, s->clique->first);
  s->end = fmax(s->end, end);
  r->end = fmax(r->end, end);
  s->left--;
  r->left--;
  if (zbl.moves_data) {
    zbl_deliver_message(s->stream, t->send, r->stream, t->recv, t->sent,
                        t->width);
  }
}

/* The kernel has begun: every message whose other end has begun too runs. */
static int zbl_p2p_run(zbl_op *op, zbl_stream *s) {
  zbl_kernel_p2p *k = op->data;
  k->arrival = zbl_arrival(op, s);
  k->ready = 1;
  for (size_t i = 0; i < k->n; i++) {
    zbl_transfer *t = k->transfers[i];
    zbl_kernel_p2p *peer = t->sender == k ? t->receiver : t->sender;
    int self = t->sender == t->receiver;
    if (peer == NULL || !peer->ready || t->sent != t->expected ||
        (self && t->users > 2)) {
      continue;
    }
    if (self) {
      t->users = 3; /* both its places are in this list: run it once */
    }
    zbl_transfer_run(t);
    if (peer != k && peer->left == 0) {
      zbl_finish(peer->stream, peer->end);
    }
  }
  if (k->left > 0) {
    return 0;
  }
  s->s = k->end;
  return 1;
}

/* A kernel lets go of its transfers; one that nobody holds is freed. */
static void zbl_p2p_release(zbl_op *op) {
  zbl_kernel_p2p *k = op->data;
  for (size_t i = 0; i < k->n; i++) {
    zbl_transfer *t = k->transfers[i];
    int self = t->sender == t->receiver;
    if (t->sender == k) {
      t->sender = NULL;
    }
    if (t->receiver == k) {
      t->receiver = NULL;
    }
    if (self) {
      for (size_t j = i + 1; j < k->n; j++) { /* its second place */
        if (k->transfers[j] == t) {
          k->transfers[j] = k->transfers[--k->n];
          break;
        }
      }
    }
    if (t->users == 1) {
      t->from = -1; /* its other end never came: matches nothing from now on */
    } else if (t->sender == NULL && t->receiver == NULL) {
      free(t);
    }
  }
  free(k);
}

/* Launches the n sends and receives of one rank as one kernel. */
int zbl_p2p_post(const zbl_queued *q, size_t n, double host) {
  zbl_comm *c = q->comm;
  double *h = zbl_host_clock(c->device);
  zbl_kernel_p2p *k = calloc(1, sizeof *k + n * sizeof k->transfers[0]);
  if (k == NULL) {
    return ZB_COLL_UNHANDLED;
  }
  *k = (zbl_kernel_p2p){.clique = c->clique, .stream = q->stream,
                        .n = n, .left = n,
                        .launch = zbl_next_launch(c->clique)};
  for (size_t i = 0; i < n; i++) {
    int sending = q[i].sends;
    uint64_t bytes = q[i].call.count * zbl_width(q[i].call.dtype);
    zbl_transfer *t = sending ? zbl_match(c->clique, c->rank, q[i].peer, 1)
                              : zbl_match(c->clique, q[i].peer, c->rank, 0);
    if (t == NULL) {
      abort();
    }
    if (sending) {
      t->sender = k;
      t->send = q[i].send;
      t->sent = bytes;
      k->out += bytes;
    } else {
      t->receiver = k;
      t->recv = q[i].recv;
      t->expected = bytes;
      k->in += bytes;
    }
    t->users++;
    t->width = zbl_width(q[i].call.dtype);
    k->transfers[i] = t;
  }
  *h += host;
  zbl_push(q->stream, (zbl_op){.run = zbl_p2p_run, .release = zbl_p2p_release,
                               .posted = *h, .data = k, .rank = c->rank,
                               .comm = c,
                               .stuck = zbl_hangs(c->device, fmax((double)k->out, (double)k->in),
                                                  zbl_comm_launch(c))});
  return 0;
}

/* Messages that one end only has posted: the kernels that hold them have gone
 * with their streams, or go later and find nothing. */
void zbl_free_transfers(zbl_clique *q) {
  for (int i = 0; i < q->nranks; i++) {
    while (q->unmatched[i] != NULL) {
      zbl_transfer *t = q->unmatched[i];
      q->unmatched[i] = t->next;
      if (t->sender == NULL && t->receiver == NULL) {
        free(t);
      }
    }
  }
}
