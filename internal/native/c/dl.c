/* dlopen and dlsym: a vendor's libraries become a table. Nothing of a vendor is
 * linked, so the binary starts on a machine that has neither. */
#include "dl.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static const zb_symbol zb_symbol_list[] = {
#define ZB_ROW(field, need, ret, args, rlib, rname, clib, cname)               \
  {#field, offsetof(zb_table, field), need, {rlib, clib}, {rname, cname}},
#define ZB_ROW_EXPAND(...) ZB_ROW(__VA_ARGS__)
#define ZB_LIST(...) ZB_ROW_EXPAND(__VA_ARGS__)
    ZB_SYMBOLS(ZB_LIST)
#undef ZB_LIST
#undef ZB_ROW_EXPAND
#undef ZB_ROW
};

int zb_symbol_count(void) {
  return (int)(sizeof zb_symbol_list / sizeof zb_symbol_list[0]);
}

const zb_symbol *zb_symbol_at(int i) { return &zb_symbol_list[i]; }

/* The slot of a symbol in a table; function pointers all have one size. */
static void *zb_slot(const zb_table *t, int i) {
  return (char *)t + zb_symbol_list[i].offset;
}

int zb_has(const zb_table *t, int i) {
  void *value;
  memcpy(&value, zb_slot(t, i), sizeof value);
  return value != NULL;
}

/* Returns NULL with the loader's words in err. dlerror is per thread, so the
 * message is taken in the same call. */
void *zb_open(const char *path, int only_if_loaded, char *err, size_t errlen) {
  int flags = RTLD_NOW | RTLD_LOCAL | (only_if_loaded ? RTLD_NOLOAD : 0);
  void *library = dlopen(path, flags);
  if (library == NULL) {
    const char *text = dlerror();
    snprintf(err, errlen, "%s", text != NULL ? text : "not loaded");
  }
  return library;
}

void zb_close(void *library) {
  if (library != NULL) {
    dlclose(library);
  }
}

/* The file that a library was really loaded from, by one of its functions. */
int zb_path_of(void *library, const char *symbol, char *path, size_t len) {
  Dl_info info;
  void *address = dlsym(library, symbol);
  if (address == NULL || dladdr(address, &info) == 0 || !info.dli_fname) {
    return 0;
  }
  snprintf(path, len, "%s", info.dli_fname);
  return 1;
}

/* Fills t from the two libraries; absent symbols stay NULL. Returns the index
 * of the first required symbol that is missing, or -1. */
int zb_fill(zb_table *t, int vendor, void *runtime, void *collectives) {
  int missing = -1;
  memset(t, 0, sizeof *t);
  for (int i = 0; i < zb_symbol_count(); i++) {
    const zb_symbol *s = &zb_symbol_list[i];
    void *from = NULL, *address;
    if (s->library[vendor] == ZB_RUNTIME) {
      from = runtime;
    } else if (s->library[vendor] == ZB_COLLECTIVES) {
      from = collectives;
    }
    address = from != NULL ? dlsym(from, s->name[vendor]) : NULL;
    memcpy(zb_slot(t, i), &address, sizeof address);
    if (address == NULL && s->required && missing < 0) {
      missing = i;
    }
  }
  return missing;
}
