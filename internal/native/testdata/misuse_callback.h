/* Functions in streams: ROCm/clr, hip_stream.cpp, hipLaunchHostFunc_common and
 * hipStreamAddCallback_common. */
#include <pthread.h>
#include <time.h>
#include <unistd.h>

static struct {
  pthread_mutex_t lock;
  int called, seen, error;
  void *stream;
} host = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void note(void *data) {
  pthread_mutex_lock(&host.lock);
  host.called++;
  host.seen = *(int *)data;
  pthread_mutex_unlock(&host.lock);
}

static void noted(void *s, int error, void *data) {
  host.stream = s;
  host.error = error;
  note(data);
}

static void naps(void *data) {
  usleep(20000);
  note(data);
}

/* A function sees what was before it in its stream, and what is behind it waits for it. */
static void functions_are_called(void) {
  enum { WORDS = 1 << 16 };
  int *words, value = 5;
  void *graph, *exec;
  IS(ZB_ERR_VALUE, launchHost(stream[0], NULL, &value));
  IS(DESTROYED, launchHost(none, note, &value));
  IS(ZB_ERR_VALUE, addCallback(stream[0], NULL, &value, 0));
  IS(ZB_ERR_VALUE, addCallback(stream[0], noted, &value, 1));
  IS(DESTROYED, addCallback(none, noted, &value, 0));
  IS(0, hostMalloc((void **)&words, WORDS * 4, 0));
  IS(0, setWordsAsync(words, 6, WORDS, stream[0]));
  IS(0, launchHost(stream[0], naps, &words[WORDS - 1]));
  IS(0, setWordsAsync(words, 7, WORDS, stream[0]));
  pthread_mutex_lock(&host.lock); /* it does not wait for this thread in the loopback */
  IS(ZB_ERR_NOT_READY, streamQuery(stream[0]));
  CHECK(host.called == 0 && words[0] == 6);
  pthread_mutex_unlock(&host.lock);
  IS(0, streamSynchronize(stream[0]));
  CHECK(host.called == 1 && host.seen == 6 && words[0] == 7);
  IS(0, addCallback(stream[1], noted, &value, 0));
  IS(0, launchHost(NULL, note, &value));
  IS(0, deviceSynchronize());
  IS(0, streamSynchronize(stream[1]));
  CHECK(host.called == 3 && host.seen == 5 && host.stream == stream[1] && host.error == 0);
  IS(0, streamBeginCapture(stream[0], ZB_CAPTURE_THREAD));
  IS(ZB_ERR_VALUE, launchHost(stream[0], NULL, &value));
  IS(0, launchHost(stream[0], note, &value));
  IS(0, streamEndCapture(stream[0], &graph));
  IS(0, graphInstantiate(&exec, graph, 0));
  CHECK(host.called == 3);
  for (int i = 0; i < 2; i++) {
    IS(0, graphLaunch(exec, stream[0]));
  }
  IS(0, streamSynchronize(stream[0]));
  CHECK(host.called == 5);
  IS(0, streamBeginCapture(stream[0], ZB_CAPTURE_THREAD));
  IS(ZB_ERR_CAPTURE, launchHost(NULL, note, &value));
  IS(ZB_ERR_CAPTURE_INVALID, streamEndCapture(stream[0], &graph));
  IS(0, graphExecDestroy(exec));
  IS(0, freeDevice(words));
}

/* On the model's clock a stream waits for as long as a function in it sleeps, and for no
 * longer. */
static void functions_take_time(void) {
  void *begin, *end;
  float ms = 0;
  int value = 1;
  IS(0, eventCreate(&begin));
  IS(0, eventCreate(&end));
  IS(0, eventRecord(begin, stream[0]));
  IS(0, launchHost(stream[0], naps, &value));
  IS(0, eventRecord(end, stream[0]));
  IS(0, streamSynchronize(stream[0]));
  IS(0, eventElapsed(&ms, begin, end));
  CHECK(getenv("LD_PRELOAD") == NULL ? ms < 20 : ms >= 20 && ms < 21);
  IS(0, eventDestroy(begin));
  IS(0, eventDestroy(end));
}
