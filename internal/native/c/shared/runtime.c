/* The loopback as a vendor's runtime library, with the vendor's public names. This
 * library has all of the state; forward.c makes the other libraries. The variable
 * ZBENCH_LOOPBACK names the machine file; without it there is no device.
 *
 * Processes meet in the file that ZBENCH_LOOPBACK_SHARED names. The first process makes
 * the file, and the last process to end normally removes it. place.c decides which
 * devices a process sees, from ZBENCH_LOOPBACK_GPUS and the launcher's variables.
 * ZBENCH_LOOPBACK_CLOCK selects the clock that the program sees (virtual, paced, host).
 * ZBENCH_LOOPBACK_HANG_RATE is how many times as fast the virtual clock runs in a hang.
 * With ZBENCH_LOOPBACK_DATA=0 no data moves. `zbench loopback` sets all of these
 * variables. */
#define ZBL_VENDOR ZB_NAMES
#include "../fake/fake.c"
#include "names.h"

#include "place.c"

#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#if ZB_NAMES /* functions that CUDA does not have */
#pragma GCC diagnostic ignored "-Wunused-function"
#endif
#include "callback.c"
#include "comms.c"
#include "devices.c"
#include "driver.c"
#include "object.c"
#include "registered.c"
#include "variables.c"
#include "kernels.c"
#include "exported.c"
#include "ipc.c"
#include "memory.c"
#include "occupancy.c"
#include "pointers.c"
#include "properties.c"
#include "queries.c"
#include "pools.c" /* needs queries.c */
#include "room.c"
#include "rows.c"
#include "sync.c"
#include "symbols.c" /* needs variables.c */
#include "values.c"
#include "contexts.c" /* needs ipc.c and queries.c */
#include "managed.c"
#include "modules.c"
#include "vary.c"
#include "newer.c" /* needs comms.c and vary.c */

#include "first.h"

/* Returns the function of the preloaded library (clock.c) that sets the clock; NULL if
 * that library is not loaded. */
static void (*zbs_clock(void))(int64_t (*)(void), void (*)(int64_t)) {
  union {
    void *at;
    void (*use)(int64_t (*)(void), void (*)(int64_t));
  } found = {.at = dlsym(RTLD_DEFAULT, "zbench_clock_use")};
  return found.use;
}

/* Chooses the clock that the program sees, from the environment. */
static void zbs_show(void) {
  const char *name = zbs_variable("ZBENCH_LOOPBACK_CLOCK");
  const char *rate = zbs_variable("ZBENCH_LOOPBACK_HANG_RATE");
  zbl.stall_rate = rate != NULL && atof(rate) > 0 ? atof(rate) : 1;
  if (name == NULL || strcmp(name, "host") == 0) {
    return;
  }
  if (strcmp(name, "paced") == 0) {
    zbl_show(ZBL_PACED);
  } else if (strcmp(name, "virtual") != 0) {
    fprintf(stderr, "zbench loopback: ZBENCH_LOOPBACK_CLOCK=%s is not virtual, paced or host\n", name);
  } else if (zbs_clock() == NULL) {
    fprintf(stderr, "zbench loopback: ZBENCH_LOOPBACK_CLOCK=virtual needs libzbench-clock.so in "
                    "LD_PRELOAD: the program sees the host's clock\n");
  } else {
    zbl_show(ZBL_SHOWN);
    zbs_clock()(zbl_shown_now, zbl_shown_reach);
  }
}

/* Reports whether NCCL_DEBUG asks for warnings (NVIDIA/nccl, src/debug.cc, ncclDebugInit). */
static int zbs_warns(const char *level) {
  static const char *const levels[] = {"WARN", "INFO", "ABORT", "TRACE"};
  int i = 0;
  while (level != NULL && i < 4 && strcasecmp(level, levels[i]) != 0) {
    i++;
  }
  return level != NULL && i < 4;
}

static pid_t zbs_opened; /* the process that opened the world; a forked process has another id */
static int zbs_pinned;

/* Keeps the library loaded until the process ends, as with a real library that has used
 * a GPU. Other threads may then still use it when its destructor runs. */
static void zbs_pin(void) {
  Dl_info self;
  zbs_pinned = zbs_variable("ZBENCH_LOOPBACK_CLOCK") != NULL &&
               dladdr(&zbs_pinned, &self) != 0 &&
               dlopen(self.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE) != NULL;
}

static int zbs_skips(void) {
  const char *unknown = zbs_variable("ZBENCH_LOOPBACK_UNKNOWN_KERNELS");
  return unknown != NULL && strcmp(unknown, "skip") == 0;
}

/* Returns an error if two settings contradict each other, else NULL. A planted data fault is found
 * by the program's own kernels, so they must not be skipped. */
static const char *zbs_contradiction(const char *text) {
  return zbs_skips() && (strstr(text, "\nfault data ") != NULL || strstr(text, "\nfault store ") != NULL)
             ? "ZBENCH_LOOPBACK_UNKNOWN_KERNELS=skip leaves out the kernels that would find the planted "
               "fault in the data: the loopback shows no GPU. Supply versions of the kernels for the host "
               "(ZBENCH_LOOPBACK_KERNELS), or leave the fault out"
             : NULL;
}

/* Makes the first call in a forked process call zbs_enter again. */
static void zbs_forked(void) { zbs_entered = 0; }

static void zbs_join(const char *path, const char *text) {
  const char *several = getenv("NCCL_MULTI_RANK_GPU_ENABLE");
  const char *data = zbs_variable("ZBENCH_LOOPBACK_DATA");
  zbl_share how = {.several = 1, /* the program may have several threads */
                   .path = zbs_variable("ZBENCH_LOOPBACK_SHARED")};
  char why[256];
  const char *wrong = zbs_contradiction(text);
  if (wrong == NULL) {
    wrong = zbs_place(zbs_ranks(text), &how);
  }
  if (wrong != NULL) {
    fprintf(stderr, "zbench loopback: %s\n", wrong);
    return;
  }
  if (!zbl_join_world(text, &how, why, sizeof why)) {
    fprintf(stderr, "zbench loopback: %s: %s\n", path, why);
    return;
  }
  zbs_opened = getpid();
  pthread_atfork(NULL, NULL, zbs_forked);
  zbl.moves_data = data == NULL || strcmp(data, "0") != 0;
  zbl.waits = 1;
  zbl.explains = 1;
  zbl.derives = 1;
  zbl.skips = zbs_skips();
  zbl.multi_rank = several != NULL && strcmp(several, "1") == 0;
  zbl.warns = zbs_warns(getenv("NCCL_DEBUG"));
  if (zbl.moves_data && zbs_variable("ZBENCH_LOOPBACK_OVERCOMMIT") == NULL) {
    ZBL_ENTER;
    zbl.hub->room = zbl.hub->room > 0 ? zbl.hub->room : zbs_room("");
  }
  zbs_show();
  zbs_pin();
}

/* Opens the world. It moves data from the beginning, because a foreign program has no call that
 * turns this on. */
static void zbs_open(void) {
  const char *path = getenv("ZBENCH_LOOPBACK");
  char *text;
  if (path == NULL) {
    return;
  }
  text = zbs_read(path);
  if (text == NULL) {
    fprintf(stderr, "zbench loopback: ZBENCH_LOOPBACK=%s cannot be read\n",
            path);
    return;
  }
  zbs_join(path, text);
  free(text);
}

/* Makes every call in a forked process an error, if the parent has used the loopback; otherwise
 * the calls would hang. The parent keeps the ranks and the locks. Real GPUs do not survive a fork
 * either (HIP's and CUDA's documents on fork). */
static void zbs_without_parents_world(void) {
  fprintf(stderr, "zbench loopback: this process was forked from one that has used the loopback: it has no GPUs. "
                  "Fork before the first call, or start the program again (multiprocessing: spawn)\n");
  if (zbl.shown == ZBL_SHOWN) {
    zbs_clock()(NULL, NULL);
  }
  zbl_forget_handles();
  memset(&zbl, 0, sizeof zbl);
  zbl.shared_fd = -1;
}

/* Opens the world at a process's first call. Calls that other threads make meanwhile wait here
 * too. */
void zbs_enter(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, zbs_open);
  if (zbs_opened != 0 && zbs_opened != getpid() && zbl.hub != NULL) {
    zbs_without_parents_world();
  }
  __atomic_store_n(&zbs_entered, 1, __ATOMIC_RELEASE);
}

/* Prints the summary of the whole world when its last process ends. */
static void zbs_tell(void) {
  const zbl_hub *hub = zbl.hub;
  if (hub->skipped > 0) {
    fprintf(stderr, "zbench loopback: %" PRIu64 " kernels skipped: the program's own checks prove nothing\n",
            hub->skipped);
  }
  if (hub->launches > 0) {
    fprintf(stderr, "zbench loopback: %" PRIu64 " launches late, of %" PRIu64 "%s\n", hub->late, hub->launches,
            hub->late > 0 ? ": the times that the program measured there are above the model" : "");
  }
  zbl_tell_modelled();
}

/* Closes the world at the end of the process. A process that was forked after the world was opened
 * shares the file locks of its parent, so it must touch neither the locks nor the world. A pinned
 * library leaves its memory to the kernel. */
__attribute__((destructor)) static void zbs_close(void) {
  if (zbs_opened != getpid()) {
    return;
  }
  if (zbl.shown == ZBL_SHOWN) {
    zbs_clock()(NULL, NULL);
  }
  zbl_leave_room(zbl.taken);
  if (zbl.shared_fd < 0 || zbl_leave_file(zbs_variable("ZBENCH_LOOPBACK_SHARED"))) {
    zbs_tell();
  }
  if (!zbs_pinned) {
    zbl_shutdown();
  }
}
