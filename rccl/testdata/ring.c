/* One GPU a process: each rank sends to the next, once, as the first thing after the init.
 * A rank comes to the init its number in milliseconds late. Prints the seconds that the
 * messages took by the monotonic clock. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

typedef struct {
  char internal[128];
} ncclUniqueId;
int hipSetDevice(int);
int hipMalloc(void **, size_t);
int hipStreamCreateWithFlags(void **, unsigned);
int hipStreamSynchronize(void *);
int ncclGetUniqueId(ncclUniqueId *);
int ncclCommInitRank(void **, int, ncclUniqueId, int);
int ncclSend(const void *, size_t, int, int, void *, void *);
int ncclRecv(void *, size_t, int, int, void *, void *);
int ncclGroupStart(void);
int ncclGroupEnd(void);

#define CHECK(call)                                                            \
  do {                                                                         \
    int code_ = (call);                                                        \
    if (code_ != 0) {                                                          \
      fprintf(stderr, "%s: %d\n", #call, code_);                               \
      exit(1);                                                                 \
    }                                                                          \
  } while (0)

static double seconds(void) {
  struct timespec ts;
  clock_gettime(CLOCK_MONOTONIC, &ts);
  return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

/* Rank 0 hands the id over in a file. */
static void meet(ncclUniqueId *id, int rank, const char *path) {
  char beside[4096];
  FILE *f;
  snprintf(beside, sizeof beside, "%s.new", path);
  if (rank == 0) {
    CHECK(ncclGetUniqueId(id));
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

int main(void) {
  int rank = atoi(getenv("OMPI_COMM_WORLD_RANK")), ranks = atoi(getenv("OMPI_COMM_WORLD_SIZE"));
  const size_t elements = 1 << 18;
  ncclUniqueId id;
  void *comm, *stream, *send, *recv;
  double began;
  CHECK(hipSetDevice(rank));
  CHECK(hipMalloc(&send, elements * 4));
  CHECK(hipMalloc(&recv, elements * 4));
  CHECK(hipStreamCreateWithFlags(&stream, 1));
  meet(&id, rank, getenv("CLIENT_ID"));
  usleep((useconds_t)rank * 1000);
  CHECK(ncclCommInitRank(&comm, ranks, id, rank));
  began = seconds();
  CHECK(ncclGroupStart());
  CHECK(ncclSend(send, elements, 7, (rank + 1) % ranks, comm, stream));
  CHECK(ncclRecv(recv, elements, 7, (rank + ranks - 1) % ranks, comm, stream));
  CHECK(ncclGroupEnd());
  CHECK(hipStreamSynchronize(stream));
  printf("%.9g\n", seconds() - began);
  return 0;
}
