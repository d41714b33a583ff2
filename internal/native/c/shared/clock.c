/* A library to preload. The program's clock calls return the time of the loopback's model. Until
 * the program calls the loopback, they return the kernel's time.
 *
 * A sleep, or a timed wait that times out, takes its time on both clocks. Clocks of CPU time are
 * unchanged, and so is code that bypasses the C library. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define ZBC_PUBLIC __attribute__((visibility("default")))

enum { ZBC_CLOCKS = 12 };
static const int64_t zbc_second = 1000000000;

/* The clocks that show the model's time. Coarse clocks and clocks since boot run at the same
 * rate. */
static const uint8_t zbc_shown[ZBC_CLOCKS] = {
    [CLOCK_REALTIME] = 1,         [CLOCK_MONOTONIC] = 1,
    [CLOCK_MONOTONIC_RAW] = 1,    [CLOCK_REALTIME_COARSE] = 1,
    [CLOCK_MONOTONIC_COARSE] = 1, [CLOCK_BOOTTIME] = 1,
    [CLOCK_TAI] = 1};

/* The model's clock. zbc_now returns the nanoseconds since the model's clock began. zbc_reach
 * reports until when the calling thread has slept. zbc_began has the time of each kernel clock
 * when the model's clock began. */
static int64_t (*zbc_now)(void);
static void (*zbc_reach)(int64_t);
static int64_t zbc_began[ZBC_CLOCKS];

static int zbc_kernel(clockid_t clock, struct timespec *ts) {
  return (int)syscall(SYS_clock_gettime, clock, ts);
}

static int64_t zbc_of(const struct timespec *ts) {
  return (int64_t)ts->tv_sec * zbc_second + ts->tv_nsec;
}

static struct timespec zbc_timespec(int64_t ns) {
  int64_t s = ns / zbc_second - (ns % zbc_second < 0);
  return (struct timespec){.tv_sec = s, .tv_nsec = ns - s * zbc_second};
}

static int64_t zbc_kernel_ns(clockid_t clock) {
  struct timespec ts = {0};
  zbc_kernel(clock, &ts);
  return zbc_of(&ts);
}

/* Sets the model's clock. The loopback's runtime calls this when a world opens, and with NULL when
 * it closes. */
ZBC_PUBLIC void zbench_clock_use(int64_t (*now)(void), void (*reach)(int64_t)) {
  for (int i = 0; now != NULL && i < ZBC_CLOCKS; i++) {
    if (zbc_shown[i]) {
      zbc_began[i] = zbc_kernel_ns(i) - now();
    }
  }
  zbc_reach = reach;
  __atomic_store_n(&zbc_now, now, __ATOMIC_RELEASE);
}

/* The time in nanoseconds that a program's own simulation keeps; see zbench_clock_pass. Each read
 * adds one nanosecond, because programs divide by differences of times. A thread's sleep counts
 * only in that thread. */
static int64_t zbc_kept;
static _Thread_local int64_t zbc_slept;

static int64_t zbc_kept_now(void) {
  return __atomic_add_fetch(&zbc_kept, 1, __ATOMIC_RELAXED) + zbc_slept;
}

static void zbc_kept_reach(int64_t at) {
  int64_t ahead = at - zbc_kept_now();
  zbc_slept += ahead > 0 ? ahead : 0;
}

/* Advances the program's clock by `ns` nanoseconds. A program that simulates the GPUs of many hosts
 * in one thread calls this with the time by which its first host has advanced since the last call.
 * From the first call on, that program owns the clock. */
ZBC_PUBLIC void zbench_clock_pass(int64_t ns) {
  if (__atomic_load_n(&zbc_now, __ATOMIC_ACQUIRE) == NULL) {
    zbench_clock_use(zbc_kept_now, zbc_kept_reach);
  }
  __atomic_add_fetch(&zbc_kept, ns, __ATOMIC_RELAXED);
}

/* Reports whether a clock shows the model's time, and writes that time to *ns. */
static int zbc_time(clockid_t clock, int64_t *ns) {
  int64_t (*now)(void) = __atomic_load_n(&zbc_now, __ATOMIC_ACQUIRE);
  if (now == NULL || clock < 0 || clock >= ZBC_CLOCKS || !zbc_shown[clock]) {
    return 0;
  }
  *ns = zbc_began[clock] + now();
  return 1;
}

ZBC_PUBLIC int clock_gettime(clockid_t clock, struct timespec *ts) {
  int64_t ns;
  if (!zbc_time(clock, &ns)) {
    return zbc_kernel(clock, ts);
  }
  *ts = zbc_timespec(ns);
  return 0;
}

ZBC_PUBLIC int gettimeofday(struct timeval *restrict tv, void *restrict zone) {
  struct timespec ts;
  if (zone != NULL) {
    *(struct timezone *)zone = (struct timezone){0};
  }
  clock_gettime(CLOCK_REALTIME, &ts);
  *tv = (struct timeval){.tv_sec = ts.tv_sec, .tv_usec = ts.tv_nsec / 1000};
  return 0;
}

ZBC_PUBLIC time_t time(time_t *at) {
  struct timespec ts;
  clock_gettime(CLOCK_REALTIME, &ts);
  if (at != NULL) {
    *at = ts.tv_sec;
  }
  return ts.tv_sec;
}

ZBC_PUBLIC int timespec_get(struct timespec *ts, int base) {
  return base == TIME_UTC && clock_gettime(CLOCK_REALTIME, ts) == 0 ? base : 0;
}

/* Returns how much later a deadline on the program's clock falls on the kernel's clock, in
 * nanoseconds. */
static int64_t zbc_lag(clockid_t clock) {
  int64_t ns;
  return zbc_time(clock, &ns) ? zbc_kernel_ns(clock) - ns : 0;
}

/* Notes that the thread has waited until a deadline on one of its clocks. */
static void zbc_reached(clockid_t clock, int64_t deadline) {
  int64_t ns;
  if (zbc_time(clock, &ns)) {
    zbc_reach(deadline - zbc_began[clock]);
  }
}

/* Sleeps on the kernel's monotonic clock. The sleep takes the same time on the program's clock. */
static int zbc_sleep(clockid_t clock, int flags, const struct timespec *want,
                     struct timespec *left) {
  int64_t ns, begun, end;
  int code;
  if (!zbc_time(clock, &ns) || want->tv_nsec < 0 || want->tv_nsec >= zbc_second) {
    return syscall(SYS_clock_nanosleep, clock, flags, want, left) == 0 ? 0 : errno;
  }
  end = (flags & TIMER_ABSTIME) ? zbc_of(want) : ns + zbc_of(want);
  begun = zbc_kernel_ns(CLOCK_MONOTONIC);
  {
    const struct timespec rest = zbc_timespec(end > ns ? end - ns : 0);
    code = syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &rest, left) == 0 ? 0 : errno;
  }
  zbc_reached(clock, code == 0 ? end : ns + zbc_kernel_ns(CLOCK_MONOTONIC) - begun);
  return code;
}

ZBC_PUBLIC int clock_nanosleep(clockid_t clock, int flags,
                               const struct timespec *want,
                               struct timespec *left) {
  int before = errno;
  int code = zbc_sleep(clock, flags, want, left);
  errno = before;
  return code;
}

ZBC_PUBLIC int nanosleep(const struct timespec *want, struct timespec *left) {
  int code = zbc_sleep(CLOCK_REALTIME, 0, want, left);
  if (code != 0) {
    errno = code;
    return -1;
  }
  return 0;
}

ZBC_PUBLIC int usleep(useconds_t us) {
  const struct timespec want = zbc_timespec((int64_t)us * 1000);
  return nanosleep(&want, NULL);
}

ZBC_PUBLIC unsigned sleep(unsigned seconds) {
  struct timespec rest = {.tv_sec = seconds};
  return nanosleep(&rest, &rest) == 0 ? 0 : (unsigned)rest.tv_sec + (rest.tv_nsec > 0);
}

/* Returns the function of the C library that this library replaces. On x86-64, condition
 * variables have an older version with another layout, which dlsym may find first. */
static void *zbc_next(const char *name) {
  void *at = dlvsym(RTLD_NEXT, name, "GLIBC_2.3.2");
  return at != NULL ? at : dlsym(RTLD_NEXT, name);
}

/* Makes a wait with a deadline on the program's clock. Unless `free` is true, a wait that times out
 * advances the thread's time. */
#define ZBC_DEADLINE(clock, deadline, wait, free)                              \
  const struct timespec until = zbc_timespec(zbc_of(deadline) + zbc_lag(clock)); \
  int code = wait;                                                             \
  if ((code == ETIMEDOUT || (code == -1 && errno == ETIMEDOUT)) && !(free)) {  \
    zbc_reached(clock, zbc_of(deadline));                                      \
  }                                                                            \
  return code

/* Guesses the clock of a condition variable's deadline, because the clock is unknown here. All
 * clocks have the same lag, and a deadline before the beginning of the realtime clock must be on a
 * monotonic clock. */
static clockid_t zbc_clock_of(const struct timespec *deadline) {
  return zbc_of(deadline) < zbc_began[CLOCK_REALTIME] / 2 ? CLOCK_MONOTONIC : CLOCK_REALTIME;
}

/* Reports whether the caller is Python's interpreter. The interpreter uses this wait only for its
 * own lock, and on a busy host that wait is long. Waits of Python programs use semaphores. */
static int zbc_interpreter(const void *caller) {
  const void *python = dlsym(RTLD_DEFAULT, "Py_IsInitialized");
  Dl_info from, own;
  return python != NULL && dladdr(caller, &from) != 0 && dladdr(python, &own) != 0 &&
         from.dli_fbase == own.dli_fbase;
}

ZBC_PUBLIC int pthread_cond_timedwait(pthread_cond_t *restrict c,
                                      pthread_mutex_t *restrict m,
                                      const struct timespec *restrict at) {
  static int (*next)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
  if (next == NULL) {
    next = zbc_next("pthread_cond_timedwait");
  }
  ZBC_DEADLINE(zbc_clock_of(at), at, next(c, m, &until), zbc_interpreter(__builtin_return_address(0)));
}

ZBC_PUBLIC int pthread_cond_clockwait(pthread_cond_t *restrict c,
                                      pthread_mutex_t *restrict m, clockid_t clock,
                                      const struct timespec *restrict at) {
  static int (*next)(pthread_cond_t *, pthread_mutex_t *, clockid_t,
                     const struct timespec *);
  if (next == NULL) {
    next = zbc_next("pthread_cond_clockwait");
  }
  ZBC_DEADLINE(clock, at, next(c, m, clock, &until), 0);
}

ZBC_PUBLIC int sem_timedwait(sem_t *restrict s, const struct timespec *restrict at) {
  static int (*next)(sem_t *, const struct timespec *);
  if (next == NULL) {
    next = zbc_next("sem_timedwait");
  }
  ZBC_DEADLINE(CLOCK_REALTIME, at, next(s, &until), 0);
}

ZBC_PUBLIC int sem_clockwait(sem_t *restrict s, clockid_t clock,
                             const struct timespec *restrict at) {
  static int (*next)(sem_t *, clockid_t, const struct timespec *);
  if (next == NULL) {
    next = zbc_next("sem_clockwait");
  }
  ZBC_DEADLINE(clock, at, next(s, clock, &until), 0);
}
