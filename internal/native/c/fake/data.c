/* Moving data: what each collective leaves in each buffer, computed once and
 * promised to the ranks, with the planted data faults. Inputs are read before
 * any receive buffer is poisoned, because in place they are the same. */
#include "comm.h"
#include "number.h"

#include <stdlib.h>
#include <string.h>

static zbl_shared *zbl_new_shared(size_t bytes) {
  zbl_shared *s = malloc(sizeof *s + bytes);
  if (s == NULL) {
    abort();
  }
  s->users = 0;
  return s;
}

/* How often a rank's contribution counts: once, unless a fault says else. */
static int zbl_times(const zbl_round *r, int i) {
  int device = r->place[i].stream->device;
  if (device != zbl.faults.data.rank) {
    return 1;
  }
  switch (zbl.faults.data.kind) {
  case ZBL_MISSING:
    return 0;
  case ZBL_DOUBLED:
    return 2;
  }
  return 1;
}

/* The reduction over all ranks of their whole send buffers. */
static zbl_shared *zbl_reduced(const zbl_round *r, uint64_t elements) {
  const zbl_call *c = &r->call;
  int n = r->clique->nranks, begun = 0;
  zbl_shared *out = zbl_new_shared(elements * zbl_width(c->dtype));
  for (int i = 0; i < n; i++) {
    for (int k = zbl_times(r, i); k > 0; k--) {
      zbl_accumulate(out->bytes, r->place[i].send, elements, c->dtype, c->op, n,
                     !begun);
      begun = 1;
    }
  }
  if (!begun) {
    memset(out->bytes, 0, elements * zbl_width(c->dtype));
  }
  zbl_divide(out->bytes, elements, c->dtype, c->op, n);
  return out;
}

/* Copies block `block` of a rank's send buffer; a missing contribution leaves
 * the destination as it is. */
static void zbl_take(const zbl_round *r, char *to, int i, uint64_t block,
                     uint64_t bytes) {
  if (zbl_times(r, i) > 0) {
    memcpy(to, r->place[i].send + block * bytes, bytes);
  } else {
    memset(to, 0, bytes);
  }
}

/* All result bytes of a round: those of rank 0, and those of the others after them
 * where each receives its own. */
static zbl_shared *zbl_result_of(const zbl_round *r, uint64_t share) {
  const zbl_call *c = &r->call;
  const zbl_shape *shape = &zbl_shapes[c->collective];
  uint64_t n = (uint64_t)r->clique->nranks;
  uint64_t results = shape->send_all ? n : 1, blocks = shape->recv_all ? n : 1;
  zbl_shared *out;
  if (shape->reduces) {
    return zbl_reduced(r, c->count * results);
  }
  out = zbl_new_shared(results * blocks * share);
  for (uint64_t to = 0; to < results; to++) {
    for (uint64_t i = 0; i < blocks; i++) {
      zbl_take(r, out->bytes + (to * blocks + i) * share,
               shape->recv_all ? (int)i : c->root, to, share);
    }
  }
  return out;
}

/* Where rank i's part of the result lies; 0 bytes when it gets none. */
static uint64_t zbl_slice(const zbl_round *r, int i, uint64_t share,
                          uint64_t *offset) {
  const zbl_shape *shape = &zbl_shapes[r->call.collective];
  uint64_t bytes = shape->recv_all ? (uint64_t)r->clique->nranks * share : share;
  *offset = shape->send_all ? (uint64_t)i * bytes : 0;
  return shape->root_only == ZBL_RECEIVES && i != r->call.root ? 0 : bytes;
}

/* The first two halves of a result change places. */
static void zbl_swap_halves(char *bytes, uint64_t half) {
  for (uint64_t i = 0; i < half; i++) {
    char t = bytes[i];
    bytes[i] = bytes[half + i];
    bytes[half + i] = t;
  }
}

/* One rank's slice with the data fault in it: a copy, for the others read the
 * same bytes. */
static zbl_shared *zbl_planted(const zbl_shared *whole, uint64_t offset,
                               uint64_t bytes, unsigned width) {
  zbl_shared *own = zbl_new_shared(bytes);
  uint64_t elements = bytes / width;
  memcpy(own->bytes, whole->bytes + offset, bytes);
  if (zbl.faults.data.kind == ZBL_SWAPPED) {
    zbl_swap_halves(own->bytes, elements / 2 * width);
  } else {
    own->bytes[zbl.faults.data.index % elements * width] ^= 1;
  }
  return own;
}

/* Promises a rank its part of a result, with the data fault planted on it. */
void zbl_deliver(zbl_stream *s, char *to, zbl_shared *whole, uint64_t offset,
                 uint64_t bytes, unsigned width) {
  int kind = s->device == zbl.faults.data.rank ? zbl.faults.data.kind
                                               : ZBL_DATA_OK;
  if (bytes == 0 || kind == ZBL_STALE) {
    return;
  }
  if (kind == ZBL_SWAPPED || kind == ZBL_CORRUPT) {
    zbl_promise(s, to, zbl_planted(whole, offset, bytes, width), 0, bytes);
  } else {
    zbl_promise(s, to, whole, offset, bytes);
  }
}

/* Promises what one rank sent to another, in a send and a receive. */
void zbl_deliver_message(const zbl_stream *from, const char *send,
                         zbl_stream *to, char *recv, uint64_t bytes,
                         unsigned width) {
  zbl_shared *data;
  if (bytes == 0) {
    return;
  }
  data = zbl_new_shared(bytes);
  if (from->device == zbl.faults.data.rank &&
      zbl.faults.data.kind == ZBL_MISSING) {
    memset(data->bytes, 0, bytes);
  } else {
    memcpy(data->bytes, send, bytes);
  }
  data->users++;
  zbl_deliver(to, recv, data, 0, bytes, width);
  if (--data->users == 0) {
    free(data);
  }
}

/* Computes the round's result and promises each rank its part. */
void zbl_move(const zbl_round *r) {
  unsigned width = zbl_width(r->call.dtype);
  uint64_t share = r->call.count * width;
  const zbl_shape *shape = &zbl_shapes[r->call.collective];
  zbl_shared *whole = zbl_result_of(r, share);
  whole->users++;
  for (int i = 0; i < r->clique->nranks; i++) {
    uint64_t offset, bytes = zbl_slice(r, i, share, &offset);
    if (shape->send_all && shape->recv_all &&
        r->place[i].send == r->place[i].recv) {
      zbl_poison(r->place[i].recv, bytes); /* what it leaves is undefined */
      continue;
    }
    zbl_deliver(r->place[i].stream, r->place[i].recv, whole, offset, bytes,
                width);
  }
  if (--whole->users == 0) {
    free(whole);
  }
}
