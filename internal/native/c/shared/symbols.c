/* What programs do with variables of their device code. */
#include "../fake/stream.h"
#include "more.h"

/* The part of a variable that a copy is about, on the current device (ROCm/clr,
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

/* A symbol is on a device: a copy to it comes from the host or a device, and must be told
 * so (ROCm/clr, hipamd/src/hip_memory.cpp, hipMemcpyToSymbol_common). */
static int zbl_symbol_way(int kind, int other) {
  return kind == other || kind == ZB_DEVICE_TO_DEVICE || kind == ZBL_NO_CU ? ZB_OK
                                                                           : ZB_ERR_DIRECTION;
}

/* Either direction, waited for or not. */
typedef struct zbl_symbol_copy {
  const void *symbol;
  size_t bytes, offset;
  int kind, writes; /* to the symbol */
} zbl_symbol_copy;

static int zbl_symbol_copying(const zbl_symbol_copy *how, const void *other, zbl_copying *c) {
  char *part;
  int code = zbl_symbol_way(how->kind, how->writes ? ZB_TO_DEVICE : ZB_TO_HOST);
  if (code == ZB_OK) {
    code = zbl_symbol_part(how->symbol, how->bytes, how->offset, &part);
  }
  if (code == ZB_OK) {
    *c = (zbl_copying){.to = how->writes ? part : (char *)(uintptr_t)other,
                       .from = how->writes ? other : part, .bytes = how->bytes, .rows = 1};
  }
  return code;
}

static int zbl_toSymbol(const void *symbol, const void *from, size_t bytes, size_t offset,
                        int kind) {
  const zbl_symbol_copy how = {symbol, bytes, offset, kind, 1};
  zbl_copying c;
  int code;
  ZBL_ENTER;
  code = zbl_symbol_copying(&how, from, &c);
  return zbl_said(code != ZB_OK ? code : zbl_copy_now(&c, kind));
}

static int zbl_toSymbolAsync(const void *symbol, const void *from, size_t bytes, size_t offset,
                             int kind, void *stream) {
  const zbl_symbol_copy how = {symbol, bytes, offset, kind, 1};
  zbl_copying c;
  int code;
  ZBL_ENTER;
  code = zbl_symbol_copying(&how, from, &c);
  return zbl_said(code != ZB_OK ? code : zbl_copy_later(&c, kind, stream));
}

static int zbl_fromSymbol(void *to, const void *symbol, size_t bytes, size_t offset, int kind) {
  const zbl_symbol_copy how = {symbol, bytes, offset, kind, 0};
  zbl_copying c;
  int code;
  ZBL_ENTER;
  code = zbl_symbol_copying(&how, to, &c);
  return zbl_said(code != ZB_OK ? code : zbl_copy_now(&c, kind));
}

static int zbl_fromSymbolAsync(void *to, const void *symbol, size_t bytes, size_t offset,
                               int kind, void *stream) {
  const zbl_symbol_copy how = {symbol, bytes, offset, kind, 0};
  zbl_copying c;
  int code;
  ZBL_ENTER;
  code = zbl_symbol_copying(&how, to, &c);
  return zbl_said(code != ZB_OK ? code : zbl_copy_later(&c, kind, stream));
}

/* ROCm/clr, hipamd/src/hip_platform.cpp, hipGetSymbolAddress and hipGetSymbolSize. */
static int zbl_symbolAddress(void **p, const void *symbol) {
  char *at;
  int code;
  ZBL_ENTER;
  if (p == NULL) {
    return zbl_said(ZB_ERR_VALUE);
  }
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
  if (bytes == NULL) {
    return zbl_said(ZB_ERR_VALUE);
  }
  return zbl_said(zbl_find_variable(&what, &at, bytes));
}
