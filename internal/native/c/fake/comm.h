/* Communicators of the loopback; see comm.c, group.c and coll.c. */
#ifndef ZBL_COMM_H
#define ZBL_COMM_H

#include "world.h"

/* One rank's call of a collective, as it was made. No padding: calls are
 * compared byte by byte. */
typedef struct zbl_call {
  int32_t collective, dtype, op, root;
  uint64_t count;
} zbl_call;

/* One rank's place in a round: where it is queued and when the host did it. */
typedef struct zbl_place {
  zbl_stream *stream; /* NULL until the rank has called */
  double posted;
} zbl_place;

/* One sequence number of a communicator: the ranks' calls that belong together.
 * The operation runs when all have arrived and agree; if they do not agree it
 * never ends, as in the real library. */
typedef struct zbl_round {
  zbl_call call;
  int arrived, mismatch;
  struct zbl_round *next;
  zbl_place place[];
} zbl_round;

/* What all ranks of a communicator share. */
typedef struct zbl_clique {
  int nranks, inited, destroyed;
  zb_unique_id id;
  zbl_round *head; /* the oldest round that has not run */
  zbl_round *spare;
  uint64_t head_seq;
  struct zbl_clique *next;
} zbl_clique;

typedef struct zbl_comm {
  uint32_t magic;
  int rank, device;
  uint64_t seq; /* calls launched so far */
  zbl_clique *clique;
  struct zbl_comm *next;
} zbl_comm;

zbl_comm *zbl_comm_of(void *handle);
zbl_clique *zbl_clique_for(const zb_unique_id *id, int nranks);

/* group.c */
int zbl_group_depth(void);
int zbl_enqueue(zbl_comm *comm, const zbl_call *call, zbl_stream *stream);
void zbl_group_note_init(zbl_clique *clique);
void zbl_group_reset(void);

/* coll.c */
int zbl_post(zbl_comm *comm, const zbl_call *call, zbl_stream *stream);

#endif
