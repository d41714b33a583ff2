/* The arena: an anonymous mapping if one process drives the world, a shared file if
 * several processes do. One lock protects the whole arena and the streams of this
 * process. */
#include "world.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <time.h>
#include <unistd.h>

/* The smallest arena that is accepted if the address space is limited. */
static const uint64_t ZBL_LEAST = 64ull << 20;

static _Thread_local int zbl_depth_of_lock;

/* Returns the FNV-1a hash of a text. Processes that share a world compare the hashes of their
 * machine files. */
uint64_t zbl_hash(const char *text) {
  uint64_t h = 0xcbf29ce484222325u;
  for (; *text != '\0'; text++) {
    h = (h ^ (uint8_t)*text) * 0x100000001b3u;
  }
  return h;
}

/* How often a process polls the lock before it sleeps. The owner usually releases the lock
 * sooner than a process falls asleep, unless the owner was preempted. */
enum { ZBL_LOCK_SPINS = 500 };

static int zbl_lock_soon(pthread_mutex_t *lock) {
  int code = EBUSY;
  for (int i = 0; i < ZBL_LOCK_SPINS && code == EBUSY && zbl.shared_fd >= 0; i++) {
    code = pthread_mutex_trylock(lock);
    if (code == EBUSY) {
      zbl_pause();
    }
  }
  return code == EBUSY ? pthread_mutex_lock(lock) : code;
}

/* Takes the lock unless this thread already has it. */
int zbl_lock(void) {
  if (zbl_depth_of_lock == 0 && zbl_paced()) {
    zbl_host_in();
  }
  if (zbl_depth_of_lock++ == 0 && zbl.hub != NULL &&
      zbl_lock_soon(&zbl.hub->lock) == EOWNERDEAD) {
    zbl.hub->broken = 1; /* the change that the dead process was making is incomplete */
    pthread_mutex_consistent(&zbl.hub->lock);
    zbl_alarm();
  }
  return 1;
}

static long zbl_futex(const zbl_bell *bell, int op, uint32_t value,
                      const struct timespec *timeout) {
  return syscall(SYS_futex, &bell->rung, op, value, timeout, NULL,
                 FUTEX_BITSET_MATCH_ANY);
}

/* The bell that woke the calling thread. */
static _Thread_local const zbl_bell *zbl_woken_by;

/* Wakes the next sleeper on the bell that woke this thread. This thread has had the lock by now. If
 * all sleepers were woken at once, they would queue for the lock and take CPU time from its owner:
 * a sixth of the CPU time with a thousand processes on two CPUs. If a woken thread is killed before
 * it wakes the next one, the remaining threads sleep until their time limit. */
static void zbl_wake_next(void) {
  const zbl_bell *bell = zbl_woken_by;
  zbl_woken_by = NULL;
  if (bell != NULL) {
    zbl_futex(bell, FUTEX_WAKE, 1, NULL);
  }
}

/* Sleeps until the bell's count differs from `seen`, for at most `ms` milliseconds. The sleep
 * continues after a signal (Go's runtime sends many) and after a late wake-up for an earlier
 * decision. If it ended then, the world would look idle. */
static void zbl_sleep(const zbl_bell *bell, uint32_t seen, int ms) {
  struct timespec end;
  zbl_kernel_clock(&end);
  end.tv_nsec += ms % 1000 * 1000000L;
  end.tv_sec += ms / 1000 + end.tv_nsec / 1000000000L;
  end.tv_nsec %= 1000000000L;
  while (__atomic_load_n(&bell->rung, __ATOMIC_RELAXED) == seen &&
         (zbl_futex(bell, FUTEX_WAIT_BITSET, seen, &end) == 0 || errno == EINTR)) {
  }
  if (__atomic_load_n(&bell->rung, __ATOMIC_RELAXED) != seen) {
    zbl_woken_by = bell;
  }
}

void zbl_unlock(const int *held) {
  zbl_bell *rung[ZBL_RUNG];
  int n;
  (void)held;
  if (--zbl_depth_of_lock > 0 || zbl.hub == NULL) {
    return;
  }
  n = zbl.rung_count;
  memcpy(rung, zbl.rung, (size_t)n * sizeof *rung);
  zbl.rung_count = 0;
  pthread_mutex_unlock(&zbl.hub->lock);
  for (int i = 0; i < n; i++) {
    zbl_futex(rung[i], FUTEX_WAKE, (uint32_t)zbl.wakes, NULL);
  }
  zbl_wake_next();
  if (zbl_paced()) {
    zbl_host_out();
  }
}

/* Notes that some process has acted. */
void zbl_act(void) {
  __atomic_store_n(&zbl.hub->activity, zbl.hub->activity + 1, __ATOMIC_RELAXED);
}

/* Wakes the sleepers on a bell when the lock is released, because they then need the lock. */
void zbl_ring(zbl_bell *bell) {
  if (bell->waiting == 0) {
    return;
  }
  __atomic_store_n(&bell->rung, bell->rung + 1, __ATOMIC_RELAXED);
  for (int i = 0; i < zbl.rung_count; i++) {
    if (zbl.rung[i] == bell) {
      return;
    }
  }
  if (zbl.rung_count == ZBL_RUNG) {
    zbl_futex(bell, FUTEX_WAKE, (uint32_t)zbl.wakes, NULL);
  } else {
    zbl.rung[zbl.rung_count++] = bell;
  }
}

/* Notes a decision, and wakes all threads that wait for any decision. */
void zbl_progress(void) {
  zbl_act();
  zbl_ring(&zbl.hub->any);
}

/* Sleeps on a bell, without the lock. Returns 0 if no process acted for `ms` milliseconds; the
 * caller then looks for lost processes. */
int zbl_await(zbl_bell *bell, int ms) {
  uint32_t seen = bell->rung;
  uint64_t before = zbl.hub->activity;
  int depth = zbl_depth_of_lock;
  bell->waiting++;
  zbl.hub->sleeps++;
  zbl_depth_of_lock = 1;
  zbl_unlock(NULL);
  zbl_sleep(bell, seen, ms);
  zbl_lock();
  zbl_depth_of_lock = depth;
  bell->waiting--;
  if (zbl.hub->activity == before) {
    zbl_find_lost();
    zbl_look_at_silence();
  }
  return zbl.hub->activity != before;
}

/* Makes the lock. A lock between processes is robust. A lock for one process is plain, because a
 * plain lock takes half the time. */
static void zbl_new_lock(pthread_mutex_t *lock, int processes) {
  pthread_mutexattr_t attr;
  pthread_mutexattr_init(&attr);
  if (processes) {
    pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
  }
  pthread_mutex_init(lock, &attr);
  pthread_mutexattr_destroy(&attr);
}

/* Makes the hub at the beginning of an arena of zeros. */
static void zbl_make_hub(zbl_hub *hub, uint64_t bytes, uint64_t machine) {
  zbl_seat *seat;
  hub->machine = machine;
  hub->bytes = bytes;
  hub->used = (sizeof *hub + 63) / 64 * 64;
  zbl_new_lock(&hub->lock, zbl.shared_fd >= 0);
  hub->lanes = zbl_ref_of(zbl_new((size_t)zbl.processes * sizeof(zbl_lane)));
  hub->seats = zbl_ref_of(zbl_new((size_t)zbl.ranks * sizeof(zbl_seat)));
  memset(zbl_at(hub->lanes), 0, (size_t)zbl.processes * sizeof(zbl_lane));
  seat = zbl_at(hub->seats);
  memset(seat, 0, (size_t)zbl.ranks * sizeof *seat);
  hub->magic = ZBL_MAGIC;
}

static char *zbl_map(uint64_t bytes, int fd) {
  int flags = fd >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
  return mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags | MAP_NORESERVE, fd, 0);
}

/* Maps the arena, and joins the world in it or makes a new one. */
static const char *zbl_join(uint64_t machine) {
  uint64_t bytes = ZBL_ARENA;
  zbl_hub *hub;
  char *at = zbl_map(bytes, zbl.shared_fd);
  while (at == MAP_FAILED && zbl.shared_fd < 0 && bytes > ZBL_LEAST) {
    bytes /= 2;
    at = zbl_map(bytes, -1);
  }
  if (at == MAP_FAILED) {
    return strerror(errno);
  }
  zbl.arena = at;
  zbl.hub = hub = (zbl_hub *)(void *)at;
  zbl.mapped = bytes;
  if (hub->magic == 0) {
    zbl_make_hub(hub, bytes, machine);
  }
  if (hub->magic != ZBL_MAGIC || hub->machine != machine) {
    return "it is of another build or of another machine file";
  }
  zbl.lanes = zbl_at(hub->lanes);
  zbl.seats = zbl_at(hub->seats);
  return zbl.shared_fd >= 0 && !zbl_take_slot(zbl.shared_fd, hub)
             ? "too many processes share it"
             : NULL;
}

int zbl_open_hub(const char *text, const zbl_share *how, char *err,
                 size_t errlen) {
  const char *why = NULL;
  zbl.several = how->several || how->path != NULL;
  zbl.wakes = get_nprocs();
  zbl.shared_fd = -1;
  if (how->path != NULL) {
    why = zbl_open_file(how->path, how->exists);
  }
  if (why == NULL) {
    why = zbl_join(zbl_hash(text));
  }
  if (zbl.shared_fd >= 0) {
    flock(zbl.shared_fd, LOCK_UN);
  }
  if (why != NULL) {
    zbl_leave_file(how->path);
    snprintf(err, errlen, "the shared world %s: %s",
             how->path != NULL ? how->path : "", why);
    zbl_close_hub();
  }
  return why == NULL;
}

void zbl_close_hub(void) {
  if (zbl.hub != NULL) {
    munmap(zbl.arena, zbl.mapped);
  }
  if (zbl.shared_fd >= 0) {
    close(zbl.shared_fd);
  }
  zbl.hub = NULL;
}
