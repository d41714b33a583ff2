/* Promised results. A result appears in its buffer only when the host, or a later kernel, has a
 * proof that the operation is done. */
#include "pool.h"
#include "stream.h"

#include <stdlib.h>
#include <string.h>

void zbl_unshare(zbl_shared *owner) {
  if (--owner->users == 0) {
    zbl_drop(owner);
  }
}

/* Fills memory whose content is undefined. */
void zbl_poison(char *to, size_t bytes) { zbl_wide_fill(to, 0xa5, bytes); }

static int zbl_overlap(const zbl_result *r, const char *from, size_t bytes) {
  return r->to < from + bytes && from < r->to + r->bytes;
}

/* Drops the promised results for memory that is being freed. */
void zbl_forget_range(const char *from, size_t bytes) {
  for (zbl_stream *s = zbl_streams; s != NULL; s = s->all) {
    zbl_result **at = &s->results;
    s->results_tail = NULL;
    while (*at != NULL) {
      zbl_result *r = *at;
      if (zbl_overlap(r, from, bytes)) {
        *at = r->next;
        zbl_unshare(r->owner);
        free(r);
      } else {
        s->results_tail = r;
        at = &r->next;
      }
    }
  }
}

/* Returns the address of the bytes that a kernel of the stream reads: in a promised result if it
 * covers the bytes and no other promise overlaps them, otherwise in the buffer. A kernel may rely
 * on earlier work of its own stream, so other promises that overlap the bytes are revealed
 * first. */
const char *zbl_source(zbl_stream *s, const char *from, size_t bytes) {
  const zbl_result *only = NULL;
  int n = 0;
  for (const zbl_result *r = s->results; r != NULL; r = r->next) {
    if (zbl_overlap(r, from, bytes)) {
      only = r;
      n++;
    }
  }
  if (n == 1 && only->to <= from && from + bytes <= only->to + only->bytes) {
    return only->from + (from - only->to);
  }
  if (n > 0) {
    zbl_reveal(s);
  }
  return from;
}

/* Returns the promise to exactly these bytes. A new promise can replace it, because nothing has
 * read it. Returns NULL if a later promise touches the bytes. */
static zbl_result *zbl_replaced(const zbl_stream *s, const char *to, size_t bytes) {
  zbl_result *found = NULL;
  for (zbl_result *r = s->results; r != NULL; r = r->next) {
    if (r->to == to && r->bytes == bytes) {
      found = r;
    } else if (zbl_overlap(r, to, bytes)) {
      found = NULL;
    }
  }
  return found;
}

/* Promises bytes of a shared result to a buffer. Until the result appears, the buffer holds
 * poison. */
void zbl_promise(zbl_stream *s, char *to, zbl_shared *owner, size_t offset,
                 size_t bytes) {
  zbl_result *r = zbl_replaced(s, to, bytes);
  owner->users++;
  if (r != NULL) { /* the buffer already has the poison */
    zbl_unshare(r->owner);
    r->owner = owner;
    r->from = owner->bytes + offset;
    return;
  }
  r = malloc(sizeof *r);
  if (r == NULL) {
    abort();
  }
  *r = (zbl_result){to, owner->bytes + offset, bytes, owner, NULL};
  zbl_poison(to, bytes);
  if (s->results_tail != NULL) {
    s->results_tail->next = r;
  } else {
    s->results = r;
  }
  s->results_tail = r;
}

/* Drops all promised results of a stream. */
void zbl_forget(zbl_stream *s) {
  while (s->results != NULL) {
    zbl_result *r = s->results;
    s->results = r->next;
    zbl_unshare(r->owner);
    free(r);
  }
  s->results_tail = NULL;
}

/* Reveals the promised results of a stream, after everything that has run on it is proved done. */
void zbl_reveal(zbl_stream *s) {
  for (zbl_result *r = s->results; r != NULL; r = r->next) {
    zbl_wide_copy(r->to, r->from, r->bytes);
  }
  zbl_forget(s);
}
