/* The paced clock: the host's time follows the model. Ranks whose threads share a few CPUs
 * come to a burst of launches one after the other, and are kept from their launches and from
 * seeing the end. On a machine with a CPU for each of them they would not be. So what a thread
 * waits for a CPU, and what the loopback itself takes, does not count: it is taken off the
 * time at which its launches are dated. A thread that comes late to a burst for these
 * reasons counts as if it had come with the first, and sees all of the burst end later by as
 * much: from its own first launch on it sees the model's time pass. */
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

/* How long a paced thread sleeps at once, in seconds. For the last two of these it stays
 * awake: a thread that sleeps is woken tens of microseconds late where CPUs are shared, or
 * idle in a virtual machine. */
static const double zbl_pace = 1e-3;

/* How late a thread may come to a burst whatever kept it, in seconds: others may have waited
 * for a CPU before they woke it. */
static const double zbl_pace_apart = 1e-3;

/* The gap between two calls from which on the thread may have waited for a CPU, in seconds:
 * to ask the kernel takes a microsecond. */
static const double zbl_pace_gap = 2e-5;

static pthread_key_t zbl_schedstat_key;
static pthread_once_t zbl_schedstat_once = PTHREAD_ONCE_INIT;

static void zbl_close_schedstat(void *file) { close((int)(intptr_t)file - 1); }

static void zbl_make_schedstat_key(void) {
  pthread_key_create(&zbl_schedstat_key, zbl_close_schedstat);
}

/* The file goes with its thread. */
static void zbl_open_schedstat(void) {
  int fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
  zbl_own.schedstat = fd >= 0 ? fd + 1 : -1;
  if (fd >= 0) {
    pthread_once(&zbl_schedstat_once, zbl_make_schedstat_key);
    pthread_setspecific(zbl_schedstat_key, (void *)(intptr_t)zbl_own.schedstat);
  }
}

/* How long the calling thread has been runnable without a CPU, in seconds; 0 where the
 * kernel does not tell (proc_schedstat(5): the second number, in nanoseconds). */
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

/* How long it was since this was last asked. */
static double zbl_starved_since(void) {
  double before = zbl_own.starved;
  zbl_own.starved = zbl_starved();
  return zbl_own.starved - before;
}

/* What the thread has waited for a CPU since the kernel was asked does not count. */
static void zbl_pace_excuses(void) {
  if (zbl_own.gaps > 0) {
    double starved = zbl_starved_since();
    zbl_own.apart += starved < zbl_own.gaps ? starved : zbl_own.gaps;
    zbl_own.gaps = 0;
  }
}

/* A paced thread comes into the loopback. The kernel is asked at the next launch: a call
 * before the first one, between it and the program's look at the clock, is short. */
void zbl_host_in(void) {
  double gap;
  zbl_own.entered = zbl_wall_now();
  gap = zbl_own.entered - zbl_own.left;
  if (zbl_own.left > 0 && gap > zbl_pace_gap) {
    zbl_own.gaps += gap;
  }
}

/* It leaves it. What it took there is not the program's: a launch takes the model's time. */
void zbl_host_out(void) {
  zbl_own.left = zbl_wall_now();
  if (zbl_own.entered > 0) { /* else it came in before the clock was chosen */
    zbl_own.apart += zbl_own.left - zbl_own.entered;
  }
}

/* A paced thread is about to launch something. The first of its launches since it saw work
 * end decides what of its delay counts. It belongs to the last burst, unless the thread has
 * been beyond that: then it begins another. */
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

/* Counts a launch of the thread. It is late where the model had its stream idle from `due` on,
 * and that is past: the thread has had no CPU, or the loopback took longer than the model's
 * launch. Then what the program times is above the model. due is below 0 where the stream
 * is at work. */
void zbl_pace_pushes(double due) {
  zbl.hub->launches++;
  zbl.hub->late += due >= 0 && zbl_wall_now() > due + zbl_own.lag + zbl_pace_gap;
}

/* Sleeps without the slack by which the kernel may wake a thread late. */
static void zbl_sleep_exactly(double seconds) {
  const struct timespec left = {.tv_nsec = (long)(seconds * 1e9)};
  int slack = prctl(PR_GET_TIMERSLACK);
  prctl(PR_SET_TIMERSLACK, 1);
  syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &left, NULL);
  prctl(PR_SET_TIMERSLACK, slack > 0 ? slack : 0);
}

/* The thread has seen what happened at `at`. */
static void zbl_pace_seen(double at) {
  zbl_own.now = zbl_later(zbl_own.now, at);
  zbl_own.apart = zbl_own.gaps = 0;
  zbl_own.joined = 0;
}

/* Waits for that time, without the lock. Threads that have a CPU each keep it: a CPU that is
 * given away to another program comes back milliseconds later. */
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

/* Whether the thread may see what happened at `at`. Waits a moment for it, without the
 * lock. */
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
  zbl_own.left = 0; /* this was no gap of the program's */
  zbl_lock();
  if (far) {
    return 0;
  }
  zbl_pace_seen(at);
  return 1;
}
