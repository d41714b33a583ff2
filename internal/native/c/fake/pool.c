/* Threads for the parts of a kernel, one CPU per part, for measuring the host's memory. Between
 * launches the threads spin for a while and then sleep, so that short launches do not include the
 * time to wake a thread. A thread always gets the same part, whose memory it touched first. */
#include "pool.h"
#include "hub.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>

/* How long a thread spins before it sleeps, in seconds; one pause of the CPU takes 2 to 50 ns. If
 * there are more threads than CPUs, or if nothing is timed, threads do not spin, because that would
 * keep other threads from working. */
static const double zbl_pool_patience = 50e-6;

static struct {
  int parts; /* number of threads, the caller's included; 0 before the first start */
  double patience;
  pthread_t *threads;
  pthread_mutex_t lock;
  pthread_cond_t wake;
  unsigned long round; /* incremented by each launch, and to stop the threads */
  int left;            /* number of parts that are not done */
  int stop;
  void (*work)(unsigned part, unsigned parts, void **params);
  void **params;
} zbl_pool = {.lock = PTHREAD_MUTEX_INITIALIZER,
              .wake = PTHREAD_COND_INITIALIZER};

/* Waits for a round after `seen` and returns its number. */
static unsigned long zbl_pool_next(unsigned long seen) {
  unsigned long now;
  if (zbl_pool.patience > 0) {
    double until = zbl_wall_now() + zbl_pool.patience;
    do {
      now = __atomic_load_n(&zbl_pool.round, __ATOMIC_ACQUIRE);
      if (now != seen) {
        return now;
      }
      zbl_pause();
    } while (zbl_wall_now() < until);
  }
  pthread_mutex_lock(&zbl_pool.lock);
  while ((now = __atomic_load_n(&zbl_pool.round, __ATOMIC_ACQUIRE)) == seen) {
    pthread_cond_wait(&zbl_pool.wake, &zbl_pool.lock);
  }
  pthread_mutex_unlock(&zbl_pool.lock);
  return now;
}

static void *zbl_pool_thread(void *part) {
  unsigned long seen = 0;
  for (;;) {
    seen = zbl_pool_next(seen);
    if (zbl_pool.stop) {
      return NULL;
    }
    zbl_pool.work((unsigned)(uintptr_t)part, (unsigned)zbl_pool.parts,
                  zbl_pool.params);
    __atomic_sub_fetch(&zbl_pool.left, 1, __ATOMIC_RELEASE);
  }
}

static void zbl_pool_begin(void) {
  pthread_mutex_lock(&zbl_pool.lock);
  __atomic_add_fetch(&zbl_pool.round, 1, __ATOMIC_RELEASE);
  pthread_cond_broadcast(&zbl_pool.wake);
  pthread_mutex_unlock(&zbl_pool.lock);
}

/* Returns the number of CPUs that this process may use. */
int zbl_cpus(void) {
  cpu_set_t set;
  int n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
  return n > 0 ? n : 1;
}

/* Starts the threads. All signals are blocked in them, because signals belong to the client. If a
 * thread cannot be made, there are fewer parts. */
void zbl_pool_start(int parts) {
  sigset_t all, before;
  zbl_pool.parts = 1;
  zbl_pool.patience = zbl.wall && parts <= zbl_cpus() ? zbl_pool_patience : 0;
  zbl_pool.stop = 0;
  zbl_pool.round = 0;
  zbl_pool.threads = calloc((size_t)parts, sizeof *zbl_pool.threads);
  if (zbl_pool.threads == NULL) {
    return;
  }
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  while (zbl_pool.parts < parts &&
         pthread_create(&zbl_pool.threads[zbl_pool.parts], NULL,
                        zbl_pool_thread,
                        (void *)(uintptr_t)zbl_pool.parts) == 0) {
    zbl_pool.parts++;
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void zbl_pool_stop(void) {
  if (zbl_pool.parts == 0) {
    return;
  }
  zbl_pool.stop = 1;
  zbl_pool_begin();
  for (int i = 1; i < zbl_pool.parts; i++) {
    pthread_join(zbl_pool.threads[i], NULL);
  }
  free(zbl_pool.threads);
  zbl_pool.threads = NULL;
  zbl_pool.parts = 0;
}

int zbl_pool_parts(void) { return zbl_pool.parts; }

/* Runs all parts of a launch and returns when they are done. */
void zbl_pool_run(void (*work)(unsigned part, unsigned parts, void **params),
                  void **params) {
  double until = 0;
  zbl_pool.work = work;
  zbl_pool.params = params;
  __atomic_store_n(&zbl_pool.left, zbl_pool.parts - 1, __ATOMIC_RELEASE);
  if (zbl_pool.parts > 1) {
    zbl_pool_begin();
  }
  work(0, (unsigned)zbl_pool.parts, params);
  if (zbl_pool.patience > 0) {
    until = zbl_wall_now() + zbl_pool.patience;
  }
  while (__atomic_load_n(&zbl_pool.left, __ATOMIC_ACQUIRE) > 0) {
    zbl_pause();
    if (until == 0 || zbl_wall_now() >= until) {
      sched_yield(); /* at present there are more threads than CPUs */
    }
  }
}
