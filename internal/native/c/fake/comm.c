/* Communicators: joining by rank, and destruction. */
#include "comm.h"

#include <stdlib.h>
#include <string.h>

enum {
  ZBL_COMM = 0x636f6d6d,
  ZBL_COMM_BYTES = (sizeof(zbl_comm) + 63) / 64 * 64 /* rounded up to whole cache lines */
};

static zbl_comm *zbl_comms;
/* zbl_dead lists destroyed communicators. zbl_retired lists destroyed communicators that no
 * stream uses any more. The handles of both are refused until a new communicator reuses the
 * memory. */
static zbl_comm *zbl_dead, *zbl_retired;

/* Returns the communicator behind a handle; NULL if the handle is invalid. */
zbl_comm *zbl_comm_of(void *handle) {
  zbl_comm *c = handle;
  return c != NULL && zbl.hub != NULL && c->magic == ZBL_COMM && c->clique != NULL ? c : NULL;
}

void zbl_unlock_taken(const int *held) {
  if (*held) {
    zbl_unlock(held);
  }
}

/* Returns the library's version in NCCL's encoding. RCCL of ROCm 7.14 reports 2.30.4 (its
 * CHANGELOG). A machine file may set another version. */
int zbl_coll_version(void) { return zbl.coll_version > 0 ? zbl.coll_version : 23004; }

static int zbl_collGetVersion(int *version) {
  if (version == NULL) {
    return ZB_COLL_ARGUMENT;
  }
  *version = zbl_coll_version();
  return 0;
}

/* Reports whether the rank or its device has already joined. NCCL allows one rank per device
 * unless NCCL_MULTI_RANK_GPU_ENABLE is set. Ranks with virtual ids may share a device (ROCm/rccl
 * at rocm-5.7.0, src/init.cc, initTransportsRank). */
static int zbl_joined(const zbl_clique *q, int rank, int device, int virtual_id) {
  for (int i = 0; i < q->nranks && q->inited > 0; i++) {
    const zbl_member *m = &q->member[i];
    int twice = virtual_id == ZBL_NO_VIRTUAL ? !zbl.multi_rank : m->virtual_id == virtual_id;
    if (m->here && (i == rank || (m->device == device && twice))) {
      return 1;
    }
  }
  return 0;
}

/* Retires destroyed communicators that no stream uses any more. */
void zbl_retire_comms(void) {
  for (zbl_comm **at = &zbl_dead; *at != NULL;) {
    zbl_comm *c = *at;
    if (c->ops > 0) {
      at = &c->next;
      continue;
    }
    *at = c->next;
    c->clique->users--;
    zbl_free_operators(c);
    c->next = zbl_retired;
    zbl_retired = c;
  }
}

/* Returns a handle that belongs to no communicator yet. */
zbl_comm *zbl_new_comm(void) {
  zbl_comm *c = zbl_retired;
  if (c != NULL) {
    zbl_retired = c->next;
  } else {
    c = aligned_alloc(64, ZBL_COMM_BYTES);
  }
  if (c != NULL) {
    *c = (zbl_comm){.magic = ZBL_COMM, .device = zbl_current_device(),
                    .next = zbl_comms};
    c->lane = zbl_lane_of(c->device);
    c->came = zbl_host_comes();
    zbl_comms = c;
  }
  return c;
}

/* Makes the handle's rank join the clique. */
void zbl_enter_clique(zbl_comm *c, zbl_clique *q, int rank, int virtual_id) {
  c->clique = q;
  c->rank = rank;
  q->member[rank] = (zbl_member){
      .device = c->device, .slot = zbl.slot, .virtual_id = virtual_id, .here = 1};
  q->slot = q->inited == 0 || q->slot == zbl.slot ? zbl.slot : -1;
  q->met = zbl_later(q->met, c->came);
  q->users++;
  zbl.seats[c->device].comms++;
  zbl.hub->missing = 0;
  q->first = c->device < q->first ? c->device : q->first;
  q->last = c->device > q->last ? c->device : q->last;
  if (++q->inited == q->nranks) {
    zbl_find_curves(q);
    zbl_ring(&q->whole);
    zbl_progress();
  }
}

static const char zbl_mixed[] = "one init or split of the group blocks, another does not";

/* Lets a rank join a communicator. If one process drives all ranks, an init outside a group would
 * wait for its peers for ever, so it is refused. Otherwise the end of the group waits for the
 * peers; without a group this call waits. */
int zbl_join_rank(void **comm, int nranks, zb_unique_id id, int rank, int blocking,
                  int virtual_id) {
  static const zbl_caller asked = {"commInitRank", NULL};
  zbl_clique *q;
  zbl_comm *c;
  zbl_stalled(ZBL_STALL_INIT, zbl_current_device());
  ZBL_ENTER;
  ZBL_REFUSE_CALL(comm == NULL || rank < 0 || rank >= nranks,
                  &asked, ZB_COLL_ARGUMENT, "rank %d of %d, or nowhere to put the communicator",
                  rank, nranks);
  ZBL_FAIL(nranks > 1 && zbl_group_depth() == 0 && !zbl.several && blocking,
           ZB_COLL_USAGE, "ncclCommInitRank: one thread drives all ranks, outside of a group");
  q = zbl_clique_for(&id, nranks);
  ZBL_REFUSE_CALL(q == NULL,
                  &asked, ZB_COLL_ARGUMENT,
                  "rank %d of %d: the id is none, is used up or has another number of ranks",
                  rank, nranks);
  ZBL_REFUSE_CALL(zbl_group_mixes(!blocking), &asked, ZB_COLL_ARGUMENT, "%s", zbl_mixed);
  ZBL_REFUSE_CALL(zbl_joined(q, rank, zbl_current_device(), virtual_id),
                  &asked, ZB_COLL_USAGE, "rank %d of %d: the rank has joined, or its GPU %d has",
                  rank, nranks, zbl_current_device() - zbl.first);
  c = zbl_new_comm();
  ZBL_REFUSE_CALL(c == NULL, &asked, ZB_COLL_UNHANDLED, "out of memory");
  c->nonblocking = !blocking;
  zbl_enter_clique(c, q, rank, virtual_id);
  *comm = c;
  return zbl_group_note_init(c);
}

static int zbl_commInitRank(void **comm, int nranks, zb_unique_id id, int rank) {
  return zbl_join_rank(comm, nranks, id, rank, 1, ZBL_NO_VIRTUAL);
}

/* Returns the number of the rank's next launch within the case. */
uint64_t zbl_comm_launch(zbl_comm *c, int message) {
  uint64_t epoch = c->lane->case_epoch;
  if (c->epoch != epoch) {
    c->epoch = epoch;
    c->launch = c->messages = 0;
  }
  if (message) {
    c->messages++;
  }
  c->made++;
  return c->launch++;
}

/* Returns the number that determines the noise of the last launch. It does not depend on the order
 * of the ranks' calls. The number of a message contains the sender's rank, as if the ranks had
 * called in turn. */
zbl_turn zbl_round_number(const zbl_comm *c) {
  uint64_t ranks = (uint64_t)c->clique->nranks;
  return (zbl_turn){c->lane->case_key,
                      c->launch - 1 + c->messages * (ranks - 1)};
}

zbl_turn zbl_message_number(const zbl_comm *c) {
  zbl_turn at = zbl_round_number(c);
  at.launch += (uint64_t)c->rank + 1 - (uint64_t)c->clique->nranks;
  return at;
}

/* Removes a rank from its communicator. */
void zbl_leave_clique(zbl_clique *q, int rank) {
  zbl_member *m = &q->member[rank];
  m->here = 0;
  zbl.seats[m->device].comms--;
  __atomic_store_n(&q->destroyed, q->destroyed + 1, __ATOMIC_RELAXED);
  if (zbl.several) {
    zbl_check_barrier();
  }
}

/* Destroys a communicator. NULL is no error, as in RCCL (ROCm/rccl, src/init.cc,
 * ncclCommDestroy_impl and ncclCommAbort_impl). */
static int zbl_commDestroy(void *comm) {
  zbl_comm *c = zbl_comm_of(comm);
  ZBL_ENTER;
  if (c == NULL) {
    return comm == NULL ? 0 : ZB_COLL_ARGUMENT;
  }
  for (zbl_comm **at = &zbl_comms; *at != NULL; at = &(*at)->next) {
    if (*at == c) {
      *at = c->next;
      break;
    }
  }
  c->magic = 0;
  zbl_forget_joins(c);
  zbl_leave_clique(c->clique, c->rank);
  zbl_free_operators(c);
  c->next = zbl_dead;
  zbl_dead = c;
  return 0;
}

int zbl_aborted(const struct zbl_comm *c) { return c != NULL && c->aborted; }

/* Ends the communicator's kernels that have begun. */
void zbl_end_kernels(zbl_comm *c) {
  c->aborted = 1;
  for (zbl_stream *s = zbl_streams; s != NULL; s = s->all) {
    if (s->head != NULL && s->head->started && s->head->comm == c) {
      zbl_finish(s, c->lane->h);
    }
  }
  zbl_settle();
  zbl_alarm();
}

/* Aborts a communicator. Its kernels that have begun end now, and later work in their streams
 * continues (nccl.h.in). A planted hang is in the GPU, in front of a kernel, and stays. */
static int zbl_commAbort(void *comm) {
  zbl_comm *c = zbl_comm_of(comm);
  int code;
  zbl_stalled(ZBL_STALL_ABORT, c != NULL ? c->device : -1);
  ZBL_ENTER;
  code = zbl_commDestroy(comm);
  if (code != 0 || c == NULL) {
    return code;
  }
  zbl_end_kernels(c);
  return 0;
}

/* Wakes every waiting thread after an event that is not the end of a round. */
void zbl_alarm(void) {
  zbl_progress();
  zbl_ring(&zbl.hub->met);
  for (zbl_clique *q = zbl_at(zbl.hub->cliques); q != NULL; q = zbl_at(q->next)) {
    zbl_ring(&q->whole);
    for (int i = 0; i < ZBL_BELLS; i++) {
      zbl_ring(&q->bell[i]);
    }
  }
}

/* Returns the asynchronous error of a rank's handle; 0 if there is none, or no communicator. A
 * handle has only the error that its own process has met; the other ranks keep waiting (NCCL,
 * src/init.cc, ncclCommGetAsyncError; src/proxy.cc, ncclProxyProgress). */
int zbl_failed(const struct zbl_comm *c) {
  const zbl_clique *q = c != NULL ? c->clique : NULL;
  return q == NULL          ? 0
         : zbl.hub->broken  ? ZB_COLL_REMOTE
         : q->async != 0    ? q->async
                            : q->member[c->rank].async;
}

static int zbl_commGetAsyncError(void *comm, int *error) {
  zbl_comm *c = zbl_comm_of(comm);
  ZBL_ENTER;
  if (c == NULL || error == NULL) {
    return ZB_COLL_ARGUMENT;
  }
  *error = zbl_failed(c);
  if (*error == 0 && c->nonblocking) {
    *error = zbl_progress_of(c);
  }
  return 0;
}

static void zbl_free_list(zbl_comm **list) {
  while (*list != NULL) {
    zbl_comm *c = *list;
    *list = c->next;
    zbl_free_operators(c);
    free(c);
  }
}

void zbl_free_comms(void) {
  zbl_group_reset();
  zbl_capture_reset();
  for (zbl_comm *c = zbl_comms; c != NULL; c = c->next) {
    if (c->clique != NULL) {
      zbl_leave_clique(c->clique, c->rank);
    }
  }
  zbl_drop_joins();
  zbl_free_list(&zbl_comms);
  zbl_free_list(&zbl_dead);
  zbl_free_list(&zbl_retired);
}
