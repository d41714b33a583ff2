/* The state that all threads and processes of a world share. It is one arena. Its parts are
 * addressed by offsets, because each process maps the arena at another address. See hub.c and
 * heap.c. */
#ifndef ZBL_HUB_H
#define ZBL_HUB_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

typedef uint64_t zbl_ref; /* an offset in the arena; 0 is null */

enum { ZBL_MAX_PROCESSES = 4096, ZBL_CLASSES = 48, ZBL_MODELLED = 16 };

/* A bell on which threads sleep until something is decided: a futex, and the number of sleepers. */
typedef struct zbl_bell {
  uint32_t rung, waiting;
} zbl_bell;

/* The host clock of one modelled process, and its current case. The times of its streams count
 * from the beginning of the case. */
typedef struct zbl_lane {
  double h; /* seconds */
  uint64_t case_key, case_epoch;
  /* The host has polled `patience` seconds for work that never comes, while the activity count
   * was `stuck`. */
  uint64_t stuck;
  double patience;
} zbl_lane;

/* A device as other processes see it: its number of live communicators, and the last barrier
 * that it reached. */
typedef struct zbl_seat {
  int32_t comms, waits; /* waits: 1 while the device waits at a barrier */
  uint64_t barrier;
} zbl_seat;

typedef struct zbl_hub {
  uint64_t magic, machine; /* machine: hash of the machine file */
  uint64_t bytes, used;
  pthread_mutex_t lock; /* a robust lock if several processes share it */
  zbl_bell any;         /* rung whenever something is decided */
  zbl_bell met;         /* rung when a barrier is over */
  uint64_t activity;    /* incremented by every action of a process */
  uint64_t sleeps;      /* number of times that any thread went to sleep */
  double looked;        /* when a process last looked for lost processes, on the host's clock */
  uint64_t silent;      /* value of `activity` when the present silence was noticed */
  double silent_since;  /* when the silence was noticed, on the host's clock */
  int silence_told;     /* 1 if the hang has been explained; see silence.c */
  int broken;           /* 1 if a process died while it held the lock */
  uint64_t ids;         /* number of unique ids handed out */
  double burst;         /* begin of the latest burst of launches, on the paced clock; see pace.c */
  int hosts;            /* number of threads that have launched work on the paced clock */
  uint64_t barrier;     /* number of completed host barriers */
  int missing;          /* every seat below this one has reached the next barrier, or has no
                         * rank */
  uint64_t launches, late; /* launches: number of all launches; late: number of late launches
                            * on the paced clock, see pace.c */
  uint64_t skipped;        /* number of the program's kernels that were skipped */
  uint64_t fired;          /* number of times that a data fault has changed data */
  int modelled;            /* number of entries in `model`: collectives that used the model
                            * although other collectives have measured times */
  struct zbl_modelled { int collective, ranks; } model[ZBL_MODELLED];
  uint64_t room, taken;    /* bytes of program memory that are allowed and used; room 0: no limit */
  zbl_ref spare[ZBL_CLASSES];
  uint64_t kept; /* bytes of free blocks that have kept their pages */
  zbl_ref cliques, lanes, seats;
  uint8_t slots[ZBL_MAX_PROCESSES]; /* 1 for a process that is present or was lost */
} zbl_hub;

/* How this process shares a world. */
typedef struct zbl_share {
  int several;      /* 1 if other threads or processes will join */
  const char *path; /* the file where processes meet; NULL for one process */
  int exists;       /* 1 if another process has made the file */
  int first, count; /* the devices that this process sees; count 0 means all */
} zbl_share;

/* Pauses the CPU in a loop that waits for another thread. */
static inline void zbl_pause(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

/* The first word of a hub: "zbench" and the version of the layout. */
static const uint64_t ZBL_MAGIC = 0x7a62656e63680010;
/* The size of the arena's address space and file. Untouched pages cost nothing. */
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

/* Must be the first statement of an entry point that touches shared state. Holds the lock
 * until the function returns. It may be nested. */
#define ZBL_ENTER                                                              \
  const int zbl_entered __attribute__((cleanup(zbl_unlock), unused)) = zbl_lock()

/* Does the same as ZBL_ENTER, but only if several processes drive the world. It is for entry
 * points that touch shared state only in that case. */
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
