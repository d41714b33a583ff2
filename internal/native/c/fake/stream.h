/* Streams: queues of operations on the virtual clock; see stream.c. */
#ifndef ZBL_STREAM_H
#define ZBL_STREAM_H

#include "world.h"

struct zbl_stream;
struct zbl_op;

/* One kind of operation. `run` is called when an operation is the first of its stream. It returns 1
 * if the operation is done and has moved the stream's clock, or 0 if the operation waits for other
 * ranks. Those ranks end it with zbl_finish; if the kind has a `done` function, they call
 * zbl_drain_later instead, and `done` returns the same as `run`. `release` frees the data; it is
 * NULL if there is nothing to free. `bell` returns the bell that is rung when the other ranks have
 * done their part; NULL stands for the general bell, which every decision rings. */
typedef struct zbl_kind {
  int (*run)(struct zbl_op *op, struct zbl_stream *s);
  int (*done)(struct zbl_op *op, struct zbl_stream *s);
  void (*release)(struct zbl_op *op);
  zbl_bell *(*bell)(const struct zbl_op *op);
  int mark; /* 1 for an event */
} zbl_kind;

/* One operation in a stream. It fits in one cache line. */
typedef struct zbl_op {
  const zbl_kind *kind;
  void *data;
  struct zbl_comm *comm; /* the communicator of a kernel of RCCL; NULL for other work */
  struct zbl_op *next;
  double posted; /* time at which the host enqueued the operation */
  int rank;
  uint8_t started, stuck; /* stuck: a planted hang stops the GPU before the operation */
  uint8_t ahead; /* the stream reaches the operation without its process; see ahead.c */
} zbl_op;

/* A result that is decided but not visible yet. The buffer holds poison until a wait, or a later
 * kernel on the stream, has proved the operation done. */
typedef struct zbl_result {
  char *to;
  const char *from;
  size_t bytes;
  struct zbl_shared *owner;
  struct zbl_result *next;
} zbl_result;

/* Bytes of a result that several ranks read. They lie in the arena. */
typedef struct zbl_shared {
  int users;
  _Alignas(16) char bytes[]; /* aligned for any element type */
} zbl_shared;

enum { ZBL_AHEAD_MARKS = 2 };

/* A stream. Its clock s is the time at which all work so far is done, counted from the beginning
 * of the case with number `epoch`. The fields that a launch touches come first, within one cache
 * line. */
typedef struct zbl_stream {
  uint32_t magic;
  int device;
  int error; /* error of a launch; it is kept until the stream is destroyed, as on a GPU */
  int hosts; /* number of hosts that wait for the stream */
  uint8_t queued_to_drain, looked;
  uint8_t forked; /* the stream joined another stream's capture and has not been joined back */
  uint8_t blocking; /* the stream and the null stream wait for each other */
  int8_t priority;
  uint8_t marked;   /* number of events since `before`; `mark` has their posting times */
  double s;
  uint64_t epoch;
  zbl_lane *lane; /* the host's clock */
  zbl_op *head;
  struct zbl_graph *capture; /* the graph that records the launches; NULL if the stream does not
                              * capture */
  zbl_op *spare; /* finished operations, kept for reuse */
  zbl_op *tail; /* the last operation if there are at least two */
  zbl_result *results, *results_tail;
  struct zbl_stream *all; /* next in the list of all streams */
  const void *before; /* the round or kernel of messages that was enqueued last; NULL after other
                       * work */
  struct zbl_comm *on; /* the round's communicator; NULL for a kernel of messages */
  double mark[ZBL_AHEAD_MARKS];
} zbl_stream;

extern zbl_stream *zbl_streams;

/* Returns the time at which an operation can begin: the stream has reached it and the host has
 * enqueued it. */
static inline double zbl_arrival(const zbl_op *op, const zbl_stream *s) {
  return zbl_later(op->posted, s->s);
}

/* Reports whether the stream runs new work at once: it does not capture, has no pending work,
 * and need not wait for the null stream. */
static inline int zbl_idle(const zbl_stream *s) {
  return s->head == NULL && s->capture == NULL &&
         !(s->blocking && zbl.devices[s->device].null != NULL);
}

/* Reports whether a collective that was called before a kernel still runs on the device. The time
 * that the kernel loses to the collective is then unknown. */
static inline int zbl_undecided(int device, uint64_t behind) {
  return zbl.faults.beside > 0 && zbl.devices[device].left < behind;
}

zbl_stream *zbl_stream_of(void *handle);
zbl_stream *zbl_stream_on(void *handle, int device);
zbl_stream *zbl_new_stream(int device, int blocking);

/* op.c */
zbl_op *zbl_new_op(zbl_stream *s, const zbl_kind *kind, void *data,
                   double posted);
int zbl_put_copied(zbl_stream *s, const zbl_kind *kind, const void *data, size_t bytes);
void zbl_free_copied(zbl_op *op);
void zbl_give_ops(zbl_stream *s);
void zbl_free_ops(void);

/* stream.c */
void zbl_note_mark(zbl_stream *s, double posted);
void zbl_push(zbl_stream *s, zbl_op *op);
void zbl_put(zbl_stream *s, zbl_op *op);
int zbl_waited(zbl_stream *s);
void zbl_finish(zbl_stream *s, double at);
void zbl_drain_later(zbl_stream *s);
void zbl_settle(void);
void zbl_rouse(void);
void zbl_call_driver(const zbl_stream *s);
void zbl_drive(void);
int zbl_decided(zbl_stream *s);
int zbl_wait_for(zbl_stream *s);
void zbl_renew(zbl_stream *s);
void zbl_look(zbl_stream *s);
int zbl_refused_by_capture(zbl_stream *s);

/* graph.c: puts the work on the stream, or records it if the stream captures */
int zbl_do(zbl_stream *s, int (*put)(const void *what, zbl_stream *s),
           const void *what, size_t bytes);

uint64_t zbl_capture_of(const zbl_stream *s);
int zbl_join_capture(zbl_stream *s, uint64_t capture, zbl_stream *on);
/* ahead.c */
zbl_bell *zbl_bell_of(const zbl_stream *s);
zbl_bell *zbl_next_bell(const zbl_stream *s);
int zbl_unattended(const zbl_stream *but);

/* result.c */
void zbl_unshare(zbl_shared *owner);
void zbl_promise(zbl_stream *s, char *to, zbl_shared *owner, size_t offset,
                 size_t bytes);
void zbl_reveal(zbl_stream *s);
void zbl_forget(zbl_stream *s);
void zbl_poison(char *to, size_t bytes);
const char *zbl_source(zbl_stream *s, const char *from, size_t bytes);

/* comm.c */
int zbl_aborted(const struct zbl_comm *c);
int zbl_failed(const struct zbl_comm *c);

/* null.c */
zbl_stream *zbl_null_stream(int device);
void zbl_in_order(zbl_stream *s);

#endif
