/* CHECK counts what does not hold, in any thread, and names it. */
#ifndef ZB_CHECK_H
#define ZB_CHECK_H

#include <stdio.h>

static int failures;

#define CHECK(what)                                                            \
  do {                                                                         \
    if (!(what)) {                                                             \
      fprintf(stderr, "%s:%d: %s\n", __func__, __LINE__, #what);               \
      __atomic_add_fetch(&failures, 1, __ATOMIC_RELAXED);                      \
    }                                                                          \
  } while (0)

#endif
