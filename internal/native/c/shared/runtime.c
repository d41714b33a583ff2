/* The loopback as a vendor's runtime library, with the vendor's public names.
 * All of its state is here; the other libraries are forward.c's. The variable
 * ZBENCH_LOOPBACK names the machine file; without it there is no device.
 *
 * Processes meet in the file that ZBENCH_LOOPBACK_SHARED names: the first makes it,
 * and it is to be removed when the last has ended. Each sees the devices from
 * ZBENCH_LOOPBACK_FIRST on, ZBENCH_LOOPBACK_COUNT of them; without these two, all. */
#define ZBL_VENDOR ZB_NAMES
#include "../fake/fake.c"
#include "names.h"

#include <stdio.h>
#include <stdlib.h>

#if ZB_NAMES /* CUDA has not all of HIP's functions */
#pragma GCC diagnostic ignored "-Wunused-function"
#endif
#include "comms.c"
#include "devices.c"
#include "kernels.c"
#include "memory.c"
#include "properties.c"
#include "sync.c"
#include "vary.c"

/* A public name for a function of the fake. */
#define ZBS_PUBLIC(field, name)                                                \
  extern __typeof__(zbl_##field) zbs_##field __asm__(name)                     \
      __attribute__((alias("zbl_" #field), visibility("default")));
#define ZBS_FORWARDED(field, name) ZBS_PUBLIC(field, "zbench_" #field)

#define PICK_ZB_RUNTIME ZBS_PUBLIC
#define PICK_ZB_LOOPBACK ZBS_PUBLIC
#define PICK_ZB_COLLECTIVES ZBS_FORWARDED
#define PICK_ZB_COMPILER ZBS_FORWARDED
#define PICK_ZB_DRIVER ZBS_FORWARDED
#define PICK_ZB_NONE(field, name)
ZB_SYMBOLS(ZBS_EACH)
ZBS_MORE(ZBS_EACH)

/* The whole file as text, which the caller frees; NULL when it cannot be read. */
static char *zbs_read(const char *path) {
  FILE *f = fopen(path, "rb");
  char *text = NULL;
  long size = -1;
  if (f == NULL) {
    return NULL;
  }
  if (fseek(f, 0, SEEK_END) == 0 && (size = ftell(f)) >= 0 &&
      fseek(f, 0, SEEK_SET) == 0 && (text = malloc((size_t)size + 1)) != NULL) {
    text[fread(text, 1, (size_t)size, f)] = '\0';
  }
  fclose(f);
  return text;
}

static int zbs_number(const char *name) {
  const char *text = getenv(name);
  return text == NULL ? 0 : atoi(text);
}

/* Other programs know no switch for moving data, so it is on. */
__attribute__((constructor)) static void zbs_open(void) {
  const char *path = getenv("ZBENCH_LOOPBACK");
  const char *several = getenv("NCCL_MULTI_RANK_GPU_ENABLE");
  const zbl_share how = {.several = 1, /* threads of the program, at least */
                         .path = getenv("ZBENCH_LOOPBACK_SHARED"),
                         .first = zbs_number("ZBENCH_LOOPBACK_FIRST"),
                         .count = zbs_number("ZBENCH_LOOPBACK_COUNT")};
  char why[256], *text;
  if (path == NULL) {
    return;
  }
  text = zbs_read(path);
  if (text == NULL) {
    fprintf(stderr, "zbench loopback: ZBENCH_LOOPBACK=%s cannot be read\n",
            path);
    return;
  }
  if (zbl_join_world(text, &how, why, sizeof why)) {
    zbl.moves_data = 1;
    zbl.waits = 1;
    zbl.multi_rank = several != NULL && strcmp(several, "1") == 0;
  } else {
    fprintf(stderr, "zbench loopback: %s: %s\n", path, why);
  }
  free(text);
}

__attribute__((destructor)) static void zbs_close(void) { zbl_shutdown(); }
