/* Explains a hang. When no rank makes progress any more, this code tells the program's user which
 * ranks wait for which. Each process notes the state of its ranks in the arena, and one process
 * prints the explanation for all. */
#include "comm.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Seconds without progress on the host's clock. After zbl_still, ranks note their state. After
 * zbl_still_told, the hang is explained. If NCCL_DEBUG asks for warnings and all ranks have
 * joined, it is explained after zbl_still_warned. Each further process adds zbl_still_slot,
 * because it looks ZBL_LOOK_SLOT_MS (drive.c) later. */
static const double zbl_still = 0.25, zbl_still_warned = 1, zbl_still_told = 5, zbl_still_slot = 0.005;

enum { ZBL_TOLD_LINES = 24, ZBL_TOLD_LIST = 120 };

/* Returns the state of the communicator's rank: its oldest unfinished call, and why that call has
 * not ended. */
static zbl_standing zbl_standing_of(const zbl_comm *c) {
  zbl_standing at = {.when = zbl.hub->activity, .calls = c->seq, .how = ZBL_IDLE};
  for (const zbl_stream *s = zbl_streams; s != NULL; s = s->all) {
    for (const zbl_op *op = s->head; op != NULL; op = op->next) {
      const zbl_round *r = op->data;
      int message = op->kind == &zbl_p2ps;
      if (op->comm != c || (at.op != 0 && (message || at.message || ((zbl_round *)zbl_at(at.op))->seq < r->seq))) {
        continue;
      }
      at.op = zbl_ref_of(r);
      at.message = (int8_t)message;
      at.how = op != s->head ? ZBL_BEHIND : op->stuck ? ZBL_STOPPED : ZBL_COME;
    }
  }
  return at;
}

static void zbl_note_standings(void) {
  for (const zbl_comm *c = zbl_comms; c != NULL; c = c->next) {
    if (c->clique != NULL && c->clique->member[c->rank].standing.when != zbl.hub->activity) {
      c->clique->member[c->rank].standing = zbl_standing_of(c);
    }
  }
}

static int zbl_told_lines; /* number of lines printed in the current explanation */

/* Prints one line, unless ZBL_TOLD_LINES lines have been printed. */
static void zbl_tell_line(const char *what, ...) __attribute__((format(printf, 1, 2)));
static void zbl_tell_line(const char *what, ...) {
  char text[512];
  va_list values;
  va_start(values, what);
  vsnprintf(text, sizeof text, what, values);
  va_end(values);
  if (zbl_told_lines++ < ZBL_TOLD_LINES) {
    fprintf(stderr, "zbench loopback: %s\n", text);
  } else if (zbl_told_lines == ZBL_TOLD_LINES + 1) {
    fprintf(stderr, "zbench loopback: … (there is more)\n");
  }
}

/* Returns the state of a rank (enum zbl_how) with respect to round r. If r is NULL, the state says
 * whether the rank has joined. */
static int zbl_stands(const zbl_clique *q, int i, const zbl_round *r) {
  const zbl_member *m = &q->member[i];
  const zbl_standing *at = &m->standing;
  if (!m->here) {
    return ZBL_LEFT;
  }
  if (r == NULL) {
    return ZBL_COME;
  }
  if (at->when != zbl.hub->activity) {
    return ZBL_UNSEEN;
  }
  if (m->async != 0) {
    return ZBL_ERROR;
  }
  if (at->op == zbl_ref_of(r)) {
    return at->how;
  }
  return at->calls <= r->seq ? ZBL_NOT_CALLED : at->op == 0 ? ZBL_IDLE : ZBL_BEHIND;
}

/* Writes a list of the ranks that are in state `how` with respect to a round, such as "3" or "0-2,
 * 5". Returns their number. */
static int zbl_ranks_that(char list[ZBL_TOLD_LIST], const zbl_clique *q, const zbl_round *r, int how) {
  int n = 0;
  size_t at = 0;
  list[0] = '\0';
  for (int i = 0, from = -1; i <= q->nranks; i++) {
    int in = i < q->nranks && zbl_stands(q, i, r) == how;
    n += in;
    if (in && from < 0) {
      from = i;
    } else if (!in && from >= 0) {
      if (at < ZBL_TOLD_LIST - 32) {
        at += (size_t)snprintf(list + at, ZBL_TOLD_LIST - at, from == i - 1 ? "%s%d" : "%s%d-%d", at > 0 ? ", " : "", from, i - 1);
      } else if (list[at - 1] != '.') {
        at += (size_t)snprintf(list + at, ZBL_TOLD_LIST - at, ", ...");
      }
      from = -1;
    }
  }
  return n;
}

/* Returns the plural ending of "rank". */
static const char *zbl_s(int n) { return n == 1 ? "" : "s"; }

/* The reasons why other ranks wait: a rank's state with respect to their call, and the words for
 * it. */
static const struct {
  int how;
  const char *words;
} zbl_keepers[] = {
    {ZBL_NOT_CALLED, "not called it"},
    {ZBL_STOPPED, "called it, and stopped ahead of it: a planted hang"},
    {ZBL_BEHIND, "called it, but other work is before it on the stream"},
    {ZBL_ERROR, "an asynchronous error, which ncclCommGetAsyncError tells"},
    {ZBL_LEFT, "left the communicator"},
    {ZBL_UNSEEN, "not been heard of"},
};

/* Writes a call with its arguments. */
static void zbl_call_text(char text[ZBL_TOLD_LIST], const zbl_call *c, int ranks) {
  const zbl_shape *shape = &zbl_shapes[c->collective];
  int n = snprintf(text, ZBL_TOLD_LIST, "%s of %.0f bytes (count %" PRIu64 ", type %d", shape->name,
                   zbl_total_bytes(c, ranks), c->count, c->dtype);
  if (shape->reduces) {
    n += snprintf(text + n, ZBL_TOLD_LIST - (size_t)n, ", operator %d", c->op);
  }
  if (shape->root_only != ZBL_NEITHER || c->root != 0) {
    n += snprintf(text + n, ZBL_TOLD_LIST - (size_t)n, ", root %d", c->root);
  }
  snprintf(text + n, ZBL_TOLD_LIST - (size_t)n, ")");
}

/* Explains the oldest collective of a communicator in which ranks wait. */
static void zbl_tell_round(const zbl_clique *q, const zbl_round *r) {
  char call[ZBL_TOLD_LIST], list[ZBL_TOLD_LIST];
  int n = zbl_ranks_that(list, q, r, ZBL_COME);
  zbl_call_text(call, &r->call, q->nranks);
  zbl_tell_line("communicator of %d ranks, GPUs %d-%d, call %" PRIu64 ", %s: rank%s %s wait%s", q->nranks, q->first,
                q->last, r->seq + 1, call, zbl_s(n), n > 0 ? list : "-", n == 1 ? "s" : "");
  if (r->odd_rank > 0) {
    zbl_call_text(call, &r->odd, q->nranks);
    zbl_tell_line("  for ever: rank %d calls %s", r->odd_rank - 1, call);
  }
  for (size_t k = 0; k < sizeof zbl_keepers / sizeof *zbl_keepers; k++) {
    n = zbl_ranks_that(list, q, r, zbl_keepers[k].how);
    if (n > 0) {
      zbl_tell_line("  for rank%s %s, which ha%s %s", zbl_s(n), list, n == 1 ? "s" : "ve", zbl_keepers[k].words);
    }
  }
}

/* Explains which messages a rank's kernel waits for. */
static void zbl_tell_messages(const zbl_clique *q, int rank) {
  const zbl_standing *at = &q->member[rank].standing;
  const zbl_kernel_p2p *k = zbl_at(at->op);
  if (at->how == ZBL_STOPPED) {
    zbl_tell_line("communicator of %d ranks, GPUs %d-%d: rank %d has stopped ahead of its messages: a planted hang", q->nranks,
                  q->first, q->last, rank);
    return;
  }
  for (size_t i = 0; at->how == ZBL_COME && i < k->n; i++) {
    const zbl_transfer *t = zbl_at(k->transfers[i]);
    int sends = zbl_at(t->sender) == k, other = sends ? t->to : t->from;
    zbl_ref end = sends ? t->receiver : t->sender;
    if (t->ran) {
      continue;
    }
    zbl_tell_line("communicator of %d ranks, GPUs %d-%d: rank %d waits to %s %" PRIu64 " bytes %s rank %d, which %s", q->nranks,
                  q->first, q->last, rank, sends ? "send" : "receive", sends ? t->sent : t->expected,
                  sends ? "to" : "from", other,
                  end == 0                   ? sends ? "has not called ncclRecv for it" : "has not called ncclSend for it"
                  : t->sent != t->expected   ? "has another number of bytes"
                                             : "has called, but has not come to it");
  }
}

/* Reports whether ranks of a communicator have yet to join. Their processes start at different
 * times. */
static int zbl_gathers(const zbl_clique *q) { return q->inited < q->nranks && q->destroyed == 0; }

static int zbl_any_gathers(void) {
  const zbl_clique *q = zbl_at(zbl.hub->cliques);
  while (q != NULL && !zbl_gathers(q)) {
    q = zbl_at(q->next);
  }
  return q != NULL;
}

/* Explains one communicator. */
static void zbl_tell_clique(const zbl_clique *q) {
  char here[ZBL_TOLD_LIST], list[ZBL_TOLD_LIST];
  const zbl_round *oldest = NULL;
  if (zbl_gathers(q)) {
    int n = zbl_ranks_that(here, q, NULL, ZBL_COME), left = zbl_ranks_that(list, q, NULL, ZBL_LEFT);
    zbl_tell_line("communicator of %d ranks: rank%s %s wait%s in ncclCommInitRank for rank%s %s, which ha%s not called it",
                  q->nranks, zbl_s(n), here, n == 1 ? "s" : "", zbl_s(left), list, left == 1 ? "s" : "ve");
    return;
  }
  for (int i = 0; i < q->nranks; i++) {
    const zbl_standing *at = &q->member[i].standing;
    if (!q->member[i].here || at->when != zbl.hub->activity || at->op == 0) {
      continue;
    }
    if (at->message) {
      zbl_tell_messages(q, i);
    } else if (oldest == NULL || ((zbl_round *)zbl_at(at->op))->seq < oldest->seq) {
      oldest = zbl_at(at->op);
    }
  }
  if (oldest != NULL) {
    zbl_tell_round(q, oldest);
  }
}

/* Returns how many seconds without progress pass before the explanation. The number is smaller
 * if a planted hang makes time pass faster (stall_rate). */
static double zbl_patience(void) {
  double told = zbl.stall_rate > 1 ? zbl_still_told / zbl.stall_rate : zbl_still_told;
  int slots = 0;
  while (zbl.shared_fd >= 0 && slots < ZBL_MAX_PROCESSES && zbl.hub->slots[slots]) {
    slots++;
  }
  return zbl_later(zbl.warns && !zbl_any_gathers() ? 0 : told, zbl_still_warned + slots * zbl_still_slot);
}

/* Prints that a planted fault keeps this call of the rank from returning. */
void zbl_tell_stall(int call, int rank) {
  static const char *const calls[] = {"", "a call of the runtime", "ncclCommInitRank", "ncclCommAbort"};
  if (zbl.explains) {
    zbl_sleep_exactly(zbl_patience());
    fprintf(stderr, "zbench loopback: GPU %d does not return from %s: a planted fault\n", rank, calls[call]);
  }
}

/* Notes the states of ranks, and later explains the hang. A waiting process calls it when it has
 * seen no activity. */
void zbl_look_at_silence(void) {
  zbl_hub *hub = zbl.hub;
  double now;
  if (!zbl.explains) {
    return;
  }
  now = zbl_wall_now();
  if (hub->silent != hub->activity || hub->silent_since == 0) { /* silent_since is 0 at the first
                                                                 * look */
    hub->silent = hub->activity;
    hub->silent_since = now;
    hub->silence_told = 0;
  }
  if (now - hub->silent_since < zbl_still || hub->silence_told) {
    return;
  }
  zbl_note_standings();
  if (now - hub->silent_since >= zbl_patience()) {
    hub->silence_told = 1;
    zbl_told_lines = 0;
    for (const zbl_clique *q = zbl_at(hub->cliques); q != NULL; q = zbl_at(q->next)) {
      zbl_tell_clique(q);
    }
  }
}
