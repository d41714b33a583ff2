/* One GPU a process: each rank sends to the next, once, as the first thing after the init.
 * A rank comes to the init its number in milliseconds late. Prints the seconds that the
 * messages took by the monotonic clock. */
#include "program.h"

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
  meet(&id, rank);
  usleep((useconds_t)rank * 1000);
  CHECK(ncclCommInitRank(&comm, ranks, id, rank));
  began = seconds(CLOCK_MONOTONIC);
  CHECK(ncclGroupStart());
  CHECK(ncclSend(send, elements, 7, (rank + 1) % ranks, comm, stream));
  CHECK(ncclRecv(recv, elements, 7, (rank + ranks - 1) % ranks, comm, stream));
  CHECK(ncclGroupEnd());
  CHECK(hipStreamSynchronize(stream));
  printf("%.9g\n", seconds(CLOCK_MONOTONIC) - began);
  return 0;
}
