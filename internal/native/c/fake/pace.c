/* The paced clock: the host's time follows the model. If the threads of many ranks share a few
 * CPUs, they reach a burst of launches one after the other, and are late to launch and to see the
 * end. With one CPU per thread they would not be late. Therefore neither a thread's wait for a CPU
 * nor the loopback's own time counts; both are subtracted from the time stamps of the thread's
 * launches. A thread that is late at a burst for these reasons counts as if it had arrived with the
 * first thread. In return it sees the end of the whole burst later by the same amount, so that from
 * its own first launch on it sees the model's time pass. */
#include "pool.h"
#include "world.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* How long a paced thread sleeps at once, in seconds. It stays awake during the last two such
 * intervals, because a sleeping thread wakes up tens of microseconds late if the CPUs are shared,
 * or idle in a virtual machine. */
static const double zbl_pace = 1e-3;

/* How late a thread may be at a burst without a known reason, in seconds: the threads that wake
 * it may themselves have waited for a CPU. */
static const double zbl_pace_apart = 1e-3;

/* The shortest gap between two calls, in seconds, that may include a wait for a CPU. Querying the
 * kernel for the wait takes a microsecond. */
static const double zbl_pace_gap = 2e-5;

static pthread_key_t zbl_schedstat_key;
static pthread_once_t zbl_schedstat_once = PTHREAD_ONCE_INIT;

static void zbl_close_schedstat(void *file) { close((int)(intptr_t)file - 1); }

static void zbl_make_schedstat_key(void) {
  pthread_key_create(&zbl_schedstat_key, zbl_close_schedstat);
}

/* Opens the kernel's file about this thread. It is closed when the thread ends. */
static void zbl_open_schedstat(void) {
  int fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
  zbl_own.schedstat = fd >= 0 ? fd + 1 : -1;
  if (fd >= 0) {
    pthread_once(&zbl_schedstat_once, zbl_make_schedstat_key);
    pthread_setspecific(zbl_schedstat_key, (void *)(intptr_t)zbl_own.schedstat);
  }
}

/* Returns how long the calling thread has been runnable without a CPU, in seconds; 0 if the
 * kernel does not report it (proc_schedstat(5): the second number, in nanoseconds). */
static double zbl_kernel_starved(void) {
  char text[96];
  unsigned long long ns = 0;
  ssize_t n;
  if (zbl_own.schedstat == 0) {
    zbl_open_schedstat();
  }
  n = zbl_own.schedstat > 0 ? pread(zbl_own.schedstat - 1, text, sizeof text - 1, 0) : 0;
  if (n > 0) {
    text[n] = '\0';
    sscanf(text, "%*u %llu", &ns);
  }
  return (double)ns * 1e-9;
}

static double (*zbl_starved)(void) = zbl_kernel_starved;
static int (*zbl_pace_cpus)(void) = zbl_cpus;
static int (*zbl_yield)(void) = sched_yield;

/* Returns how much the thread's wait for a CPU has grown since the last query, in seconds. */
static double zbl_starved_since(void) {
  double before = zbl_own.starved;
  zbl_own.starved = zbl_starved();
  return zbl_own.starved - before;
}

/* Excludes the wait for a CPU since the last query from the thread's time. */
static void zbl_pace_excuses(void) {
  if (zbl_own.gaps > 0) {
    double starved = zbl_starved_since();
    zbl_own.apart += starved < zbl_own.gaps ? starved : zbl_own.gaps;
    zbl_own.gaps = 0;
  }
}

/* Notes that a paced thread enters the loopback. The kernel is queried only at the next launch.
 * That keeps earlier calls short, because they lie between the program's look at the clock and its
 * first launch. */
void zbl_host_in(void) {
  double gap;
  zbl_own.entered = zbl_wall_now();
  gap = zbl_own.entered - zbl_own.left;
  if (zbl_own.left > 0 && gap > zbl_pace_gap) {
    zbl_own.gaps += gap;
  }
}

/* Notes that a paced thread leaves the loopback. Its time in the loopback does not count as the
 * program's, because a launch takes the model's time. */
void zbl_host_out(void) {
  zbl_own.left = zbl_wall_now();
  if (zbl_own.entered > 0) { /* otherwise the thread entered before the clock was chosen */
    zbl_own.apart += zbl_own.left - zbl_own.entered;
  }
}

/* Prepares a launch of a paced thread. The first launch after the thread saw work end decides how
 * much of its delay counts. The launch belongs to the current burst, unless the thread's time is
 * already past the begin of that burst; a new burst then begins. */
void zbl_pace_begins(void) {
  double late, kept;
  zbl_pace_excuses();
  if (zbl_own.joined) {
    return;
  }
  zbl_own.joined = 1;
  if (!zbl_own.paced) {
    zbl_own.paced = 1;
    __atomic_store_n(&zbl.hub->hosts, zbl.hub->hosts + 1, __ATOMIC_RELAXED);
  }
  if (zbl.hub->burst < zbl_own.now || zbl.hub->burst == 0) {
    zbl.hub->burst = zbl_own.entered;
  }
  late = zbl_own.entered - zbl.hub->burst;
  kept = zbl_own.apart + zbl_pace_apart;
  zbl_own.apart = 0;
  zbl_own.lag = zbl_later(late < kept ? late : kept, 0);
}

/* Counts a launch of the thread. If the stream is idle in the model from `due` on, and that time is
 * past, the launch is late: the thread had no CPU, or the loopback took longer than a launch in the
 * model. The program then measures more than the model's time. `due` is negative if the stream is
 * busy. */
void zbl_pace_pushes(double due) {
  zbl.hub->launches++;
  zbl.hub->late += due >= 0 && zbl_wall_now() > due + zbl_own.lag + zbl_pace_gap;
}

/* Sleeps without the timer slack with which the kernel may wake a thread late. */
static void zbl_sleep_exactly(double seconds) {
  const struct timespec left = {.tv_sec = (time_t)seconds, .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};
  int slack = prctl(PR_GET_TIMERSLACK);
  prctl(PR_SET_TIMERSLACK, 1);
  syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &left, NULL);
  prctl(PR_SET_TIMERSLACK, slack > 0 ? slack : 0);
}

/* Notes that the thread has seen an event of time `at`. */
static void zbl_pace_seen(double at) {
  zbl_own.now = zbl_later(zbl_own.now, at);
  zbl_own.apart = zbl_own.gaps = 0;
  zbl_own.joined = 0;
}

/* Waits until `due`, without the lock. If every thread has a CPU, the thread keeps its CPU while
 * it waits: a CPU that was yielded to another program comes back milliseconds later. */
static void zbl_pace_waits(double due) {
  int hosts = __atomic_load_n(&zbl.hub->hosts, __ATOMIC_RELAXED);
  int shares = hosts > zbl_pace_cpus();
  zbl_starved_since();
  while (zbl_wall_now() < due) {
    if (shares) {
      zbl_yield();
    } else {
      zbl_pause();
    }
  }
}

/* Reports whether the thread may see an event of time `at`. It waits a moment for that time,
 * without the lock. */
int zbl_pace_sees(double at) {
  double now = zbl_wall_now(), due = at + zbl_own.lag;
  int far = due >= now + 2 * zbl_pace;
  if (due <= now) {
    if (now - due > zbl_pace_gap) { /* the thread could not look earlier */
      zbl_starved_since();
    }
    zbl_pace_seen(at);
    return 1;
  }
  zbl_unlock(NULL);
  if (far) {
    zbl_sleep_exactly(zbl_pace);
    zbl_starved_since();
  } else {
    zbl_pace_waits(due);
  }
  zbl_own.left = 0; /* the program did not cause this gap */
  zbl_lock();
  if (far) {
    return 0;
  }
  zbl_pace_seen(at);
  return 1;
}
