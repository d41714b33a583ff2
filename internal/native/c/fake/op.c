/* Allocates operations. A stream keeps its finished operations for reuse, so that a long queue is
 * contiguous in memory. */
#include "stream.h"

#include <stdlib.h>
#include <string.h>

enum { ZBL_OPS_AT_ONCE = 255 };

/* The memory of all operations. zbl_spare_ops lists the operations that belong to no stream. */
typedef struct zbl_ops {
  struct zbl_ops *next;
  _Alignas(64) struct {
    _Alignas(64) zbl_op op;
  } at[ZBL_OPS_AT_ONCE];
} zbl_ops;

static zbl_ops *zbl_all_ops;
static zbl_op *zbl_spare_ops;

static void zbl_more_ops(void) {
  zbl_ops *more = aligned_alloc(64, sizeof *more);
  if (more == NULL) {
    abort(); /* a host without memory for a few bytes cannot continue */
  }
  more->next = zbl_all_ops;
  zbl_all_ops = more;
  for (int i = ZBL_OPS_AT_ONCE - 1; i >= 0; i--) {
    more->at[i].op.next = zbl_spare_ops;
    zbl_spare_ops = &more->at[i].op;
  }
}

/* Returns a new operation for a stream; the host enqueued it at `posted`. */
zbl_op *zbl_new_op(zbl_stream *s, const zbl_kind *kind, void *data,
                   double posted) {
  zbl_op *op = s->spare;
  if (op != NULL) {
    s->spare = op->next;
  } else {
    if (zbl_spare_ops == NULL) {
      zbl_more_ops();
    }
    op = zbl_spare_ops;
    zbl_spare_ops = op->next;
  }
  op->kind = kind;
  op->data = data;
  op->comm = NULL;
  op->next = NULL;
  op->posted = zbl_host_posts(s->lane, posted);
  op->rank = 0;
  op->started = op->stuck = op->ahead = 0;
  return op;
}

/* Puts an operation with a copy of its data on a stream. zbl_free_copied frees the copy. */
int zbl_put_copied(zbl_stream *s, const zbl_kind *kind, const void *data, size_t bytes) {
  void *own = malloc(bytes);
  if (own == NULL) {
    return ZB_ERR_MEMORY;
  }
  memcpy(own, data, bytes);
  zbl_push(s, zbl_new_op(s, kind, own, s->lane->h));
  return ZB_OK;
}

void zbl_free_copied(zbl_op *op) { free(op->data); }

/* Returns a stream's spare operations to the common list. */
void zbl_give_ops(zbl_stream *s) {
  while (s->spare != NULL) {
    zbl_op *op = s->spare;
    s->spare = op->next;
    op->next = zbl_spare_ops;
    zbl_spare_ops = op;
  }
}

/* Frees the memory of all operations. No stream may have an operation any more. */
void zbl_free_ops(void) {
  zbl_spare_ops = NULL;
  while (zbl_all_ops != NULL) {
    zbl_ops *ops = zbl_all_ops;
    zbl_all_ops = ops->next;
    free(ops);
  }
}
