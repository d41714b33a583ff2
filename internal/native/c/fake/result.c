/* Results that are promised to buffers: each appears when the host or a later kernel
 * has proved it done. */
#include "stream.h"

#include <stdlib.h>
#include <string.h>

void zbl_unshare(zbl_shared *owner) {
  if (--owner->users == 0) {
    zbl_drop(owner);
  }
}

/* What the host finds where nothing is known to be. */
void zbl_poison(char *to, size_t bytes) { memset(to, 0xa5, bytes); }

/* Promises bytes of a shared result to a buffer, which holds poison till then. */
void zbl_promise(zbl_stream *s, char *to, zbl_shared *owner, size_t offset,
                 size_t bytes) {
  zbl_result *r = malloc(sizeof *r);
  if (r == NULL) {
    abort();
  }
  *r = (zbl_result){to, owner->bytes + offset, bytes, owner, NULL};
  owner->users++;
  zbl_poison(to, bytes);
  if (s->results_tail != NULL) {
    s->results_tail->next = r;
  } else {
    s->results = r;
  }
  s->results_tail = r;
}

/* Drops what was promised. */
void zbl_forget(zbl_stream *s) {
  while (s->results != NULL) {
    zbl_result *r = s->results;
    s->results = r->next;
    zbl_unshare(r->owner);
    free(r);
  }
  s->results_tail = NULL;
}

/* Everything that has run on the stream is proved done: the results appear. */
void zbl_reveal(zbl_stream *s) {
  for (zbl_result *r = s->results; r != NULL; r = r->next) {
    memcpy(r->to, r->from, r->bytes);
  }
  zbl_forget(s);
}
