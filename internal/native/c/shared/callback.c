/* Runs functions of the program that are enqueued in a stream. They run on a thread of their own,
 * without the loopback's lock: they may take locks that a thread holds while it waits in the
 * loopback, and may wait for that thread's next steps. The stream continues when the function has
 * returned. */
#include "../fake/stream.h"
#include "more.h"

#include <signal.h>
#include <stdlib.h>

/* The function to call. Either `function` or `callback` is set; `callback` also gets the stream's
 * handle. */
typedef struct zbl_called {
  zbs_function *function;
  zbs_callback *callback;
  void *data, *handle;
} zbl_called;

/* One call. Both the stream's operation and the thread refer to it. */
typedef struct zbl_calling {
  zbl_called what;
  int holders, error, returned;
  double begin, end;
  struct zbl_calling *next;
} zbl_calling;

/* The calls that wait, in the order in which streams reached them. */
static struct {
  pthread_mutex_t lock;
  pthread_cond_t more;
  zbl_calling *first, *last;
  int thread; /* 1 once the thread exists */
} zbl_calls = {.lock = PTHREAD_MUTEX_INITIALIZER, .more = PTHREAD_COND_INITIALIZER};

static void zbl_drop_call(zbl_calling *c) {
  if (--c->holders == 0) {
    free(c);
  }
}

static zbl_calling *zbl_next_call(void) {
  zbl_calling *c;
  pthread_mutex_lock(&zbl_calls.lock);
  while ((c = zbl_calls.first) == NULL) {
    pthread_cond_wait(&zbl_calls.more, &zbl_calls.lock);
  }
  zbl_calls.first = c->next;
  pthread_mutex_unlock(&zbl_calls.lock);
  return c;
}

/* Makes one call. The thread's time begins when the stream reached the call, and the stream
 * waits as long as the function sleeps. */
static void zbl_make_call(zbl_calling *c) {
  {
    ZBL_ENTER;
    while (!zbl_host_sees(c->begin)) {
    }
    zbl_host_becomes(c->begin);
  }
  if (c->what.function != NULL) {
    c->what.function(c->what.data);
  } else {
    c->what.callback(c->what.handle, c->error, c->what.data);
  }
  ZBL_ENTER;
  c->end = zbl_later(c->begin, zbl_host_is());
  c->returned = 1;
  zbl_drive();
  zbl_progress();
  zbl_drop_call(c);
}

static void *zbl_call_all(void *unused) {
  for (;;) {
    zbl_make_call(zbl_next_call());
  }
  return unused;
}

/* Starts the thread. All signals are blocked in it, because signals belong to the client. */
static void zbl_start_calling(void) {
  sigset_t all, before;
  pthread_t thread;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  if (pthread_create(&thread, NULL, zbl_call_all, NULL) != 0) {
    abort();
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  pthread_detach(thread);
}

static int zbl_call_run(zbl_op *op, zbl_stream *s) {
  zbl_calling *c = op->data;
  s->s = zbl_arrival(op, s);
  zbl_reveal(s);
  c->begin = s->s;
  c->error = s->error;
  c->holders++;
  pthread_mutex_lock(&zbl_calls.lock);
  if (zbl_calls.first == NULL) {
    zbl_calls.first = c;
  } else {
    zbl_calls.last->next = c;
  }
  zbl_calls.last = c;
  if (!zbl_calls.thread) {
    zbl_calls.thread = 1;
    zbl_start_calling();
  }
  pthread_cond_signal(&zbl_calls.more);
  pthread_mutex_unlock(&zbl_calls.lock);
  return 0;
}

static int zbl_call_done(zbl_op *op, zbl_stream *s) {
  const zbl_calling *c = op->data;
  if (c->returned) {
    s->s = zbl_later(s->s, c->end);
  }
  return c->returned;
}

static void zbl_call_release(zbl_op *op) { zbl_drop_call(op->data); }

static const zbl_kind zbl_callings = {.run = zbl_call_run, .done = zbl_call_done,
                                      .release = zbl_call_release};

static int zbl_call_put(const void *what, zbl_stream *s) {
  zbl_calling *c = calloc(1, sizeof *c);
  if (c == NULL) {
    return ZB_ERR_MEMORY;
  }
  c->what = *(const zbl_called *)what;
  c->holders = 1;
  zbl_push(s, zbl_new_op(s, &zbl_callings, c, s->lane->h));
  return ZB_OK;
}

/* Enqueues a function. A capture records it. On the null stream it does not
 * wait for the device's other streams (ROCm/clr, hipamd/src/hip_stream.cpp,
 * hipLaunchHostFunc). */
static int zbl_launchHost(void *stream, zbs_function *function, void *data) {
  const zbl_called what = {.function = function, .data = data};
  zbl_stream *s;
  ZBL_ENTER;
  s = zbl_stream_of(stream);
  ZBL_REFUSE(stream == NULL && zbl_refused_in_capture(), ZB_ERR_CAPTURE);
  ZBL_REFUSE(s == NULL || function == NULL, s == NULL ? ZBL_ERR_STREAM : ZB_ERR_VALUE);
  return zbl_said(zbl_do(s, zbl_call_put, &what, sizeof what));
}

/* Enqueues a callback. As in HIP, a capture does not record it: it runs at once
 * (ROCm/clr, hipamd/src/hip_stream.cpp, hipStreamAddCallback_common). */
static int zbl_addCallback(void *stream, zbs_callback *callback, void *data, unsigned flags) {
  const zbl_called what = {.callback = callback, .data = data, .handle = stream};
  zbl_stream *s;
  ZBL_ENTER;
  s = zbl_stream_of(stream);
  ZBL_REFUSE(callback == NULL || flags != 0, ZB_ERR_VALUE);
  ZBL_REFUSE(s == NULL, ZBL_ERR_STREAM);
  zbl_host_enters(s->lane);
  s->lane->h += zbl.launch;
  return zbl_said(zbl_call_put(&what, s));
}
