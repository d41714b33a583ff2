/* Graphs. A stream that captures records its work instead of running it. Each launch of the graph
 * repeats the work, at the host's cost of one launch. Other streams that wait for an event of the
 * capture record into the same graph. The graph is replayed on one stream, in the order of the
 * calls. */
#include "comm.h"

#include <stdlib.h>
#include <string.h>

enum { ZBL_GRAPH = 0x67726170, ZBL_EXEC = 0x65786563 };

/* One node: a collective, the n sends and receives of one kernel, or other work. Other work is
 * repeated by `put`, from the node's copy of `what`. */
typedef struct zbl_node {
  int (*put)(const void *what, zbl_stream *s); /* NULL for collectives, sends and receives */
  size_t n, bytes; /* n: number of calls; bytes: size of `what` */
  _Alignas(16) char what[];
} zbl_node;

/* The nodes of a graph and of its instances, one after the other in memory. */
typedef struct zbl_nodes {
  int users;
  size_t bytes, room;
  char *at;
} zbl_nodes;

/* A graph or an instance of a graph; the magic numbers differ. */
typedef struct zbl_graph {
  uint32_t magic;
  int device, mode, invalid;
  int joined; /* number of streams other than the origin that joined the capture */
  unsigned spoiled;
  uint64_t id;
  zbl_stream *origin; /* the stream on which the capture began */
  const void *thread;       /* the thread that began the capture */
  zbl_nodes *nodes;
} zbl_graph;

static uint64_t zbl_capture_ids;

/* zbl_captures counts the thread's open captures that are not relaxed; its address identifies the
 * thread. zbl_spoiled counts the forbidden calls that the thread made during captures. */
static _Thread_local int zbl_captures, zbl_capture_mode;
static _Thread_local unsigned zbl_spoiled;

/* Reports whether the thread must not allocate, free or copy now, because such a call could wait
 * for a capture. The attempt spoils every open capture of the thread. */
int zbl_refused_in_capture(void) {
  int refused = zbl_captures > 0 && zbl_capture_mode != ZB_CAPTURE_RELAXED;
  zbl_spoiled += (unsigned)refused;
  return refused;
}

/* Sets how the thread's captures restrict it. Returns the previous mode. */
int zbl_exchange_mode(int mode) {
  int before = zbl_capture_mode;
  zbl_capture_mode = mode;
  return before;
}

void zbl_capture_reset(void) { zbl_captures = zbl_capture_mode = 0; }

/* Reports whether the stream captures. Such a stream can be neither queried nor destroyed, and
 * the attempt spoils the capture. */
int zbl_refused_by_capture(zbl_stream *s) {
  if (s->capture == NULL) {
    return 0;
  }
  s->capture->invalid = 1;
  return 1;
}

static void zbl_free_graph(zbl_graph *g) {
  if (--g->nodes->users == 0) {
    free(g->nodes->at);
    free(g->nodes);
  }
  zbl_free_handle(g);
}

/* Makes a graph that shares the given nodes, or an empty graph if nodes is NULL. */
static zbl_graph *zbl_new_graph(int device, zbl_nodes *nodes) {
  zbl_graph *g = zbl_new_handle(sizeof *g);
  if (nodes == NULL) {
    nodes = calloc(1, sizeof *nodes);
  }
  if (g == NULL || nodes == NULL) {
    abort();
  }
  g->device = device;
  g->nodes = nodes;
  nodes->users++;
  return g;
}

/* Appends a node to the stream's capture. */
static void zbl_add_node(zbl_stream *s, const zbl_node *head, const void *what) {
  zbl_nodes *nodes = s->capture->nodes;
  size_t bytes = (sizeof *head + head->bytes + 15) / 16 * 16;
  zbl_node *node;
  if (bytes > nodes->room - nodes->bytes) {
    nodes->room = 2 * (nodes->room + bytes);
    nodes->at = realloc(nodes->at, nodes->room);
    if (nodes->at == NULL) {
      abort();
    }
  }
  node = (zbl_node *)(void *)(nodes->at + nodes->bytes);
  nodes->bytes += bytes;
  *node = *head;
  node->bytes = bytes - sizeof *node;
  memcpy(node->what, what, head->bytes);
  s->forked = s != s->capture->origin;
}

int zbl_record(const zbl_queued *q, size_t n) {
  const zbl_node head = {.n = n, .bytes = n * sizeof *q};
  zbl_add_node(q->stream, &head, q);
  return 0;
}

int zbl_do(zbl_stream *s, int (*put)(const void *what, zbl_stream *s),
           const void *what, size_t bytes) {
  const zbl_node head = {.put = put, .bytes = bytes};
  if (s->capture != NULL) {
    zbl_add_node(s, &head, what);
    return ZB_OK;
  }
  zbl_host_enters(s->lane);
  s->lane->h += zbl.launch;
  return put(what, s);
}

uint64_t zbl_capture_of(const zbl_stream *s) {
  return s->capture != NULL ? s->capture->id : 0;
}

/* Handles a stream's wait for an event that was recorded in a capture. A stream that is not in the
 * capture joins it. If the stream is already in the capture, the event's stream counts as joined
 * back. Returns a HIP error (ROCm/clr, hipamd/src/hip_stream.cpp, hipStreamWaitEvent_common). */
int zbl_join_capture(zbl_stream *s, uint64_t capture, zbl_stream *on) {
  zbl_stream *other = zbl_streams;
  if (zbl_capture_of(s) == capture) {
    on->forked = 0;
    return ZB_OK;
  }
  if (s->capture != NULL) {
    return ZB_ERR_CAPTURE_MERGE;
  }
  while (other != NULL && zbl_capture_of(other) != capture) {
    other = other->all;
  }
  if (other == NULL) { /* the capture has ended */
    return ZBL_VENDOR == ZB_CUDA ? ZB_ERR_CAPTURE_ISOLATION : ZB_OK;
  }
  s->capture = other->capture;
  s->capture->joined = 1;
  s->forked = 1;
  return ZB_OK;
}

/* Releases all streams of a capture. Returns 1 if all of these streams had joined the origin
 * again. */
static int zbl_end_forks(const zbl_graph *g) {
  int back = 1;
  g->origin->capture = NULL;
  g->origin->forked = 0;
  for (zbl_stream *s = g->joined ? zbl_streams : NULL; s != NULL; s = s->all) {
    if (s->capture == g) {
      back = back && !s->forked;
      s->capture = NULL;
      s->forked = 0;
    }
  }
  return back;
}

static int zbl_streamBeginCapture(void *stream, int mode) {
  ZBL_ENTER;
  zbl_stream *s = zbl_stream_of(stream);
  ZBL_REFUSE(s == NULL || mode < ZB_CAPTURE_GLOBAL || mode > ZB_CAPTURE_RELAXED,
             s == NULL ? ZBL_ERR_STREAM : ZB_ERR_VALUE);
  if (stream == NULL) {
    return zbl_said(ZB_ERR_CAPTURE); /* the null stream cannot capture */
  }
  ZBL_REFUSE(s->capture != NULL, ZB_ERR_STATE);
  s->capture = zbl_new_graph(s->device, NULL);
  s->capture->mode = mode;
  s->capture->id = ++zbl_capture_ids;
  s->capture->origin = s;
  s->capture->thread = &zbl_captures;
  s->capture->spoiled = zbl_spoiled;
  zbl_captures += mode != ZB_CAPTURE_RELAXED;
  return ZB_OK;
}

static int zbl_streamEndCapture(void *stream, void **graph) {
  ZBL_ENTER;
  zbl_stream *s = zbl_stream_of(stream);
  zbl_graph *g;
  int back;
  ZBL_REFUSE(graph == NULL, ZB_ERR_VALUE);
  *graph = NULL;
  ZBL_REFUSE(s == NULL || (g = s->capture) == NULL, s == NULL ? ZBL_ERR_STREAM : ZB_ERR_STATE);
  ZBL_REFUSE(s != g->origin, ZB_ERR_CAPTURE_UNMATCHED);
  ZBL_REFUSE(g->mode != ZB_CAPTURE_RELAXED && g->thread != &zbl_captures, ZB_ERR_CAPTURE_THREAD);
  zbl_captures -= g->mode != ZB_CAPTURE_RELAXED;
  back = zbl_end_forks(g);
  if (g->invalid ||
      (g->mode != ZB_CAPTURE_RELAXED && g->spoiled != zbl_spoiled)) {
    zbl_free_graph(g);
    return zbl_said(ZB_ERR_CAPTURE_INVALID);
  }
  if (!back) {
    zbl_free_graph(g);
    return zbl_said(ZB_ERR_CAPTURE_UNJOINED);
  }
  g->magic = ZBL_GRAPH;
  *graph = g;
  return ZB_OK;
}

static int zbl_graphInstantiate(void **exec, void *graph,
                                unsigned long long flags) {
  ZBL_ENTER;
  zbl_graph *g = zbl_behind(graph, ZBL_GRAPH), *e;
  ZBL_REFUSE(exec == NULL, ZB_ERR_VALUE);
  *exec = NULL;
  ZBL_REFUSE(g == NULL || (flags != 0 && flags != 1 && flags != 8), ZB_ERR_VALUE);
  e = zbl_new_graph(g->device, g->nodes);
  e->magic = ZBL_EXEC;
  *exec = e;
  return ZB_OK;
}

/* Launches the calls of a node on the stream. */
static int zbl_replay_calls(zbl_node *node, zbl_stream *s) {
  zbl_queued *calls = (zbl_queued *)(void *)node->what;
  for (size_t i = 0; i < node->n; i++) {
    calls[i].stream = s;
  }
  if (zbl_comm_of(calls->comm) == NULL || calls->comm->clique->destroyed) {
    return ZB_ERR_VALUE;
  }
  return calls->peer >= 0 ? zbl_p2p_post(calls, node->n, 0) : zbl_post(calls, 0);
}

/* Launches a graph. The host's cost is assumed to equal the cost of one launch, which is
 * itself assumed. */
static int zbl_graphLaunch(void *exec, void *stream) {
  ZBL_ENTER;
  zbl_graph *e = zbl_behind(exec, ZBL_EXEC);
  zbl_stream *s = zbl_stream_of(stream);
  ZBL_REFUSE(e == NULL, ZB_ERR_VALUE);
  ZBL_REFUSE(s == NULL || s->device != e->device, s == NULL ? ZBL_ERR_STREAM : ZB_ERR_HANDLE);
  if (s->capture != NULL) {
    return zbl_said(ZB_ERR_NOT_SUPPORTED); /* the real runtime adds a child graph */
  }
  zbl_host_enters(s->lane);
  s->lane->h += zbl.launch + zbl_late(s->device);
  for (size_t at = 0; at < e->nodes->bytes;) {
    zbl_node *n = (zbl_node *)(void *)(e->nodes->at + at);
    at += sizeof *n + n->bytes;
    ZBL_REFUSE((n->put != NULL ? n->put(n->what, s) : zbl_replay_calls(n, s)) != 0, ZB_ERR_VALUE);
  }
  zbl_host_posts(s->lane, s->lane->h); /* also if the graph has no nodes */
  return ZB_OK;
}

static int zbl_destroy_graph(void *handle, uint32_t magic) {
  ZBL_ENTER;
  zbl_graph *g = zbl_behind(handle, magic);
  ZBL_REFUSE(g == NULL, ZB_ERR_VALUE);
  zbl_free_graph(g);
  return ZB_OK;
}

static int zbl_graphExecDestroy(void *exec) {
  return zbl_destroy_graph(exec, ZBL_EXEC);
}

static int zbl_graphDestroy(void *graph) {
  int code = zbl_destroy_graph(graph, ZBL_GRAPH);
  return code != ZB_OK && graph != NULL ? zbl_said(ZBL_ERR_GRAPH) : code;
}
