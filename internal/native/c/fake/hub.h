/* The state shared by all threads and processes that drive a world: one arena, addressed by
 * offsets because each process maps it elsewhere. See hub.c and heap.c. */
#ifndef ZBL_HUB_H
#define ZBL_HUB_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

typedef uint64_t zbl_ref; /* an offset in the arena; 0 is null */

enum { ZBL_MAX_PROCESSES = 4096, ZBL_CLASSES = 48, ZBL_MODELLED = 16 };

/* A bell to sleep on until something is decided: a futex, and the number of sleepers. */
typedef struct zbl_bell {
  uint32_t rung, waiting;
} zbl_bell;

/* The host clock of one modelled process, and its current case. Times of its streams count from
 * the beginning of the case. */
typedef struct zbl_lane {
  double h; /* seconds */
  uint64_t case_key, case_epoch;
  /* The time taken by polling for work that never comes, while all drivers have been idle since
   * `stuck`. */
  uint64_t stuck;
  double patience;
} zbl_lane;

/* A device as seen by other processes: how many live communicators have a rank there, and the
 * last barrier that it reached. */
typedef struct zbl_seat {
  int32_t comms, waits; /* waits: at a barrier */
  uint64_t barrier;
} zbl_seat;

typedef struct zbl_hub {
  uint64_t magic, machine; /* machine: a hash of the machine file */
  uint64_t bytes, used;
  pthread_mutex_t lock; /* robust if processes share it */
  zbl_bell any;         /* rung whenever something is decided */
  zbl_bell met;         /* rung when a barrier is over */
  uint64_t activity;    /* incremented by every action of anybody */
  uint64_t sleeps;      /* how often anybody went to sleep */
  double looked;        /* when lost processes were last looked for, host's clock */
  uint64_t silent;      /* the activity count since which nobody has acted, */
  double silent_since;  /* when that was noticed, host's clock, */
  int silence_told;     /* and whether the hang has been explained; see silence.c */
  int broken;           /* a process died while it held the lock */
  uint64_t ids;         /* unique ids handed out */
  double burst;         /* when launches last began, on the paced clock; see pace.c */
  int hosts;            /* threads that have launched work on it */
  uint64_t barrier;     /* host barriers completed */
  int missing;          /* the seats below have come to the next, or have no rank */
  uint64_t launches, late; /* on the paced clock; see pace.c */
  uint64_t skipped;        /* kernels of the program */
  uint64_t fired;          /* how often a data fault has changed data */
  int modelled;            /* collectives below that took the model's time although others are measured */
  struct zbl_modelled { int collective, ranks; } model[ZBL_MODELLED];
  uint64_t room, taken;    /* bytes allowed for the program's memory, and used; 0: no limit */
  zbl_ref spare[ZBL_CLASSES];
  uint64_t kept; /* bytes of free blocks that keep their pages */
  zbl_ref cliques, lanes, seats;
  uint8_t slots[ZBL_MAX_PROCESSES]; /* 1: a process is there, or was lost */
} zbl_hub;

/* How a world is shared. */
typedef struct zbl_share {
  int several;      /* other threads or processes will join */
  const char *path; /* the file where processes meet; NULL for one process */
  int exists;       /* another process has made it */
  int first, count; /* the devices that this process sees; count 0: all */
} zbl_share;

/* For loops that wait for another thread to change something. */
static inline void zbl_pause(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

/* The first word of a hub: "zbench" and the layout's number. */
static const uint64_t ZBL_MAGIC = 0x7a62656e63680010;
/* Address space, and the file's size: untouched pages cost nothing. */
static const uint64_t ZBL_ARENA = 64ull << 30;

void *zbl_at(zbl_ref at);
zbl_ref zbl_ref_of(const void *p);

/* hub.c: the mapping, the lock and waiting */
int zbl_open_hub(const char *text, const zbl_share *how, char *err, size_t errlen);
void zbl_close_hub(void);
uint64_t zbl_hash(const char *text);
int zbl_lock(void);
void zbl_unlock(const int *held);
void zbl_unlock_taken(const int *held);
void zbl_act(void);
void zbl_ring(zbl_bell *bell);
void zbl_progress(void);
int zbl_await(zbl_bell *bell, int ms);

/* The first statement of an entry point that touches shared state: takes the lock until the
 * function returns. It may be taken again inside. */
#define ZBL_ENTER                                                              \
  const int zbl_entered __attribute__((cleanup(zbl_unlock), unused)) = zbl_lock()

/* The same for an entry point that touches shared state only if several processes drive the
 * world. */
#define ZBL_ENTER_SEVERAL                                                      \
  const int zbl_entered __attribute__((cleanup(zbl_unlock_taken), unused)) =   \
      zbl.several && zbl_lock()

/* heap.c */
void *zbl_new(size_t bytes);
void *zbl_new_own(size_t bytes);
void zbl_free_own(void);
void zbl_drop(void *p);

/* silence.c */
void zbl_look_at_silence(void);
void zbl_tell_stall(int call, int rank);

/* lost.c */
int zbl_take_slot(int fd, zbl_hub *hub);
void zbl_give_up_slot(int fd);
int zbl_alive(int slot);
void zbl_find_lost(void);
int zbl_nobody(int fd);

/* file.c */
const char *zbl_open_file(const char *path, int exists);
void zbl_remove_name(const char *path);
int zbl_leave_file(const char *path);
int zbl_remove_left(const char *path);

#endif
