/* The timed loops and the table of collectives; see launch.c, loop.c, graph.c,
 * isolated.c and verify.c. */
#ifndef ZB_LOOP_H
#define ZB_LOOP_H

#include "abi.h"

/* How a batch ended. */
enum {
  ZB_BATCH_OK = 0,
  ZB_BATCH_RUNTIME = 1,     /* a runtime call failed */
  ZB_BATCH_COLLECTIVES = 2, /* a collectives call failed */
  ZB_BATCH_DEADLINE = 3,    /* a rank was not done in time */
  ZB_BATCH_CANCELLED = 4,
  ZB_BATCH_ASYNC = 5, /* the communicator reported an error */
  ZB_BATCH_VENDOR = 6 /* a vendor's matrix product was not launched */
};

/* How far a local rank got in the last batch: evidence of a hang. */
enum {
  ZB_RANK_NOT_ENQUEUED = 0,
  ZB_RANK_ENQUEUED = 1, /* everything is launched, but not all of it is done */
  ZB_RANK_FINISHED = 2
};

/* The kernels of a device; NULL if it has none. */
typedef struct zb_kernels {
  void *delay, *fill, *poison, *check, *explain;
} zb_kernels;

/* The content of a receive buffer before a verification's launch, and of a send buffer before it
 * is filled if the launch follows at once. It reveals data that were never written or are stale.
 */
#define ZB_POISON 0xdeadbeefu
#define ZB_BEFORE 0xfeedf00du

/* One local rank: its device, its stream and its buffers. */
typedef struct zb_rank {
  int32_t device, rank, nranks; /* its rank in its communicator of nranks */
  int32_t to, from;             /* of ZB_EXCHANGE: its peers; −1 for none */
  void *comm, *stream;
  void *filled_on; /* the stream that a verification fills on; NULL: its own */
  char *data;      /* what a verification copies there from the host; NULL: a kernel writes it */
  char *send, *recv;            /* of slot 0 */
  char *sync;                   /* 8 bytes for aligning: 4 to send, 4 to receive */
  uint64_t *found;              /* 4 words on the device for a check */
  void **start, **stop;         /* events, one pair per iteration */
  int32_t capturing;
  void *graph, *exec;           /* of a replayed burst, otherwise NULL */
  const zb_kernels *kernels;    /* of its device, NULL for none */
} zb_rank;

/* Stands for a collective's number: messages between each rank's peers. */
enum { ZB_EXCHANGE = -1 };

/* What to launch. */
typedef struct zb_work {
  int32_t collective, dtype, op, root;
  uint64_t count;
  uint64_t send_stride, recv_stride; /* bytes from slot to slot */
  uint64_t slots;                    /* number of slots over which buffers rotate */
  const uint64_t *places; /* where each rank's data begins, in elements, then the end of the last; or NULL */
  int32_t at_once; /* a verification launches without the host waiting for the fill */
  int32_t from_host; /* and the data come by a copy from the host */
} zb_work;

/* A batch of launches on all local ranks. All arrays are in C memory. */
typedef struct zb_batch {
  const zb_table *table;
  int32_t nlocal;
  zb_rank *ranks; /* of the lane in use: the first, except within a step's message */
  zb_rank **lane; /* by lane, each with its own communicator and stream */
  int32_t nlanes;
  zb_work work;
  uint64_t slot; /* of the next launch; it continues from batch to batch */
  int32_t iterations;
  int32_t replays; /* burst: replays of a graph of the iterations; 0: no graph */
  double deadline_s;
  uint64_t delay_ns; /* how long the delay kernel holds the streams back */
  int32_t marked;    /* events mark every launch */
  int32_t apart;     /* other processes hold ranks of the world */
  int32_t cancel;    /* set by another thread to stop; read atomically */
  /* out, by local rank */
  int64_t *start_ns;
  double *seconds; /* burst: per launch. isolated: [iteration × nlocal + rank] */
  uint8_t *state;
  int32_t *started, *ended, *async; /* by zb_progress */
  double enqueue_s; /* the slowest rank host's time to launch */
  int32_t held;     /* isolated: the streams were held back until then */
  int32_t launched;
  int32_t outcome, code, rank;
  const char *call;
} zb_batch;

/* The expected result of a rank after a verification launch. */
typedef struct zb_expect {
  uint64_t fill_count, check_count; /* elements to fill and to check; 0: none */
  uint64_t recv_bytes;              /* to poison before the fill */
  uint64_t send_bytes;              /* written by the fill; to poison if the launch follows at once */
  uint64_t block, base;
  uint64_t fill_base;          /* index of the first element that is filled */
  uint64_t send_at, recv_at;   /* where in its buffers, in bytes */
  int32_t kind, src0, src_step;
} zb_expect;

/* A verification, and its findings by local rank: the number of wrong elements, the first of
 * them, its expected and its actual value. */
typedef struct zb_verify_args {
  const zb_expect *expect; /* [parts × nlocal] */
  uint64_t seed;
  uint64_t *found; /* [4 × parts × nlocal] */
  const zb_block *blocks; /* the parts; NULL if there is only one */
  int32_t parts;
} zb_verify_args;

int zb_collective_count(void);
const char *zb_collective_name(int i);
int zb_launch_all(zb_batch *b, const zb_work *w, uint64_t slot);
int zb_grouped(zb_batch *b, int (*each)(zb_batch *b, const void *what),
               const void *what);
int zb_launches(zb_batch *b);
int zb_capture(zb_batch *b);
int zb_replay(zb_batch *b);
void zb_drop_graphs(zb_batch *b);
int zb_wait(zb_batch *b);
int zb_begin(zb_batch *b);
int zb_fail(zb_batch *b, int outcome, int code, int rank, const char *call);
int zb_mark(zb_batch *b, int k, int stop);
int zb_align(zb_batch *b);
int64_t zb_now(const zb_table *t);

void zb_burst(zb_batch *b);
void zb_bursts(zb_batch *b, int32_t count, double *seconds);
void zb_warm_up(zb_batch *b);
void zb_progress(zb_batch *b);
void zb_isolated(zb_batch *b);
void zb_event_floor(zb_batch *b);
void zb_verify(zb_batch *b, const zb_verify_args *v);
void zb_cancel(zb_batch *b);
int zb_cancelled(zb_batch *b);

#endif
