/* Graphs. The launches of a burst are captured on every local rank's stream, and each rank's
 * graph is then replayed. The host thus pays for one launch per replay. */
#include "loop.h"

/* Ends the capture of every rank that has begun one, and keeps its graph. Captures are ended even
 * after a failure: they belong to the thread, and most of the thread's calls are refused until
 * then. */
static int zb_end_captures(zb_batch *b, int failed) {
  const zb_table *t = b->table;
  for (int i = 0; i < b->nlocal; i++) {
    zb_rank *r = &b->ranks[i];
    int code;
    if (!r->capturing) {
      continue;
    }
    r->capturing = 0;
    if ((code = t->setDevice(r->device)) == 0) {
      code = t->streamEndCapture(r->stream, &r->graph);
    }
    if (code != 0 && !failed) {
      failed = zb_fail(b, ZB_BATCH_RUNTIME, code, i, "end capture");
    }
  }
  return failed;
}

static int zb_begin_captures(zb_batch *b) {
  const zb_table *t = b->table;
  for (int i = 0; i < b->nlocal; i++) {
    zb_rank *r = &b->ranks[i];
    int code = t->setDevice(r->device);
    if (code == 0) {
      code = t->streamBeginCapture(r->stream, ZB_CAPTURE_THREAD);
    }
    if (code != 0) {
      return zb_fail(b, ZB_BATCH_RUNTIME, code, i, "begin capture");
    }
    r->capturing = 1;
  }
  return 0;
}

/* Makes a graph of the iterations for every local rank. Nothing is launched. */
int zb_capture(zb_batch *b) {
  const zb_table *t = b->table;
  int failed;
  b->outcome = ZB_BATCH_OK;
  failed = zb_begin_captures(b) || zb_launches(b);
  failed = zb_end_captures(b, failed);
  for (int i = 0; i < b->nlocal && !failed; i++) {
    zb_rank *r = &b->ranks[i];
    int code = t->setDevice(r->device);
    if (code == 0) {
      code = t->graphInstantiate(&r->exec, r->graph, 0);
    }
    if (code != 0) {
      failed = zb_fail(b, ZB_BATCH_RUNTIME, code, i, "instantiate graph");
    }
  }
  return failed;
}

/* Launches each local rank's graph `replays` times; the ranks take turns. No group is needed,
 * because a graph holds all of its rank's launches and does not wait for another launch of the
 * host. */
int zb_replay(zb_batch *b) {
  const zb_table *t = b->table;
  for (int k = 0; k < b->replays; k++) {
    if (zb_cancelled(b)) {
      return zb_fail(b, ZB_BATCH_CANCELLED, 0, 0, "launch graph");
    }
    for (int i = 0; i < b->nlocal; i++) {
      zb_rank *r = &b->ranks[i];
      int code = t->setDevice(r->device);
      if (code == 0) {
        code = t->graphLaunch(r->exec, r->stream);
      }
      if (code != 0) {
        return zb_fail(b, ZB_BATCH_RUNTIME, code, i, "launch graph");
      }
    }
    b->launched += b->iterations;
  }
  return 0;
}

/* Frees the graphs of a burst. The result of the burst is kept. */
void zb_drop_graphs(zb_batch *b) {
  const zb_table *t = b->table;
  for (int i = 0; i < b->nlocal; i++) {
    zb_rank *r = &b->ranks[i];
    if (r->exec == NULL && r->graph == NULL) {
      continue;
    }
    t->setDevice(r->device);
    if (r->exec != NULL) {
      t->graphExecDestroy(r->exec);
    }
    if (r->graph != NULL) {
      t->graphDestroy(r->graph);
    }
    r->exec = r->graph = NULL;
  }
}
