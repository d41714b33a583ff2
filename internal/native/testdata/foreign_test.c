/* What the shared libraries tell a program's user: foreign_test PART [FOLDER], in a world of
 * eight GPUs. What they print is looked at by the test in Go. */
#define ZB_NAMES 0
#include "../c/shared/runtime.c"
#include "check.h"

/* Three launches of a kernel without a version. */
static void kernels(int want) {
  static char kernel;
  const zbs_dim3 one = {1, 1, 1};
  void *params[1] = {NULL};
  void **module = zbs_registerFatBinary("none");
  zbs_registerFunction(module, &kernel, NULL, "_Z5checkPf", 0, NULL, NULL, NULL, NULL, NULL);
  for (int i = 0; i < 3; i++) {
    CHECK(zbs_launchFunction(&kernel, one, one, params, 0, NULL) == want);
  }
}

static int devices(void) {
  int n = -1;
  zbs_getDeviceCount(&n);
  return n;
}

/* Beyond the GPU's memory, and beyond the host's: what is freed can be had again. */
static void memory(void) {
  void *p, *q;
  size_t left, all;
  CHECK(zbs_memGetInfo(&left, &all) == 0 && left == all);
  CHECK(zbs_mallocDevice(&p, all + 1) == ZB_ERR_MEMORY && p == NULL);
  zbl.hub->room = 1 << 20;
  CHECK(zbs_mallocDevice(&p, 1 << 19) == 0);
  CHECK(zbs_setDevice(1) == 0 && zbs_mallocDevice(&q, (1 << 19) + 1) == ZB_ERR_MEMORY);
  CHECK(zbs_mallocHost(&q, (1 << 19) + 1) == ZB_ERR_MEMORY);
  CHECK(zbs_mallocDevice(&q, 1 << 19) == 0 && zbs_freeDevice(p) == 0);
  CHECK(zbs_mallocDevice(&p, 1 << 19) == 0 && zbs_freeDevice(p) == 0 && zbs_freeDevice(q) == 0);
  CHECK(zbl.hub->taken == 0);
}

/* The host's memory is said first. */
static void room(void) {
  void *p;
  CHECK(devices() == 8);
  CHECK(zbl.hub->room > 0);
  zbl.hub->room = 1000000000;
  CHECK(zbs_mallocDevice(&p, 3000000000) == ZB_ERR_MEMORY);
}

static void call(void) {
  void *comm[2], *stream;
  const int two[] = {0, 1};
  CHECK(zbs_commInitAll(comm, 2, two) == 0 && zbs_streamCreatePlain(&stream) == 0);
  CHECK(zbs_broadcast(NULL, NULL, 4, 7, 5, comm[0], stream) == ZB_COLL_ARGUMENT);
}

/* One launch on each of two GPUs. */
static void launch(void) {
  void *comm[2], *stream[2], *at[2];
  CHECK(zbs_commInitAll(comm, 2, NULL) == 0);
  for (int i = 0; i < 2; i++) {
    CHECK(zbs_setDevice(i) == 0 && zbs_streamCreatePlain(&stream[i]) == 0);
    CHECK(zbs_mallocDevice(&at[i], 64) == 0);
  }
  CHECK(zbs_groupStart() == 0);
  for (int i = 0; i < 2; i++) {
    CHECK(zbs_allReduce(at[i], at[i], 4, 7, 0, comm[i], stream[i]) == 0);
  }
  CHECK(zbs_groupEnd() == 0 && zbs_streamSynchronize(stream[0]) == 0 && zbs_streamSynchronize(stream[1]) == 0);
}

int main(int argc, char **argv) {
  const char *part = argc > 1 ? argv[1] : "";
  if (strcmp(part, "skipped") == 0) {
    kernels(ZB_OK);
  } else if (strcmp(part, "unknown") == 0) {
    CHECK(devices() == 8);
    kernels(ZBL_ERR_NO_BINARY);
  } else if (strcmp(part, "refused") == 0) {
    CHECK(devices() == 0);
  } else if (strcmp(part, "memory") == 0) {
    memory();
  } else if (strcmp(part, "room") == 0) {
    room();
  } else if (strcmp(part, "roomy") == 0) {
    CHECK(devices() == 8 && zbl.hub->room == 0);
  } else if (strcmp(part, "call") == 0) {
    call();
  } else if (strcmp(part, "launch") == 0) {
    launch();
  } else if (strcmp(part, "left") == 0) {
    printf("%llu", (unsigned long long)zbs_room(argv[2]));
  } else {
    failures++;
  }
  return failures > 0;
}
