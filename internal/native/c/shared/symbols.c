/* Copies to and from variables of the program's device code, and their addresses. */
#include "../fake/stream.h"
#include "more.h"

/* Finds the part of a variable that is copied, on the current device (ROCm/clr,
 * hipamd/src/hip_memory.cpp, ihipMemcpySymbol_validate). */
static int zbl_symbol_part(const void *symbol, size_t bytes, size_t offset, char **at) {
  const zbl_wanted what = {.host = symbol, .device = zbl_current_device()};
  size_t all, end;
  void *to;
  int code = zbl_find_variable(&what, &to, &all);
  if (code != ZB_OK) {
    return code;
  }
  if (__builtin_add_overflow(offset, bytes, &end) || end > all) {
    return ZB_ERR_VALUE;
  }
  *at = (char *)to + offset;
  return ZB_OK;
}

/* Checks the kind of a copy. A symbol is on a device, so the kind must give a device at that end;
 * the other end is the host or a device (ROCm/clr, hipamd/src/hip_memory.cpp,
 * hipMemcpyToSymbol_common). */
static int zbl_symbol_way(int kind, int other) {
  return kind == other || kind == ZB_DEVICE_TO_DEVICE || kind == ZBL_NO_CU ? ZB_OK
                                                                           : ZB_ERR_DIRECTION;
}

/* A copy in either direction. If `later` is set, the copy is enqueued in the stream; otherwise the
 * call waits for it. */
typedef struct zbl_symbol_copy {
  const void *symbol;
  size_t bytes, offset;
  int kind, writes; /* writes: 1 for a copy to the symbol */
  int later;
  void *stream;
} zbl_symbol_copy;

static int zbl_copy_symbol(const zbl_symbol_copy *how, const void *other) {
  zbl_copying c = {.bytes = how->bytes, .rows = 1};
  char *part;
  int code = zbl_symbol_way(how->kind, how->writes ? ZB_TO_DEVICE : ZB_TO_HOST);
  ZBL_ENTER;
  if (code == ZB_OK) {
    code = zbl_symbol_part(how->symbol, how->bytes, how->offset, &part);
  }
  ZBL_REFUSE(code != ZB_OK, code);
  c.to = how->writes ? part : (char *)(uintptr_t)other;
  c.from = how->writes ? other : part;
  return zbl_said(how->later ? zbl_copy_later(&c, how->kind, how->stream) : zbl_copy_now(&c, how->kind));
}

static int zbl_toSymbol(const void *symbol, const void *from, size_t bytes, size_t offset,
                        int kind) {
  return zbl_copy_symbol(&(zbl_symbol_copy){symbol, bytes, offset, kind, 1, 0, NULL}, from);
}

static int zbl_toSymbolAsync(const void *symbol, const void *from, size_t bytes, size_t offset,
                             int kind, void *stream) {
  return zbl_copy_symbol(&(zbl_symbol_copy){symbol, bytes, offset, kind, 1, 1, stream}, from);
}

static int zbl_fromSymbol(void *to, const void *symbol, size_t bytes, size_t offset, int kind) {
  return zbl_copy_symbol(&(zbl_symbol_copy){symbol, bytes, offset, kind, 0, 0, NULL}, to);
}

static int zbl_fromSymbolAsync(void *to, const void *symbol, size_t bytes, size_t offset,
                               int kind, void *stream) {
  return zbl_copy_symbol(&(zbl_symbol_copy){symbol, bytes, offset, kind, 0, 1, stream}, to);
}

/* Return a symbol's address and size as in ROCm/clr, hipamd/src/hip_platform.cpp,
 * hipGetSymbolAddress and hipGetSymbolSize. */
static int zbl_symbolAddress(void **p, const void *symbol) {
  char *at;
  int code;
  ZBL_ENTER;
  ZBL_REFUSE(p == NULL, ZB_ERR_VALUE);
  code = zbl_symbol_part(symbol, 0, 0, &at);
  if (code == ZB_OK) {
    *p = at;
  }
  return zbl_said(code);
}

static int zbl_symbolSize(size_t *bytes, const void *symbol) {
  const zbl_wanted what = {.host = symbol, .device = zbl_current_device()};
  void *at;
  ZBL_ENTER;
  ZBL_REFUSE(bytes == NULL, ZB_ERR_VALUE);
  return zbl_said(zbl_find_variable(&what, &at, bytes));
}
