/* The timed loops and the table of collectives; see launch.c, loop.c, graph.c,
 * isolated.c and verify.c. */
#ifndef ZB_LOOP_H
#define ZB_LOOP_H

#include "abi.h"
#include "timer.h"

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

/* How far a local rank got in the last batch, as evidence of a hang. */
enum {
  ZB_RANK_NOT_ENQUEUED = 0,
  ZB_RANK_ENQUEUED = 1, /* everything is launched, but not everything is done */
  ZB_RANK_FINISHED = 2
};

/* The kernels of a device; NULL for kernels that the device lacks. */
typedef struct zb_kernels {
  void *delay, *fill, *poison, *check, *explain;
} zb_kernels;

/* ZB_POISON fills a receive buffer before a verification's launch, so that data that were never
 * written are found. ZB_BEFORE fills a send buffer whose launch follows its filling at once, so
 * that stale data are found. */
#define ZB_POISON 0xdeadbeefu
#define ZB_BEFORE 0xfeedf00du

/* One local rank with its device, stream and buffers. */
typedef struct zb_rank {
  int32_t device, rank, nranks; /* the rank's number in its communicator of nranks ranks */
  int32_t to, from;             /* peers in ZB_EXCHANGE; −1 for none */
  void *comm, *stream;
  void *filled_on; /* stream on which a verification fills the buffers; NULL: the rank's own */
  char *data;      /* data that a verification copies from the host; NULL if a kernel writes the
                    * data */
  char *send, *recv;            /* buffers of slot 0 */
  char *sync;                   /* 8 bytes for aligning: 4 to send, 4 to receive */
  uint64_t *found;              /* 4 words on the device for a check */
  void **start, **stop;         /* events, one pair per iteration */
  int32_t capturing;
  void *graph, *exec;           /* graph of a replayed burst, otherwise NULL */
  const zb_kernels *kernels;    /* kernels of the rank's device, NULL for none */
} zb_rank;

/* The number, in place of a collective's, for messages between peers. */
enum { ZB_EXCHANGE = -1 };

/* The work of a launch. */
typedef struct zb_work {
  int32_t collective, dtype, op, root;
  uint64_t count;
  uint64_t send_stride, recv_stride; /* bytes from slot to slot */
  uint64_t slots;                    /* number of slots of the buffers, which launches use in
                                      * turn */
  const uint64_t *places; /* where each rank's data begins, and where the last rank's data ends,
                           * in elements; or NULL */
  int32_t at_once; /* a verification launches without a host wait after filling the buffers */
  int32_t from_host; /* the data of an at_once launch come by a copy from the host */
  int32_t captured;  /* verification launches replay a graph, which the first of them captures */
  const zb_step *load; /* for each rank, a launch that runs beside a verification's; or NULL */
  void **load_on;      /* the streams of the loads */
} zb_work;

/* A batch of launches on all local ranks. All arrays are in C memory. */
typedef struct zb_batch {
  const zb_table *table;
  int32_t nlocal;
  zb_rank *ranks; /* ranks of the lane in use: the first lane, except within a step's message */
  zb_rank **lane; /* the ranks of each lane, with a communicator and stream per lane */
  int32_t nlanes;
  zb_work work;
  uint64_t slot; /* slot of the next launch; rotates on from batch to batch */
  int32_t iterations;
  int32_t aggregate; /* bursts only: launches in one group; 0 or 1 for no group */
  int32_t blocking;  /* bursts only: after each launch or group 1 waits and meets all hosts, 2 waits */
  int32_t nonblocking; /* whether the communicators are non-blocking */
  int32_t replays; /* bursts only: replays of a graph of the iterations; 0 for no graph */
  double deadline_s;
  uint64_t delay_ns; /* how long the delay kernel holds the streams, in nanoseconds */
  int32_t marked;    /* whether events mark every launch */
  int32_t apart;     /* whether other processes hold ranks of the world */
  int32_t cancel;    /* set by another thread to stop the batch; read atomically */
  /* results, by local rank */
  int64_t *start_ns;
  double *seconds; /* of a burst: per launch; isolated: [iteration × nlocal + rank] */
  uint8_t *state;
  int32_t *started, *ended, *async; /* filled in by zb_progress */
  double enqueue_s; /* time to launch on the slowest rank's host, in seconds */
  int32_t held;     /* isolated only: whether the streams were held for that long */
  int32_t launched;
  int32_t outcome, code, rank;
  const char *call;
} zb_batch;

/* The data that a rank fills before a verification launch, and the data that it must find
 * afterwards. */
typedef struct zb_expect {
  uint64_t fill_count, check_count; /* number of elements to fill and to check; 0 for none */
  uint64_t recv_bytes;              /* bytes to poison before the fill */
  uint64_t send_bytes;              /* bytes that the fill writes; poisoned first if the launch
                                     * follows at once */
  uint64_t block, base;
  uint64_t fill_base;          /* index of the first element that is filled */
  uint64_t send_at, recv_at;   /* where the data are in the buffers, in bytes */
  int32_t kind, src0, src_step;
} zb_expect;

/* A verification and its findings for each local rank: the number of wrong elements, the index of
 * the first wrong element, and that element's expected and actual value. */
typedef struct zb_verify_args {
  const zb_expect *expect; /* [parts × nlocal] */
  uint64_t seed;
  uint64_t *found; /* [4 × parts × nlocal] */
  const zb_block *blocks; /* the parts; NULL if there is only one part */
  int32_t parts;
} zb_verify_args;

/* Reports whether a call of the collectives library failed. A call on a non-blocking communicator
 * may continue. */
static inline int zb_refused(int code) { return code != 0 && code != ZB_COLL_IN_PROGRESS; }

int zb_collective_count(void);
const char *zb_collective_name(int i);
int zb_launch_all(zb_batch *b, const zb_work *w, uint64_t slot);
int zb_grouped(zb_batch *b, int grouped, int (*each)(zb_batch *b, const void *what),
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
int64_t zb_monotonic(void);

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
