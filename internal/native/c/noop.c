/* A provider whose calls do nothing and succeed at once. A batch then takes only the driver's own
 * time, for the benchmark of enqueueing. For tests it can record every call: which function, when,
 * and on which device and stream. */
#include "noop.h"

#include <stdlib.h>
#include <string.h>

enum { ZBN_CALLS = 1 << 14, ZBN_HANDLES = 1 << 12 };

static zbn_call zbn_calls[ZBN_CALLS];
static char zbn_handles[ZBN_HANDLES];
static int zbn_made, zbn_given, zbn_device, zbn_depth;
static int64_t zbn_time, zbn_polls; /* zbn_polls: number of further polls that return "not ready" */
static const void *zbn_stalled; /* the stream whose polls zbn_polls counts, NULL for all streams */

int zbn_count(void) { return zbn_made; }

const zbn_call *zbn_at(int i) { return &zbn_calls[i]; }

void zbn_forget(void) { zbn_made = 0; }

void zbn_stall(int64_t polls) { zbn_stall_stream(NULL, polls); }

void zbn_stall_stream(const void *stream, int64_t polls) {
  zbn_stalled = stream;
  zbn_polls = polls;
}

void *zbn_handle(int i) { return &zbn_handles[i % ZBN_HANDLES]; }

static int zbn_new(void **handle) {
  *handle = zbn_handle(zbn_given++);
  return 0;
}

/* Records a call as long as there is room, because there is no limit to polling. */
static int zbn_note(zbn_call c) {
  if (zbn_made < ZBN_CALLS) {
    c.device = zbn_device;
    c.depth = zbn_depth;
    zbn_calls[zbn_made++] = c;
  }
  return 0;
}

/* Functions that do nothing and are not recorded. */

static int zbn_set(int device) {
  zbn_device = device;
  return 0;
}
static int zbn_group(void) { return 0; }
static int zbn_query(void *stream) { return stream == NULL; }
static int zbn_all_reduce(const void *send, void *recv, size_t count, int dtype,
                          int op, void *comm, void *stream) {
  (void)send, (void)recv, (void)count, (void)dtype, (void)op, (void)comm;
  return stream == NULL;
}
static int zbn_malloc(void **p, size_t bytes) {
  /* fail here for a size that no machine has, because the address sanitizer would abort */
  *p = bytes >> 40 ? NULL : calloc(1, bytes);
  return *p == NULL ? ZB_ERR_MEMORY : 0;
}
static int zbn_memory(size_t *unused, size_t *total) {
  *unused = *total = 0;
  return 0;
}
static int zbn_free(void *p) {
  free(p);
  return 0;
}
static int zbn_stream(void **stream, unsigned flags) {
  (void)flags;
  return zbn_new(stream);
}
static int zbn_unique(zb_unique_id *id) {
  memset(id, 0, sizeof *id);
  return 0;
}
static int zbn_init(void **comm, int nranks, zb_unique_id id, int rank) {
  (void)nranks, (void)id, (void)rank;
  return zbn_new(comm);
}
static int zbn_gone(void *handle) { return handle == NULL; }
static const char *zbn_error(int code) { return code == 0 ? "ok" : "error"; }
static int zbn_copy(void *to, const void *from, size_t bytes, int kind) {
  (void)kind;
  memcpy(to, from, bytes);
  return 0;
}

static int zbn_copy_async(void *to, const void *from, size_t bytes, int kind,
                          void *stream) {
  (void)stream;
  return zbn_copy(to, from, bytes, kind);
}

/* Functions that are recorded. Their depth is the depth outside of the call: a group start is
 * recorded before the depth grows, and a group end is recorded after the depth has shrunk. */

static int zbn_noted_groupStart(void) {
  zbn_note((zbn_call){.name = "group start"});
  zbn_depth++;
  return 0;
}
static int zbn_noted_groupEnd(void) {
  zbn_depth--;
  return zbn_note((zbn_call){.name = "group end"});
}
static int zbn_noted_hostBarrier(const int32_t *device, size_t stride, int n) {
  (void)device;
  (void)stride;
  (void)n;
  zbn_note((zbn_call){.name = "barrier"});
  return 1;
}
static void zbn_noted_moveData(int on) {
  zbn_note((zbn_call){.name = "move data", .count = on});
}
/* Returns a clock that advances by a microsecond with each call. */
static int64_t zbn_noted_nowNs(void) {
  zbn_time += 1000;
  zbn_note((zbn_call){.name = "now", .count = zbn_time});
  return zbn_time;
}
static int zbn_noted_streamQuery(void *stream) {
  zbn_note((zbn_call){.name = "query", .stream = stream});
  if (zbn_polls == 0 || (zbn_stalled != NULL && zbn_stalled != stream)) {
    return 0;
  }
  zbn_polls--;
  return ZB_ERR_NOT_READY;
}
static int zbn_noted_copyAsync(void *to, const void *from, size_t bytes, int kind,
                      void *stream) {
  zbn_note((zbn_call){.name = "copy", .stream = stream});
  return zbn_copy(to, from, bytes, kind);
}
static int zbn_noted_eventRecord(void *event, void *stream) {
  return zbn_note(
      (zbn_call){.name = "record", .handle = event, .stream = stream});
}
static int zbn_noted_streamWaitEvent(void *stream, void *event, unsigned flags) {
  (void)flags;
  return zbn_note((zbn_call){.name = "wait", .handle = event, .stream = stream});
}
/* Returns milliseconds that identify the two events by their numbers: 1000·start + stop. */
static int zbn_noted_eventElapsed(float *ms, void *start, void *stop) {
  *ms = (float)(1000 * ((char *)start - zbn_handles) +
                ((char *)stop - zbn_handles));
  return 0;
}
static int zbn_noted_eventQuery(void *event) {
  return zbn_note((zbn_call){.name = "event query", .handle = event});
}
static int zbn_noted_lastError(void) {
  return zbn_note((zbn_call){.name = "last error"});
}
static int zbn_noted_launchKernel(void *function, unsigned gx, unsigned gy, unsigned gz,
                        unsigned bx, unsigned by, unsigned bz, unsigned shared,
                        void *stream, void **params, void **extra) {
  (void)gx, (void)gy, (void)gz, (void)bx, (void)by, (void)bz, (void)shared;
  (void)params, (void)extra;
  return zbn_note(
      (zbn_call){.name = "kernel", .handle = function, .stream = stream});
}
static int zbn_noted_streamBeginCapture(void *stream, int mode) {
  return zbn_note((zbn_call){
      .name = "begin capture", .stream = stream, .count = mode});
}
static int zbn_noted_streamEndCapture(void *stream, void **graph) {
  zbn_new(graph);
  return zbn_note((zbn_call){
      .name = "end capture", .stream = stream, .handle = *graph});
}
static int zbn_noted_graphInstantiate(void **exec, void *graph,
                             unsigned long long flags) {
  (void)flags;
  *exec = (char *)graph + 1;
  return zbn_note((zbn_call){.name = "instantiate", .handle = graph});
}
static int zbn_noted_graphLaunch(void *exec, void *stream) {
  return zbn_note(
      (zbn_call){.name = "graph", .handle = exec, .stream = stream});
}
static int zbn_noted_graphExecDestroy(void *exec) {
  return zbn_note((zbn_call){.name = "drop exec", .handle = exec});
}
static int zbn_noted_graphDestroy(void *graph) {
  return zbn_note((zbn_call){.name = "drop graph", .handle = graph});
}
#define ZBN_CALL(called, ...)                                                  \
  zbn_note((zbn_call){.name = called, .count = (int64_t)count,                 \
                      .dtype = dtype, .handle = comm, .stream = stream,        \
                      __VA_ARGS__})
static int zbn_noted_allReduce(const void *send, void *recv, size_t count,
                            int dtype, int op, void *comm, void *stream) {
  return ZBN_CALL("all_reduce", .send = send, .recv = recv, .op = op);
}
static int zbn_noted_reduceScatter(const void *send, void *recv, size_t count,
                                int dtype, int op, void *comm, void *stream) {
  return ZBN_CALL("reduce_scatter", .send = send, .recv = recv, .op = op);
}
static int zbn_noted_allGather(const void *send, void *recv, size_t count,
                            int dtype, void *comm, void *stream) {
  return ZBN_CALL("all_gather", .send = send, .recv = recv);
}
static int zbn_noted_broadcast(const void *send, void *recv, size_t count,
                           int dtype, int root, void *comm, void *stream) {
  return ZBN_CALL("broadcast", .send = send, .recv = recv, .peer = root);
}
static int zbn_noted_reduce(const void *send, void *recv, size_t count, int dtype,
                        int op, int root, void *comm, void *stream) {
  return ZBN_CALL("reduce", .send = send, .recv = recv, .op = op, .peer = root);
}
static int zbn_noted_sendTo(const void *send, size_t count, int dtype, int peer,
                      void *comm, void *stream) {
  return ZBN_CALL("send", .send = send, .peer = peer);
}
static int zbn_noted_recvFrom(void *recv, size_t count, int dtype, int peer, void *comm,
                      void *stream) {
  return ZBN_CALL("recv", .recv = recv, .peer = peer);
}

/* Fills the rows that both variants share. Optional collectives are left out, so that the
 * driver makes them of messages. */
static void zbn_fill_common(zb_table *t) {
  t->setDevice = zbn_set;
  t->mallocDevice = zbn_malloc;
  t->memGetInfo = zbn_memory;
  t->freeDevice = zbn_free;
  t->streamCreate = zbn_stream;
  t->streamDestroy = zbn_gone;
  t->eventCreate = zbn_new;
  t->eventDestroy = zbn_gone;
  t->copy = zbn_copy;
  t->copyAsync = zbn_copy_async;
  t->runtimeErrorString = t->collErrorString = zbn_error;
  t->getUniqueId = zbn_unique;
  t->commInitRank = zbn_init;
  t->commDestroy = zbn_gone;
  t->groupStart = t->groupEnd = zbn_group;
  t->streamQuery = zbn_query;
  t->allReduce = zbn_all_reduce;
}

/* The functions that are recorded. */
#define ZBN_NOTED(row)                                                         \
  row(groupStart) row(groupEnd) row(hostBarrier) row(moveData) row(nowNs)      \
  row(streamQuery) row(copyAsync) row(eventRecord) row(eventElapsed)           \
  row(streamWaitEvent)                                                         \
  row(eventQuery) row(lastError) row(launchKernel) row(streamBeginCapture)     \
  row(streamEndCapture) row(graphInstantiate) row(graphLaunch)                 \
  row(graphExecDestroy) row(graphDestroy) row(allReduce) row(reduceScatter)    \
  row(allGather) row(broadcast) row(reduce) row(sendTo) row(recvFrom)

void zbn_fill(zb_table *t, int note) {
  zbn_made = zbn_given = zbn_device = zbn_depth = 0;
  zbn_time = zbn_polls = 0;
  zbn_fill_common(t);
  if (!note) {
    return;
  }
#define ZBN_SET(field) t->field = zbn_noted_##field;
  ZBN_NOTED(ZBN_SET)
#undef ZBN_SET
}
