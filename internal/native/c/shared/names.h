/* Selects one vendor's names from the symbol list: expands PICK_<library>(field,
 * name) for each row. ZB_NAMES is 0 for ROCm's names, 1 for CUDA's. */
#ifndef ZBS_NAMES_H
#define ZBS_NAMES_H

#include "../abi.h"

#define ZBS_PASTE(library, field, name) PICK_##library(field, name)
#if ZB_NAMES
#define ZBS_ROW(field, need, ret, args, rlib, rname, clib, cname, ...)         \
  ZBS_PASTE(clib, field, cname)
#else
#define ZBS_ROW(field, need, ret, args, rlib, rname, clib, cname, ...)         \
  ZBS_PASTE(rlib, field, rname)
#endif
#define ZBS_EXPAND(...) ZBS_ROW(__VA_ARGS__)
#define ZBS_EACH(...) ZBS_EXPAND(__VA_ARGS__)

/* Expands the rows with the other names of functions in the same way. Both names exist, so that a
 * program built for either finds its function. */
#define ZBS_OTHER_ROW(field, ...) ZBS_ROW(field, need, ret, args, __VA_ARGS__)
#define ZBS_OTHER_EXPAND(...) ZBS_OTHER_ROW(__VA_ARGS__)
#define ZBS_OTHER(...) ZBS_OTHER_EXPAND(__VA_ARGS__)

#endif
