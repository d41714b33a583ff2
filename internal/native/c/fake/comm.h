/* Communicators of the loopback; see comm.c, group.c, coll.c and p2p.c. */
#ifndef ZBL_COMM_H
#define ZBL_COMM_H

#include "stream.h"

enum { ZBL_DTYPES = 12 }; /* ncclDataType_t */

/* How a collective runs; see window.c. */
enum zbl_by { ZBL_BY_KERNELS, ZBL_BY_SYMMETRIC, ZBL_BY_COPIES };

/* The arguments of one rank's call of a collective. The struct has no padding, because calls are
 * compared byte by byte. */
typedef struct zbl_call {
  int32_t collective, dtype, op, root;
  uint64_t count;
  int64_t by; /* enum zbl_by */
} zbl_call;

/* One rank's part in a round. The pointers are valid only in the rank's process. */
typedef struct zbl_place {
  zbl_stream *stream;
  const char *send;
  char *recv;
  uint64_t scalar; /* scalar of an operator that the client has made */
} zbl_place;

/* The times that determine when a rank's stream reaches a round or a kernel of messages:
 * when its host enqueued the call, and the events since the previous call. */
typedef struct zbl_ahead {
  double posted, mark[ZBL_AHEAD_MARKS];
  int8_t marks; /* number of events; −1 if only the rank's process knows when the stream arrives */
  uint8_t come;
} zbl_ahead;

/* The ranks' calls with the same sequence number of a communicator. The last rank to arrive decides
 * when the round ends and, if all calls agree, computes its result. If the calls differ, the round
 * never ends, as in the real library. The process of each rank reads the end and the result from
 * here. */
typedef struct zbl_round {
  zbl_ref clique, next;
  zbl_ref before; /* the previous round, until this round has ended; see ahead.c */
  uint64_t seq;
  uint64_t number; /* number among all launches of the communicator, from 0 */
  zbl_call call;
  zbl_turn at; /* determines the round's random numbers */
  uint64_t draws;
  double bytes, start, end; /* start: when the last rank arrived */
  int posted, ready;
  int mismatch, ran; /* ran: 1 once the round has ended; never set if the calls mismatch */
  zbl_call odd;      /* the first call that differs from the earlier calls */
  int odd_rank;      /* the rank of that call, counted from 1; 0 if no call differs */
  int holders, linked; /* holders: number of pointers to the round; linked: in the clique's list */
  int moves;           /* whether the round moves data */
  int parts;           /* number of blocks to move; 0 moves everything */
  zbl_ref blocks; /* the zb_blocks that are moved */
  zbl_ref input;  /* the send buffers by rank, if other processes read them */
  zbl_ref result; /* a zbl_shared */
  int places; /* number of places: one per rank if the round moves data or one process drives all
               * ranks, else 0 */
  zbl_place place[]; /* followed by one zbl_ahead per rank if several processes drive the world */
} zbl_round;

static inline zbl_ahead *zbl_aheads(zbl_round *r) {
  return (zbl_ahead *)(void *)&r->place[r->places];
}

/* The state of a rank with respect to a call: it has nothing to do, waits in the call for
 * other ranks, was stopped before the call by a planted hang, is busy with earlier work of
 * the stream, has not called yet, has failed, has left, or was never seen. */
enum zbl_how { ZBL_IDLE, ZBL_COME, ZBL_STOPPED, ZBL_BEHIND, ZBL_NOT_CALLED, ZBL_ERROR, ZBL_LEFT, ZBL_UNSEEN };

/* The state of a rank at a time when no process was active, as noted by its own process. See
 * silence.c. */
typedef struct zbl_standing {
  uint64_t when;   /* the hub's activity count at that time */
  uint64_t calls;  /* number of collectives that the rank had called */
  zbl_ref op;      /* the round or kernel of messages of the rank's oldest unfinished call; 0 if
                    * there is none */
  int8_t message, how; /* how: an enum zbl_how with respect to that call */
} zbl_standing;

/* One rank of a clique: its device, its process, and the messages to it that are not matched
 * yet. */
typedef struct zbl_member {
  int device, slot;
  int virtual_id; /* distinguishes the ranks of one device; −1 if a device may have only one rank */
  int here; /* joined and not left */
  int async; /* asynchronous error of the rank's own handle; 0 if none */
  zbl_ref unmatched;
  uint64_t along; /* bytes that a kernel of messages now being posted sends to the rank */
  zbl_standing standing;
} zbl_member;

enum { ZBL_BELLS = 1024, ZBL_NO_VIRTUAL = -1 };

/* The state that all ranks of a communicator share. */
typedef struct zbl_clique {
  int nranks, inited, destroyed, first, last;
  double met; /* when the host of the last rank joined, on a clock that programs see */
  zb_unique_id id;
  zbl_curve curve[ZBL_COLLECTIVES]; /* a curve of 0 ranks means no model */
  zbl_ref head; /* the oldest round that not all ranks have called */
  uint64_t head_seq;
  zbl_ref newest; /* the latest round, as long as it exists */
  zbl_bell whole; /* rung when all ranks have joined */
  zbl_bell bell[ZBL_BELLS]; /* rung when a round has ended; a round's bell is chosen by its
                             * number */
  int async; /* asynchronous error of all ranks, after a process was lost */
  int growing; /* number of ranks that have not yet joined `grown`, the larger communicator */
  zb_unique_id grown;
  int users; /* number of handles that exist, or that a stream still uses */
  int slot;   /* the process that drives all ranks; −1: several processes */
  zbl_ref splits; /* splits whose result not all ranks have joined; see split.c */
  zbl_ref next;
  zbl_member member[];
} zbl_clique;

/* One rank's handle. The fields that a launch touches come first, within one cache line. */
typedef struct zbl_comm {
  uint32_t magic;
  int rank, device;
  int16_t aborted, pending; /* pending: joins in progress; see later.c */
  uint64_t seq; /* calls launched so far */
  uint64_t epoch, launch; /* launches in the case with number epoch */
  zbl_clique *clique;
  zbl_lane *lane;  /* the host's clock */
  zbl_round *last; /* the latest round that the rank has called */
  uint64_t messages; /* launches that were messages */
  uint64_t made;     /* launches since the communicator was made */
  struct zbl_comm *next, *joined; /* joined: the next communicator that was joined in the same
                                   * group */
  struct zbl_operator *operators; /* operators that the client has made; see operator.c */
  struct zbl_split *split; /* the split that this communicator comes from, until all ranks have
                            * called the split */
  struct zbl_comm *from;   /* the communicator that was split; its state includes the present
                            * join */
  void **out;              /* the client's variable for the handle */
  double came, met; /* came: when the rank's host joined; met: when the host saw the last rank
                     * join */
  uint64_t splits;         /* number of splits of this communicator */
  int nonblocking, finalized;
  int policy; /* the communicator's NCCL_CTA_POLICY_* */
  struct zbl_registration *windows; /* symmetric windows */
  size_t queued; /* messages in the group being launched */
  size_t ops;    /* operations in streams */
} zbl_comm;

/* One call, in a group or alone. */
typedef struct zbl_queued {
  zbl_comm *comm;
  zbl_stream *stream;
  zbl_call call;
  const char *send;
  char *recv;
  int peer; /* peer of a send or receive; −1 for other calls */
  int sends;
  uint64_t scalar;
} zbl_queued;

zbl_comm *zbl_comm_of(void *handle);
int zbl_coll_version(void);
zbl_turn zbl_round_number(const zbl_comm *c);
zbl_turn zbl_message_number(const zbl_comm *c);
uint64_t zbl_comm_launch(zbl_comm *c, int message);
void zbl_leave_clique(zbl_clique *q, int rank);
unsigned zbl_width(int dtype);
int zbl_failing(int code, const char *why, ...) __attribute__((format(printf, 2, 3)));
void zbl_enter_clique(zbl_comm *c, zbl_clique *q, int rank, int virtual_id);
zbl_clique *zbl_clique_for(const zb_unique_id *id, int nranks);
zbl_comm *zbl_new_comm(void);
void zbl_retire_comms(void);
void zbl_free_rounds(zbl_clique *q);
void zbl_free_unmatched(zbl_ref *at);

/* A call that may be refused. `name` is without "nccl"; `comm` is NULL if the call has no
 * communicator. */
typedef struct zbl_caller {
  const char *name;
  const zbl_comm *comm;
} zbl_caller;

int zbl_refuse_call(const zbl_caller *a, int code, const char *why, ...)
    __attribute__((format(printf, 3, 4), cold));

/* Returns an error of the collectives library from the function if `when` is true. */
#define ZBL_FAIL(when, ...)                                                    \
  do {                                                                         \
    if (when) {                                                                \
      return zbl_failing(__VA_ARGS__);                                         \
    }                                                                          \
  } while (0)
#define ZBL_REFUSE_CALL(when, ...)                                             \
  do {                                                                         \
    if (when) {                                                                \
      return zbl_refuse_call(__VA_ARGS__);                                     \
    }                                                                          \
  } while (0)


/* derive.c */
void zbl_find_curves(zbl_clique *q);
const zbl_curve *zbl_curve_of(const zbl_clique *q, int collective);
void zbl_took_model(int collective, int ranks);
void zbl_tell_modelled(void);

/* window.c */
int zbl_run_by(const zbl_comm *c, int collective, const void *send, const void *recv);
void zbl_write_tuning(const zbl_comm *c, const zbl_call *call);

/* split.c */
int zbl_split_rank(zbl_comm *c, int color, int key, int nonblocking, void **out);
void zbl_split_without(zbl_comm *c, const int *ranks, int n);
int zbl_split_done(zbl_comm *child);
void zbl_split_settle(zbl_comm *child);

/* later.c */
void zbl_advance_joins(void);
int zbl_has_joins(void);
void zbl_join_later(zbl_comm *c);
void zbl_forget_joins(const zbl_comm *of);
void zbl_drop_joins(void);
int zbl_in_progress(zbl_comm *c);
int zbl_progress_of(zbl_comm *c);

/* operator.c */
int zbl_operator_ok(zbl_comm *c, int op, int dtype, int32_t *is, uint64_t *scalar);
void zbl_free_operators(zbl_comm *c);

/* comm.c */
void zbl_end_kernels(zbl_comm *c);
int zbl_join_rank(void **comm, int nranks, zb_unique_id id, int rank, int blocking,
                  int virtual_id);

/* group.c */
int zbl_group_depth(void);
zbl_queued *zbl_next_queued(void);
int zbl_enqueue(const zbl_queued *q);
int zbl_group_note_init(zbl_comm *c);
int zbl_group_refuse(int code);
int zbl_group_mixes(int nonblocking);
void zbl_group_reset(void);

/* graph.c */
int zbl_record(const zbl_queued *q, size_t n);

/* coll.c and p2p.c; `host` is the host's cost of the launch, in seconds */
int zbl_launch_now(const zbl_queued *q, size_t n);
int zbl_post(const zbl_queued *q, double host);

/* Reports whether this process drives all ranks. No other process then reads their data. */
static inline int zbl_has_all(const zbl_clique *q) { return q->slot == zbl.slot; }

double zbl_total_bytes(const zbl_call *c, int ranks);
double zbl_leaves(const zbl_round *r, int i, int device);
double zbl_took(const zbl_clique *q, const zbl_call *call, double bytes, zbl_turn at);

/* whole.c */
size_t zbl_launch_whole(const zbl_queued *calls, size_t n);

/* ahead.c */
void zbl_bring(zbl_round *r);
void zbl_look_ahead(zbl_round *r, zbl_op *op, zbl_stream *s);
double zbl_comes_at(double s, const zbl_ahead *a);
int zbl_straight(const zbl_stream *s, const void *before);
zbl_ahead zbl_way_of(const zbl_stream *s, double posted);
void zbl_catch_up(zbl_stream *s);

/* p2p.c */
int zbl_p2p_post(const zbl_queued *q, size_t n, double host);

/* clock.c */
extern _Thread_local const zb_block *zbl_moved;
extern _Thread_local int zbl_parts;

/* data.c */
void zbl_publish(zbl_round *r, int rank, zbl_stream *s);
void zbl_move(zbl_round *r);
void zbl_take_result(const zbl_round *r, int rank, zbl_stream *s);
void zbl_free_data(zbl_round *r);
void zbl_deliver(int fault, zbl_stream *s, char *to, zbl_shared *whole, uint64_t offset,
                 uint64_t bytes, unsigned width, uint64_t first, uint64_t all);
zbl_ref zbl_message(int fault, zbl_stream *from, const char *send, uint64_t bytes, int own);

#endif
