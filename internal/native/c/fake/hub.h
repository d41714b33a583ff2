/* What the threads and processes that drive a world share: one arena that is addressed
 * by offsets, for it lies elsewhere in each process. See hub.c and heap.c. */
#ifndef ZBL_HUB_H
#define ZBL_HUB_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

typedef uint64_t zbl_ref; /* an offset in the arena; 0 is nothing */

enum { ZBL_MAX_PROCESSES = 4096, ZBL_CLASSES = 48, ZBL_MODELLED = 16 };

/* What somebody sleeps on until something is decided: a futex, and how many sleep. */
typedef struct zbl_bell {
  uint32_t rung, waiting;
} zbl_bell;

/* The host clock of one modelled process, and the case that it is in. Times of
 * its streams count from the case's beginning. */
typedef struct zbl_lane {
  double h; /* seconds */
  uint64_t case_key, case_epoch;
  /* The time that polling for what never comes has taken, while all drivers have
   * been idle since `stuck`. */
  uint64_t stuck;
  double patience;
} zbl_lane;

/* A device as the others see it: how many live communicators have a rank there,
 * and the last barrier that it came to. */
typedef struct zbl_seat {
  int32_t comms, waits; /* waits: at a barrier */
  uint64_t barrier;
} zbl_seat;

typedef struct zbl_hub {
  uint64_t magic, machine; /* machine: a hash of the machine file */
  uint64_t bytes, used;
  pthread_mutex_t lock; /* robust where processes share it */
  zbl_bell any;         /* rung whenever something is decided */
  zbl_bell met;         /* rung when a barrier is over */
  uint64_t activity;    /* one more for whatever anybody does */
  uint64_t sleeps;      /* how often anybody went to sleep */
  double looked;        /* when lost processes were looked for, by the wall */
  uint64_t silent;      /* the activity since which nobody has acted, */
  double silent_since;  /* when that was seen, by the wall, */
  int silence_told;     /* and whether it was told who waits; see silence.c */
  int broken;           /* a process died while it held the lock */
  uint64_t ids;         /* unique ids handed out */
  double burst;         /* when launches began last, on the paced clock; see pace.c */
  int hosts;            /* threads that have launched something there */
  uint64_t barrier;     /* host barriers that are over */
  int missing;          /* the seats below have come to the next, or have no rank */
  uint64_t launches, late; /* on the paced clock; see pace.c */
  uint64_t skipped;        /* kernels of the program */
  uint64_t fired;          /* how often a data fault has changed something */
  int modelled;            /* collectives below that took the model's time beside measured ones */
  struct zbl_modelled { int collective, ranks; } model[ZBL_MODELLED];
  uint64_t room, taken;    /* bytes for the program's memory, and of it; 0: no limit */
  zbl_ref spare[ZBL_CLASSES];
  uint64_t kept; /* bytes of the free blocks that have their pages */
  zbl_ref cliques, lanes, seats;
  uint8_t slots[ZBL_MAX_PROCESSES]; /* 1: a process is there, or was lost */
} zbl_hub;

/* How a world is shared. */
typedef struct zbl_share {
  int several;      /* others will join, in this process or in another */
  const char *path; /* of the file where processes meet; NULL for one process */
  int exists;       /* another process has made it */
  int first, count; /* the devices that this process sees; count 0: all */
} zbl_share;

/* In a loop that looks again at what another thread will change. */
static inline void zbl_pause(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

/* What a hub begins with: "zbench" and the layout's number. */
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

/* An entry point that touches what is shared begins with it; the lock is let go
 * when the function returns. It may be taken again inside. */
#define ZBL_ENTER                                                              \
  const int zbl_entered __attribute__((cleanup(zbl_unlock), unused)) = zbl_lock()

/* The same for an entry point that touches it only where others drive the world, too. */
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
