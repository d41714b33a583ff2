/* A thread that works off the process's streams when other processes decide something:
 * GPUs go on while their host waits for something else, such as a barrier of MPI. Only a
 * process that shares a world with others needs it. */
#include "comm.h"

#include <signal.h>

/* How often it looks for lost processes, in milliseconds: one of many does so for
 * all, so those that came later do it less often. */
enum { ZBL_LOOK_MS = 500, ZBL_LOOK_SLOT_MS = 5 };

static void *zbl_drive_thread(void *unused) {
  ZBL_ENTER;
  int look = ZBL_LOOK_MS + ZBL_LOOK_SLOT_MS * zbl.slot;
  while (!zbl.stop) {
    zbl_drive();
    zbl_advance_joins();
    zbl_await(zbl_unattended(NULL) || zbl_has_joins() ? &zbl.hub->any : &zbl.nudge, look);
  }
  return unused;
}

/* Starts it, without signals: those are the client's. */
void zbl_drive_start(void) {
  sigset_t all, before;
  if (zbl.shared_fd < 0) {
    return;
  }
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  zbl.driving = pthread_create(&zbl.driver, NULL, zbl_drive_thread, NULL) == 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* Ends it; the caller has not the lock. */
void zbl_drive_stop(void) {
  if (!zbl.driving) {
    return;
  }
  {
    ZBL_ENTER;
    zbl.stop = 1;
    zbl_ring(&zbl.nudge);
    zbl_progress();
  }
  pthread_join(zbl.driver, NULL);
  zbl.driving = 0;
}
