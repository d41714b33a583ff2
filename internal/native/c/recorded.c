/* A table that records the names of its calls and passes them on to the provider below it. A test
 * uses it to show that the driver makes the same calls with and without the loopback's own rows.
 * Polls that find work unfinished, and barriers that gave up for a moment, are not recorded,
 * because their number varies. */
#include "recorded.h"

#include "dl.h"

#include <stddef.h>
#include <string.h>

enum { ZBR_CALLS = 1 << 18, ZBR_STACK = 256 }; /* ZBR_STACK: bytes of arguments on the stack */

static zb_table zbr_below;
static const char *zbr_calls[ZBR_CALLS];
static int zbr_made;

static void zbr_note(const char *name) {
  int at = __atomic_fetch_add(&zbr_made, 1, __ATOMIC_RELAXED);
  if (at < ZBR_CALLS) {
    zbr_calls[at] = name;
  }
}

int zbr_count(void) { return __atomic_load_n(&zbr_made, __ATOMIC_RELAXED); }

const char *zbr_at(int i) { return i < ZBR_CALLS ? zbr_calls[i] : NULL; }

void zbr_forget(void) { __atomic_store_n(&zbr_made, 0, __ATOMIC_RELAXED); }

#if defined(__GNUC__) && !defined(__clang__)

#define ZBR_PASS_ON(field, need, ret, args, ...)                               \
  static ret zbr_##field args {                                                \
    zbr_note(#field);                                                          \
    __builtin_return(__builtin_apply((void (*)())zbr_below.field,              \
                                     __builtin_apply_args(), ZBR_STACK));      \
  }
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wreturn-type"
#pragma GCC diagnostic ignored "-Wcast-function-type"
ZB_SYMBOLS(ZBR_PASS_ON)
#pragma GCC diagnostic pop

static int zbr_query(void *stream) {
  int code = zbr_below.streamQuery(stream);
  if (code != ZB_ERR_NOT_READY) {
    zbr_note("streamQuery");
  }
  return code;
}

static int zbr_barrier(const int32_t *device, size_t stride, int n) {
  int all = zbr_below.hostBarrier(device, stride, n);
  if (all) {
    zbr_note("hostBarrier");
  }
  return all;
}

int zbr_record(zb_table *t) {
  zbr_below = *t;
#define ZBR_SET(field, ...) t->field = zbr_below.field != NULL ? zbr_##field : NULL;
  ZB_SYMBOLS(ZBR_SET)
#undef ZBR_SET
  t->streamQuery = zbr_query;
  if (t->hostBarrier != NULL) {
    t->hostBarrier = zbr_barrier;
  }
  t->commGetAsyncError = zbr_below.commGetAsyncError; /* not recorded, because it is only called
                                                       * after a poll that found work
                                                       * unfinished */
  zbr_forget();
  return 1;
}

#else

int zbr_record(zb_table *t) {
  (void)t;
  return 0;
}

#endif

void zbr_as_vendor(zb_table *t) {
  if (t->moveData != NULL) {
    t->moveData(1); /* a real library always moves data */
  }
  for (int i = 0; i < zb_symbol_count(); i++) {
    const zb_symbol *s = zb_symbol_at(i);
    if (s->library[ZB_ROCM] == ZB_LOOPBACK) {
      memset((char *)t + s->offset, 0, sizeof(void *));
    }
  }
}
