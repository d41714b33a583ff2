/* The paced clock: the host's time follows the model. Ranks whose threads share a few CPUs reach
 * a burst of launches one after the other, and are delayed in launching and in seeing the end.
 * With one CPU per thread they would not be. So neither a thread's wait for a CPU nor the
 * loopback's own time counts: both are subtracted from the time stamps of its launches. A thread
 * that reaches a burst late for these reasons counts as if it had arrived with the first one, and
 * sees the whole burst end later by the same amount: from its own first launch on it sees the
 * model's time pass. */
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

/* How long a paced thread sleeps at once, in seconds. It stays awake for the last two of these: a
 * sleeping thread is woken tens of microseconds late if CPUs are shared, or idle in a virtual
 * machine. */
static const double zbl_pace = 1e-3;

/* How late a thread may reach a burst for any reason, in seconds: the threads that wake it may
 * themselves have waited for a CPU. */
static const double zbl_pace_apart = 1e-3;

/* The gap between two calls from which the thread may have waited for a CPU, in seconds. Asking
 * the kernel takes a microsecond. */
static const double zbl_pace_gap = 2e-5;

static pthread_key_t zbl_schedstat_key;
static pthread_once_t zbl_schedstat_once = PTHREAD_ONCE_INIT;

static void zbl_close_schedstat(void *file) { close((int)(intptr_t)file - 1); }

static void zbl_make_schedstat_key(void) {
  pthread_key_create(&zbl_schedstat_key, zbl_close_schedstat);
}

/* Opens the file, which is closed when its thread ends. */
static void zbl_open_schedstat(void) {
  int fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
  zbl_own.schedstat = fd >= 0 ? fd + 1 : -1;
  if (fd >= 0) {
    pthread_once(&zbl_schedstat_once, zbl_make_schedstat_key);
    pthread_setspecific(zbl_schedstat_key, (void *)(intptr_t)zbl_own.schedstat);
  }
}

/* Returns how long the calling thread has been runnable without a CPU, in seconds; 0 if the
 * kernel does not say (proc_schedstat(5): the second number, in nanoseconds). */
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

/* Returns the increase since the last query. */
static double zbl_starved_since(void) {
  double before = zbl_own.starved;
  zbl_own.starved = zbl_starved();
  return zbl_own.starved - before;
}

/* Excludes the thread's wait for a CPU since the last query. */
static void zbl_pace_excuses(void) {
  if (zbl_own.gaps > 0) {
    double starved = zbl_starved_since();
    zbl_own.apart += starved < zbl_own.gaps ? starved : zbl_own.gaps;
    zbl_own.gaps = 0;
  }
}

/* A paced thread enters the loopback. The kernel is asked only at the next launch, to keep calls
 * before it short: they lie between the program's look at the clock and its first launch. */
void zbl_host_in(void) {
  double gap;
  zbl_own.entered = zbl_wall_now();
  gap = zbl_own.entered - zbl_own.left;
  if (zbl_own.left > 0 && gap > zbl_pace_gap) {
    zbl_own.gaps += gap;
  }
}

/* A paced thread leaves the loopback. Its time inside is not the program's: a launch takes the
 * model's time. */
void zbl_host_out(void) {
  zbl_own.left = zbl_wall_now();
  if (zbl_own.entered > 0) { /* otherwise it entered before the clock was chosen */
    zbl_own.apart += zbl_own.left - zbl_own.entered;
  }
}

/* A paced thread is about to launch. Its first launch since it saw work end decides how much of
 * its delay counts. The launch belongs to the last burst, unless the thread has already been
 * beyond that one: then a new burst begins. */
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

/* Counts a launch of the thread. The launch is late if the model has its stream idle from `due`
 * on, and that time is past: the thread had no CPU, or the loopback took longer than the model's
 * launch. The program's time is then above the model's. due is below 0 if the stream is busy. */
void zbl_pace_pushes(double due) {
  zbl.hub->launches++;
  zbl.hub->late += due >= 0 && zbl_wall_now() > due + zbl_own.lag + zbl_pace_gap;
}

/* Sleeps without the timer slack by which the kernel may wake a thread late. */
static void zbl_sleep_exactly(double seconds) {
  const struct timespec left = {.tv_nsec = (long)(seconds * 1e9)};
  int slack = prctl(PR_GET_TIMERSLACK);
  prctl(PR_SET_TIMERSLACK, 1);
  syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &left, NULL);
  prctl(PR_SET_TIMERSLACK, slack > 0 ? slack : 0);
}

/* The thread has seen an event of time `at`. */
static void zbl_pace_seen(double at) {
  zbl_own.now = zbl_later(zbl_own.now, at);
  zbl_own.apart = zbl_own.gaps = 0;
  zbl_own.joined = 0;
}

/* Waits for that time, without the lock. With a CPU per thread they keep their CPUs: a CPU that
 * is yielded to another program comes back milliseconds later. */
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

/* Whether the thread may see an event of time `at`. Waits a moment for it, without the lock. */
int zbl_pace_sees(double at) {
  double now = zbl_wall_now(), due = at + zbl_own.lag;
  int far = due >= now + 2 * zbl_pace;
  if (due <= now) {
    if (now - due > zbl_pace_gap) { /* it was kept from looking */
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
  zbl_own.left = 0; /* the program caused no gap here */
  zbl_lock();
  if (far) {
    return 0;
  }
  zbl_pace_seen(at);
  return 1;
}
