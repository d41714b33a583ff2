/* The clocks that other programs see. A program on the shared libraries reads its own clock, while
 * the model's time passes on the lanes. There are two ways to bring both together: the program's
 * clock calls return the model's time (shown; shared/clock.c has the calls), or the host's time
 * follows the model (paced).
 *
 * Time belongs to a thread. A thread that launches on several GPUs is one host, whatever lanes the
 * GPUs have, and keeps its time when it changes the GPU. A thread that launches nothing sees the
 * latest time of all threads. Until the process launches work, its clock is the kernel's: some
 * libraries compare the CPU's counter with the clock while they are loaded, and would wait long for
 * a clock that stands still. A paced thread sees a clock behind the kernel's: see pace.c. */
#include "world.h"

#include <dlfcn.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* How long a poll without success waits for other processes, in milliseconds. */
enum { ZBL_EVENT_POLL_MS = 1 };
static const double zbl_stall_quiet = 1;

/* The current stall. Each thread that reads the clock adds its time once. */
static struct {
  uint64_t activity; /* the hub's activity count when the stall began */
  int64_t since;     /* begin, in nanoseconds of the kernel's clock; 0 if there was no stall */
} zbl_stall;

static int64_t zbl_latest; /* the latest time of all threads, in nanoseconds */

/* The time before the process's first work, in nanoseconds. */
static struct {
  int64_t opened; /* kernel's clock when the program's clock was chosen */
  int64_t shown;  /* the part of that time that the program has seen */
  int over;
} zbl_before;

static _Thread_local struct {
  int launches;
  double now; /* the thread's time, in seconds */
  int64_t stall;  /* begin of the last stall that the thread has counted */
  double counted; /* the part of that stall that the thread has counted, in seconds */
  double entered, left; /* when the thread last entered and last left the loopback */
  double apart; /* how long the thread could not run since it last saw work end, in seconds */
  double gaps;  /* sum of long gaps between the thread's calls, not yet compared with its waits for
                 * a CPU */
  double lag;   /* delay with which the thread sees work end, relative to the model */
  double starved; /* total wait for a CPU at the last query */
  int schedstat;  /* file descriptor of the thread's schedstat, plus 1; −1 if there is none */
  int joined;     /* 1 if the thread has launched since it last saw work end */
  int paced;      /* 1 if the hub's `hosts` includes the thread */
} zbl_own;

/* The kernel's clock function in this process (vDSO). It costs a twentieth of a system call. */
typedef int zbl_clock_call(clockid_t clock, struct timespec *now);
static zbl_clock_call *zbl_vdso_clock;

__attribute__((constructor)) static void zbl_find_vdso(void) {
  void *vdso = dlopen("linux-vdso.so.1", RTLD_LAZY | RTLD_NOLOAD);
  union {
    void *at;
    zbl_clock_call *call;
  } found = {.at = vdso != NULL ? dlsym(vdso, "__vdso_clock_gettime") : NULL};
  zbl_vdso_clock = found.call;
}

/* Reads the kernel's clock. It does not use the C library's function, which may be the one of
 * shared/clock.c that shows the program the model's time. */
void zbl_kernel_clock(struct timespec *now) {
  if (zbl_vdso_clock == NULL || zbl_vdso_clock(CLOCK_MONOTONIC, now) != 0) {
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, now);
  }
}

/* Returns the monotonic clock in seconds. */
double zbl_wall_now(void) {
  struct timespec ts;
  zbl_kernel_clock(&ts);
  return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static int64_t zbl_nanoseconds(double seconds) { return (int64_t)(seconds * 1e9 + 0.5); }

/* Chooses the clock that the program sees. The thread that drives the streams may already run. */
void zbl_show(int shown) {
  ZBL_ENTER;
  zbl_before.opened = zbl_nanoseconds(zbl_wall_now());
  __atomic_store_n(&zbl.shown, shown, __ATOMIC_RELAXED);
}

int zbl_paced(void) { return __atomic_load_n(&zbl.shown, __ATOMIC_RELAXED) == ZBL_PACED; }

/* Returns the time before the process's first work, in nanoseconds of the kernel's clock. It
 * ends at the program's last look at the clock: host time between that look and the first work
 * does not count. */
static int64_t zbl_time_before(void) {
  int64_t shown = __atomic_load_n(&zbl_before.shown, __ATOMIC_RELAXED), now;
  if (__atomic_load_n(&zbl_before.over, __ATOMIC_RELAXED)) {
    return shown;
  }
  now = zbl_nanoseconds(zbl_wall_now()) - zbl_before.opened;
  while (now > shown &&
         !__atomic_compare_exchange_n(&zbl_before.shown, &shown, now, 1, __ATOMIC_RELAXED,
                                      __ATOMIC_RELAXED)) {
  }
  return now > shown ? now : shown;
}

static void zbl_first_work(void) {
  if (!__atomic_load_n(&zbl_before.over, __ATOMIC_RELAXED)) {
    __atomic_store_n(&zbl_before.over, 1, __ATOMIC_RELAXED);
  }
}

/* Returns the calling thread's time in seconds. Before the thread's first launch this is
 * the latest time of all threads. */
static double zbl_thread_time(void) {
  int64_t latest = __atomic_load_n(&zbl_latest, __ATOMIC_RELAXED);
  if (zbl.shown == ZBL_PACED) {
    zbl_own.now = zbl_later(zbl_own.now, zbl_own.entered - zbl_own.apart - zbl_own.lag);
  } else if (!zbl_own.launches) {
    zbl_own.now = zbl_later(zbl_own.now, (double)latest * 1e-9);
  }
  return zbl_own.now;
}

static void zbl_thread_reaches(double at) {
  int64_t mine, latest = __atomic_load_n(&zbl_latest, __ATOMIC_RELAXED);
  zbl_own.now = zbl_later(zbl_thread_time(), at);
  mine = zbl_nanoseconds(zbl_own.now);
  while (mine > latest &&
         !__atomic_compare_exchange_n(&zbl_latest, &latest, mine, 1,
                                      __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
}

/* Advances the lane's clock at least to the time of the calling thread, which is about to
 * launch. */
void zbl_host_enters(zbl_lane *l) {
  if (zbl.shown == ZBL_PACED) {
    zbl_pace_begins();
  }
  if (zbl.shown != ZBL_HIDDEN) {
    l->h = zbl_later(l->h, zbl_thread_time());
  }
}

/* zbl_host_comes returns the time at which a thread arrives at a meeting with the hosts of other
 * ranks. zbl_host_meets sets the thread's time to the time of the meeting. An init that has
 * returned has synchronised the hosts of all ranks. */
double zbl_host_comes(void) { return zbl.shown == ZBL_SHOWN ? zbl_thread_time() : 0; }

void zbl_host_meets(double at) {
  if (zbl.shown == ZBL_SHOWN) {
    zbl_thread_reaches(at);
  }
}

/* Returns the thread's time after it has enqueued work. The lane enqueued that work at `posted`. */
double zbl_host_posts(zbl_lane *l, double posted) {
  if (zbl.shown == ZBL_HIDDEN) {
    return posted;
  }
  zbl_first_work();
  zbl_host_enters(l);
  posted = zbl_later(posted, l->h);
  zbl_own.launches = 1;
  zbl_thread_reaches(posted);
  return posted;
}

/* Advances the thread's time for a call that launches nothing. Such a call also takes time, by
 * which a program may divide. The time is not modelled; 1 ns is the least that a clock
 * shows. */
void zbl_host_calls(void) {
  if (zbl.shown == ZBL_SHOWN) {
    zbl_thread_reaches(zbl_thread_time() + 1e-9);
  }
}

/* Reports whether the host may see an event of time `at`. A paced host may see the event once
 * that time has come; this call waits a moment for it, without the lock. */
int zbl_host_sees(double at) {
  if (zbl.shown == ZBL_SHOWN) {
    zbl_thread_reaches(at);
  }
  return zbl.shown != ZBL_PACED || zbl_pace_sees(at);
}

/* Begins a stall, after the host has polled unfinished work and no process has acted for
 * `quiet` seconds. Until some process acts, the host's time passes like the kernel's, or
 * zbl.stall_rate times as fast. */
void zbl_host_stalls(double quiet) {
  int64_t since = zbl_nanoseconds(zbl_wall_now() + quiet);
  uint64_t activity = __atomic_load_n(&zbl.hub->activity, __ATOMIC_RELAXED);
  if (zbl.shown == ZBL_SHOWN &&
      (zbl_stall.since == 0 ||
       activity != __atomic_load_n(&zbl_stall.activity, __ATOMIC_RELAXED))) {
    zbl_first_work();
    __atomic_store_n(&zbl_stall.since, since, __ATOMIC_RELAXED);
    __atomic_store_n(&zbl_stall.activity, activity, __ATOMIC_RELAXED);
  }
}

/* Reports whether the host finds an event done. An event that is not pending happened at `at`.
 * If programs do not see the model's clock, the query takes no time. */
int zbl_host_finds(int pending, double at) {
  if (!pending) {
    return zbl.shown == ZBL_HIDDEN || zbl_host_sees(at);
  }
  if (zbl.shown != ZBL_HIDDEN && zbl.several) {
    zbl_host_stalls(zbl_stall_quiet);
    zbl_await(&zbl.hub->any, ZBL_EVENT_POLL_MS);
  }
  return 0;
}

/* Returns the part of the current stall that the thread has not counted yet, in seconds. */
static double zbl_stall_left(void) {
  int64_t since = __atomic_load_n(&zbl_stall.since, __ATOMIC_RELAXED);
  double all, before;
  if (since == 0 || __atomic_load_n(&zbl_stall.activity, __ATOMIC_RELAXED) !=
                        __atomic_load_n(&zbl.hub->activity, __ATOMIC_RELAXED)) {
    return 0;
  }
  if (zbl_own.stall != since) {
    zbl_own.stall = since;
    zbl_own.counted = 0;
  }
  all = (zbl_wall_now() - (double)since * 1e-9) * zbl.stall_rate;
  before = zbl_own.counted;
  zbl_own.counted = zbl_later(all, before);
  return zbl_own.counted - before;
}

/* Returns the calling thread's time in nanoseconds since the world was opened. It takes no lock,
 * so that signal handlers can call it. */
int64_t zbl_shown_now(void) {
  double stalled = zbl_stall_left();
  if (stalled > 0 && zbl_own.launches) {
    zbl_thread_reaches(zbl_thread_time() + stalled);
  } else {
    zbl_own.now = zbl_thread_time() + stalled;
  }
  return zbl_time_before() + zbl_nanoseconds(zbl_own.now);
}

/* Advances the calling thread's time after it has slept until `at`. */
void zbl_shown_reach(int64_t at) {
  zbl_own.now = zbl_later(zbl_thread_time(), (double)(at - zbl_time_before()) * 1e-9);
}

/* Sets the calling thread's time to `at`, the model's time of the stream work that it is about
 * to run. zbl_host_is then returns the time of the thread. */
void zbl_host_becomes(double at) {
  zbl_own.launches = 1;
  zbl_own.now = at;
}

double zbl_host_is(void) {
  return zbl.shown == ZBL_PACED ? zbl_wall_now() : zbl.shown == ZBL_SHOWN ? zbl_own.now : 0;
}
