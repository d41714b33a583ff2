/* Graphs: a stream that captures records launches instead of running them; a
 * graph is replayed by launching them again, at the host's cost of one. Only
 * collectives and messages are recorded. */
#include "comm.h"

#include <stdlib.h>
#include <string.h>

enum { ZBL_GRAPH = 0x67726170, ZBL_EXEC = 0x65786563 };

/* One launch: a collective, or the sends and receives of one kernel. */
typedef struct zbl_node {
  size_t n;
  zbl_queued calls[];
} zbl_node;

/* The launches of a graph, one behind the other: its own, and those of what was
 * instantiated of it. */
typedef struct zbl_nodes {
  int users;
  size_t bytes, room;
  char *at;
} zbl_nodes;

/* A graph, or with the other magic what was instantiated of one. */
typedef struct zbl_graph {
  uint32_t magic;
  int device, mode, invalid;
  unsigned spoiled;
  const void *thread; /* that captures */
  zbl_nodes *nodes;
} zbl_graph;

/* How many captures the thread has open that are not relaxed, whose address tells
 * threads apart, and how often it did then what it must not. */
static _Thread_local int zbl_captures;
static _Thread_local unsigned zbl_spoiled;

/* Whether the thread must not do now what could wait for a capture: to allocate,
 * to free, to copy. The attempt spoils every capture it has open. */
int zbl_refused_in_capture(void) {
  zbl_spoiled += zbl_captures > 0;
  return zbl_captures > 0;
}

void zbl_capture_reset(void) { zbl_captures = 0; }

/* Whether the stream captures: then it can be neither asked nor destroyed, and
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
  g->magic = 0;
  free(g);
}

/* A graph of the nodes, or of new ones. */
static zbl_graph *zbl_new_graph(uint32_t magic, int device, zbl_nodes *nodes) {
  zbl_graph *g = calloc(1, sizeof *g);
  if (nodes == NULL) {
    nodes = calloc(1, sizeof *nodes);
  }
  if (g == NULL || nodes == NULL) {
    abort();
  }
  g->magic = magic;
  g->device = device;
  g->nodes = nodes;
  nodes->users++;
  return g;
}

int zbl_record(const zbl_queued *q, size_t n) {
  zbl_nodes *nodes = q->stream->capture->nodes;
  size_t bytes = sizeof(zbl_node) + n * sizeof *q;
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
  node->n = n;
  memcpy(node->calls, q, n * sizeof *q);
  return 0;
}

static int zbl_streamBeginCapture(void *stream, int mode) {
  ZBL_ENTER;
  zbl_stream *s = zbl_stream_of(stream);
  if (s == NULL || s->device != zbl_current_device()) {
    return zbl_said(ZB_ERR_HANDLE);
  }
  if (mode < ZB_CAPTURE_GLOBAL || mode > ZB_CAPTURE_RELAXED) {
    return zbl_said(ZB_ERR_VALUE);
  }
  if (stream == NULL) {
    return zbl_said(ZB_ERR_CAPTURE); /* the null stream has no capture */
  }
  if (s->capture != NULL) {
    return zbl_said(ZB_ERR_STATE);
  }
  s->capture = zbl_new_graph(ZBL_GRAPH, s->device, NULL);
  s->capture->mode = mode;
  s->capture->thread = &zbl_captures;
  s->capture->spoiled = zbl_spoiled;
  zbl_captures += mode != ZB_CAPTURE_RELAXED;
  return ZB_OK;
}

static int zbl_streamEndCapture(void *stream, void **graph) {
  ZBL_ENTER;
  zbl_stream *s = zbl_stream_of(stream);
  zbl_graph *g;
  *graph = NULL;
  if (s == NULL || s->device != zbl_current_device()) {
    return zbl_said(ZB_ERR_HANDLE);
  }
  g = s->capture;
  if (g == NULL) {
    return zbl_said(ZB_ERR_STATE);
  }
  if (g->mode != ZB_CAPTURE_RELAXED && g->thread != &zbl_captures) {
    return zbl_said(ZB_ERR_CAPTURE_THREAD);
  }
  zbl_captures -= g->mode != ZB_CAPTURE_RELAXED;
  s->capture = NULL;
  if (g->invalid ||
      (g->mode != ZB_CAPTURE_RELAXED && g->spoiled != zbl_spoiled)) {
    zbl_free_graph(g);
    return zbl_said(ZB_ERR_CAPTURE_INVALID);
  }
  *graph = g;
  return ZB_OK;
}

/* The handle of a graph, or of what was instantiated of one. A graph that is
 * still being captured has no handle that anybody could know. */
static zbl_graph *zbl_graph_of(void *handle, uint32_t magic) {
  zbl_graph *g = handle;
  return g != NULL && g->magic == magic ? g : NULL;
}

static int zbl_graphInstantiate(void **exec, void *graph,
                                unsigned long long flags) {
  zbl_graph *g = zbl_graph_of(graph, ZBL_GRAPH);
  *exec = NULL;
  if (g == NULL || flags != 0) {
    return zbl_said(ZB_ERR_VALUE);
  }
  *exec = zbl_new_graph(ZBL_EXEC, g->device, g->nodes);
  return ZB_OK;
}

/* The host spends on a graph what it spends on one launch: an assumption, like
 * the cost itself. The launches in it follow each other on the stream. */
static int zbl_graphLaunch(void *exec, void *stream) {
  ZBL_ENTER;
  zbl_graph *e = zbl_graph_of(exec, ZBL_EXEC);
  zbl_stream *s = zbl_stream_of(stream);
  if (e == NULL) {
    return zbl_said(ZB_ERR_VALUE);
  }
  if (s == NULL || s->device != zbl_current_device() || s->device != e->device) {
    return zbl_said(ZB_ERR_HANDLE);
  }
  if (s->capture != NULL) {
    return zbl_said(ZB_ERR_NOT_SUPPORTED); /* the real one makes a child of it */
  }
  s->lane->h += zbl.launch + zbl_late(s->device);
  for (size_t at = 0; at < e->nodes->bytes;) {
    zbl_node *n = (zbl_node *)(void *)(e->nodes->at + at);
    int code = ZB_OK;
    at += sizeof *n + n->n * sizeof n->calls[0];
    for (size_t i = 0; i < n->n; i++) {
      n->calls[i].stream = s;
    }
    if (zbl_comm_of(n->calls[0].comm) == NULL ||
        n->calls[0].comm->clique->destroyed) {
      return zbl_said(ZB_ERR_VALUE);
    }
    code = n->calls[0].peer >= 0 ? zbl_p2p_post(n->calls, n->n, 0)
                                 : zbl_post(n->calls, 0);
    if (code != 0) {
      return zbl_said(ZB_ERR_VALUE);
    }
  }
  return ZB_OK;
}

static int zbl_destroy_graph(void *handle, uint32_t magic) {
  zbl_graph *g = zbl_graph_of(handle, magic);
  if (g == NULL) {
    return zbl_said(ZB_ERR_VALUE);
  }
  zbl_free_graph(g);
  return ZB_OK;
}

static int zbl_graphExecDestroy(void *exec) {
  return zbl_destroy_graph(exec, ZBL_EXEC);
}

static int zbl_graphDestroy(void *graph) {
  return zbl_destroy_graph(graph, ZBL_GRAPH);
}
