/* The null stream. Each device has one null stream, which is made on first use. Its work runs after
 * all earlier work of the device's blocking streams and before all their later work. Non-blocking
 * streams are independent of it. To order two streams, the earlier stream gets a signal, and the
 * later stream gets a gate. */
#include "stream.h"

#include <stdlib.h>

typedef struct zbl_gate {
  zbl_stream *waits; /* the stream that has the gate; NULL once that stream is gone */
  int open, reached, holders;
  double at; /* time at which the gate opened */
} zbl_gate;

static void zbl_gate_drop(zbl_gate *g) {
  if (--g->holders == 0) {
    free(g);
  }
}

static void zbl_open(zbl_gate *g, double at) {
  zbl_stream *waits = g->waits;
  g->open = 1;
  g->at = at;
  if (g->reached && waits != NULL) {
    zbl_finish(waits, at);
  }
}

/* Opens the gate. The work before the signal is proved done, because another stream waits for
 * it. */
static int zbl_signal_run(zbl_op *op, zbl_stream *s) {
  zbl_reveal(s);
  zbl_open(op->data, s->s);
  return 1;
}

/* Drops a signal. The signal of a destroyed stream opens its gate, so that it holds up no other
 * stream. */
static void zbl_signal_release(zbl_op *op) {
  zbl_gate *g = op->data;
  if (!g->open) {
    zbl_open(g, 0);
  }
  zbl_gate_drop(g);
}

static int zbl_gate_run(zbl_op *op, zbl_stream *s) {
  zbl_gate *g = op->data;
  g->reached = 1;
  if (g->open) {
    s->s = zbl_later(s->s, g->at);
  }
  return g->open;
}

static void zbl_gate_release(zbl_op *op) {
  zbl_gate *g = op->data;
  g->waits = NULL;
  zbl_gate_drop(g);
}

static const zbl_kind zbl_gates = {.run = zbl_gate_run,
                                   .release = zbl_gate_release};
static const zbl_kind zbl_signals = {.run = zbl_signal_run,
                                     .release = zbl_signal_release};

/* Makes later operations of stream s wait for the present operations of stream `first`. */
static void zbl_after(zbl_stream *s, zbl_stream *first) {
  zbl_gate *g = calloc(1, sizeof *g);
  if (g == NULL) {
    abort();
  }
  *g = (zbl_gate){.waits = s, .holders = 2};
  zbl_put(s, zbl_new_op(s, &zbl_gates, g, 0));
  zbl_put(first, zbl_new_op(first, &zbl_signals, g, 0));
}

/* Orders a blocking stream after the streams that it implicitly waits for. An ordinary stream waits
 * for the null stream; the null stream waits for all blocking streams. */
void zbl_in_order(zbl_stream *s) {
  zbl_stream *null = zbl.devices[s->device].null;
  int left = zbl.devices[s->device].blocking - 1;
  if (null == NULL) {
    return;
  }
  if (s != null) {
    zbl_after(s, null);
    return;
  }
  for (zbl_stream *other = zbl_streams; left > 0; other = other->all) {
    if (other != null && other->blocking && other->device == s->device) {
      zbl_after(null, other);
      left--;
    }
  }
}

zbl_stream *zbl_null_stream(int device) {
  zbl_device *d;
  if (zbl.count <= 0) {
    return NULL;
  }
  d = &zbl.devices[device];
  if (d->null == NULL) {
    d->null = zbl_new_stream(device, 1);
  }
  return d->null;
}
