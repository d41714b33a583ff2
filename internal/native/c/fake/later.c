/* Non-blocking inits, splits and finalisations of communicators. The caller continues at once,
 * and ncclCommGetAsyncError returns ncclInProgress until they are done. Inside a group they
 * begin at the group's end (ROCm/rccl at rocm-6.2.2, src/group.cc, ncclGroupEndInternal). */
#include "comm.h"

/* This process's joins in progress, the newest first. */
static zbl_comm *zbl_under_way;

/* Returns the communicator whose state includes a join. For a split it is the communicator that
 * was split. */
static zbl_comm *zbl_asked(const zbl_comm *c) { return c->from != NULL ? c->from : (zbl_comm *)c; }

/* Reports whether all ranks of the communicator have joined. */
static int zbl_joined_now(zbl_comm *c) {
  if (c->split != NULL && zbl_split_done(c)) {
    zbl_split_settle(c);
  }
  return c->split == NULL && c->clique->inited == c->clique->nranks;
}

/* Completes all joins that can complete. A completed split may let other joins of this
 * process complete, so the loop then runs again. */
void zbl_advance_joins(void) {
  int again = 1;
  while (again) {
    again = 0;
    for (zbl_comm **at = &zbl_under_way; *at != NULL;) {
      zbl_comm *c = *at;
      int split = c->split != NULL, whole = zbl_joined_now(c);
      again |= split && c->split == NULL;
      if (!whole) {
        at = &c->joined;
        continue;
      }
      *at = c->joined;
      zbl_asked(c)->pending--;
      zbl_asked(c)->met = zbl_later(zbl_asked(c)->met, c->clique->met);
      if (c->out != NULL) {
        *c->out = c;
      }
    }
  }
}

int zbl_has_joins(void) { return zbl_under_way != NULL; }

/* Lets a join continue in the background. The thread that drives the process's streams completes
 * the join, unless a query of the communicator's state completes it first. */
void zbl_join_later(zbl_comm *c) {
  c->joined = zbl_under_way;
  zbl_under_way = c;
  zbl_asked(c)->pending++;
  zbl_ring(&zbl.nudge);
}

/* Drops the joins of a communicator that is being freed. */
void zbl_forget_joins(const zbl_comm *of) {
  for (zbl_comm **at = &zbl_under_way; *at != NULL;) {
    zbl_comm *c = *at;
    if (c == of || zbl_asked(c) == of) {
      *at = c->joined;
    } else {
      at = &c->joined;
    }
  }
}

void zbl_drop_joins(void) { zbl_under_way = NULL; }

/* Reports whether all calls of the communicator are done. The host then knows that they are
 * done. */
static int zbl_finished(const zbl_comm *c) {
  for (zbl_stream *s = zbl_streams; s != NULL;) {
    if (s->device != c->device || s->error != 0 || zbl_waited(s)) {
      s = s->all;
    } else if (zbl_decided(s)) { /* the list of streams may have changed meanwhile */
      s = zbl_streams;
    } else {
      return 0;
    }
  }
  return 1;
}

/* Reports whether a call of the communicator's host is still in progress. */
int zbl_in_progress(zbl_comm *c) {
  if (c->pending > 0) {
    zbl_advance_joins();
  }
  if (c->pending > 0) {
    return 1;
  }
  zbl_host_meets(c->met);
  return c->nonblocking && c->finalized && !zbl_finished(c);
}

/* Returns the communicator's state in the form that its calls return. */
int zbl_progress_of(zbl_comm *c) { return zbl_in_progress(c) ? ZB_COLL_IN_PROGRESS : 0; }
