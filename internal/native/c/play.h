/* The steps of a trainer; see play.c. */
#ifndef ZB_PLAY_H
#define ZB_PLAY_H

#include "loop.h"
#include "timer.h"

/* What an operation of a step does on each rank. */
enum {
  ZB_PLAY_SPIN = 0,   /* computation for the given number of nanoseconds */
  ZB_PLAY_LAUNCH = 1, /* the message is sent when computation has come here */
  ZB_PLAY_WAIT = 2,   /* computation waits for the message's end */
  ZB_PLAY_WORK = 3,   /* computation of the given number of launches of the step's work */
  ZB_PLAY_FOLLOW = 4  /* the lane of message `by` waits for the message's end */
};

typedef struct zb_play_op {
  int32_t kind, message, by, launches;
  uint64_t ns;
} zb_play_op;

/* A collective call and its buffers: bytes from the rank's base, plus a share per rank number,
 * because in place a rank's share is a part of the whole buffer. */
typedef struct zb_play_message {
  zb_work work;
  int32_t lane; /* index of the batch's lane */
  uint64_t send, recv, send_share, recv_share;
} zb_play_message;

/* A step: operations in the order of computation. All arrays are in C memory. */
typedef struct zb_play {
  int32_t nops, nmessages;
  zb_play_op *op;
  zb_play_message *message;
  void **compute; /* each local rank's computation stream; the batch's lanes are for messages */
  char **base;    /* each local rank's buffers */
  zb_step *work;  /* each local rank's; NULL if no operation is work */
  void **ready, **done; /* events, [message × nlocal + rank]; done NULL: nothing waits for it */
  /* the messages, or the computations, that the ranks' events surround */
  int32_t computing, first, watched;
} zb_play;

void zb_play_steps(zb_batch *b, const zb_play *p, int32_t steps, double *seconds);
void zb_play_watched(zb_batch *b, const zb_play *p, double *seconds);

#endif
