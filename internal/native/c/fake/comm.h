/* Communicators of the loopback; see comm.c, group.c, coll.c and p2p.c. */
#ifndef ZBL_COMM_H
#define ZBL_COMM_H

#include "stream.h"

/* One rank's call of a collective, as it was made. No padding: calls are
 * compared byte by byte. */
typedef struct zbl_call {
  int32_t collective, dtype, op, root;
  uint64_t count;
} zbl_call;

/* One rank's part in a round. */
typedef struct zbl_place {
  zbl_stream *stream;
  const char *send;
  char *recv;
  double arrival;
} zbl_place;

/* One sequence number of a communicator: the ranks' calls that belong together.
 * The operation runs when all have arrived and agree; if they do not agree it
 * never ends, as in the real library. */
typedef struct zbl_round {
  struct zbl_clique *clique;
  zbl_call call;
  uint64_t launch; /* its number within the case */
  int posted, ready;
  int mismatch, ran; /* ran: to the end; a mismatch never does */
  int holders, linked; /* operations that point here; in the clique's list */
  struct zbl_round *next;
  zbl_place place[];
} zbl_round;

/* What all ranks of a communicator share. */
typedef struct zbl_clique {
  int nranks, inited, destroyed, first, last;
  zb_unique_id id;
  const zbl_curve *curve[ZBL_COLLECTIVES];
  zbl_round *head; /* the oldest round that not all ranks have called */
  uint64_t head_seq;
  uint64_t epoch, launch; /* launches within the case */
  int async;              /* the asynchronous error, once there is one */
  struct zbl_transfer **unmatched; /* by receiving rank */
  struct zbl_clique *next;
} zbl_clique;

typedef struct zbl_comm {
  uint32_t magic;
  int rank, device, aborted;
  uint64_t seq; /* calls launched so far */
  uint64_t epoch, launch; /* launches within the case */
  zbl_clique *clique;
  struct zbl_comm *next;
} zbl_comm;

/* One call inside a group, or alone. */
typedef struct zbl_queued {
  zbl_comm *comm;
  zbl_stream *stream;
  zbl_call call;
  const char *send;
  char *recv;
  int peer; /* of a send or receive, else −1 */
  int sends;
} zbl_queued;

zbl_comm *zbl_comm_of(void *handle);
uint64_t zbl_next_launch(zbl_clique *q);
uint64_t zbl_comm_launch(zbl_comm *c);
unsigned zbl_width(int dtype);

/* group.c */
int zbl_group_depth(void);
int zbl_enqueue(const zbl_queued *q);
void zbl_group_note_init(zbl_clique *clique);
void zbl_group_reset(void);

/* graph.c */
int zbl_record(const zbl_queued *q, size_t n);

/* coll.c and p2p.c; host is what launching costs the host, in seconds */
int zbl_launch_now(const zbl_queued *q, size_t n);
int zbl_post(const zbl_queued *q, double host);
void zbl_free_rounds(zbl_clique *q);

/* p2p.c */
int zbl_p2p_post(const zbl_queued *q, size_t n, double host);
void zbl_free_transfers(zbl_clique *q);

/* data.c */
void zbl_move(const zbl_round *r);
void zbl_deliver(zbl_stream *s, char *to, zbl_shared *whole, uint64_t offset,
                 uint64_t bytes, unsigned width);
void zbl_deliver_message(const zbl_stream *from, const char *send,
                         zbl_stream *to, char *recv, uint64_t bytes,
                         unsigned width);

#endif
