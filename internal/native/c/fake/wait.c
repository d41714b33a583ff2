/* Lets the host find out whether a stream is done. The host may have to wait for other
 * processes of the world to decide that. */
#include "stream.h"

/* How far one poll of work that never finishes advances the host clock, in seconds. A
 * ten-minute deadline then passes in a few hundred polls. */
static const double zbl_stuck_poll = 1.0;

/* Reports whether all work of the stream is done. If so, the host knows it and the results
 * appear. A query of the null stream covers the blocking streams. */
int zbl_waited(zbl_stream *s) {
  double *h = &s->lane->h;
  zbl_renew(s);
  zbl_look(s);
  if (s->head == NULL && s == zbl.devices[s->device].null) {
    zbl_in_order(s);
    zbl_look(s);
  }
  if (s->head != NULL) {
    return 0;
  }
  if (!zbl_host_sees(s->s) || s->head != NULL) {
    return 0;
  }
  *h = zbl_later(*h, s->s);
  zbl_reveal(s);
  return 1;
}

/* ZBL_QUIET_MS is how long all processes may be idle, in milliseconds of the host's clock, before
 * polling counts as waiting for work that never comes. ZBL_POLL_MS is the duration of each later
 * poll. A process that is alone in its world need not wait. The time is long because processes may
 * be kept from the CPUs: if a query gave up too early, a host would see its streams end in another
 * order, and the times would differ. */
enum { ZBL_QUIET_MS = 100, ZBL_QUIET_PROCESSES_MS = 1000, ZBL_POLL_MS = 5 };

/* How long a query waits while other processes are active, in seconds. After that the client may
 * want to give up. */
static const double zbl_query_seconds = 5;

/* Reports whether the communicator of the stream's first operation has failed. */
static int zbl_given_up(const zbl_stream *s) {
  return s->head != NULL && zbl_failed(s->head->comm) != 0;
}

/* Sleeps until this stream may continue, or until another stream that only this process advances
 * may continue. Meanwhile the driving thread does not advance this stream. Returns the same as
 * zbl_await. */
static int zbl_attend(zbl_stream *s, int ms) {
  zbl_bell *bell = zbl_unattended(s) ? NULL : zbl_next_bell(s);
  int acted;
  s->hosts++;
  acted = zbl_await(bell != NULL ? bell : &zbl.hub->any, ms);
  s->hosts--;
  return acted;
}

/* Waits for the processes that drive the rest of the world. Returns 0 if all of them are idle, or
 * if the stream's communicator has failed. */
static int zbl_wait_for_others(zbl_stream *s) {
  const zbl_lane *l = s->lane;
  double until = zbl_wall_now() + zbl_query_seconds;
  int quiet = zbl.shared_fd >= 0 ? ZBL_QUIET_PROCESSES_MS : ZBL_QUIET_MS;
  int stuck = l->patience > 0 && l->stuck == zbl.hub->activity;
  int acts = 1;
  while (s->head != NULL && acts && zbl_wall_now() <= until) {
    acts = !zbl_given_up(s) && zbl_attend(s, stuck ? ZBL_POLL_MS : quiet);
    if (acts) {
      zbl_drive();
      zbl_look(s);
    }
  }
  zbl_call_driver(s);
  return acts;
}

/* Waits until it is decided whether the stream is done. If the stream is not done,
 * the host's time passes as long as all processes are idle. Once a process acts,
 * that time no longer counts. */
int zbl_decided(zbl_stream *s) {
  zbl_lane *l = s->lane;
  if (zbl_waited(s)) {
    return 1;
  }
  if (zbl.several && zbl_wait_for_others(s)) {
    return zbl_waited(s);
  }
  if (l->stuck != zbl.hub->activity) {
    l->stuck = zbl.hub->activity;
    l->patience = 0;
  }
  l->patience += zbl_stuck_poll;
  zbl_host_stalls(0);
  return 0;
}

/* Waits until the stream is done, however long that takes. Returns 0 if the stream can never be
 * done, because a process that drives the world alone would wait for ever. */
int zbl_wait_for(zbl_stream *s) {
  if (s == NULL) {
    return 0;
  }
  while (!zbl_decided(s)) {
    if (!zbl.waits || s->error != 0) {
      return 0;
    }
    if (zbl_given_up(s)) {
      zbl_await(&zbl.hub->any, ZBL_POLL_MS);
    }
  }
  return 1;
}

/* Waits for all streams of a device and returns the error of a launch there. Other threads may
 * make and destroy streams during the wait. */
int zbl_wait_for_device(int device) {
  zbl_stream *s = zbl_streams;
  int error = ZB_OK;
  while (s != NULL) {
    if (s->device == device && s->error != 0) {
      error = s->error;
    } else if (s->device == device && !zbl_waited(s)) {
      if (!zbl_wait_for(s)) {
        return ZB_ERR_NOT_READY;
      }
      s = zbl_streams;
      continue;
    }
    s = s->all;
  }
  return error;
}

/* Queries a stream. The query blocks until the outcome is decided. It returns "not ready" only
 * for work that can never finish, and the host's time then passes. */
static int zbl_streamQuery(void *stream) {
  ZBL_ENTER;
  zbl_stream *s = zbl_stream_of(stream);
  ZBL_REFUSE(s == NULL, ZBL_ERR_STREAM);
  ZBL_REFUSE(zbl_refused_by_capture(s), ZB_ERR_CAPTURE);
  ZBL_REFUSE(s->error != 0, s->error);
  return zbl_decided(s) ? ZB_OK : ZB_ERR_NOT_READY;
}
