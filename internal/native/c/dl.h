/* Opening libraries and filling the table; see dl.c and elf.c. */
#ifndef ZB_DL_H
#define ZB_DL_H

#include "abi.h"

/* One row of the symbol list as data, for lookups and for listing the available symbols. */
typedef struct zb_symbol {
  const char *field;
  size_t offset;
  const char *lost; /* the loss if the symbol is missing; NULL for a required symbol */
  int library[ZB_VENDORS]; /* indexed by ZB_ROCM, ZB_CUDA */
  const char *name[ZB_VENDORS];
} zb_symbol;

int zb_symbol_count(void);
const zb_symbol *zb_symbol_at(int i);
int zb_attribute_count(void);
const zb_attribute *zb_attribute_at(int i);
int zb_has(const zb_table *t, int i);

void *zb_open(const char *path, int only_if_loaded, char *err, size_t errlen);
void zb_close(void *library);
int zb_path_of(void *library, const char *symbol, char *path, size_t len);
int zb_exports(void *library, const char *symbol);
int zb_offers(void *library, int i, int vendor);
void zb_fill(zb_table *t, int vendor, int kind, void *library);

int zb_file_fault(const char *path, char *text, size_t len);
int zb_loaded(const char *prefix, int index, char *path, size_t len);

#endif
