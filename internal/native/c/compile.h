/* Compiling a kernel's source at run time; see compile.c. */
#ifndef ZB_COMPILE_H
#define ZB_COMPILE_H

#include "abi.h"

/* The result of a compilation. The caller frees code and log, which may be NULL. `call` is the
 * library's function that failed, NULL if none failed; `result` is the value that it
 * returned. */
typedef struct zb_compiled {
  char *code, *log;
  size_t bytes;
  const char *call;
  int result;
} zb_compiled;

void zb_compile(const zb_table *t, int device, const char *source,
                const char *name, int count, const char *const *options,
                zb_compiled *out);
int zb_load_module(const zb_table *t, int device, const void *image,
                   void **module);

#endif
