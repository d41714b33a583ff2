/* One verification launch. It fills every send buffer, poisons every receive buffer, runs the
 * collective once, and checks every element of every result on the device. It is not timed. On
 * the loopback, a case that is too large for the host's memory is verified in parts. */
#include "loop.h"

#include <stdlib.h>
#include <string.h>

enum { ZB_BLOCK = 256 };

/* Returns enough blocks to fill a GPU, but no more than the work needs. */
static unsigned zb_grid(uint64_t bytes) {
  uint64_t blocks = 1 + bytes / 16384;
  return blocks < 1024 ? (unsigned)blocks : 1024;
}

static int zb_kernel_on(zb_batch *b, int i, void *stream, void *function, unsigned grid,
                        unsigned block, void **params, const char *call) {
  int code = b->table->setDevice(b->ranks[i].device);
  if (code == 0) {
    code = b->table->launchKernel(function, grid, 1, 1, block, 1, 1, 0, stream,
                                  params, NULL);
  }
  return code == 0 ? 0 : zb_fail(b, ZB_BATCH_RUNTIME, code, i, call);
}

static int zb_kernel(zb_batch *b, int i, void *function, unsigned grid,
                     unsigned block, void **params, const char *call) {
  return zb_kernel_on(b, i, b->ranks[i].stream, function, grid, block, params, call);
}

/* Sets every word of a buffer to the pattern. */
static int zb_pattern(zb_batch *b, int i, char *to, uint64_t bytes, uint32_t pattern) {
  void *poison[] = {&to, &bytes, &pattern};
  return bytes > 0 && zb_kernel(b, i, b->ranks[i].kernels->poison, zb_grid(bytes),
                                ZB_BLOCK, poison, "launch poison");
}

/* Launches the kernel that writes the input of a rank. */
static int zb_fill_on(zb_batch *b, const zb_verify_args *v, int i, void *on) {
  const zb_expect *e = &v->expect[i];
  zb_rank *r = &b->ranks[i];
  uint64_t count = e->fill_count, seed = v->seed, base = e->fill_base;
  char *send = r->send + e->send_at;
  int32_t kind = e->kind, rank = r->rank, nranks = r->nranks;
  void *fill[] = {&send, &count, &b->work.dtype, &b->work.op, &kind,
                  &rank,    &nranks, &base,         &seed};
  return count > 0 && zb_kernel_on(b, i, on, r->kernels->fill, zb_grid(count), ZB_BLOCK,
                                   fill, "launch fill");
}

/* Writes a rank's input and copies it to the host; the verification later copies it back from
 * there. */
static int zb_take(zb_batch *b, const zb_verify_args *v, int i) {
  const zb_expect *e = &v->expect[i];
  zb_rank *r = &b->ranks[i];
  int code = ZB_ERR_MEMORY;
  if (e->send_bytes == 0) {
    return 0;
  }
  if (zb_fill_on(b, v, i, r->stream)) {
    return 1;
  }
  r->data = malloc(e->send_bytes);
  if (r->data != NULL) {
    code = b->table->copyAsync(r->data, r->send + e->send_at, e->send_bytes, ZB_TO_HOST, r->stream);
  }
  return code == 0 ? 0 : zb_fail(b, ZB_BATCH_RUNTIME, code, i, "copy to the host");
}

/* Makes a rank's stream wait for a point on another stream. */
static int zb_behind(zb_batch *b, int i, void *event, void *other) {
  int code = b->table->eventRecord(event, other);
  return code != 0 ? code : b->table->streamWaitEvent(b->ranks[i].stream, event, 0);
}

/* Fills the input of a rank's launch, by a kernel or by a copy from the host. If another stream
 * fills the input, the rank's own stream waits for an event on that stream. */
static int zb_fill_send(zb_batch *b, const zb_verify_args *v, int i) {
  const zb_expect *e = &v->expect[i];
  zb_rank *r = &b->ranks[i];
  void *on = r->filled_on != NULL ? r->filled_on : r->stream, *event = r->stop[1];
  int code = 0;
  if (r->data == NULL && zb_fill_on(b, v, i, on)) {
    return 1;
  }
  if (r->data != NULL) {
    code = b->table->setDevice(r->device);
    if (code == 0) {
      code = b->table->copyAsync(r->send + e->send_at, r->data, e->send_bytes, ZB_TO_DEVICE, on);
    }
  }
  if (code == 0 && on != r->stream) {
    code = zb_behind(b, i, event, on);
  }
  return code == 0 ? 0 : zb_fail(b, ZB_BATCH_RUNTIME, code, i, "wait for the fill");
}

/* Poisons the output and then fills the input, in this order, because the input of an in-place call
 * is a part of the output. */
static int zb_prepare(zb_batch *b, const zb_verify_args *v, int i) {
  const zb_expect *e = &v->expect[i];
  zb_rank *r = &b->ranks[i];
  if (zb_pattern(b, i, r->recv + e->recv_at, e->recv_bytes, ZB_POISON)) {
    return 1;
  }
  if (b->work.from_host && zb_take(b, v, i)) {
    return 1;
  }
  return b->work.at_once ? zb_pattern(b, i, r->send + e->send_at, e->send_bytes, ZB_BEFORE)
                         : zb_fill_send(b, v, i);
}

/* Launches the check of one rank's result, or the explanation of one of its elements. */
static int zb_check(zb_batch *b, const zb_verify_args *v, int i,
                    const uint64_t *index) {
  const zb_expect *e = &v->expect[i];
  zb_rank *r = &b->ranks[i];
  uint64_t count = e->check_count, block = e->block, base = e->base;
  uint64_t seed = v->seed, at = index != NULL ? *index : 0;
  int32_t kind = e->kind, nranks = r->nranks, src0 = e->src0;
  int32_t step = e->src_step;
  char *recv = r->recv + e->recv_at;
  void *check[] = {&recv, &count, &b->work.dtype, &b->work.op, &kind,
                   &nranks,  &block, &src0,          &step,       &base,
                   &seed,    &r->found};
  void *explain[] = {&recv, &count, &b->work.dtype, &b->work.op, &kind,
                     &nranks,  &block, &src0,          &step,       &base,
                     &seed,    &at,    &r->found};
  if (index != NULL) {
    return zb_kernel(b, i, r->kernels->explain, 1, 1, explain, "launch explain");
  }
  return zb_kernel(b, i, r->kernels->check, zb_grid(count), ZB_BLOCK, check,
                   "launch check");
}

/* Clears a rank's counters on its stream. A host copy outside of the stream may return before the
 * data have arrived, and the check would not wait for them. */
static int zb_clear(zb_batch *b, const zb_verify_args *v, int i) {
  const uint64_t clear[4] = {0, UINT64_MAX, 0, 0};
  const zb_rank *r = &b->ranks[i];
  int code = b->table->setDevice(r->device);
  memcpy(&v->found[4 * i], clear, sizeof clear); /* v->found must keep these values until the
                                                  * wait */
  if (code == 0) {
    code = b->table->copyAsync(r->found, &v->found[4 * i], sizeof clear,
                               ZB_TO_DEVICE, r->stream);
  }
  return code == 0 ? 0 : zb_fail(b, ZB_BATCH_RUNTIME, code, i, "clear counters");
}

/* Reads the findings of a check. Call it after the wait. */
static int zb_found(zb_batch *b, const zb_verify_args *v, int i) {
  const zb_rank *r = &b->ranks[i];
  int code = b->table->setDevice(r->device);
  if (code == 0) {
    code = b->table->copy(&v->found[4 * i], r->found, 4 * sizeof *v->found,
                          ZB_TO_HOST);
  }
  return code == 0 ? 0 : zb_fail(b, ZB_BATCH_RUNTIME, code, i, "copy");
}

/* Clears the counters and launches the checks of all ranks that have a result. */
static int zb_check_all(zb_batch *b, const zb_verify_args *v) {
  for (int i = 0; i < b->nlocal; i++) {
    if ((v->parts == 1 || v->expect[i].check_count > 0) &&
        (zb_clear(b, v, i) ||
         (v->expect[i].check_count > 0 && zb_check(b, v, i, NULL)))) {
      return 1;
    }
  }
  return zb_wait(b);
}

/* Launches, for each rank with a wrong element, the kernel that returns the expected value of its
 * first wrong element. */
static int zb_explain_all(zb_batch *b, const zb_verify_args *v) {
  int asked = 0;
  for (int i = 0; i < b->nlocal; i++) {
    if (v->expect[i].check_count > 0 && zb_found(b, v, i)) {
      return 1;
    }
    if (v->found[4 * i] > 0) {
      uint64_t first = v->found[4 * i + 1];
      asked = 1;
      if (zb_check(b, v, i, &first)) {
        return 1;
      }
    }
  }
  if (!asked || zb_wait(b)) {
    return asked;
  }
  for (int i = 0; i < b->nlocal; i++) {
    if (v->found[4 * i] > 0 && zb_found(b, v, i)) {
      return 1;
    }
  }
  return 0;
}

/* Launches the graph of the collective, after capturing it on the first call. */
static int zb_replay_one(zb_batch *b) {
  b->replays = 1;
  if (b->nlocal > 0 && b->ranks[0].exec == NULL) {
    b->slot = 0;
    if (zb_capture(b)) {
      return 1;
    }
  }
  return zb_replay(b);
}

/* Runs the verified launch, with its marks. A short launch is done at the first poll, so
 * cancellation is checked here: the wait alone would never see it. */
static int zb_launch_one(zb_batch *b) {
  if (zb_cancelled(b)) {
    return zb_fail(b, ZB_BATCH_CANCELLED, 0, 0, "launch");
  }
  b->marked = 1;
  if (zb_mark(b, 0, 0) || (b->work.captured ? zb_replay_one(b) : zb_launch_all(b, &b->work, 0))) {
    return 1;
  }
  b->launched = 1;
  return zb_mark(b, 0, 1);
}

/* Starts each rank's load. */
static int zb_load(zb_batch *b) {
  const zb_step *load = b->work.load;
  for (int i = 0; i < b->nlocal && load != NULL; i++) {
    int code = b->table->setDevice(b->ranks[i].device);
    if (code == 0) {
      code = zb_step_launch(b->table, &load[i], b->work.load_on[i]);
    }
    if (code != 0) {
      return zb_fail(b, load[i].vendor != NULL ? ZB_BATCH_VENDOR : ZB_BATCH_RUNTIME, code, i,
                     "launch the load");
    }
  }
  return 0;
}

/* Makes each rank's stream wait for the end of its load, so that waiting for the stream is waiting
 * for both. */
static int zb_load_ends(zb_batch *b) {
  for (int i = 0; i < b->nlocal && b->work.load != NULL; i++) {
    int code = b->table->setDevice(b->ranks[i].device);
    if (code == 0) {
      code = zb_behind(b, i, b->ranks[i].stop[2], b->work.load_on[i]);
    }
    if (code != 0) {
      return zb_fail(b, ZB_BATCH_RUNTIME, code, i, "wait for the load");
    }
  }
  return 0;
}

/* Returns the arguments of one part. */
static zb_verify_args zb_part(const zb_batch *b, const zb_verify_args *v, int part) {
  zb_verify_args one = *v;
  one.expect += (size_t)part * (size_t)b->nlocal;
  one.found += 4 * (size_t)part * (size_t)b->nlocal;
  return one;
}

static int zb_prepare_all(zb_batch *b, const zb_verify_args *v) {
  for (int part = 0; part < v->parts; part++) {
    zb_verify_args one = zb_part(b, v, part);
    for (int i = 0; i < b->nlocal; i++) {
      if (zb_prepare(b, &one, i)) {
        return 1;
      }
    }
  }
  if (zb_wait(b) || zb_load(b)) {
    return 1;
  }
  for (int i = 0; i < b->nlocal && b->work.at_once; i++) {
    if (zb_fill_send(b, v, i)) {
      return 1;
    }
  }
  return 0;
}

/* Tells the loopback whether this batch's launches move data, and which parts. This must
 * precede the fill: if another driver of this process ended in between, the filled data would
 * be discarded. */
static void zb_moves(const zb_batch *b, const zb_verify_args *v, int on) {
  if (b->table->moveBlocks != NULL && v->blocks != NULL) {
    b->table->moveBlocks(on ? v->blocks : NULL, on ? v->parts : 0);
  }
  if (b->table->moveData != NULL) {
    b->table->moveData(on);
  }
}

void zb_verify(zb_batch *b, const zb_verify_args *v) {
  b->iterations = 1;
  if (zb_begin(b)) {
    return;
  }
  zb_moves(b, v, 1);
  if (!zb_prepare_all(b, v) && !zb_launch_one(b) && !zb_load_ends(b) && !zb_wait(b)) {
    for (int part = 0; part < v->parts; part++) {
      zb_verify_args one = zb_part(b, v, part);
      if (zb_check_all(b, &one) || zb_explain_all(b, &one)) {
        break;
      }
    }
  }
  for (int i = 0; i < b->nlocal && b->work.from_host && b->outcome == 0; i++) { /* after a failure,
                                                                                 * a copy may still
                                                                                 * read the
                                                                                 * memory */
    free(b->ranks[i].data);
    b->ranks[i].data = NULL;
  }
  zb_moves(b, v, 0);
}
