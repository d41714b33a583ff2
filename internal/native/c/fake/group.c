/* Groups. The calls between a group's start and end are launched at the end. */
#include "comm.h"

#include <stdlib.h>

/* How often the end of a group looks for a lost peer, in milliseconds. */
enum { ZBL_JOIN_MS = 500 };

/* As in NCCL, each thread has its own group. */
static _Thread_local int zbl_depth;
static _Thread_local zbl_queued *zbl_queue;
static _Thread_local size_t zbl_queue_len, zbl_queue_cap;
static _Thread_local zbl_comm *zbl_joining; /* the communicators that are joined in this group */
static _Thread_local int zbl_refused; /* the error of a refused call in this group, else 0 */

int zbl_group_depth(void) { return zbl_depth; }

/* Frees the queue when its thread ends. */
static pthread_key_t zbl_queue_key;
static pthread_once_t zbl_queue_once = PTHREAD_ONCE_INIT;

static void zbl_make_queue_key(void) { pthread_key_create(&zbl_queue_key, free); }

/* Reports whether a join returns without waiting. For a split, the parent's setting decides. */
static int zbl_waits_not(const zbl_comm *c) {
  return c->from != NULL ? c->from->nonblocking : c->nonblocking;
}

/* Waits a moment for ranks that have not joined yet. Returns an error if they can no longer
 * join. */
static int zbl_wait_for_peers(zbl_bell *bell, int async) {
  if (!zbl.several) {
    return ZB_COLL_USAGE;
  }
  if (async != 0 || zbl.hub->broken) {
    return ZB_COLL_REMOTE;
  }
  zbl_await(bell, ZBL_JOIN_MS);
  return 0;
}

/* Reports whether this call would mix blocking and non-blocking inits or splits in the group
 * (ROCm/rccl at rocm-6.2.2, src/group.cc, ncclAsyncLaunch). */
int zbl_group_mixes(int nonblocking) {
  return zbl_joining != NULL && zbl_waits_not(zbl_joining) != nonblocking;
}

/* Lets the group's non-blocking joins continue in the background. */
static int zbl_leave_joined(void) {
  while (zbl_joining != NULL) {
    zbl_comm *c = zbl_joining;
    zbl_joining = c->joined;
    zbl_join_later(c);
  }
  return ZB_COLL_IN_PROGRESS;
}

/* Waits for the peers of the group's joins. A process that drives the world alone does not wait,
 * because no other process could bring the missing ranks. */
static int zbl_wait_joined(void) {
  int result = 0;
  if (zbl_joining != NULL && zbl_waits_not(zbl_joining)) {
    return zbl_leave_joined();
  }
  for (zbl_comm *c = zbl_joining; c != NULL && result == 0; c = c->joined) {
    while (c->split != NULL && !zbl_split_done(c) && result == 0) {
      result = zbl_wait_for_peers(&zbl.hub->any, 0);
    }
    if (result == 0 && c->split != NULL) {
      zbl_split_settle(c);
    }
  }
  for (; zbl_joining != NULL; zbl_joining = zbl_joining->joined) {
    zbl_clique *q = zbl_joining->clique;
    while (result == 0 && q->inited < q->nranks) {
      result = zbl_wait_for_peers(&q->whole, q->async);
    }
    if (result == 0) {
      zbl_host_meets(q->met);
      if (zbl_joining->out != NULL) {
        *zbl_joining->out = zbl_joining;
      }
    }
  }
  return result;
}

/* Adds a communicator to the joins whose peers the group's end waits for. */
int zbl_group_note_init(zbl_comm *c) {
  c->joined = zbl_joining;
  zbl_joining = c;
  if (zbl_depth > 0) {
    return 0;
  }
  return zbl_wait_joined() == ZB_COLL_IN_PROGRESS ? zbl_progress_of(c->from != NULL ? c->from : c) : 0;
}

/* Makes a refused call fail its group: the group neither waits for joins nor launches
 * calls (NVIDIA/nccl at v2.22.3, src/include/group.h, ncclGroupErrCheck, and
 * src/group.cc, ncclGroupEndInternal). */
int zbl_group_refuse(int code) {
  zbl_refused = zbl_depth > 0 ? code : 0;
  return code;
}

void zbl_group_reset(void) {
  if (zbl_queue != NULL) {
    pthread_setspecific(zbl_queue_key, NULL);
  }
  free(zbl_queue);
  zbl_queue = NULL;
  zbl_queue_len = zbl_queue_cap = 0;
  zbl_depth = 0;
  zbl_joining = NULL;
  zbl_refused = 0;
}

static int zbl_groupStart(void) {
  zbl_depth++;
  return 0;
}

/* Launches a collective, or n sends and receives as one kernel. A stream that captures records
 * them instead. */
int zbl_launch_now(const zbl_queued *q, size_t n) {
  double host = zbl_host_cost(q->comm->device);
  if (q->stream->capture != NULL) {
    return zbl_record(q, n);
  }
  zbl_host_enters(q->comm->lane);
  return q->peer >= 0 ? zbl_p2p_post(q, n, host) : zbl_post(q, host);
}

static int zbl_longer_queue(void) {
  size_t cap = zbl_queue_cap ? 2 * zbl_queue_cap : 64;
  zbl_queued *grown = realloc(zbl_queue, cap * sizeof *grown);
  if (grown == NULL) {
    return 0;
  }
  pthread_once(&zbl_queue_once, zbl_make_queue_key);
  pthread_setspecific(zbl_queue_key, grown);
  zbl_queue = grown;
  zbl_queue_cap = cap;
  return 1;
}

/* Returns the place for the thread's next call; NULL if there is no memory. */
zbl_queued *zbl_next_queued(void) {
  if (zbl_queue_len == zbl_queue_cap && !zbl_longer_queue()) {
    return NULL;
  }
  return &zbl_queue[zbl_queue_len];
}

static const char zbl_unpaired[] = "ncclGroupEnd: a message of a rank to itself, whose other end is not in the group";

/* Returns the result of launched calls. For a non-blocking communicator it is ncclInProgress,
 * because NCCL launches them in a thread of its own (NVIDIA/nccl at v2.22.3, src/group.cc,
 * ncclGroupEndInternal). Here they are launched already. */
static int zbl_in_time(int code, int nonblocking) {
  return code == 0 && nonblocking ? ZB_COLL_IN_PROGRESS : code;
}

/* Launches the call that was written to the place of zbl_next_queued, or keeps it if a group is
 * open. */
int zbl_enqueue(const zbl_queued *q) {
  if (zbl_depth == 0) {
    ZBL_ENTER;
    ZBL_FAIL(q->peer == q->comm->rank, ZB_COLL_USAGE, zbl_unpaired);
    return zbl_in_time(zbl_launch_now(q, 1), q->comm->nonblocking);
  }
  zbl_queue_len++;
  return 0;
}

/* Sets the message counts of all communicators in the queue to 0. */
static void zbl_count_from_0(void) {
  for (size_t i = 0; i < zbl_queue_len; i++) {
    if (zbl_queue[i].peer >= 0) {
      zbl_queue[i].comm->queued = 0;
    }
  }
}

/* Refuses a group in which a rank sends itself more or fewer messages than it receives from
 * itself (NVIDIA/nccl at v2.22.3, src/enqueue.cc, scheduleP2pTasksToPlan). */
static int zbl_check_selves(void) {
  zbl_count_from_0();
  for (size_t i = 0; i < zbl_queue_len; i++) {
    const zbl_queued *q = &zbl_queue[i];
    if (q->peer >= 0 && q->peer == q->comm->rank) {
      q->comm->queued += q->sends ? 1 : (size_t)-1; /* an excess of receives wraps around and is not
                                                     * 0 either */
    }
  }
  for (size_t i = 0; i < zbl_queue_len; i++) {
    ZBL_FAIL(zbl_queue[i].peer >= 0 && zbl_queue[i].comm->queued != 0, ZB_COLL_USAGE, zbl_unpaired);
  }
  return 0;
}

/* Refuses a group if one of its communicators was destroyed before the group's end. Nothing is
 * then launched. */
static int zbl_check_queue(void) {
  for (size_t i = 0; i < zbl_queue_len; i++) {
    ZBL_FAIL(zbl_comm_of(zbl_queue[i].comm) == NULL,
             ZB_COLL_ARGUMENT, "ncclGroupEnd: a communicator was destroyed within the group");
  }
  return 0;
}

/* Counts the messages of each communicator in the queue. */
static void zbl_count_messages(void) {
  zbl_count_from_0();
  for (size_t i = 0; i < zbl_queue_len; i++) {
    if (zbl_queue[i].peer >= 0) {
      zbl_queue[i].comm->queued++;
    }
  }
}

/* Removes from the queue the message at `at` and all later ones of the same rank and stream,
 * and launches them as one kernel. `one` has room for the whole queue. */
static int zbl_launch_messages(size_t at, zbl_queued *one) {
  zbl_comm *comm = zbl_queue[at].comm;
  const zbl_stream *stream = zbl_queue[at].stream;
  size_t n = 0;
  for (size_t i = at; i < zbl_queue_len && comm->queued > 0; i++) {
    zbl_queued *q = &zbl_queue[i];
    if (q->comm == comm && q->stream == stream && q->peer >= 0) {
      one[n++] = *q;
      q->comm = NULL;
      comm->queued--;
    }
  }
  return zbl_launch_now(one, n);
}

/* Launches all sends and receives of the queue. */
static int zbl_launch_all_messages(void) {
  int result = 0;
  zbl_queued *one = malloc(zbl_queue_len * sizeof *one);
  if (one == NULL) {
    return ZB_COLL_UNHANDLED;
  }
  zbl_count_messages();
  for (size_t i = 0; i < zbl_queue_len && result == 0; i++) {
    if (zbl_queue[i].peer >= 0 && zbl_queue[i].comm != NULL) {
      result = zbl_launch_messages(i, one);
    }
  }
  free(one);
  return result;
}

/* Launches the group: first the collectives in order, then the sends and receives. All messages
 * of a rank form one kernel, wherever they are in the group (ROCm/rccl, src/enqueue.cc,
 * ncclLaunchPrepare). */
static int zbl_launch_queue(void) {
  int result = 0, messages = 0;
  for (size_t i = 0; i < zbl_queue_len && result == 0;) {
    size_t whole = zbl_launch_whole(&zbl_queue[i], zbl_queue_len - i);
    if (zbl_queue[i].peer >= 0) {
      messages = 1;
    } else if (whole == 0) {
      result = zbl_launch_now(&zbl_queue[i], 1);
    }
    i += whole > 0 ? whole : 1;
  }
  return messages && result == 0 ? zbl_launch_all_messages() : result;
}

static int zbl_end_group(void) {
  int result;
  ZBL_ENTER;
  if ((result = zbl_refused) != 0 || (result = zbl_check_queue()) != 0 || (result = zbl_check_selves()) != 0) {
    zbl_joining = NULL;
    zbl_refused = 0;
    return result;
  }
  result = zbl_wait_joined();
  if ((result == 0 || result == ZB_COLL_IN_PROGRESS) && zbl_queue_len > 0) {
    int nonblocking = zbl_queue[0].comm->nonblocking;
    int launched = zbl_in_time(zbl_launch_queue(), nonblocking);
    result = launched != 0 ? launched : result;
  }
  return result;
}

static int zbl_groupEnd(void) {
  int result = 0;
  if (zbl_depth == 0) {
    return ZB_COLL_USAGE;
  }
  if (--zbl_depth > 0) {
    return 0;
  }
  zbl_host_calls();
  result = zbl_end_group();
  zbl_queue_len = 0;
  return result;
}
