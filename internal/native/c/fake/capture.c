/* What a thread that captures must not do. */
#include "world.h"

/* How many captures the thread has open that are not relaxed, whose address tells
 * threads apart, and how often it did then what it must not. */
static _Thread_local int zbl_captures, zbl_capture_mode;
static _Thread_local unsigned zbl_spoiled;

/* Whether the thread must not do now what could wait for a capture: to allocate,
 * to free, to copy. The attempt spoils every capture it has open. */
int zbl_refused_in_capture(void) {
  int refused = zbl_captures > 0 && zbl_capture_mode != ZB_CAPTURE_RELAXED;
  zbl_spoiled += (unsigned)refused;
  return refused;
}

/* Whether its captures bind the thread. */
int zbl_exchange_mode(int mode) {
  int before = zbl_capture_mode;
  zbl_capture_mode = mode;
  return before;
}

void zbl_capture_reset(void) { zbl_captures = zbl_capture_mode = 0; }
