/* Calls every function of the loopback's, each in a process of its own, where there is no
 * world: no_world NAME… prints the names of those that end by a signal. An argument is room
 * of zeros, so no function finds a null pointer where its ABI has none. */
#define ZB_NAMES 0
#include "../c/shared/runtime.c"

#include <sys/resource.h>
#include <sys/wait.h>

#define NONE(field, name)
#define ROW(field, name) {name, (zbt_call *)(void *)zbs_##field},

typedef long zbt_call(void *, void *, void *, void *, void *, void *, void *, void *, void *, void *);

#undef PICK_ZB_RUNTIME
#undef PICK_ZB_LOOPBACK
#undef PICK_ZB_COLLECTIVES
#undef PICK_ZB_COMPILER
#undef PICK_ZB_DRIVER
#define PICK_ZB_RUNTIME ROW
#define PICK_ZB_LOOPBACK NONE
#define PICK_ZB_COLLECTIVES ROW
#define PICK_ZB_COMPILER NONE
#define PICK_ZB_DRIVER NONE

static const struct {
  const char *name;
  zbt_call *call;
} functions[] = {ZB_SYMBOLS(ZBS_EACH) ZBS_MORE(ZBS_EACH)};

static _Alignas(64) char room[10][4096];

/* As pointers and as zeros: which of them are numbers is not looked at. */
static int call(int i, int pointers) {
  const struct rlimit no_core = {0, 0};
  int status = -1;
  pid_t child = fork();
  if (child == 0) {
    void *a[10];
    setrlimit(RLIMIT_CORE, &no_core);
    alarm(20);
    for (int k = 0; k < 10; k++) {
      a[k] = pointers >> k & 1 ? room[k] : NULL;
    }
    functions[i].call(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9]);
    _exit(0);
  }
  return waitpid(child, &status, 0) != child || WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

/* What a program calls first. */
static int first_calls(void) {
  static char host[2][64], name[] = "variable";
  void *p;
  size_t bytes[2];
  unsigned flags;
  int n, bad = 0;
  zb_unique_id id;
#define IS(code, call)                                                         \
  do {                                                                         \
    int got = (call);                                                          \
    if (got != (code)) {                                                       \
      printf("%s: %d\n", #call, got);                                          \
      bad = 1;                                                                 \
    }                                                                          \
  } while (0)
  IS(100, zbs_init(0));
  IS(100, zbs_mallocHost(&p, 64));
  IS(100, zbs_getDeviceCount(&n));
  IS(100, zbs_setDevice(0));
  IS(100, zbs_getDevice(&n));
  IS(100, zbs_mallocDevice(&p, 64));
  IS(100, zbs_streamCreate(&p, 0));
  IS(100, zbs_streamQuery(NULL));
  IS(100, zbs_streamSynchronize(NULL));
  IS(100, zbs_eventCreate(&p));
  IS(100, zbs_memGetInfo(&bytes[0], &bytes[1]));
  IS(100, zbs_copy(host[0], host[1], 64, 0));
  IS(100, zbs_copyAsync(host[0], host[1], 64, 0, NULL));
  IS(100, zbs_set(host[0], 0, 64));
  IS(100, zbs_deviceSynchronize());
  IS(100, zbs_deviceReset());
  IS(100, zbs_setLimit(0, 1024));
  IS(100, zbs_getLimit(bytes, 0));
  IS(100, zbs_setDeviceFlags(0));
  IS(100, zbs_deviceFlags(&flags));
  zbs_registerVar(zbs_registerFatBinary(NULL), host[0], name, name, 0, 4, 0, 0);
  IS(100, zbs_symbolSize(bytes, host[0]));
  IS(100, zbs_chooseDevice(&n, host[0]));
  IS(100, zbs_lastError());
  IS(1, zbs_getUniqueId(&id));
  return bad;
}

int main(void) {
  int n = (int)(sizeof functions / sizeof *functions), bad = first_calls();
  for (int i = 0; i < n; i++) {
    int code = strcmp(functions[i].name, "__hipUnregisterFatBinary") != 0 /* frees its handle */
                   ? call(i, 1)
                   : 0;
    if (code != 0 && (code = call(i, 0x3ff)) != 0) { /* an output may come first or later */
      printf("%s: signal %d\n", functions[i].name, code);
      bad = 1;
    }
  }
  printf("%d functions\n", n);
  return bad;
}
