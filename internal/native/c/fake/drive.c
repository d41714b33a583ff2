/* A thread that advances the streams of this process when other processes decide something. It
 * stands for the GPUs, which continue while their host waits elsewhere, for example in an MPI
 * barrier. Only a process that shares a world needs the thread. */
#include "comm.h"

#include <signal.h>

/* How often the thread looks for lost processes, in milliseconds. One process looks for all, so
 * later processes look less often. */
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

/* Starts the thread. All signals are blocked in it, because signals belong to the client. */
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

/* Stops the thread. The caller must not hold the lock. */
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
