/* The functions of the loopback's shared libraries under their fields' names, and a world. */
#ifndef MISUSE_H
#define MISUSE_H

#include "../c/shared/more.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMED(ret, field, args, name) ret field args __asm__(name);
#define UNNAMED(ret, field, args, name)
#define NAMED_ZB_RUNTIME NAMED
#define NAMED_ZB_COLLECTIVES NAMED
#define NAMED_ZB_COMPILER UNNAMED
#define NAMED_ZB_DRIVER UNNAMED
#define NAMED_ZB_LOOPBACK UNNAMED
#define NAMED_ZB_NONE UNNAMED
#define PASTE(library, ret, field, args, name) NAMED_##library(ret, field, args, name)
#define DECLARED(field, need, ret, args, rlib, rname, clib, cname) PASTE(rlib, ret, field, args, rname)
#define DECLARE(...) DECLARED(__VA_ARGS__)
ZB_SYMBOLS(DECLARE)
ZBS_MORE(DECLARE)

/* The first failure ends the program: what comes after it might wait for ever. */
#define IS(want, call)                                                             \
  do {                                                                             \
    int got = (call);                                                              \
    if (got != (want)) {                                                           \
      printf("%s:%d: %s is %d, not %s\n", __func__, __LINE__, #call, got, #want);  \
      exit(1);                                                                     \
    }                                                                              \
  } while (0)
#define CHECK(what) IS(1, !!(what))

enum { DEVICES = 8, COUNT = 256, SIZE = COUNT * 4, INT32 = 2, FLOAT = 7, SUM = 0 };

enum { DESTROYED = 709 }; /* hipErrorContextIsDestroyed: HIP has no such stream */

static void *comm[DEVICES], *stream[DEVICES];
static char *in[DEVICES], *out[DEVICES];
static char plain[SIZE];

static void open_all(void) {
  IS(0, commInitAll(comm, DEVICES, NULL));
  for (int i = 0; i < DEVICES; i++) {
    IS(0, setDevice(i));
    IS(0, streamCreate(&stream[i], ZB_STREAM_NON_BLOCKING));
    IS(0, mallocDevice((void **)&in[i], SIZE));
    IS(0, mallocDevice((void **)&out[i], SIZE));
  }
  IS(0, setDevice(0));
}

static void close_all(void) {
  for (int i = 0; i < DEVICES; i++) {
    IS(0, commDestroy(comm[i]));
    IS(ZB_COLL_ARGUMENT, commDestroy(comm[i]));
    IS(0, streamDestroy(stream[i]));
  }
}

#endif
