/* Fills a table from a vendor's libraries by dlopen and dlsym. Nothing of a vendor is linked, so
 * that the binary starts on a machine without any vendor's library. */
#include "dl.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const zb_symbol zb_symbol_list[] = {
#define ZB_ROW(field, need, ret, args, ...)                                    \
  {#field, offsetof(zb_table, field), need, ZB_COLUMNS(__VA_ARGS__)},
#define ZB_ROW_EXPAND(...) ZB_ROW(__VA_ARGS__)
#define ZB_LIST(...) ZB_ROW_EXPAND(__VA_ARGS__)
    ZB_SYMBOLS(ZB_LIST)
#undef ZB_LIST
#undef ZB_ROW_EXPAND
#undef ZB_ROW
};

/* The other name of the function at this offset in the table. */
static const struct {
  size_t offset;
  int library[ZB_VENDORS];
  const char *name[ZB_VENDORS];
} zb_other_names[] = {
#define ZB_ROW(field, ...) {offsetof(zb_table, field), ZB_COLUMNS(__VA_ARGS__)},
#define ZB_ROW_EXPAND(...) ZB_ROW(__VA_ARGS__)
#define ZB_LIST(...) ZB_ROW_EXPAND(__VA_ARGS__)
    ZB_OTHER_NAMES(ZB_LIST)
#undef ZB_LIST
#undef ZB_ROW_EXPAND
#undef ZB_ROW
};

static const zb_attribute zb_attribute_list[] = {
#define ZB_ROW(field, ...) {#field, {__VA_ARGS__}},
    ZB_ATTRIBUTES(ZB_ROW)
#undef ZB_ROW
};

int zb_symbol_count(void) {
  return (int)(sizeof zb_symbol_list / sizeof zb_symbol_list[0]);
}

const zb_symbol *zb_symbol_at(int i) { return &zb_symbol_list[i]; }

int zb_attribute_count(void) {
  return (int)(sizeof zb_attribute_list / sizeof zb_attribute_list[0]);
}

const zb_attribute *zb_attribute_at(int i) { return &zb_attribute_list[i]; }

/* Returns a symbol's slot in a table. All function pointers have the same size. */
static void *zb_slot(const zb_table *t, int i) {
  return (char *)t + zb_symbol_list[i].offset;
}

int zb_has(const zb_table *t, int i) {
  void *value;
  memcpy(&value, zb_slot(t, i), sizeof value);
  return value != NULL;
}

/* Opens a library; returns NULL with the loader's message in err. dlerror belongs to the thread,
 * so the message is copied in the same call. */
void *zb_open(const char *path, int only_if_loaded, char *err, size_t errlen) {
  int flags = RTLD_NOW | RTLD_LOCAL | (only_if_loaded ? RTLD_NOLOAD : 0);
  void *library = dlopen(path, flags);
  if (library == NULL) {
    const char *text = dlerror();
    snprintf(err, errlen, "%s", text != NULL ? text : "not loaded");
  }
  return library;
}

/* Flushes the library's buffered output, because the process may end without flushing it. */
void zb_close(void *library) {
  fflush(NULL);
  if (library != NULL) {
    dlclose(library);
  }
}

/* Writes the real path of the file that one of a library's functions was loaded from. */
int zb_path_of(void *library, const char *symbol, char *path, size_t len) {
  Dl_info info;
  char *whole;
  void *address = dlsym(library, symbol);
  if (address == NULL || dladdr(address, &info) == 0 || !info.dli_fname) {
    return 0;
  }
  whole = realpath(info.dli_fname, NULL);
  snprintf(path, len, "%s", whole != NULL ? whole : info.dli_fname);
  free(whole);
  return 1;
}

int zb_exports(void *library, const char *symbol) {
  return library != NULL && dlsym(library, symbol) != NULL;
}

/* Returns the address of a row's function in a library, by the first of its names that exists;
 * NULL if none exists. */
static void *zb_address(void *library, int i, int vendor) {
  const zb_symbol *s = &zb_symbol_list[i];
  void *address = dlsym(library, s->name[vendor]);
  for (size_t k = 0; k < sizeof zb_other_names / sizeof zb_other_names[0]; k++) {
    if (address == NULL && zb_other_names[k].offset == s->offset &&
        zb_other_names[k].library[vendor] == s->library[vendor]) {
      address = dlsym(library, zb_other_names[k].name[vendor]);
    }
  }
  return address;
}

/* Reports whether a library has a row's function under any of its names. */
int zb_offers(void *library, int i, int vendor) {
  return library != NULL && zb_address(library, i, vendor) != NULL;
}

/* Fills the rows of t from the library. Missing symbols stay NULL, and so do all rows of a
 * missing library. */
void zb_fill(zb_table *t, int vendor, int kind, void *library) {
  for (int i = 0; i < zb_symbol_count() && library != NULL; i++) {
    const zb_symbol *s = &zb_symbol_list[i];
    if (s->library[vendor] == kind) {
      void *address = zb_address(library, i, vendor);
      memcpy(zb_slot(t, i), &address, sizeof address);
    }
  }
}
