/* The processes of a shared world. Each process holds a lock on one byte of the file. The kernel
 * releases the lock however the process ends. A missing lock reveals a lost process. The peers of a
 * lost process get an asynchronous error, as from the real library. */
#include "comm.h"

#include <fcntl.h>

/* The locked bytes are beyond the end of the arena. */
static const off_t zbl_slot_bytes = (off_t)1 << 60;

static int zbl_lock_bytes(int fd, int op, struct flock *l, int slot, int n) {
  *l = (struct flock){.l_type = F_WRLCK, .l_whence = 0,
                      .l_start = zbl_slot_bytes + slot, .l_len = n};
  return fcntl(fd, op, l);
}

/* Reports whether another open file holds a lock on one of the bytes. */
static int zbl_held_bytes(int fd, int slot, int n) {
  struct flock l;
  return zbl_lock_bytes(fd, F_OFD_GETLK, &l, slot, n) == 0 &&
         l.l_type != F_UNLCK;
}

/* Reports whether certainly no other process uses the file. */
int zbl_nobody(int fd) {
  struct flock l;
  return zbl_lock_bytes(fd, F_OFD_GETLK, &l, 0, ZBL_MAX_PROCESSES) == 0 &&
         l.l_type == F_UNLCK;
}

int zbl_alive(int slot) {
  return slot == zbl.slot || zbl_held_bytes(zbl.shared_fd, slot, 1);
}

/* Takes the first slot that no process has had. */
int zbl_take_slot(int fd, zbl_hub *hub) {
  for (int i = 0; i < ZBL_MAX_PROCESSES; i++) {
    struct flock l;
    if (!hub->slots[i] && zbl_lock_bytes(fd, F_OFD_SETLK, &l, i, 1) == 0) {
      hub->slots[i] = 1;
      zbl.slot = i;
      return 1;
    }
  }
  return 0;
}

/* Releases this process's slot, if it has one. */
void zbl_give_up_slot(int fd) {
  struct flock all = {.l_type = F_UNLCK, .l_start = zbl_slot_bytes, .l_len = ZBL_MAX_PROCESSES};
  fcntl(fd, F_OFD_SETLK, &all);
}

/* Marks the loss of a process in every communicator that has a rank of the process, unless that
 * rank had left. */
static void zbl_lose(int slot) {
  for (zbl_clique *q = zbl_at(zbl.hub->cliques); q != NULL;
       q = zbl_at(q->next)) {
    for (int i = 0; i < q->nranks; i++) {
      zbl_member *m = &q->member[i];
      if (m->here && m->slot == slot) {
        zbl_leave_clique(q, i);
        q->async = ZB_COLL_REMOTE;
      }
    }
  }
}

/* How often a process looks for lost processes, in milliseconds. One process looks for all:
 * with a thousand processes a look takes milliseconds. */
enum { ZBL_LOST_MS = 250 };

/* Looks for lost processes, unless some process has just done so. */
void zbl_find_lost(void) {
  double now;
  if (zbl.shared_fd < 0) {
    return;
  }
  now = zbl_wall_now();
  if (now < zbl.hub->looked + ZBL_LOST_MS * 1e-3) {
    return;
  }
  zbl.hub->looked = now;
  for (int i = 0; i < ZBL_MAX_PROCESSES; i++) {
    if (zbl.hub->slots[i] == 1 && !zbl_alive(i)) {
      zbl.hub->slots[i] = 2;
      zbl_lose(i);
      zbl_alarm();
    }
  }
}
