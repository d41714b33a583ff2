/* What the programs here share: RCCL's and HIP's functions, a check, a clock, and how processes
 * meet. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

typedef struct {
  char internal[128];
} ncclUniqueId;
int hipSetDevice(int);
int hipMalloc(void **, size_t);
int hipMemcpy(void *, const void *, size_t, int);
int hipStreamCreateWithFlags(void **, unsigned);
int hipStreamQuery(void *);
int hipStreamSynchronize(void *);
int ncclGetUniqueId(ncclUniqueId *);
int ncclCommInitRank(void **, int, ncclUniqueId, int);
int ncclAllReduce(const void *, void *, size_t, int, int, void *, void *);
int ncclSend(const void *, size_t, int, int, void *, void *);
int ncclRecv(void *, size_t, int, int, void *, void *);
int ncclGroupStart(void);
int ncclGroupEnd(void);

/* exit is for one thread: beside one that runs the destructors, a second ends the process
 * before they have. */
static void leave(int code) {
  static pthread_mutex_t once = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&once);
  exit(code);
}

#define CHECK(call)                                                            \
  do {                                                                         \
    int code_ = (call);                                                        \
    if (code_ != 0) {                                                          \
      fprintf(stderr, "%s: %d\n", #call, code_);                               \
      leave(1);                                                                \
    }                                                                          \
  } while (0)

static double seconds(clockid_t clock) {
  struct timespec ts;
  clock_gettime(clock, &ts);
  return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

/* Process 0 makes the id, and hands it over in the file that CLIENT_ID names, if it does. */
static void meet(ncclUniqueId *id, int process) {
  const char *path = getenv("CLIENT_ID");
  char beside[4096];
  FILE *f;
  if (process == 0) {
    CHECK(ncclGetUniqueId(id));
  }
  if (path == NULL) {
    return;
  }
  if (process == 0) {
    snprintf(beside, sizeof beside, "%s.new", path);
    f = fopen(beside, "wb");
    CHECK(f == NULL || fwrite(id, sizeof *id, 1, f) != 1 || fclose(f) != 0);
    CHECK(rename(beside, path));
    return;
  }
  while ((f = fopen(path, "rb")) == NULL) {
    usleep(1000);
  }
  CHECK(fread(id, sizeof *id, 1, f) != 1);
  fclose(f);
}
