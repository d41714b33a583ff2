/* Streams that write a value to memory, and streams that wait for a value. A wait ends when
 * the memory satisfies its condition, whether a stream, a kernel, the host or another
 * process wrote there. On the model's clock a wait does not end before a stream's write to
 * that address. */
#include "../fake/stream.h"
#include "more.h"

#include <stdlib.h>

/* The conditions of a wait: hipStreamWaitValueGte, …Eq, …And and …Nor. */
enum { ZBL_WAIT_AT_LEAST, ZBL_WAIT_EQUAL, ZBL_WAIT_AND, ZBL_WAIT_NOR };

/* A value to write, or the condition of a wait. */
typedef struct zbl_value {
  char *at;
  uint64_t value, mask;
  int bytes, until; /* bytes: the value's width; until: a wait's condition, −1 if invalid */
} zbl_value;

/* The time of a stream's last write to an address. */
typedef struct zbl_written {
  const char *at;
  double when;
  struct zbl_written *next;
} zbl_written;

static zbl_written *zbl_all_written;

static double *zbl_written_at(const char *at) {
  zbl_written *w = zbl_all_written;
  while (w != NULL && w->at != at) {
    w = w->next;
  }
  return w != NULL ? &w->when : NULL;
}

static void zbl_note_written(const char *at, double when) {
  double *last = zbl_written_at(at);
  zbl_written *w;
  if (last != NULL) {
    *last = when;
    return;
  }
  w = malloc(sizeof *w);
  if (w == NULL) {
    abort();
  }
  *w = (zbl_written){at, when, zbl_all_written};
  zbl_all_written = w;
}

/* Reads the current value. The access is atomic, because the program may write there at any
 * time. */
static uint64_t zbl_value_now(const zbl_value *v) {
  return v->bytes == 4 ? __atomic_load_n((uint32_t *)(void *)v->at, __ATOMIC_ACQUIRE)
                       : __atomic_load_n((uint64_t *)(void *)v->at, __ATOMIC_ACQUIRE);
}

/* Reports whether a wait's condition holds (ROCm/HIP, include/hip/hip_runtime_api.h,
 * hipStreamWaitValue32). The values are unsigned (ROCm/clr, rocclr/device/blitcl.cpp,
 * __amd_streamOpsWait). */
static int zbl_satisfied(const zbl_value *v) {
  uint64_t is = zbl_value_now(v) & v->mask;
  switch (v->until) {
  case ZBL_WAIT_AT_LEAST:
    return is >= v->value;
  case ZBL_WAIT_EQUAL:
    return is == v->value;
  case ZBL_WAIT_AND:
    return (is & v->value) != 0;
  default:
    return (~(is | v->value) & v->mask) != 0;
  }
}

static int zbl_value_done(zbl_op *op, zbl_stream *s) {
  const zbl_value *v = op->data;
  const double *written;
  if (!zbl_satisfied(v)) {
    return 0;
  }
  written = zbl_written_at(v->at);
  s->s = zbl_later(zbl_arrival(op, s), written != NULL ? *written : 0);
  return 1;
}

static int zbl_value_write(zbl_op *op, zbl_stream *s) {
  const zbl_value *v = op->data;
  s->s = zbl_arrival(op, s);
  zbl_reveal(s);
  if (v->bytes == 4) {
    __atomic_store_n((uint32_t *)(void *)v->at, (uint32_t)v->value, __ATOMIC_RELEASE);
  } else {
    __atomic_store_n((uint64_t *)(void *)v->at, v->value, __ATOMIC_RELEASE);
  }
  zbl_note_written(v->at, s->s);
  zbl_rouse();
  return 1;
}

static const zbl_kind zbl_value_waits = {.run = zbl_value_done, .done = zbl_value_done,
                                         .release = zbl_free_copied};
static const zbl_kind zbl_value_writes = {.run = zbl_value_write, .release = zbl_free_copied};

/* Puts a write or a wait on a stream. As in HIP, a capture does not record it: it runs at once
 * (ROCm/clr, hipamd/src/hip_stream_ops.cpp, ihipStreamOperation). An address that is no
 * multiple of the width is refused, because a GPU would fault. */
static int zbl_value_put(void *stream, const zbl_kind *kind, const zbl_value *v) {
  zbl_stream *s;
  if (v->at == NULL) {
    return ZB_ERR_VALUE;
  }
  s = zbl_stream_of(stream);
  if (s == NULL) {
    return ZBL_ERR_STREAM;
  }
  if (!zbl_valid_range(v->at, (uint64_t)v->bytes) || (uintptr_t)v->at % (size_t)v->bytes != 0 ||
      v->until < 0) {
    return ZB_ERR_VALUE;
  }
  zbl_host_enters(s->lane);
  s->lane->h += zbl.launch;
  return zbl_put_copied(s, kind, v, sizeof *v);
}

/* Define the functions for one width. HIP ignores the flags of a write. */
#define ZBL_VALUE(bits)                                                        \
  static int zbl_waitValue##bits(void *stream, void *p, uint##bits##_t value,  \
                                 unsigned flags, uint##bits##_t mask) {        \
    const zbl_value v = {p, value, mask, bits / 8, flags <= ZBL_WAIT_NOR ? (int)flags : -1}; \
    ZBL_ENTER;                                                                 \
    return zbl_said(zbl_value_put(stream, &zbl_value_waits, &v));              \
  }                                                                            \
  static int zbl_writeValue##bits(void *stream, void *p, uint##bits##_t value, \
                                  unsigned flags) {                            \
    const zbl_value v = {p, value, 0, bits / 8, 0};                            \
    ZBL_ENTER;                                                                 \
    (void)flags;                                                               \
    return zbl_said(zbl_value_put(stream, &zbl_value_writes, &v));             \
  }
ZBL_VALUE(32)
ZBL_VALUE(64)
#undef ZBL_VALUE
