/* Moves data: computes the result of each collective once, including planted data faults, and
 * promises it to the ranks. Inputs are read before any receive buffer is poisoned, because the
 * input of an in-place call is the receive buffer. */
#include "comm.h"
#include "number.h"
#include "pool.h"

#include <stdlib.h>
#include <string.h>

/* Number of elements that are reduced at once: 128 KiB of float, which stay in the cache. */
enum { ZBL_PART = 32768 };

/* Returns memory for shared bytes. `own` is 1 if no other process reads the bytes. */
static zbl_shared *zbl_new_shared(size_t bytes, int own) {
  zbl_shared *s = (own ? zbl_new_own : zbl_new)(sizeof *s + bytes);
  s->users = 0;
  return s;
}

static const zbl_clique *zbl_clique_of(const zbl_round *r) {
  return zbl_at(r->clique);
}

/* Returns the data fault that is planted for rank i in a round. */
static int zbl_fault_of(const zbl_round *r, int i) {
  return zbl_data_fault(zbl_clique_of(r)->member[i].device, r->at, r->number);
}

/* Returns the address of the bytes that a kernel of the stream sends: older content if the fault is
 * a stale send, otherwise the current content. */
static const char *zbl_sends(int fault, zbl_stream *s, const char *from, uint64_t bytes) {
  const char *stale = fault == ZBL_STALE_SEND && bytes > 0 ? zbl_stale(s, from, bytes) : NULL;
  if (stale != NULL) {
    zbl_fired();
    return stale;
  }
  return zbl_source(s, from, bytes);
}

/* Returns how often a rank's contribution counts: once, unless a fault drops or doubles it. */
static int zbl_times(const zbl_round *r, int i) {
  switch (zbl_fault_of(r, i)) {
  case ZBL_MISSING:
    return 0;
  case ZBL_DOUBLED:
    return 2;
  }
  return 1;
}

/* Reduces elements of all ranks, from element `first` on. */
static void zbl_reduce_some(const zbl_round *r, const char *const *in, char *out,
                            uint64_t first, uint64_t elements) {
  const zbl_call *c = &r->call;
  unsigned width = zbl_width(c->dtype);
  int n = zbl_clique_of(r)->nranks, begun = 0;
  for (int i = 0; i < n; i++) {
    for (int k = zbl_times(r, i); k > 0; k--) {
      zbl_accumulate(out, in[i] + first * width, elements, c->dtype, c->op, n,
                     !begun, &r->place[i].scalar);
      begun = 1;
    }
  }
  if (!begun) {
    memset(out, 0, elements * width);
  }
  zbl_divide(out, elements, c->dtype, c->op, n);
}

/* The arguments of the threads that compute a round's result: the inputs by rank, and the address
 * of the result. `share` is the size of one block in bytes. */
typedef struct zbl_moving {
  const zbl_round *r;
  const char *const *in;
  char *out;
  uint64_t share, results, blocks;
} zbl_moving;

/* Reduces a thread's part of all send buffers, in pieces that stay in the cache. */
static void zbl_reduce_part(unsigned part, unsigned parts, void **params) {
  const zbl_moving *m = params[0];
  unsigned width = zbl_width(m->r->call.dtype);
  uint64_t at, end, all = m->r->call.count * m->results;
  end = zbl_part_of(all, ZBL_PART, part, parts, &at);
  for (end += at; at < end; at += ZBL_PART) {
    uint64_t n = end - at < ZBL_PART ? end - at : ZBL_PART;
    zbl_reduce_some(m->r, m->in, m->out + at * width, at, n);
  }
}

/* Copies a thread's part of every block of a rank's result. A missing contribution becomes
 * zeros. */
static void zbl_copy_blocks(unsigned part, unsigned parts, void **params) {
  const zbl_moving *m = params[0];
  uint64_t first, bytes = zbl_part_of(m->share, 64, part, parts, &first);
  for (uint64_t to = 0; to < m->results; to++) {
    for (uint64_t i = 0; i < m->blocks; i++) {
      int from = m->blocks > 1 ? (int)i : m->r->call.root;
      char *out = m->out + (to * m->blocks + i) * m->share + first;
      if (zbl_times(m->r, from) > 0) {
        memcpy(out, m->in[from] + to * m->share + first, bytes);
      } else {
        memset(out, 0, bytes);
      }
    }
  }
}

/* Returns the whole result of a round: the result of rank 0, followed by the results of the
 * other ranks if each rank receives a different one. */
static zbl_shared *zbl_result_of(const zbl_round *r, const char *const *in) {
  const zbl_shape *shape = &zbl_shapes[r->call.collective];
  uint64_t n = (uint64_t)zbl_clique_of(r)->nranks;
  zbl_moving m = {.r = r, .in = in,
                  .share = r->call.count * zbl_width(r->call.dtype),
                  .results = shape->send_all ? n : 1,
                  .blocks = shape->recv_all ? n : 1};
  uint64_t bytes = m.results * m.blocks * m.share;
  zbl_shared *out = zbl_new_shared(bytes, zbl_has_all(zbl_clique_of(r)));
  void *params[] = {&m};
  m.out = out->bytes;
  zbl_huge(out->bytes, bytes);
  zbl_wide(shape->reduces ? zbl_reduce_part : zbl_copy_blocks, params,
           bytes * (shape->reduces ? n : 1));
  return out;
}

/* Returns the size of rank i's part of the result and its offset, in bytes. The size is 0 if the
 * rank receives nothing. */
static uint64_t zbl_slice(const zbl_round *r, int i, uint64_t share,
                          uint64_t *offset) {
  const zbl_shape *shape = &zbl_shapes[r->call.collective];
  uint64_t bytes = shape->recv_all ? (uint64_t)zbl_clique_of(r)->nranks * share : share;
  *offset = shape->send_all ? (uint64_t)i * bytes : 0;
  return shape->root_only == ZBL_RECEIVES && i != r->call.root ? 0 : bytes;
}

/* Swaps the first half of a result with the second half. */
static void zbl_swap_halves(char *bytes, uint64_t half) {
  for (uint64_t i = 0; i < half; i++) {
    char t = bytes[i];
    bytes[i] = bytes[half + i];
    bytes[half + i] = t;
  }
}

/* Returns a copy of a part of one rank's slice, with the data fault in it. It is a copy because the
 * other ranks read the same bytes. `first` is the index of the part's first element in the slice.
 * If a slice is moved in parts, a swap gives zeros, because the data to swap in was never
 * filled. */
static zbl_shared *zbl_planted(const zbl_shared *whole, uint64_t offset,
                               uint64_t bytes, unsigned width, uint64_t first,
                               uint64_t all) {
  zbl_shared *own = zbl_new_shared(bytes, 1);
  uint64_t elements = bytes / width, at = zbl.faults.data.index % all - first;
  zbl_wide_copy(own->bytes, whole->bytes + offset, bytes);
  if (zbl.faults.data.kind == ZBL_CORRUPT) {
    own->bytes[at < elements ? at * width : 0] ^= at < elements;
  } else if (elements == all) {
    zbl_swap_halves(own->bytes, elements / 2 * width);
  } else {
    memset(own->bytes, 0, bytes);
  }
  return own;
}

/* Promises a rank its part of a result, with the data fault if there is one. */
void zbl_deliver(int fault, zbl_stream *s, char *to, zbl_shared *whole, uint64_t offset,
                 uint64_t bytes, unsigned width, uint64_t first, uint64_t all) {
  int of_result = fault == ZBL_SWAPPED || fault == ZBL_CORRUPT;
  if (bytes > 0 && (of_result || fault == ZBL_STALE)) {
    zbl_fired();
  }
  if (bytes == 0 || fault == ZBL_STALE) {
    return;
  }
  if (of_result) {
    zbl_promise(s, to, zbl_planted(whole, offset, bytes, width, first, all), 0,
                bytes);
  } else {
    zbl_promise(s, to, whole, offset, bytes);
  }
}

/* Copies a message from a rank's send buffer. `own` is 1 if both ends belong to this process. */
zbl_ref zbl_message(int fault, zbl_stream *from, const char *send, uint64_t bytes, int own) {
  zbl_shared *data = zbl_new_shared(bytes, own);
  if (fault == ZBL_MISSING) {
    zbl_fired();
    memset(data->bytes, 0, bytes);
  } else {
    zbl_wide_copy(data->bytes, zbl_sends(fault, from, send, bytes), bytes);
  }
  data->users = 1;
  return zbl_ref_of(data);
}

/* Returns the number of bytes that rank i sends in a round. It is 0 for the other ranks if
 * only the root sends. */
static uint64_t zbl_sent(const zbl_round *r, int i) {
  const zbl_shape *shape = &zbl_shapes[r->call.collective];
  uint64_t share = r->call.count * zbl_width(r->call.dtype);
  if (shape->root_only == ZBL_SENDS && i != r->call.root) {
    return 0;
  }
  return shape->send_all ? (uint64_t)zbl_clique_of(r)->nranks * share : share;
}

static const zb_block *zbl_part(const zbl_round *r, int part) {
  return (const zb_block *)zbl_at(r->blocks) + part;
}

/* Returns the total bytes of the blocks before block `part`. Kept blocks are contiguous. */
static uint64_t zbl_before_part(const zbl_round *r, int part) {
  uint64_t n = 0;
  for (int i = 0; i < part; i++) {
    n += zbl_part(r, i)->count * zbl_width(r->call.dtype);
  }
  return n;
}

/* Copies those parts of a rank's send buffer that the round moves. */
static void zbl_copy_parts(const zbl_round *r, int rank, zbl_stream *s, char *to) {
  unsigned width = zbl_width(r->call.dtype);
  for (int i = 0; i < r->parts; i++) {
    const zb_block *b = zbl_part(r, i);
    uint64_t n = b->count * width;
    if (b->from < 0 || b->from == rank) {
      memcpy(to, zbl_sends(zbl_fault_of(r, rank), s, r->place[rank].send + b->send_at * width, n), n);
    }
    to += n;
  }
}

/* Copies a rank's send buffer into memory that other processes can read. */
void zbl_publish(zbl_round *r, int rank, zbl_stream *s) {
  uint64_t bytes = r->parts == 0 ? zbl_sent(r, rank) : zbl_before_part(r, r->parts);
  zbl_shared *copy = zbl_new_shared(bytes, 0);
  if (r->input == 0) {
    size_t n = (size_t)zbl_clique_of(r)->nranks * sizeof(zbl_ref);
    r->input = zbl_ref_of(zbl_new(n));
    memset(zbl_at(r->input), 0, n);
  }
  if (r->parts > 0) {
    zbl_copy_parts(r, rank, s, copy->bytes);
  } else if (bytes > 0) {
    zbl_wide_copy(copy->bytes, zbl_sends(zbl_fault_of(r, rank), s, r->place[rank].send, bytes), bytes);
  }
  ((zbl_ref *)zbl_at(r->input))[rank] = zbl_ref_of(copy);
}

static void zbl_free_input(zbl_round *r) {
  const zbl_ref *input = zbl_at(r->input);
  for (int i = 0; input != NULL && i < zbl_clique_of(r)->nranks; i++) {
    zbl_drop(zbl_at(input[i]));
  }
  zbl_drop(zbl_at(r->input));
  r->input = 0;
}

/* Frees a round's data. The result stays as long as it is promised to a buffer. */
void zbl_free_data(zbl_round *r) {
  zbl_drop(zbl_at(r->blocks));
  zbl_free_input(r);
  if (r->result != 0) {
    zbl_unshare(zbl_at(r->result));
  }
}

/* Returns the data that rank i sends: in its buffer, or in the copy that its process made. */
static const char *zbl_input(const zbl_round *r, int i) {
  const zbl_ref *input = zbl_at(r->input);
  const zbl_place *p = &r->place[i];
  return input != NULL ? ((zbl_shared *)zbl_at(input[i]))->bytes
                       : zbl_sends(zbl_fault_of(r, i), p->stream, p->send, zbl_sent(r, i));
}

/* Returns one moved part of rank i's send data. */
static const char *zbl_input_part(const zbl_round *r, int i, int part) {
  const zbl_ref *input = zbl_at(r->input);
  const zbl_place *p = &r->place[i];
  const zb_block *b = zbl_part(r, part);
  unsigned width = zbl_width(r->call.dtype);
  return input != NULL
             ? ((zbl_shared *)zbl_at(input[i]))->bytes + zbl_before_part(r, part)
             : zbl_sends(zbl_fault_of(r, i), p->stream, p->send + b->send_at * width, b->count * width);
}

/* Returns the results of all moved parts, one after the other. */
static zbl_shared *zbl_result_parts(const zbl_round *r, const char **in) {
  unsigned width = zbl_width(r->call.dtype);
  zbl_shared *out =
      zbl_new_shared(zbl_before_part(r, r->parts), zbl_has_all(zbl_clique_of(r)));
  char *to = out->bytes;
  for (int part = 0; part < r->parts; part++) {
    const zb_block *b = zbl_part(r, part);
    for (int i = 0; i < zbl_clique_of(r)->nranks; i++) {
      in[i] = b->from < 0 || b->from == i ? zbl_input_part(r, i, part) : NULL;
    }
    if (b->from < 0) {
      zbl_reduce_some(r, in, to, 0, b->count);
    } else if (zbl_times(r, b->from) > 0) {
      memcpy(to, in[b->from], b->count * width);
    } else {
      memset(to, 0, b->count * width);
    }
    to += b->count * width;
  }
  return out;
}

/* Computes the round's result for all ranks. */
void zbl_move(zbl_round *r) {
  int n = zbl_clique_of(r)->nranks;
  const char **in = calloc((size_t)n, sizeof *in);
  zbl_shared *whole;
  if (in == NULL) {
    abort();
  }
  for (int i = 0; i < n && r->parts == 0; i++) {
    in[i] = zbl_input(r, i);
    if (zbl_times(r, i) != 1 && zbl_sent(r, i) > 0 &&
        (zbl_times(r, i) == 0 || zbl_shapes[r->call.collective].reduces)) {
      zbl_fired();
    }
    zbl_huge((char *)(uintptr_t)in[i], zbl_sent(r, i));
  }
  whole = r->parts > 0 ? zbl_result_parts(r, in) : zbl_result_of(r, in);
  free(in);
  whole->users = 1;
  r->result = zbl_ref_of(whole);
  zbl_free_input(r);
}

/* Promises a rank its part of the result. */
void zbl_take_result(const zbl_round *r, int rank, zbl_stream *s) {
  unsigned width = zbl_width(r->call.dtype);
  const zbl_shape *shape = &zbl_shapes[r->call.collective];
  const zbl_place *place = &r->place[rank];
  uint64_t offset, bytes = zbl_slice(r, rank, r->call.count * width, &offset);
  if (shape->send_all && shape->recv_all && place->send == place->recv) {
    zbl_poison(place->recv, bytes); /* the result of the other ranks is undefined */
    return;
  }
  if (r->parts == 0) {
    zbl_deliver(zbl_fault_of(r, rank), s, place->recv, zbl_at(r->result), offset, bytes, width, 0, bytes / width);
  }
  for (int i = 0; i < r->parts && bytes > 0; i++) {
    const zb_block *b = zbl_part(r, i);
    if (b->to < 0 || b->to == rank) {
      zbl_deliver(zbl_fault_of(r, rank), s, place->recv + b->recv_at * width, zbl_at(r->result),
                  zbl_before_part(r, i), b->count * width, width, b->recv_at,
                  bytes / width);
    }
  }
}
