/* Launches on the paced clock. Ranks of other threads and processes would launch at the
 * same time on a machine that has a CPU for each of them. Here they take turns on a few,
 * and a burst of one rank's launches would end before another rank's begins. So a launch
 * on a stream without work gives the CPU to the other ranks until they have launched, too. */
#include "stream.h"

#include <sched.h>

/* How long such a launch waits, in seconds, and how many launches of the thread do not
 * wait once a wait was in vain. */
static const double zbl_pace_wait = 1e-3;
enum { ZBL_PACE_SKIPPED = 100 };

static _Thread_local struct {
  const zbl_stream *last;
  int skip;
} zbl_pacing;

/* Waits for a bell without the lock, and without sleeping: to wake a thread on another CPU
 * takes longer than many launches. The wait counts as time in the loopback. */
static void zbl_pace_until(zbl_bell *bell) {
  uint32_t seen = bell->rung;
  double until = zbl_wall_now() + zbl_pace_wait;
  double entered = zbl_own.entered, inside = zbl_own.inside;
  int depth = zbl_depth_of_lock;
  bell->waiting++;
  zbl_depth_of_lock = 1;
  zbl_unlock(NULL);
  do {
    sched_yield();
  } while (__atomic_load_n(&bell->rung, __ATOMIC_RELAXED) == seen &&
           zbl_wall_now() < until);
  zbl_lock();
  zbl_depth_of_lock = depth;
  zbl_own.entered = entered;
  zbl_own.inside = inside;
  bell->waiting--;
}

/* The thread has launched on the stream. One that launches on several by turns would wait
 * for itself. */
void zbl_pace_launch(const zbl_stream *s) {
  int alone = zbl_pacing.last == NULL || zbl_pacing.last == s;
  zbl_bell *bell;
  if (zbl.shown != ZBL_PACED || s->capture != NULL) {
    return;
  }
  zbl_pacing.last = s;
  if (s->head == NULL || !alone || s->s > zbl_wall_now()) {
    return;
  }
  if (zbl_pacing.skip > 0) {
    zbl_pacing.skip--;
    return;
  }
  bell = zbl_bell_of(s);
  if (bell != NULL) {
    zbl_pace_until(bell);
    zbl_drive();
    zbl_pacing.skip = s->head != NULL ? ZBL_PACE_SKIPPED : 0;
  }
}
