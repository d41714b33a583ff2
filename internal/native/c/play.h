/* The steps of a trainer; see play.c. */
#ifndef ZB_PLAY_H
#define ZB_PLAY_H

#include "loop.h"
#include "timer.h"

/* The kinds of operations in a step. Each rank runs every operation. */
enum {
  ZB_PLAY_SPIN = 0,   /* computation for the given number of nanoseconds */
  ZB_PLAY_LAUNCH = 1, /* computation has reached the place where the message is launched */
  ZB_PLAY_WAIT = 2,   /* computation waits for the message's end */
  ZB_PLAY_WORK = 3,   /* computation of the given number of launches of the step's work */
  ZB_PLAY_FOLLOW = 4  /* the lane of message `by` waits for the message's end */
};

typedef struct zb_play_op {
  int32_t kind, message, by, launches;
  uint64_t ns;
} zb_play_op;

/* A collective call with its buffers, in bytes from the rank's base. A share per rank is added,
 * because in an in-place call a rank's share is a part of the whole buffer. */
typedef struct zb_play_message {
  zb_work work;
  int32_t lane; /* index of the batch's lane */
  uint64_t send, recv, send_share, recv_share;
} zb_play_message;

/* A step: its operations in the order of computation. All arrays are in C memory. */
typedef struct zb_play {
  int32_t nops, nmessages;
  zb_play_op *op;
  zb_play_message *message;
  void **compute; /* computation stream of each local rank; the batch's lanes are for messages */
  char **base;    /* the buffers of each local rank */
  zb_step *work;  /* the work of each local rank; NULL if no operation is work */
  void **ready, **done; /* events, [message × nlocal + rank]; done is NULL if nothing waits for the
                         * message */
  /* the messages or computations that events surround; `computing` is 1 for computations */
  int32_t computing, first, watched;
} zb_play;

void zb_play_steps(zb_batch *b, const zb_play *p, int32_t steps, double *seconds);
void zb_play_watched(zb_batch *b, const zb_play *p, double *seconds);

#endif
